"""`/export`: what a chat holds comes as a file, once, to who may have it, and holds nobody up."""

from __future__ import annotations

import json

import pytest

from bot.commands.exports import read_wish
from bot.contract.errors import TooLong
from bot.contract.messages import ChatId, File, MessageRef
from bot.contract.surface import SurfaceLimits
from bot.turn.run import Run, TurnLimits
from playground.model import Reply
from tests.bot.conftest import OpenRig, Place, Rig

CHAT = ChatId("telegram", "42", "7")
GROUP = {"chat": "-5", "group": True}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[File]:
    """The files that arrive."""
    arrived: list[File] = []

    async def attach(self: Place, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        assert after is not None, "it stands under a sentence"
        arrived.append(file)
        return MessageRef(f"f{len(arrived)}")

    monkeypatch.setattr(Place, "attach", attach)
    return arrived


async def ask(it: Rig, text: str, answer: str, **more: object) -> None:
    it.model.script = lambda body: Reply(answer)
    await it.say(text, **more)  # type: ignore[arg-type]


async def test_the_history_comes_as_markdown_or_as_json(rig: OpenRig, files: list[File]) -> None:
    async with rig() as it:
        await ask(it, "What is tea?", "A **leaf**.")
        await ask(it, "/tool calculator 1+2", "It is 3.")
        await it.say("/persona Speak like a sailor")
        [said] = await it.say("/export")
        [as_json] = await it.say("/export json")
        why = await it.say("/why")
        await it.say("/retry")
        entries = [row.entry for row in await it.bot.store.history.list_entries(CHAT)]

    markdown, listed = files
    assert (markdown.name, markdown.media_type) == ("chat.md", "text/markdown")
    assert (listed.name, listed.media_type) == ("chat.json", "application/json")
    assert said == as_json == "Here is what is stored about this chat: 2 questions with the answers."
    text = markdown.content.decode()
    assert text.startswith("## Settings of this chat\n\n- persona: Speak like a sailor\n\n## 20")
    assert text.index("· Ada\n\n> What is tea?\n\nA **leaf**.") < text.index("> /tool calculator 1+2\n\nIt is 3.")
    settings, first, second = json.loads(listed.content)
    assert settings == {"chat": str(CHAT), "settings": {"persona": "Speak like a sailor"}}
    assert (first["question"], first["answer"], first["person"]) == ("What is tea?", "A **leaf**.", "telegram:7")
    assert [one["name"] for one in second["tools"]] == ["calculator"]
    assert not {"target", "error", "entries", "reasoning"} & first.keys()
    # What was exported is no question: nothing tells a model of it, and it is not what is asked again.
    assert not any("/export" in str(entry) or "stored about this chat" in str(entry) for entry in entries)
    assert "1 tool call" in why[0] or "calculator" in why[0]


async def test_secrets_are_masked_whatever_was_stored_before_they_were_known(rig: OpenRig, files: list[File]) -> None:
    async with rig() as it:
        await ask(it, "What is tea?", "Tea is tea-key-0123456789abcdef.")
    async with rig(TAVILY_API_KEY="tea-key-0123456789abcdef") as it:
        it.number = 9
        await it.say("/export")
        await it.say("/export json")

    assert len(files) == 2
    assert all(b"0123456789abcdef" not in one.content and b"[secret removed]" in one.content for one in files)


async def test_in_a_group_everybody_has_their_own_and_admins_everything(rig: OpenRig, files: list[File]) -> None:
    async with rig(ADMINS="telegram:1") as it:
        await ask(it, "What is tea?", "A leaf.", person="telegram:7", **GROUP)
        await ask(it, "What is coffee?", "A bean.", person="telegram:8", **GROUP)
        [own] = await it.say("/export", person="telegram:7", **GROUP)  # type: ignore[arg-type]
        [refused] = await it.say("/export json all", person="telegram:8", **GROUP)  # type: ignore[arg-type]
        [none] = await it.say("/export", person="telegram:9", **GROUP)  # type: ignore[arg-type]
        [everything] = await it.say("/export all", person="telegram:1", **GROUP)  # type: ignore[arg-type]
        [unclear] = await it.say("/export pdf", person="telegram:7", **GROUP)  # type: ignore[arg-type]

    assert "your questions in this chat, with their answers: 1." in own and "`/export all`" in own
    assert "admin" in refused and "Nothing is stored" in none and "2 questions with the answers." in everything
    assert "`/export json`" in unclear
    mine, all_of_it = (one.content.decode() for one in files)
    assert "leaf" in mine and "bean" not in mine
    assert "leaf" in all_of_it and "bean" in all_of_it


@pytest.mark.parametrize(
    ("text", "group", "wish"),
    [
        ("", False, ("markdown", True)),
        ("", True, ("markdown", False)),
        ("JSON", False, ("json", True)),
        ("all json", True, ("json", True)),
        ("markdown", True, ("markdown", False)),
        ("json markdown", True, None),
        ("pdf", True, None),
    ],
)
async def test_what_is_asked_for(rig: OpenRig, text: str, group: bool, wish: object) -> None:
    async with rig() as it:
        assert read_wish(it.message(f"/export {text}", group=group)) == wish


async def test_the_oldest_are_left_out_where_a_file_is_too_large_and_that_is_said(
    rig: OpenRig, files: list[File], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = SurfaceLimits(3000, 4000, len, typing_seconds=0.0, attachment_bytes=2**20)
    monkeypatch.setattr(Place, "limits", limits)
    async with rig() as it:
        for number in range(4):
            await ask(it, f"Question {number}?", f"Answer {number}. " + "tea " * 2_000)
        monkeypatch.setattr(
            Place, "limits", SurfaceLimits(3000, 4000, len, typing_seconds=0.0, attachment_bytes=20_000)
        )
        [said] = await it.say("/export")
        [as_json] = await it.say("/export json")

    assert "2 questions with the answers." in said and "The oldest 2 are missing: a file can have at most 0 MB" in said
    assert "oldest 2" in as_json
    assert all(len(one.content) <= 20_000 for one in files)
    assert b"Answer 1" not in files[0].content and files[0].content.index(b"Answer 2") < files[0].content.index(
        b"Answer 3"
    )
    assert [one["question"] for one in json.loads(files[1].content)] == ["Question 2?", "Question 3?"]


async def test_a_file_that_the_platform_does_not_take_is_told_of(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def attach(self: Place, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        raise TooLong("too large", by=1)

    monkeypatch.setattr(Place, "attach", attach)
    async with rig() as it:
        await ask(it, "What is tea?", "A leaf.")
        said = await it.say("/export")

    assert len(said) == 2 and "chat\\.md" in said[1] and "too large" in said[1]


async def test_a_file_that_is_stored_is_not_written_anew_and_not_sent_twice(rig: OpenRig, files: list[File]) -> None:
    async with rig() as it:
        await ask(it, "What is tea?", "A leaf.")
        await it.say("/export")
        stored = await it.bot.store.turns.load(2)
        # As a process finds it that follows one which died before it wrote down the end.
        await it.bot.dispatcher.actions.exports.send(  # the private part is what a later process begins with
            Run(2, it.message("/export"), "en", lambda: None, TurnLimits(0.0))
        )
        shown = it.shown()

    [call] = stored.calls
    assert call.result is not None and [file.content for file in call.result.files] == [files[0].content]
    assert len(files) == 1 and len([one for one in shown if "stored about this chat" in one]) == 1
