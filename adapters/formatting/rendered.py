"""The result of a renderer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rendered:
    """One page in a platform's own notation."""

    text: str
    length: int
    """As the platform counts it against its limit."""
    entities: int = 0
    """Stretches of special text, where the platform limits them."""
