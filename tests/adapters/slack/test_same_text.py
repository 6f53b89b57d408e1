"""Whatever form an answer takes in Slack, and whatever is refused meanwhile, its final text is the same."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adapters.slack.adapter import open_adapter
from bot.contract.messages import MessageRef, Page
from bot.pacing import Purpose
from bot.pacing.pacer import Pacer
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from playground.faults import Fault
from playground.screen import Shown
from playground.slack import SlackServer
from tests.adapters.slack.conftest import settings_of, thread_target
from tests.conftest import FakeClock
from tests.surfaces import cost_of
from tools.base import ToolStatus

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
_PLAIN = ["tea", "river", "seven", "of", "the", "and", "slowly", "3.5", "(once)", "it's", "“quoted”", "naïve", "😀"]
_WORDS = [*_PLAIN, "e.g.", "U.S.", "a_b"]
_HAN = "这是一个很长的句子，读起来需要一点时间。"


def _sentence(dice: random.Random) -> str:
    words = [dice.choice(_WORDS) for _ in range(dice.randint(3, 14))]
    if dice.random() < 0.2:
        words[1] = dice.choice(
            ["**bold words**", "*slanting*", "`code`", "~~gone~~", "<angles>", "[a page](https://example.com/a)"]
        )
    return " ".join(words).capitalize() + dice.choice(".?!")


def _plain(dice: random.Random) -> str:
    """A sentence that a stream shows as an edit does."""
    words = " ".join(dice.choice(_PLAIN) for _ in range(dice.randint(3, 14)))
    return dice.choice([f"{words.capitalize()}.", f"It is **bold words** {words}!", _HAN])


def _block(dice: random.Random) -> str:
    def lines(most: int) -> list[str]:
        return [_sentence(dice) for _ in range(dice.randint(1, most))]

    match dice.randint(0, 9):
        case 0:
            return "\n".join(f"- {line}" for line in lines(5))
        case 1:
            return "\n".join(f"{number}. {line}" for number, line in enumerate(lines(5), 1))
        case 2:
            return (
                "```python\n"
                + "\n".join(f"x = {number}  # <b> & `y`" for number in range(dice.randint(1, 9)))
                + "\n```"
            )
        case 3:
            return "## " + _sentence(dice)
        case 4:
            return "\n".join(f"> {line}" for line in lines(2))
        case 5:
            return _HAN * dice.randint(1, 12)
        case 6:
            return "| a | b |\n|---|---|\n" + "\n".join(f"| {number} | tea |" for number in range(dice.randint(1, 4)))
        case _:
            return " ".join(lines(6))


def document(seed: int) -> str:
    """An answer of every kind of Markdown, that one message of any mode could hold."""
    dice = random.Random(seed)
    blocks = [_block(dice) for _ in range(dice.randint(1, 8))]
    # Two lists of numbers in a row are one in Markdown, and would be numbered anew where a message ends.
    blocks = [one for before, one in zip(["", *blocks], blocks, strict=False) if before[:2] != "1." or one[:2] != "1."]
    kind = dice.random()
    if kind < 0.7:  # plain enough for a stream, in the beginning or to the end
        plain = [" ".join(_plain(dice) for _ in range(dice.randint(2, 9))) for _ in range(dice.randint(1, 4))]
        blocks = plain if kind < 0.3 else [*plain, *blocks]
    while len("\n\n".join(blocks)) > 2_800:
        del blocks[-1]
    return "\n\n".join(blocks)


@contextmanager
def refusing(slack: SlackServer, number: int, refusal: Fault | None, met: set[str]) -> Iterator[None]:
    """Let call `number` of those that show something meet the refusal, and add its method to those that `met` one."""
    calls = itertools.count()

    def source(method: str) -> Fault | None:
        if refusal is None or not method.startswith("chat.") or next(calls) != number:
            return None
        met.add(method)
        return refusal

    slack.faults.source = source
    try:
        yield
    finally:
        slack.faults.source = None


async def write(
    slack: SlackServer,
    clock: FakeClock,
    text: str,
    mode: str,
    number: int = -1,
    refusal: Fault | None = None,
    met: set[str] | None = None,
) -> str:
    """Let an answer be written, with a tool now and then, and return what stands of it."""
    dice = random.Random(text)
    async with open_adapter(settings_of(slack), clock) as adapter:
        if mode == "posts":
            adapter._streams.refused(float("inf"))
        target = thread_target(slack)
        surface, pacer = adapter.surface(target), Pacer(clock)
        edit = cost_of(surface, Page("x"), MessageRef("1.2"))
        for _ in range(0 if mode == "edits" else 48):
            assert pacer.take(edit, Purpose.FINAL)
            pacer.answered(edit)
        with refusing(slack, number, refusal, set() if met is None else met):
            async with ReplyStream(surface, pacer, Unrecorded(), clock, turn="t1") as reply:
                at = 0
                while at < len(text):
                    step = dice.randint(40, 400)
                    reply.append(text[at : at + step])
                    at += step
                    await clock.advance(dice.uniform(0.5, 4.0))
                    if dice.random() < 0.3:
                        reply.status(f"call-{at}", "Looking for <tea>")
                        await clock.advance(1.0)
                        reply.clear_status()
                        reply.ended(f"call-{at}", dice.choice([ToolStatus.COMPLETED, ToolStatus.FAILED]))
                finishing = asyncio.create_task(reply.finish())
                for _ in range(900):
                    if finishing.done():
                        break
                    await clock.advance(1.0)
                assert finishing.done(), "it never ends"
                await finishing
        await pacer.close()
        shown = slack.screen.of("C1", thread=str(target.data["thread"]))
        assert not any(one.live for one in shown)
        return read(shown)


def read(shown: list[Shown]) -> str:
    """What a person reads in messages: where one ends a paragraph does, and signs without width are none."""
    return "\n\n".join(one.text.replace("\u200b", "").strip() for one in shown)


def differs(text: str, whole: str) -> str:
    """Where a text is not the whole one but for the gaps between its messages; empty if nowhere."""
    pieces, at = text.split("\n\n"), 0
    for piece in pieces:
        while at < len(whole) and whole[at].isspace():
            at += 1
        if not whole.startswith(piece, at):
            return f"{piece!r} in place of {whole[at : at + len(piece)]!r}"
        at += len(piece)
    return repr(whole[at:]) if whole[at:].strip() else ""


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
async def test_no_refusal_of_any_call_changes_the_final_text_of_five_hundred_documents(
    slack: SlackServer, clock: FakeClock
) -> None:
    met: set[str] = set()
    for seed in range(1_000, 1_500):
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
