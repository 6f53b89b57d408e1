"""Errors of MCP servers, named for what to do next."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar


class McpConfigError(Exception):
    """The configuration is wrong; the text says what to change, and trying again does not help."""


class ServerGone(Exception):
    """The connection ended before the answer: the request may or may not have been carried out."""


class ServerRefused(Exception):
    """The server answered a request with a protocol error, or with something that is not an answer."""


@dataclass(slots=True)
class LastWords:
    """The last lines that a program wrote to standard error and its exit code, the only signs of why it ended."""

    KEPT: ClassVar = 3

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LastWords.KEPT))
    exit_code: int | None = None

    def take(self, line: str) -> None:
        """Keep a line, unless it is blank."""
        if line.strip():
            self.lines.append(line.strip())

    def cut(self, why: str) -> None:
        """Replace its text by our reason for ending it."""
        self.lines.clear()
        self.take(why)

    def sentence(self) -> str:
        """Return one line for the operator; empty if there is nothing to say."""
        how = "" if self.exit_code is None else f"exit code {self.exit_code}"
        said = " | ".join(self.lines)
        return f"{how}; its last words: {said}".removeprefix("; ") if said else how
