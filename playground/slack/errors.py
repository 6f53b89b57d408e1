"""How a Web API method says no."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
"""One JSON object, as it travels."""


class Refused(Exception):
    """The method refuses; the caller gets HTTP 200 with `ok: false` and this error string."""

    def __init__(self, error: str, **extra: Any) -> None:
        super().__init__(error)
        self.error = error
        self.extra = extra


def missing(field: str) -> Refused:
    """The refusal for a required argument that was not sent."""
    return Refused("invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required field: {field}"]})
