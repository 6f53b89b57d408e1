"""Whatever form an answer takes in Slack, and whatever is refused meanwhile, its final text is the same."""

from __future__ import annotations

import random

import pytest

from adapters.slack.adapter import open_adapter
from adapters.slack.limits import UPDATE_WINDOW
from bot.contract.messages import MessageRef, Page
from bot.pacing import Purpose
from bot.pacing.pacer import Pacer
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of, thread_target
from tests.conftest import FakeClock
from tests.documents import differs, document, read, refusing, write_document
from tests.surfaces import cost_of

MODES = ("edits", "streams", "posts")
_BODY = '{"ok": false, "error": "%s"}'
REFUSALS = {
    "type": Fault(status=200, body=_BODY % "channel_type_not_supported"),
    "arguments": Fault(status=200, body=_BODY % "invalid_arguments"),
    "state": Fault(status=200, body=_BODY % "message_not_in_streaming_state"),
    "limited": Fault(status=429, retry_after=3),
    "away": Fault(status=503),
    "lost": Fault(drop="before"),
    "unanswered": Fault(drop="after"),
}


async def write(
    slack: SlackServer,
    clock: FakeClock,
    text: str,
    mode: str,
    number: int = -1,
    refusal: Fault | None = None,
    met: set[str] | None = None,
) -> str:
    """Let an answer be written, and return what stands of it."""
    async with open_adapter(settings_of(slack), clock) as adapter:
        if mode == "posts":
            adapter.workspace._streams.refused(float("inf"))
        target = thread_target(slack)
        surface, pacer = adapter.surface(target), Pacer(clock)
        edit = cost_of(surface, Page("x"), MessageRef("1.2"))
        for _ in range(0 if mode == "edits" else UPDATE_WINDOW.calls):
            assert pacer.take(edit, Purpose.FINAL)
            pacer.answered(edit)
        with refusing(slack.faults, number, refusal, set() if met is None else met, of="chat."):
            await write_document(surface, pacer, clock, text)
        shown = slack.screen.of("C1", thread=str(target.data["thread"]))
        assert not any(one.live for one in shown)
        return read(shown)


async def check(slack: SlackServer, clock: FakeClock, seed: int, number: int, refusal: str) -> set[str]:
    """Write a document in every mode; the methods whose calls were refused."""
    met: set[str] = set()
    text = document(seed)
    whole = await write(slack, clock, text, "edits")
    for mode in MODES:
        said = await write(slack, clock, text, mode, number, REFUSALS[refusal], met)
        assert not (wrong := differs(said, whole)), f"document {seed}, {mode}, {refusal} of call {number}: {wrong}"
    return met


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 1_500, 25))
async def test_no_refusal_of_any_call_changes_the_final_text_of_five_hundred_documents(
    slack: SlackServer, clock: FakeClock, first: int
) -> None:
    met: set[str] = set()
    for seed in range(first, first + 25):
        for number in range(8):
            met |= await check(slack, clock, seed, number, [*REFUSALS][(seed + number) % len(REFUSALS)])
    streams = {"chat.startStream", "chat.appendStream", "chat.stopStream"}
    assert met == {"chat.postMessage", "chat.update", *streams}


@pytest.mark.parametrize("seed", range(25))
async def test_the_final_text_is_the_same_in_every_mode_whatever_is_refused(
    slack: SlackServer, clock: FakeClock, seed: int
) -> None:
    dice = random.Random(seed)
    await check(slack, clock, seed, dice.randint(0, 6), dice.choice([*REFUSALS]))
