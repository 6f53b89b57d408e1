"""What can go wrong with an MCP server, named for what to do next."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar


class McpConfigError(Exception):
    """The configuration cannot be used; the text says what to mend, and trying again does not help."""


class ServerGone(Exception):
    """The connection ended: what was asked has no answer, and may or may not have been done."""


class ServerRefused(Exception):
    """The server answered a request with an error of the protocol, or with something that is no answer."""


@dataclass(slots=True)
class LastWords:
    """What a program wrote to standard error last, and how it ended: why it ended stands nowhere else."""

    KEPT: ClassVar = 3

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LastWords.KEPT))
    exit_code: int | None = None

    def take(self, line: str) -> None:
        """Remember a line, unless it is blank."""
        if line.strip():
            self.lines.append(line.strip())

    def sentence(self) -> str:
        """One line for the operator; empty where there is nothing to tell."""
        how = "" if self.exit_code is None else f"exit code {self.exit_code}"
        said = " | ".join(self.lines)
        return f"{how}; its last words: {said}".removeprefix("; ") if said else how
