"""Generated answers, and how one is written while a platform refuses a call of it."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.contract.surface import Surface
from bot.pacing.pacer import Pacer
from bot.reply.fresh import Fresh
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from playground.faults import Fault, Faults
from playground.screen import Shown
from tests.conftest import FakeClock
from tools.contract.base import ToolStatus

_TURNS = itertools.count(1)
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


@dataclass
class Calls:
    """The calls that an answer took, and which of them is refused."""

    number: int = -1
    refusal: Fault | None = None
    of: str = ""
    """How their names begin."""
    made: list[str] = field(default_factory=list)

    @contextmanager
    def of_server(self, faults: Faults) -> Iterator[None]:
        """Count what reaches a server inside, and let one call meet the refusal."""

        def source(method: str) -> Fault | None:
            if not method.startswith(self.of):
                return None
            self.made.append(method)
            return self.refusal if len(self.made) == self.number + 1 else None

        faults.source = source
        try:
            yield
        finally:
            faults.source = None

    @property
    def refused(self) -> str:
        """The method that met the refusal; empty where none did."""
        return self.made[self.number] if 0 <= self.number < len(self.made) else ""


Write = Callable[[str, Calls], Awaitable[list[Shown]]]
"""Let a text be written, and return the messages that show it."""
LOST: Mapping[str, Fault] = {
    "unanswered": Fault(drop="after"),
    "unreadable": Fault(answer="<html><title>502 Bad Gateway</title></html>"),
    "late": Fault(drop="late"),
}
"""Ways in which a call arrives and its answer is lost."""


async def refuse_each_call(
    write: Write,
    seed: int,
    whole: str | None,
    refusals: Mapping[str, Fault],
    of: str = "",
    dice: random.Random | None = None,
    blind: str = "",
) -> set[tuple[str, str]]:
    """Write a document as often as its calls are many, each time with another one refused; which methods met what.

    Args:
        whole: what stands of it in the end; None: what does where nothing is refused.
        of: how the names of the calls begin that count.
        dice: choose one of the calls, and how it is refused; else all are refused, each in one way.
        blind: a method that posts what nobody can look up: where its answer is lost, a beginning may be left.
    """
    calls, met, names = Calls(of=of), set[tuple[str, str]](), [*refusals]
    shown = await write(document(seed), calls)
    whole = read(shown) if whole is None else whole
    assert not (wrong := differs(read(shown), whole)), f"document {seed}: {wrong}"
    numbers = range(len(calls.made)) if dice is None else [dice.randrange(len(calls.made))]
    for number in numbers:
        name = names[(seed + number) % len(names)] if dice is None else dice.choice(names)
        refused = Calls(number, refusals[name], of)
        shown = await write(document(seed), refused)
        if refused.refused == blind and name in LOST:
            shown = _without_beginning(shown, whole)
        where = f"document {seed}, {name} of call {number} ({refused.refused})"
        assert not (wrong := differs(read(shown), whole)), f"{where}: {wrong}"
        met.add((refused.refused, name))
    return met


def _without_beginning(shown: list[Shown], whole: str) -> list[Shown]:
    """Leave out a message that shows less than the one behind it, from the same beginning: one, and never the whole."""
    for at, (one, after) in enumerate(itertools.pairwise(shown)):
        if one.text[:10] == after.text[:10] and len(one.text) < len(whole) and differs(one.text, whole):
            return [*shown[:at], *shown[at + 1 :]]
    return shown


async def write_document(surface: Surface, pacer: Pacer, clock: FakeClock, text: str, *, fresh: bool = False) -> None:
    """Let an answer be written piece by piece, with a tool now and then, until it stands.

    Args:
        fresh: it is begun again once, and ends as a fresh message where its newest one has stood for two seconds.
    """
    dice = random.Random(text)
    again = dice.randrange(len(text)) if fresh else len(text)
    ends = Fresh(2.0, clock.monotonic(), "The answer is below.") if fresh else None
    async with ReplyStream(surface, pacer, Unrecorded(), clock, turn=f"t{next(_TURNS)}", fresh=ends) as reply:
        at = 0
        while at < len(text):
            if at > again:
                again = len(text)
                reply.rewrite(text[:at])
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
