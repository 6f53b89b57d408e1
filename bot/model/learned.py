"""What servers turned out not to understand or to hold, remembered so that nobody has to be refused twice."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal, TypeAlias, cast, get_args

Part: TypeAlias = Literal["tools", "tool_choice", "usage", "stop", "effort", "chat"]
"""A part of a request: native tools, `tool_choice`, `stream_options`, `stop`, the reasoning effort, and
Chat Completions as such."""


class Learned:
    """The parts that each (base URL, model) refuses, and its window. One object a process, handed in."""

    def __init__(self) -> None:
        self._refused: defaultdict[tuple[str, str], set[Part]] = defaultdict(set)
        self._windows: dict[tuple[str, str], int] = {}

    def window(self, base_url: str, model: str) -> int:
        """The tokens that this model takes at most, as its server said; 0 where it never did."""
        return self._windows.get((base_url, model), 0)

    def note_window(self, base_url: str, model: str, tokens: int) -> None:
        """Remember what the server said its model takes at most."""
        self._windows[base_url, model] = tokens

    def refuses(self, base_url: str, model: str, part: Part) -> bool:
        return part in self._refused.get((base_url, model), ())

    def note(self, base_url: str, model: str, part: str) -> bool:
        """Remember a refusal; whether it is news. A part that is refused although it was left out is none."""
        if part not in get_args(Part) or self.refuses(base_url, model, cast(Part, part)):
            return False
        self._refused[(base_url, model)].add(cast(Part, part))
        return True
