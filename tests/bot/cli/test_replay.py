"""`parley replay`: a stored turn is repeated offline, and each planted difference is reported."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from bot.app import App
from bot.app.output import Output
from bot.cli.replay import load, memory_of, repeat, replay
from bot.contract import (
    AssistantEntry,
    ChatId,
    MessageDeleted,
    MessageSent,
    ReplyTarget,
    Sender,
    SettingsError,
    SystemClock,
    reference_of,
)
from bot.settings import configure
from bot.store import Recording, Store
from bot.store.incoming import incoming_to_json
from playground.model import ModelServer, Reply
from tests.patience import PATIENCE
from tools.calling.registry import ToolRegistry
from tools.contract.base import Arguments, Source, Tool, ToolContext, ToolError, ToolResult, ToolSpec

Plant: TypeAlias = Callable[[Recording], Recording]
PLATFORMS = ("telegram", "slack", "discord")
LONG = "\n\n".join(
    f"Paragraph {number}. " + "Green tea is grown in Uji and sold in Kyoto. " * 12 for number in range(9)
)


@dataclasses.dataclass(frozen=True)
class Found:
    """A search whose results cannot be had again, or a tool that fails."""

    name: str
    spec: ToolSpec = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        schema: dict[str, object] = {"type": "object", "properties": {"query": {"type": "string"}}}
        object.__setattr__(self, "spec", ToolSpec(name=self.name, purpose="Find.", parameters=schema))  # type: ignore[arg-type]

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        query = str(arguments["query"])
        if query == "nothing":
            raise ToolError("The server of this search is away.")
        url = f"https://example.org/{query}"
        text = f"[1] About {query} {url}\nSold in Kyoto for 800 yen."
        return ToolResult(text=text, sources=(Source(f"About {query}", url),), untrusted=True)

    async def close(self) -> None:
        return None


def calls(*queries: str) -> Reply:
    return Reply("I look it up.", calls=tuple(("search_notes", {"query": query}) for query in queries))


KINDS: Mapping[str, tuple[Reply, ...]] = {
    "plain": (Reply("Tea is a **leaf**.", reasoning="They ask about tea."),),
    "search": (calls("tea"), Reply("It costs 800 yen [1].")),
    "several tools in one pass": (calls("tea", "cups", "kettles"), Reply("Tea [1], cups [2], kettles [3].")),
    "one call again": (calls("tea", "tea"), calls("tea"), Reply("Tea [1].")),
    "several passes": (calls("tea"), calls("cups"), Reply("Tea [1] and cups [2].")),
    "failed tool": (calls("nothing"), Reply("The search is away, so I do not know.")),
    "our own tool": (Reply(calls=(("calculator", {"expression": "6*7"}),)), Reply("It is 42.")),
    "long": (Reply(LONG),),
}


def question(platform: str, number: int) -> MessageSent:
    return MessageSent(
        delivery=f"d{number}",
        message_id=str(100 + number),
        chat=ChatId(platform, "42424242", "7070707"),
        sender=Sender(id=f"{platform}:9090909", name="Ada Lovelace"),
        target=ReplyTarget(platform, {}),
        text=f"What does green tea cost in Kyoto? My name is Ada, number {number}",
    )


async def store_turns(folder: Path, patch: pytest.MonkeyPatch, platform: str, *turns: tuple[Reply, ...]) -> str:
    """Let the program answer questions, one for each script, and return the address of its database."""
    url = f"sqlite:///{folder}/stored.db"
    async with ModelServer() as model:
        for name, value in {
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback-key-1234",
            "OPENAI_BASE_URL": model.base_url,
            "ALLOW_ALL": "true",
            "DATABASE_URL": url,
            "PARLEY_ENV_FILE": "",
        }.items():
            patch.setenv(name, value)
        app = App(configure(), {platform: memory_of(platform)})
        app.open_tools = lambda settings, **_: ToolRegistry([Found("search_notes"), *_calculator()])
        async with app, asyncio.timeout(PATIENCE):
            leave, dispatcher = asyncio.Event(), app.dispatcher
            running = asyncio.create_task(
                app.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.suspend)
            )
            await app.platforms.tried.wait()
            for number, replies in enumerate(turns, 1):
                model.reply(*replies)
                await dispatcher.deliver(question(platform, number))
                await dispatcher.wait_idle()
            await dispatcher.close()
            await app.platforms.stop_receiving()
            leave.set()
            await running
    return url


def _calculator() -> list[Tool]:
    from tools import open_registry

    found = open_registry({}, off=()).tool("calculator")
    assert found is not None
    return [found]


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_stored_turns_come_out_the_same(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await store_turns(tmp_path, monkeypatch, platform, *KINDS.values())

    found = {}
    for number, kind in enumerate(KINDS, 1):
        recording = await load(url, reference_of(number))
        found[kind] = await repeat(recording, {})

    assert found == {kind: [] for kind in KINDS}
    assert (await load(url, reference_of(len(KINDS)))).pages > 1 or platform == "slack"


@pytest.fixture
async def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """A turn with two calls in its first pass."""
    url = await store_turns(tmp_path, monkeypatch, "telegram", (calls("tea", "cups"), Reply("Tea [1], cups [2].")))
    return await load(url, reference_of(1))


def _text(one: Recording) -> Recording:
    return replace(one, visible=one.visible.replace("cups", "mugs"))


def _question(one: Recording) -> Recording:
    first = one.entries[0]
    return replace(one, entries=(replace(first, text="[Bob] What does it cost?"), *one.entries[1:]))


def _without_call(one: Recording) -> Recording:
    return replace(one, calls=one.calls[:1])


def _with_call(one: Recording) -> Recording:
    further = replace(one.calls[0], passnumber=2, position=0)
    return replace(one, calls=(*one.calls, further))


def _argument(one: Recording) -> Recording:
    call = replace(one.calls[0].call, arguments={"query": "coffee"})
    return replace(one, calls=(replace(one.calls[0], call=call), one.calls[1]))


def _result(one: Recording) -> Recording:
    entry = one.entries[2]
    return replace(
        one, entries=(*one.entries[:2], replace(entry, text=entry.text.replace("800", "900")), *one.entries[3:])
    )


def _order(one: Recording) -> Recording:
    first, second = one.calls
    return replace(one, calls=(replace(second, position=0), replace(first, position=1)))


def _without_pass(one: Recording) -> Recording:
    return replace(one, entries=tuple(entry for entry in one.entries if not isinstance(entry, AssistantEntry))[:1])


def _look(one: Recording) -> Recording:
    return replace(one, stands=("0123456789",))


def _further_message(one: Recording) -> Recording:
    return replace(one, stands=(*one.stands, *one.stands))


def _target(one: Recording) -> Recording:
    return replace(one, question=replace(one.question, target=ReplyTarget("telegram", {"chat": 1, "thread": 7})))


def _pages(one: Recording) -> Recording:
    return replace(one, pages=2)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (_text, "the answer: stored"),
        (_question, "the question as the model reads it: stored"),
        (_without_call, "whether it was made (search_notes, call 2 of pass 1): stored False, now True"),
        (_with_call, "whether it was made (search_notes, call 1 of pass 2): stored True, now False"),
        (
            _argument,
            "arguments given to search_notes, call 1 of pass 1: stored {'query': 'coffee'}, now {'query': 'tea'}",
        ),
        (_result, "results in the history: stored"),
        (_order, "arguments given to search_notes, call 1 of pass 1: stored {'query': 'cups'}, now {'query': 'tea'}"),
        (_without_pass, "text of pass 1: stored None, now"),
        (_pages, "messages of the answer: stored 2, now 1"),
        (_look, "what message 1 shows at the end, with its buttons (as digests): stored '0123456789', now '"),
        (_further_message, "what message 2 shows at the end, with its buttons (as digests): stored '"),
    ],
)
async def test_each_planted_difference_is_reported(plant: Plant, said: str, recorded: Recording) -> None:
    assert not await repeat(recorded, {})

    differences = await repeat(plant(recorded), {})

    assert [one for one in differences if one.startswith(said)], differences


async def test_an_answer_in_another_place_is_reported(recorded: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _target(recorded)
    assert not await repeat(asked, {})
    monkeypatch.setattr("bot.app.output.Output.surface", _in_another_thread)

    assert "it wrote to {'chat': 1, 'thread': 8}" in await repeat(asked, {})


def _in_another_thread(output: Output, message: MessageSent) -> object:
    return output.platforms.surface(ReplyTarget(message.target.platform, {**message.target.data, "thread": 8}))


async def test_a_turn_of_an_earlier_version_is_compared_without_how_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await store_turns(tmp_path, monkeypatch, "slack", KINDS["search"])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE turns SET course = ''")  # as its step leaves older turns

    recording = await load(url, reference_of(1))

    assert recording.stands == () and not await repeat(recording, {})


async def test_a_change_of_the_program_is_reported_and_no_tool_runs(
    recorded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(*_: object) -> ToolResult:
        raise AssertionError("a real tool ran")

    monkeypatch.setattr(Found, "run", run)
    assert not await repeat(recorded, {})
    monkeypatch.setattr("bot.turn.draft.footer.gap_after", lambda written, settings: "\n\nAnd so: ")

    differences = await repeat(recorded, {})

    assert [one.partition(":")[0] for one in differences] == ["the answer"]


async def test_the_same_goes_for_a_recording_as_text(recorded: Recording) -> None:
    again = Recording.from_json(json.dumps(recorded.to_json()))

    assert again.to_json() == recorded.to_json() and not await repeat(again, {})


async def test_the_command_says_equal_or_the_first_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = await store_turns(tmp_path, monkeypatch, "slack", KINDS["search"])
    configuration = configure()

    assert await replay(configuration, reference_of(1)) == 0
    assert capsys.readouterr().out == f"turn [{reference_of(1)}] came out the same\n"

    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE turns SET visible = 'Nobody knows.'")
    assert await replay(configuration, reference_of(1)) == 1
    assert capsys.readouterr().out.startswith("the answer: stored 'Nobody knows.', now 'I look it up.")


async def test_what_cannot_be_repeated_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await store_turns(tmp_path, monkeypatch, "discord", KINDS["plain"], KINDS["plain"])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE turns SET state = 'failed' WHERE id = 2")

    with pytest.raises(SettingsError, match="it failed, and an earlier version did not store why"):
        await load(url, reference_of(2))
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE turns SET ended_at = NULL WHERE id = 2")
        with pytest.raises(SettingsError, match="its process died over it, twice"):
            await load(url, reference_of(2))
        db.execute("UPDATE inbox SET ended_at = NULL WHERE id = 2")
    with pytest.raises(SettingsError, match="it has not ended"):
        await load(url, reference_of(2))
    with pytest.raises(SettingsError, match="no turn has the reference"):
        await load(url, reference_of(99))
    with pytest.raises(SettingsError, match="write the six characters"):
        await load(url, "tea")
    async with Store.open(url, clock=SystemClock()) as store:
        await store.history.forget(question("discord", 1).chat)
    with pytest.raises(SettingsError, match="no turn has the reference"):
        await load(url, reference_of(1))


async def test_what_is_stored_in_part_is_said_or_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await store_turns(tmp_path, monkeypatch, "discord", KINDS["plain"], KINDS["plain"])
    monkeypatch.setattr("bot.store.recordings.MOST_BEFORE", 1)
    async with Store.open(url, clock=SystemClock()) as store:
        recording = await store.recordings.load(2)
        assert isinstance(recording, Recording) and len(recording.before) == 1
        assert await store.recordings.load(99) is None

    told = json.loads(json.dumps(recording.to_json()))
    asked = recording.question
    gone = MessageDeleted(
        delivery="1", chat=asked.chat, sender=asked.sender, target=ReplyTarget("discord", {}), message_id="1"
    )
    told["question"] = json.loads(incoming_to_json(gone))
    with pytest.raises(ValueError, match="its question is neither a message nor a decision"):
        Recording.from_json(json.dumps(told))


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_earlier_messages_that_are_not_stored_are_named(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await store_turns(tmp_path, monkeypatch, platform, KINDS["plain"])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE history SET body = replace(body, 'What does', '(Earlier messages:)\\n\\nWhat does')")

    with pytest.raises(SettingsError, match=r"the earlier messages of its thread, or .* are not stored"):
        await load(url, reference_of(1))
