"""Remember the features and lengths that servers refused, so that no request is refused twice for them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
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
    "pictures",
    "system",
    "calls_without_reasoning",
    "answers_without_reasoning",
    "given_back",
    "unsigned_calls",
    "call_ids",
    "empty_content",
    "no_content",
    "schemas",
]
"""A part of a request: native tools, `tool_choice`, `stream_options`, `stop`, the reasoning effort, the limit on the
answer under each of its names, Chat Completions as such, pictures, a system message, and messages of the model without
the reasoning that led to its calls, or to any answer; what else such a message gives back, calls without the server's
signature, ids in another form than nine letters and digits, calls beside an empty content, or beside none, and whole
schemas of tools."""
_STRICTER = {
    "calls_without_reasoning": "answers_without_reasoning",
    "empty_content": "no_content",
    "schemas": "tools",
}
"""The stricter refusal to assume if the first one comes again."""

_MOST_NAMED = 100


@dataclass(slots=True)
class Learned:
    """The parts that one model at one server refuses, its window and its longest answer."""

    refused: set[Part] = field(default_factory=set)
    window: int = 0
    """The model's limit in tokens, by its server; 0 if unknown."""
    longest: int = 0
    """The limit on an answer in tokens, by the server; 0 if unknown."""

    unfit: set[str] = field(default_factory=set)
    """The tools whose schema is refused."""

    _named: set[str] = field(default_factory=set)
    """Unknown words of this server that the log has already named."""

    def is_new(self, word: str) -> bool:
        """Return True the first time that a word occurs, for up to a hundred words."""
        if word in self._named or len(self._named) >= _MOST_NAMED:
            return False
        self._named.add(word)
        return True

    def limit(self, *wanted: int) -> int:
        """Return the least of `wanted` and the server's limit; 0, which means no limit, does not count."""
        return min((one for one in (*wanted, self.longest) if one), default=0)

    def note(self, part: str, known: Container[str] = ()) -> bool:
        """Remember a refusal; return False if asking again would not help.

        Args:
            known: the knowledge when the request was written; other chats may have met the same refusal meanwhile.
        """
        if part in known:
            part = _STRICTER.get(part, part)
        if part not in get_args(Part) or part in known:
            return False
        self.refused.add(cast("Part", part))
        return True
