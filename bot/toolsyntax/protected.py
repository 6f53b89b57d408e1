"""Collects the visible text, and knows where calls cannot be: in fences and inline code."""

from __future__ import annotations

import re
from typing import Final

from bot.toolsyntax.pieces import Call, Piece, Reasoning, Text, Withdrawn

_MARK: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}\Z")


class Visible:
    """Takes visible text in order, and knows the position on its line.

    Whitespace at the end waits for the next visible character; a call, or the end, drops it.
    """

    def __init__(self) -> None:
        self._out: list[Piece] = []
        self._given = False
        """Some of it was emitted."""
        self._run: list[str] = []
        self._thought: list[str] = []
        self._spaces: list[str] = []
        self._line: list[str] = []
        """The line so far, as long as it may precede a fence."""
        self.wrote = False
        self.fresh = True
        """Nothing was written since the reply, or since its latest reasoning."""
        self.thought = False
        self.blank = True
        """Nothing but whitespace is visible on this line."""
        self.inline = 0
        """How many backticks opened the present inline code; 0 outside."""

    @property
    def starts_fence(self) -> bool:
        """This line so far can precede a fence: spaces, quote marks, list marks."""
        return self.blank or (self.inline == 0 and _MARK.match("".join(self._line)) is not None)

    def write(self, text: str) -> None:
        """Add visible text."""
        if not text:
            return
        newline = text.rfind("\n")
        line = text[newline + 1 :]
        if newline >= 0:
            self.inline = 0
            self.blank = True
            self._line.clear()
        if line and not line.isspace():
            self.blank = False
        if len(self._line) < 40:
            self._line.append(line[:80])
        stripped = text.rstrip()
        if not stripped:
            self._spaces.append(text)
            return
        if self._thought:
            self._close_run()
        if self.wrote:
            self._run += self._spaces
        else:
            text = text.lstrip()
            stripped = text.rstrip()
        self._spaces.clear()
        self.wrote = True
        self.fresh = False
        self._run.append(stripped)
        if len(stripped) < len(text):
            self._spaces.append(text[len(stripped) :])

    def drop_spaces(self) -> None:
        """Drop the whitespace before a call here."""
        self._spaces.clear()

    def add(self, piece: Piece) -> None:
        """Put a non-text piece in its place between the texts."""
        self._close_run()
        self._out.append(piece)

    def think(self, text: str) -> None:
        """Add reasoning."""
        self.fresh = self.thought = True
        if text:
            if self._run:
                self._close_run()
            self._thought.append(text)

    @property
    def spaced(self) -> bool:
        """Whitespace comes last."""
        return bool(self._spaces)

    def withdraw(self) -> None:
        """Turn all text into thoughts, and drop all calls."""
        self._close_run()
        self._spaces.clear()
        out = [Reasoning(piece.text) if isinstance(piece, Text) else piece for piece in self._out]
        self._out = [piece for piece in out if not isinstance(piece, Call)]
        if self._given:
            self._out.insert(0, Withdrawn())
        self._given = self.wrote = False
        self.fresh = self.thought = self.blank = True

    def take(self) -> list[Piece]:
        """Return what has accumulated since the last time."""
        self._close_run()
        out, self._out = self._out, []
        self._given = self._given or any(isinstance(piece, Text | Call) for piece in out)
        return out

    def _close_run(self) -> None:
        if self._thought:
            self._out.append(Reasoning("".join(self._thought)))
            self._thought.clear()
        if self._run:
            self._out.append(Text("".join(self._run)))
            self._run.clear()
