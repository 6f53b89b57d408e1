"""Terminal input and output: typed lines, and pages printed as they grow."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import threading
from dataclasses import dataclass
from typing import Final, TextIO

from bot.contract import Button, Control, Drawn, MessageRef, Page

PROMPT: Final = "you> "
_PROMPTED: Final = "prompt"
_DECIDES: Final = {"y": Control.ALLOW, "yes": Control.ALLOW, "n": Control.DENY, "no": Control.DENY}
"""The words to type where a platform has buttons."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What could move the cursor or recolour the screen; text of a model or a web page must not."""


@dataclass(frozen=True, slots=True)
class DrawnText(Drawn):
    """A page as it is printed."""

    body: str
    status: str
    final: bool
    """It ends its line."""
    choices: tuple[Button, ...] = ()
    """Where it asks for a decision: what can be decided."""


def draw(page: Page) -> DrawnText:
    """Return a page without what could move the cursor."""
    status = " · ".join(line.text for line in page.status)
    choices = tuple(button for button in page.buttons if button.mark) if page.final else ()
    return DrawnText(_CONTROL.sub("", page.body), _CONTROL.sub("", status), page.final, choices)


class Screen:
    """Prints pages on the terminal, appending new text; a page that changes otherwise is printed again."""

    def __init__(self, out: TextIO, terminal: bool) -> None:
        """
        Args:
            terminal: a person looks on, so that prompts and statuses are welcome.
        """
        self._out = out
        self.terminal = terminal
        self._printed: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._line_of = ""
        """The page whose line is still open; empty at the start of a line."""
        self._status = ""
        self._choices: dict[str, tuple[Button, ...]] = {}
        """By page: what waits for a decision."""

    def welcome(self, text: str) -> None:
        """Print a first line if a person is at the terminal."""
        if self.terminal:
            self._write(f"{text}\n")

    def ask(self) -> None:
        """Print the prompt if a person is at the terminal."""
        if self.terminal:
            self._end_line()
            self._write(PROMPT)
            self._line_of = _PROMPTED

    def heard(self) -> None:
        """Note that a line was entered."""
        if self.terminal:
            self._line_of = ""

    def show(self, drawn: DrawnText, at: MessageRef | None) -> MessageRef:
        """Print the new part of a page."""
        ref = at or MessageRef(f"{os.getpid()}-{next(self._numbers)}")
        before, body, status = self._printed.get(ref.id, ""), drawn.body, drawn.status
        if body.startswith(before):
            self._go_on(ref, body[len(before) :])
            self._printed[ref.id] = body
        elif drawn.final:
            self._end_line()
            # Of what was asked only the last paragraph changes: it says what became of it.
            self._go_on(ref, body.rpartition("\n\n")[2] if ref.id in self._choices else body)
            self._printed[ref.id] = body
        if self.terminal and status and status != self._status:
            self._end_line()
            self._write(f"\x1b[2m{status}\x1b[0m\n")
        self._status = status
        if drawn.final:
            self._end_line()
            self._offer(ref, drawn.choices)
        return ref

    def find_choice(self, line: str) -> Button | None:
        """Return what a typed line decides about what was asked last; None where nothing waits, or for other words."""
        control = _DECIDES.get(line.lower())
        waiting = next(reversed(self._choices.values()), ())
        return next((button for button in waiting if button.control is control), None)

    def _offer(self, ref: MessageRef, choices: tuple[Button, ...]) -> None:
        """Say once what to type for each choice; without choices nothing waits any more."""
        if not choices:
            self._choices.pop(ref.id, None)
        elif self._choices.get(ref.id) != choices:
            self._choices[ref.id] = choices
            keys = {control: key for key, control in reversed(_DECIDES.items())}
            self._write(" · ".join(f"{keys[one.control]} = {one.label}" for one in choices) + "\n")

    def _go_on(self, ref: MessageRef, text: str) -> None:
        if not text:
            return
        if self._line_of != ref.id:
            self._end_line()
        self._write(text)
        self._line_of = "" if text.endswith("\n") else ref.id

    def _end_line(self) -> None:
        if self._line_of:
            self._write("\n")
            self._line_of = ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def lines_of(source: int) -> asyncio.Queue[str | None]:
    """Yield the lines of a file descriptor as they arrive, then None.

    A thread reads them: an event loop cannot wait for a regular file. It uses no buffer of Python's, whose lock would
    be held while it waits and would stop the interpreter from ending.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def put(line: bytes | None) -> None:
        text = None if line is None else line.decode("utf-8", errors="replace")
        try:
            loop.call_soon_threadsafe(lines.put_nowait, text)
        except RuntimeError:
            return  # the loop has ended before the input

    def read() -> None:
        rest = b""
        with contextlib.suppress(OSError):  # the terminal was closed: its input is over
            while piece := os.read(source, 65536):
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    put(line)
        if rest:
            put(rest)
        put(None)

    threading.Thread(target=read, name="console input", daemon=True).start()
    return lines
