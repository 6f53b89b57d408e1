"""Answers that grow as drafts: what a person sees of them, and what is kept where Telegram takes none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from adapters.settings import TelegramSettings
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.updates import meant_for
from bot.contract import Control, ControlPressed, File, MessageRef, Page, ReplyTarget, Scalar
from bot.pacing.pacer import Pacer
from bot.reply.stream import ReplyStream
from bot.store import PageState
from playground.faults import Fault
from playground.screen import Shown
from playground.telegram import TelegramServer
from playground.telegram.limits import Limits
from tests.conftest import FakeClock
from tests.surfaces import show

FIRST = "Tea is made of leaves and hot water. "


class Record:
    """What a reply records of its pages."""

    def __init__(self) -> None:
        self.pages: list[tuple[int, MessageRef | None, PageState]] = []

    async def save_page(self, number: int, *, body: str, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        self.pages.append((number, ref, state))

    async def save_file(self, number: int, file: File, *, ref: MessageRef | None, state: PageState, nonce: str) -> None:
        return None


@dataclass
class Desk:
    """Ada's private chat, and a bot that shows drafts there."""

    server: TelegramServer
    adapter: TelegramAdapter
    clock: FakeClock
    pacer: Pacer
    turns: int = 0

    @asynccontextmanager
    async def reply(self, record: Record | None = None, **place: Scalar) -> AsyncIterator[ReplyStream]:
        """A reply; leaving it ends it."""
        self.turns += 1
        data: Mapping[str, Scalar] = {"chat": 1, "thread": None, "reply_to": None, "group": False, **place}
        surface = self.adapter.surface(ReplyTarget("telegram", data))
        async with ReplyStream(surface, self.pacer, record or Record(), self.clock, turn=f"t{self.turns}") as reply:
            yield reply
            ending = asyncio.create_task(reply.finish())
            while not ending.done():
                await self.clock.advance(0.5)
            await ending

    async def write(self, reply: ReplyStream, *pieces: str) -> None:
        for piece in pieces:
            reply.append(piece)
            await self.clock.advance(2.0)

    def shown(self, chat: int = 1) -> list[Shown]:
        self.server.expire()
        return self.server.screen.of(str(chat))

    def calls(self, method: str) -> int:
        return sum(call.method == method for call in self.server.calls)


@pytest.fixture
async def desk(clock: FakeClock) -> AsyncIterator[Desk]:
    async with TelegramServer(now=clock.monotonic, limits=Limits()) as server:
        server.person(1, "Ada")
        server.group(-50, "Friends")
        settings = TelegramSettings(
            _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
            telegram_bot_token=SecretStr(server.token),
            telegram_api_base_url=server.base_url,
            telegram_drafts=True,
        )
        async with TelegramAdapter(settings, clock) as adapter:
            assert adapter._greeting is not None
            await adapter._greeting
            pacer = Pacer(clock)
            yield Desk(server, adapter, clock, pacer)
            await pacer.close()
            assert not server.refusals


async def test_an_answer_grows_as_a_draft_and_ends_as_one_message(desk: Desk) -> None:
    record = Record()
    async with desk.reply(record) as reply:
        await desk.write(reply, FIRST, FIRST)
        [draft] = desk.shown()
        assert draft.live and draft.text == (FIRST * 2).strip() and not record.pages
        await desk.write(reply, FIRST)
        assert draft.text == (FIRST * 3).strip() and len(draft.versions) == 3

    [message] = desk.shown()
    assert (message.live, message.text) == (False, (FIRST * 3).strip())
    # Its beginning is posted first: were the whole lost with a process, the next one would post it twice.
    assert [state for *_, state in record.pages] == [PageState.SENDING, PageState.SHOWN, PageState.FINAL]
    assert {ref.form for _, ref, _ in record.pages if ref} == {"message"} and desk.calls("sendMessage") == 1


async def test_a_draft_stays_as_long_as_nothing_new_is_to_be_read(desk: Desk) -> None:
    async with desk.reply() as reply:
        await desk.write(reply, FIRST)
        reply.status("call", "Searching")
        for _ in range(30):
            await desk.clock.advance(4.0)
            [draft] = desk.shown()
            assert "Searching" in draft.text and draft.live
        assert desk.calls("sendMessageDraft") <= 9, "once in twenty seconds is enough"
        # A message of the bot takes the draft away; what comes next, or passes, brings it back.
        await desk.adapter._bot.send_message(1, "A reminder")
        await desk.clock.advance(21.0)
        assert [one.live for one in desk.shown()] == [False, True]

    assert [one.text for one in desk.shown()] == ["A reminder", FIRST.strip()]


async def test_whatever_was_taken_back_of_a_draft_is_waited_for_without_a_call(desk: Desk) -> None:
    async with desk.reply() as reply:
        await desk.write(reply, FIRST)
        reply.rewrite("")
        await desk.clock.advance(100.0)
        assert desk.calls("sendMessageDraft") == 1
        await desk.write(reply, "Something else stands here now.")
        assert [one.text for one in desk.shown()] == ["Something else stands here now."]

    assert [one.text for one in desk.shown()] == ["Something else stands here now."]


async def test_each_page_of_a_long_answer_becomes_a_message_when_it_is_full(desk: Desk) -> None:
    whole = " ".join(f"Sentence {number} says something." for number in range(400))
    async with desk.reply() as reply:
        for at in range(0, len(whole), 900):
            await desk.write(reply, whole[at : at + 900])
            assert sum(one.live for one in desk.shown()) <= 1
        assert len(desk.shown()) > 2

    assert " ".join(one.text for one in desk.shown()) == whole and not any(one.live for one in desk.shown())


async def test_a_group_sees_a_message_that_is_edited(desk: Desk) -> None:
    async with desk.reply(chat=-50, group=True) as reply:
        await desk.write(reply, FIRST, FIRST)
        assert not any(one.live for one in desk.shown(-50))

    assert [one.text for one in desk.shown(-50)] == [(FIRST * 2).strip()] and not desk.calls("sendMessageDraft")


async def test_what_stands_as_a_message_is_edited(desk: Desk) -> None:
    """As after a restart in good order, which posted what there was."""
    async with desk.reply() as reply:
        await desk.write(reply, FIRST)
    surface = desk.adapter.surface(ReplyTarget("telegram", {"chat": 1, "group": False}))
    await show(surface, Page("It goes on"), MessageRef(desk.shown()[0].id))
    assert [(one.live, one.text) for one in desk.shown()] == [(False, "It goes on")]


@pytest.mark.parametrize(
    ("refusal", "times"),
    [
        (None, 1),
        (Fault(status=400, body='{"ok": false, "error_code": 400, "description": "Bad Request: DRAFTS_OFF"}'), 1),
        (Fault(status=502), 5),
    ],
    ids=["older server", "unknown refusal", "fails each time"],
)
async def test_where_no_drafts_are_taken_messages_are_edited_for_good(
    desk: Desk, caplog: pytest.LogCaptureFixture, refusal: Fault | None, times: int
) -> None:
    desk.server.world.drafts = refusal is not None
    if refusal is not None:
        desk.server.faults.add("sendMessageDraft", refusal, times=99)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            async with desk.reply() as reply:
                await desk.write(reply, *[FIRST] * 5)
                await desk.clock.advance(10.0)
                assert not desk.shown()[-1].live, "it is seen while it grows"

    assert [one.text for one in desk.shown()] == [(FIRST * 5).strip()] * 2
    assert desk.calls("sendMessageDraft") == times
    assert sum("TELEGRAM_DRAFTS" in one.message for one in caplog.records) == 1


async def test_a_pause_that_telegram_asks_for_is_kept_and_drafts_go_on(desk: Desk) -> None:
    async with desk.reply() as reply:
        desk.server.faults.add("sendMessageDraft", Fault(status=429, retry_after=3))
        await desk.write(reply, *[FIRST] * 4)
        assert desk.shown()[0].live

    assert [one.text for one in desk.shown()] == [(FIRST * 4).strip()]


@pytest.mark.parametrize("method", ["sendMessageDraft", "sendMessage", "editMessageText"])
@pytest.mark.parametrize("drop", ["before", "after"])
async def test_an_answer_is_there_whole_and_once_whichever_call_is_lost(desk: Desk, method: str, drop: str) -> None:
    desk.server.faults.add(method, Fault(drop=drop))
    async with desk.reply() as reply:
        await desk.write(reply, *[FIRST] * 3)

    texts = [one.text for one in desk.shown()]
    assert texts.count((FIRST * 3).strip()) == 1 and not any(one.live for one in desk.shown())
    assert len(texts) == (2 if (method, drop) == ("sendMessage", "after") else 1), "as every post of unknown outcome"
    assert not reply.unsettled or method == "editMessageText"


async def test_a_stop_in_telegram_stops_what_is_answered_there(desk: Desk) -> None:
    async with desk.reply() as reply:
        await desk.write(reply, FIRST)
        desk.server.stop_draft(1)
        assert desk.shown()[0].live, "what stands stays until the message comes"
    raw = await desk.adapter._bot.raw_updates(0, desk.adapter._kinds)

    [press] = meant_for(desk.adapter._bot, raw)
    assert isinstance(press, ControlPressed)
    assert (press.control, press.turn, press.sender.id, press.group) == (Control.STOP, 0, "telegram:1", False)
    assert (press.chat.chat, press.chat.thread) == ("1", "")
    threaded = {**raw[0]["stopped_message_generation"], "message_thread_id": 5}
    [press] = meant_for(desk.adapter._bot, [{"update_id": 9, "stopped_message_generation": threaded}])
    assert press.chat.thread == "5" and press.target.data["thread"] == 5
    assert meant_for(desk.adapter._bot, [{"update_id": 9, "stopped_message_generation": "?"}]) == []
