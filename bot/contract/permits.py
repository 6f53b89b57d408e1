"""Which tools somebody may use, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from fnmatch import fnmatchcase
from typing import TypeAlias

Permits: TypeAlias = Callable[[Set[str]], Set[str]]
"""Returns which of these tools may be used, by their names."""


def allow_everything(names: Set[str]) -> Set[str]:
    """The `Permits` of a person who may use every tool."""
    return names


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return True if one of these names or patterns (`github__*`) means the tool."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
