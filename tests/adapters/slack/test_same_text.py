"""Whatever form an answer takes in Slack, and whatever is refused meanwhile, its final text is the same."""

from __future__ import annotations

import random
from functools import partial

import pytest

from adapters.slack.adapter import open_adapter
from adapters.slack.limits import UPDATE_WINDOW
from bot.contract.messages import MessageRef, Page
from bot.pacing import Purpose
from bot.pacing.pacer import Pacer
from playground.faults import Fault
from playground.screen import Shown
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of, thread_target
from tests.conftest import FakeClock
from tests.documents import LOST, Calls, document, read, refuse_each_call, write_document
from tests.surfaces import cost_of

MODES = {
    "edits": ("chat.postMessage", "chat.update"),
    "streams": ("chat.startStream", "chat.appendStream", "chat.stopStream"),
    "posts": ("chat.postMessage",),
    "fresh": ("chat.postMessage", "chat.update", "chat.delete"),
}
"""The forms of an answer, with the methods that show it."""
_BODY = '{"ok": false, "error": "%s"}'
REFUSALS = {
    "type": Fault(status=200, body=_BODY % "channel_type_not_supported"),
    "arguments": Fault(status=200, body=_BODY % "invalid_arguments"),
    "state": Fault(status=200, body=_BODY % "message_not_in_streaming_state"),
    "limited": Fault(status=429, retry_after=3),
    "away": Fault(status=503),
    "lost": Fault(drop="before"),
    **LOST,
}


async def write(slack: SlackServer, clock: FakeClock, mode: str, text: str, calls: Calls) -> list[Shown]:
    """Let an answer be written, and return the messages that show it."""
    async with open_adapter(settings_of(slack), clock) as adapter:
        if mode == "posts":
            adapter.workspace._streams.refused(float("inf"))
        target = thread_target(slack)
        surface, pacer = adapter.surface(target), Pacer(clock)
        edit = cost_of(surface, Page("x"), MessageRef("1.2"))
        for _ in range(0 if mode in ("edits", "fresh") else UPDATE_WINDOW.calls):
            assert pacer.take(edit, Purpose.FINAL)
            pacer.answered(edit)
        with calls.of_server(slack.faults):
            await write_document(surface, pacer, clock, text, fresh=mode == "fresh")
        shown = slack.screen.of("C1", thread=str(target.data["thread"]))
        assert not any(one.live for one in shown)
        return shown


async def check(
    slack: SlackServer, clock: FakeClock, mode: str, seed: int, dice: random.Random | None = None
) -> set[tuple[str, str]]:
    """Refuse the calls of a document, all of them or one that the dice choose; which methods met which refusals."""
    whole = read(await write(slack, clock, "edits", document(seed), Calls()))
    return await refuse_each_call(partial(write, slack, clock, mode), seed, whole, REFUSALS, "chat.", dice)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 1_500, 25))
@pytest.mark.parametrize("mode", MODES)
async def test_no_refusal_of_any_call_changes_the_final_text_of_five_hundred_documents(
    slack: SlackServer, clock: FakeClock, mode: str, first: int
) -> None:
    met: set[tuple[str, str]] = set()
    for seed in range(first, first + 25):
        met |= await check(slack, clock, mode, seed)
    assert {method for method, _ in met} >= {*MODES[mode]}
    assert {refusal for _, refusal in met} == {*REFUSALS}


@pytest.mark.parametrize("seed", range(25))
async def test_the_final_text_is_the_same_in_every_mode_whatever_is_refused(
    slack: SlackServer, clock: FakeClock, seed: int
) -> None:
    assert await check(slack, clock, [*MODES][seed % len(MODES)], seed, random.Random(seed))
