"""What takes text from outside, and how it is fed. Loaded with `runpy`, as this folder is no package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adapters import slack_events
from bot.brought import brings, learn_result, stands_in
from bot.given import Given
from bot.links import LinkPolicy
from bot.messages import ChatId, MessageSent, Quoted, ReplyTarget, Sender
from bot.question import user_entry
from bot.transcript import AssistantEntry, ToolEntry, UserEntry
from bot.untrusted import spoken
from tools.base import ToolCall, ToolResult, ToolSpec
from tools.fetch.guard import wire_form

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

SPEC = ToolSpec(name="look", purpose="Look.", parameters={})


def _call(text: str) -> ToolCall:
    return ToolCall("a", "look", {"query": text})


def _asked(text: str) -> MessageSent:
    return MessageSent(
        delivery="1",
        chat=ChatId("telegram", "42", "-5"),
        sender=Sender(id="telegram:7", name=text),
        target=ReplyTarget("telegram"),
        text=text,
        group=True,
        quoted=Quoted(text=text, author=text),
    )


def _told(text: str) -> list[UserEntry | AssistantEntry | ToolEntry]:
    answer = AssistantEntry(text, (_call(text),), origin="outside")
    return [UserEntry(text, "telegram:7"), answer, ToolEntry("a", "look", text)]


FED |= {
    "bot.brought.brings": lambda text: brings("a.b/c?d=1", _told(text), "telegram:7", lambda name: SPEC),
    "bot.brought.stands_in": lambda text: stands_in("a.b/c?d=1", text),
    "bot.brought.learn_result": lambda text: learn_result(LinkPolicy(), SPEC, _call("tea"), ToolResult(text=text)),
    "bot.given.Given": lambda text: Given({"query": text}).built(f"https://a.b/{text}"),
    "bot.question.user_entry": lambda text: user_entry(_asked(text)),
    "bot.untrusted.spoken": lambda text: spoken("Ada", text),
    "tools.fetch.guard.wire_form": lambda text: wire_form(f"https://a.b/{text}"),
}
