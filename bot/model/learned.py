"""What servers turned out not to understand, remembered so that nobody has to be refused twice."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal, TypeAlias, cast, get_args

Part: TypeAlias = Literal["tools", "tool_choice", "usage", "stop", "effort", "chat"]
"""A part of a request: native tools, `tool_choice`, `stream_options`, `stop`, the reasoning effort, and
Chat Completions as such."""


class Learned:
    """The parts that each (base URL, model) refuses. One object a process, handed in."""

    def __init__(self) -> None:
        self._refused: defaultdict[tuple[str, str], set[Part]] = defaultdict(set)

    def refuses(self, base_url: str, model: str, part: Part) -> bool:
        return part in self._refused.get((base_url, model), ())

    def note(self, base_url: str, model: str, part: str) -> bool:
        """Remember a refusal; whether it is news. A part that is refused although it was left out is none."""
        if part not in get_args(Part) or self.refuses(base_url, model, cast(Part, part)):
            return False
        self._refused[(base_url, model)].add(cast(Part, part))
        return True
