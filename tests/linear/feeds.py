"""What takes text from outside, and how it is fed. Loaded with `runpy`, as this folder is no package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adapters import slack_events

ME = slack_events.Me("T1", "U1", "B1")


def _event(text: str) -> Mapping[str, Any]:
    event: dict[str, Any] = {
        "type": "message",
        "channel": "D1",
        "channel_type": "im",
        "user": "U2",
        "ts": "1.0",
        "text": text,
    }
    return {
        "type": "event_callback",
        "event_id": "Ev1",
        "event": event | {"attachments": [{"is_share": 1, "text": text}]},
    }


def _same(text: str) -> str:
    return text


FED: dict[str, Callable[[str], object]] = {
    "adapters.slack_events.incoming": lambda text: slack_events.incoming(_event(text), ME, _same),
    "adapters.slack_events.people_in": lambda text: slack_events.people_in(_event(text)),
    "adapters.slack_events.readable": lambda text: slack_events.readable(text, ME, _same),
    "adapters.slack_events.decoded": slack_events.decoded,
}


def _runs(*units: str) -> dict[str, Callable[[int], str]]:
    return {repr(unit): lambda size, unit=unit: (unit * (size // len(unit) + 1))[:size] for unit in units}


SHAPES: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: " " * size,
    "spaces between letters": lambda size: "a" + " " * size + "b",
    **_runs("\n", "\t\n", "<", "[", "`", "a\u0301", "|", "https://a.b/", "*"),
}
