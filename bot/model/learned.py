"""Remember the features and lengths that servers refused, so that no request is refused twice for them."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal, TypeAlias, cast, get_args

Part: TypeAlias = Literal[
    "tools",
    "tool_choice",
    "usage",
    "stop",
    "effort",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "chat",
]
"""A part of a request: native tools, `tool_choice`, `stream_options`, `stop`, the reasoning effort, the limit on the
answer under each of its names, and Chat Completions as such."""


class Learned:
    """The parts that each (base URL, model) refuses, its window and its longest answer. One object a process."""

    def __init__(self) -> None:
        self._refused: defaultdict[tuple[str, str], set[Part]] = defaultdict(set)
        self._windows: dict[tuple[str, str], int] = {}
        self._longest: dict[tuple[str, str], int] = {}

    def window(self, base_url: str, model: str) -> int:
        """The tokens that this model takes at most, as its server said; 0 where it never did."""
        return self._windows.get((base_url, model), 0)

    def note_window(self, base_url: str, model: str, tokens: int) -> None:
        """Remember what the server said its model takes at most."""
        self._windows[base_url, model] = tokens

    def longest(self, base_url: str, model: str) -> int:
        """The tokens that an answer of this model may have, as its server said; 0 where it never did."""
        return self._longest.get((base_url, model), 0)

    def note_longest(self, base_url: str, model: str, tokens: int) -> None:
        """Remember what the server said an answer may have."""
        self._longest[base_url, model] = tokens

    def limit(self, base_url: str, model: str, *wanted: int) -> int:
        """The least of `wanted` and of what the server allows; 0, which limits nothing, does not count."""
        return min((one for one in (*wanted, self.longest(base_url, model)) if one), default=0)

    def refuses(self, base_url: str, model: str, part: Part) -> bool:
        return part in self._refused.get((base_url, model), ())

    def note(self, base_url: str, model: str, part: str) -> bool:
        """Remember a refusal; whether it is news. A part that is refused although it was left out is none."""
        if part not in get_args(Part) or self.refuses(base_url, model, cast(Part, part)):
            return False
        self._refused[(base_url, model)].add(cast(Part, part))
        return True
