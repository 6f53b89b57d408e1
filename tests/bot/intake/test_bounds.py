"""Memory follows what is under way, not how many people and chats there are."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import suppress
from typing import Any

import pytest

from bot.contract.limits import Limits
from bot.intake import admission
from bot.model.patience import Patience
from bot.model.reading import StreamReading
from bot.policy import once
from bot.policy.metering import MeteredModel
from bot.reply.pageset import PageSet
from bot.reply.paging import Paginator
from bot.reply.stream import ReplyStream
from bot.toolsyntax.detector import Detector
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.patience import PATIENCE
from tools.calling.registry import CACHE_CHARS, ToolRegistry
from tools.contract.base import Arguments, ProducedFile, ToolCall, ToolContext, ToolResult, ToolSpec


async def test_in_a_group_so_many_messages_wait_and_the_rest_is_told_once(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MOST_WAITING_IN_CHAT", 5)
    async with rig() as it:
        fault = it.model.faults.add("*", Fault(hold=asyncio.Event()))
        it.model.script = lambda body: Reply("Yes.")
        await it.deliver(it.message("first", group=True))
        await fault.reached.wait()
        for number in range(20):
            await it.deliver(it.message(f"question {number}", person=f"telegram:{100 + number}", group=True))
        await it.until(lambda: any("Many messages are" in text for text in it.shown()))
        while it.bot.dispatcher._routes:
            await asyncio.sleep(0.001)

        assert it.bot.dispatcher.queue.length == 5
        assert fault.hold is not None
        fault.hold.set()
        await it.idle()

        assert sorted(text[:4] for text in it.shown()) == ["Many"] + ["Yes."] * 6


async def test_after_many_chats_were_answered_nothing_of_them_is_kept(rig: OpenRig) -> None:
    async with rig(MESSAGES_PER_MINUTE="0") as it:
        it.model.script = lambda body: Reply("Yes.")
        for number in range(40):
            await it.deliver(it.message("Well?", chat=str(number), person=f"telegram:{number}"))
            await it.deliver(it.message("/whoami", chat=str(number), person=f"telegram:{number}"))
        await it.idle()

        found = it.bot.dispatcher
        assert not found.queue._boxes and not found._routes
        assert not found.notices._telling and not found.notices.under_way
        assert it.bot.pacer.live == 0 and it.bot.pacer.known_scopes == 0
        assert not it.bot.summaries._running


@pytest.mark.parametrize("how", ["whole", "broken off", "refused"])
async def test_what_a_turn_held_is_freed_when_it_ends_without_a_search_for_garbage(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    held: list[weakref.ref[Any]] = []

    def watch(of: type) -> None:
        made = of.__init__  # type: ignore[misc]

        def noted(self: Any, *args: object, **more: object) -> None:
            held.append(weakref.ref(self))
            made(self, *args, **more)

        monkeypatch.setattr(of, "__init__", noted)

    for one in (ReplyStream, PageSet, Patience, Paginator, Detector, MeteredModel, StreamReading):
        watch(one)
    replies = {
        "whole": lambda: Reply("Tea is a leaf."),
        "broken off": lambda: Reply("Tea is a leaf. " * 20, finish_reason=None),
        "refused": lambda: Reply.refusal(400, "content policy"),
    }
    async with rig() as it:
        it.model.script = lambda body: replies[how]()
        gc.disable()
        try:
            for number in range(5):
                await it.deliver(it.message("What is tea?", chat=str(number), person=f"telegram:{number}"))
            await it.idle()
            # What is written down of a turn may end in the store's thread after it.
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    while any(one() for one in held):
                        await asyncio.sleep(0.001)
            left = [one() for one in held]
            assert len(left) >= 20 and not any(left), {type(one).__name__ for one in left if one is not None}
        finally:
            gc.enable()


async def test_refusals_in_ever_more_chats_are_not_remembered_without_end(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "MOST_REMEMBERED", 3)
    async with rig(Limits(question_chars=100)) as it:
        for number in range(10):
            await it.deliver(it.message("x" * 200, chat=str(number), person=f"telegram:{number}"))
        await it.idle()

        assert len(it.bot.dispatcher.once._until) == 3
        assert sum(bool(it.shown(str(number))) for number in range(10)) == 3


class Long:
    """A tool whose results may be reused."""

    def __init__(self, result: ToolResult) -> None:
        self.spec = ToolSpec(
            name="long", purpose="Say something.", parameters={"type": "object", "properties": {}}, cache_seconds=60.0
        )
        self._result = result
        self.runs = 0

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.runs += 1
        return self._result

    async def close(self) -> None:
        return None


@pytest.mark.parametrize(
    ("result", "runs"),
    [
        (ToolResult(text="short"), 1),
        (ToolResult(text="x" * (CACHE_CHARS + 1)), 2),
        (ToolResult(text="plot", files=(ProducedFile("plot.png", "image/png", b"x" * 100),)), 2),
    ],
)
async def test_only_small_results_are_kept_for_the_next_to_ask(result: ToolResult, runs: int) -> None:
    tool = Long(result)
    registry = ToolRegistry([tool])

    for _ in range(2):
        await registry.run(ToolCall("1", "long", {}), ToolContext())

    assert tool.runs == runs
