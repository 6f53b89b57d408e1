"""Every reply is opened in one place, with the filters and the record that it needs."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import pytest

import bot
from bot.contract.messages import (
    ChatId,
    Enclosure,
    EnclosureKind,
    File,
    MessageRef,
    MessageSent,
    ReplyTarget,
    Sender,
    TimerDue,
)
from bot.contract.surface import Drawn, SurfaceLimits
from bot.contract.transcript import Usage
from bot.pacing.pacer import Pacer
from bot.reply.notices import Notices
from bot.reply.opening import Replies
from bot.reply.pages import ShownBefore
from bot.safety import LinkPolicy
from bot.sentences import language_of
from bot.store import Store, TurnState
from tests.bot.conftest import BareSurface, MessageFields
from tests.conftest import FakeClock, RawObject
from tests.surfaces import page_of
from tools.contract.base import ProducedFile, ToolCall, ToolResult

CHAT = ChatId("telegram", "42", "7")
SECRET = "sk-very-secret-key"
HOSTILE = f"Key {SECRET}, \u202ereversed, see https://known.example/a and https://made.example/up"


@dataclass
class Screen(BareSurface):
    """A chat whose messages are a list."""

    texts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    limits: SurfaceLimits = field(
        default_factory=lambda: SurfaceLimits(400, 800, len, attachment_bytes=10, typing_seconds=0.0)
    )

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        if at is None:
            self.texts.append(page.body)
            return MessageRef(str(len(self.texts) - 1))
        self.texts[int(at.id)] = page.body
        return at

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        self.files.append(file.name)
        return MessageRef(f"f{len(self.files)}")


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
async def replies(store: Store, clock: FakeClock) -> AsyncIterator[Replies]:
    pacer = Pacer(clock)
    yield Replies(store=store, pacer=pacer, clock=clock, secrets=(SECRET,))
    await pacer.close()


def asking(text: str = "?", **more: Unpack[MessageFields]) -> MessageSent:
    sender = Sender(id="telegram:7", name="Ada")
    message = MessageSent(delivery="d1", chat=CHAT, sender=sender, target=ReplyTarget("telegram"), text=text)
    return replace(message, **more)


async def begun(store: Store, question: MessageSent) -> int:
    turn = await store.intake.take_in(question)
    assert turn is not None
    await store.turns.begin(turn, CHAT, question.sender.id)
    return turn


def test_a_reply_stream_is_built_nowhere_else() -> None:
    root = Path(bot.__file__).parent
    builders = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "ReplyStream" in (code := path.read_text())
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "ReplyStream"
    }

    assert builders == {"reply/opening.py"}


async def test_a_notice_shows_no_secret_no_deception_and_no_link(replies: Replies, screen: Screen) -> None:
    asked: list[MessageSent] = []

    def surface(message: MessageSent) -> Screen:
        asked.append(message)
        return screen

    await Notices(replies=replies, surface=surface, clock=FakeClock()).tell(asking(), HOSTILE)

    (text,) = screen.texts
    assert SECRET not in text and "\u202e" not in text
    assert "`https://known.example/a`" in text and "`https://made.example/up`" in text


async def test_an_apology_that_cannot_be_shown_raises_nothing(
    replies: Replies, caplog: pytest.LogCaptureFixture
) -> None:
    def surface(message: MessageSent) -> Screen:
        raise RuntimeError("no such chat")

    await Notices(replies=replies, surface=surface, clock=FakeClock()).apologise(asking(), "Sorry.")

    assert "not even an apology" in caplog.text


async def test_an_answer_links_only_what_its_policy_knows(replies: Replies, store: Store, screen: Screen) -> None:
    question = asking(f"What is {SECRET}?", quote_question=True)
    turn = await begun(store, question)
    policy = LinkPolicy(known=["https://known.example/a"])

    async with replies.answer(screen, CHAT, await store.turns.load(turn), policy, "en", question=question) as reply:
        reply.append(HOSTILE)

    (text,) = screen.texts
    assert text.startswith("> What is ") and SECRET not in text and "\u202e" not in text
    assert " https://known.example/a " in text and "`https://made.example/up`" in text


async def test_an_answer_goes_on_where_a_former_attempt_showed_it(
    replies: Replies, store: Store, screen: Screen
) -> None:
    turn = await begun(store, asking())
    before = await store.turns.load(turn)
    seen: dict[int, ShownBefore] = {}
    async with replies.answer(screen, CHAT, before, LinkPolicy(), "en", shown=seen) as reply:
        reply.append("The first words.")

    async with replies.answer(screen, CHAT, before, LinkPolicy(), "en", shown=dict(seen)) as reply:
        reply.append("All of it, by the same process.")
    assert screen.texts == ["All of it, by the same process."]

    async with replies.answer(screen, CHAT, await store.turns.load(turn), LinkPolicy(), "en") as reply:
        reply.append("All of it, by the next process.")
    assert screen.texts == ["All of it, by the next process."]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"text": f"What is {SECRET}?", "quote_question": True},
        {"text": "这张图片里有什么？", "enclosed": (Enclosure(kind=EnclosureKind.PICTURE),)},
    ],
    ids=["text", "question with a secret", "file in Chinese"],
)
async def test_an_ended_reply_is_opened_with_the_text_it_had(
    replies: Replies, store: Store, screen: Screen, more: RawObject
) -> None:
    question = asking(**more)
    turn = await begun(store, question)
    policy, before = LinkPolicy(known=["https://known.example/a"]), await store.turns.load(turn)
    language = language_of(question.text)
    async with replies.answer(screen, CHAT, before, policy, language, question=question) as reply:
        reply.append(HOSTILE)
    await store.turns.close(
        turn, TurnState.DONE, [], visible=reply.text, reasoning="", model="", usage=Usage(), again_at=0.0
    )
    whole = screen.texts.copy()
    screen.texts[:] = ["an older text"]

    record = await store.turns.load_shown(turn)
    assert record is not None
    async with replies.again(screen, record, calm=True):
        pass

    assert screen.texts == whole


async def test_files_that_did_not_arrive_come_when_an_ended_reply_is_shown_again(
    replies: Replies, store: Store, screen: Screen
) -> None:
    """What is too large for the platform was told of when the turn ended."""
    turn = await begun(store, asking())
    await store.turns.start_call(turn, ToolCall("c", "plot", {}), passnumber=1, position=0, effects=False)
    made = tuple(ProducedFile(name, "x/y", content) for name, content in (("a", b"1"), ("big", b"1" * 11)))
    await store.turns.end_call(turn, "c", ToolResult(text="two files", files=made))
    await store.turns.close(
        turn, TurnState.DONE, [], visible="Here.", reasoning="", model="", usage=Usage(), again_at=0.0
    )

    record = await store.turns.load_shown(turn)
    assert record is not None
    async with replies.again(screen, record, calm=True):
        pass

    assert (screen.texts, screen.files) == (["Here."], ["a"])


async def test_a_reminder_that_is_shown_again_has_nothing_before_it(
    replies: Replies, store: Store, screen: Screen
) -> None:
    sender, target = Sender(id="telegram:7", name="Ada"), ReplyTarget("telegram")
    turn = await store.intake.take_in(TimerDue(delivery="t1", chat=CHAT, sender=sender, target=target, text="Tea!"))
    assert turn is not None
    await store.turns.begin(turn, CHAT, sender.id)
    await store.turns.close(
        turn, TurnState.DONE, [], visible="The tea.", reasoning="", model="", usage=Usage(), again_at=0.0
    )

    record = await store.turns.load_shown(turn)
    assert record is not None
    async with replies.again(screen, record, calm=True):
        pass

    assert screen.texts == ["The tea."]
