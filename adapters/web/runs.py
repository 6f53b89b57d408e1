"""Answers in progress, as their readers get them: text that only grows and calls, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from bot.contract import Clock, File, Recalled, RecalledCall, time_limit

QUIET_SECONDS: Final = 15.0
"""The time without news after which a reader gets a sign of life: proxies end silent responses after 60 s or less."""
_PARAGRAPH: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class Said:
    """More text of a message; the first of a message begins it."""

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class StepBegan:
    """A tool runs, as its line says."""

    line: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    """It has ended."""

    line: str


@dataclass(frozen=True, slots=True)
class CallBegan:
    """A tool was called, in this answer or in the one that asked about it."""

    call: RecalledCall


@dataclass(frozen=True, slots=True)
class CallEnded:
    """It has a result."""

    id: str
    result: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A file below the text."""

    file: File


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing has come for a while."""


News: TypeAlias = Said | StepBegan | StepEnded | CallBegan | CallEnded | Sent


class Run:
    """One answer in progress. It keeps its news once, for however many readers, each of which knows how far it is."""

    def __init__(self) -> None:
        self.end: Recalled | None = None
        """What became of it, once it has ended."""
        self.broken = False
        """The program ends before the answer."""
        self.waits = ""
        """The call that a person is asked about."""
        self._news: list[News] = []
        self._shown: dict[str, tuple[str, str]] = {}
        """Message → the name under which readers get it, and the text that it shows."""
        self._growing: set[str] = set()
        self._steps: list[str] = []
        self._calls: dict[str, bool] = {}
        """Call → it has ended."""
        self._changed = asyncio.Event()

    @property
    def over(self) -> bool:
        """No more news comes."""
        return self.broken or self.end is not None

    @property
    def stands(self) -> bool:
        """Something was said, and nothing of it is growing."""
        return bool(self._news) and not self._growing

    async def wait_until_it_stands(self, clock: Clock, seconds: float) -> None:
        """Return as soon as it stands, at the latest after so many seconds."""
        with suppress(TimeoutError):
            async with time_limit(clock, seconds):
                while not (self.stands or self.over):
                    await self._changed.wait()

    @property
    def ended_calls(self) -> Collection[str]:
        """The calls of which nothing more is to be told."""
        return {id for id, ended in self._calls.items() if ended}

    def works(self, lines: Collection[str]) -> bool:
        """Return True if a tool may have begun or ended, when these lines about what tools do are shown."""
        return bool(self._steps or lines)

    def show(
        self,
        message: str,
        body: str,
        lines: Iterable[str] = (),
        calls: Iterable[RecalledCall] = (),
        *,
        final: bool,
    ) -> None:
        """Show a message with this text, these lines about what tools do, and these calls: the text goes before those
        that run, and after those that have ended."""
        lines, calls = list(dict.fromkeys(lines)), list(calls)
        self._add(StepEnded(line) for line in self._steps if line not in lines)
        for call in calls:
            self._call(call, running=False)
        (self._growing.discard if final else self._growing.add)(message)
        if body:
            self._say(message, body)
        for call in calls:
            self._call(call, running=True)
        self._add(StepBegan(line) for line in lines if line not in self._steps)
        self._steps = lines
        self._notify()

    def attach(self, file: File) -> None:
        """Send a file."""
        self._add([Sent(file)])
        self._notify()

    def finish(self, end: Recalled, calls: Iterable[RecalledCall] = ()) -> None:
        """It has ended; an answer of which nothing was shown here is shown now."""
        shown = end.text and not self._shown
        self.show("stored" if shown else "", end.text if shown else "", (), calls, final=True)
        self.end = end
        self._notify()

    def give_up(self) -> None:
        """The program ends."""
        self.broken = True
        self._notify()

    async def read(self, clock: Clock) -> AsyncGenerator[News | Quiet, None]:
        """Yield all news from the beginning, and `Quiet` whenever none comes for a while, until it is over."""
        read = 0
        while True:
            changed = self._changed
            while read < len(self._news):
                read += 1
                yield self._news[read - 1]
            if changed.is_set():
                continue
            if self.over:
                return
            try:
                async with time_limit(clock, QUIET_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield Quiet()

    def _say(self, message: str, body: str) -> None:
        name, shown = self._shown.get(message, (message, ""))
        if body.startswith(shown):
            more = body[len(shown) :]
        elif shown.startswith(body):
            return  # only its end was taken away, which readers have
        else:
            # Its text was rewritten: what is new is a message of its own, from the paragraph in which they differ.
            name += "'"
            more = body[_common_paragraphs(shown, body) :]
        self._shown[message] = name, body
        self._add([Said(name, more)] if more else [])

    def _call(self, call: RecalledCall, *, running: bool) -> None:
        if (call.result is None) is not running or self._calls.get(call.id):
            return
        self.waits = call.id if call.waits else self.waits
        self._add([] if call.id in self._calls else [CallBegan(call)])
        self._add([] if call.result is None else [CallEnded(call.id, call.result)])
        self._calls[call.id] = call.result is not None

    def _add(self, news: Iterable[News]) -> None:
        self._news += news

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _common_paragraphs(one: str, other: str) -> int:
    """Return where the first paragraph begins in which two texts differ."""
    same = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        same += 1
    at = one.rfind(_PARAGRAPH, 0, same)
    return 0 if at < 0 else at + len(_PARAGRAPH)


class Runs:
    """The runs of a process that have not ended, by their chat and name."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def find(self, chat: str, name: str) -> Run | None:
        """Return a run; None if nobody reads it here."""
        return self._runs.get((chat, name))

    def open(self, chat: str, name: str) -> Run:
        """Return a new run."""
        run = self._runs[chat, name] = Run()
        return run

    def forget(self, chat: str, name: str) -> None:
        """Forget a run; its readers still read it to its end."""
        self._runs.pop((chat, name), None)

    def give_up(self) -> None:
        """End them all, since the program ends."""
        for run in self._runs.values():
            run.give_up()
        self._runs.clear()
