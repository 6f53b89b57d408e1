"""What takes text from outside, and how it is fed. Loaded with `runpy`, as this folder is no package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from adapters import slack_events
from adapters.formatting import layout, slack_marks, telegram_html, telegram_live
from bot import addresses, cutting, graphemes, linkpolicy, links, sources, terms, unfinished
from bot.brought import brings, learn_result, stands_in
from bot.given import Given
from bot.links import LinkPolicy
from bot.messages import ChatId, MessageSent, Quoted, ReplyTarget, Sender
from bot.question import user_entry
from bot.transcript import AssistantEntry, ToolEntry, UserEntry
from bot.untrusted import spoken
from tools.base import Source, ToolCall, ToolResult, ToolSpec
from tools.fetch.guard import wire_form

ME = slack_events.Me("T1", "U1", "B1")


def _event(text: str) -> Mapping[str, Any]:
    event: dict[str, Any] = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U2", "ts": "1.0"}
    event |= {"text": text, "attachments": [{"is_share": True, "text": text}]}
    return {"type": "event_callback", "event_id": "Ev1", "event": event}


def _same(text: str) -> str:
    return text


def _footer(text: str) -> str:
    citations = sources.Citations()
    citations.add([Source("Tea", "https://example.org/tea", 1)])
    return citations.footer(f"Tea is a leaf [1].\nSources:\n{text}", "en")


def _streamed(new: Callable[[], Any], size: int) -> Callable[[str], object]:
    """A filter of a stream, fed in pieces of so many characters."""

    def feed(text: str) -> None:
        one = new()
        for start in range(0, len(text), size):
            one.feed(text[start : start + size])
        one.finish()

    return feed


def _policy() -> links.LinkFilter:
    return links.LinkFilter(linkpolicy.LinkPolicy())


FED: dict[str, Callable[[str], object]] = {
    "adapters.formatting.layout.taken_apart": layout.taken_apart,
    "adapters.formatting.layout.width": layout.width,
    "adapters.formatting.slack_marks.as_text": lambda text: slack_marks.as_text(slack_marks.held(text)),
    "adapters.formatting.telegram_html.visible_length": telegram_html.visible_length,
    "adapters.formatting.telegram_live.defanged": telegram_live.defanged,
    "adapters.slack_events.incoming": lambda text: slack_events.incoming(_event(text), ME, _same),
    "adapters.slack_events.people_in": lambda text: slack_events.people_in(_event(text)),
    "adapters.slack_events.readable": lambda text: slack_events.readable(text, ME, _same),
    "bot.addresses.bare_url": lambda text: addresses.bare_url(f"https://a.b/{text}", 0),
    "bot.addresses.host_of": lambda text: addresses.host_of(f"https://{text}"),
    "bot.addresses.trim_url": addresses.trim_url,
    "bot.cutting.border_at": lambda text: cutting.border_at(text, len(text) - 1, 3600, "a"),
    "bot.cutting.find_cut": lambda text: cutting.find_cut(text, 0, 3600, len, 3600),
    "bot.graphemes.boundary_before": lambda text: graphemes.boundary_before(text, len(text) - 1),
    "bot.linkpolicy.LinkPolicy.learn": lambda text: linkpolicy.LinkPolicy().learn(text),
    "bot.linkpolicy.LinkPolicy.shown": lambda text: linkpolicy.LinkPolicy().shown(text, f"https://a.b/{text}"),
    "bot.linkpolicy.hides_host": lambda text: linkpolicy.hides_host(text, "https://example.org"),
    "bot.links.LinkFilter.feed": _streamed(_policy, 10**9),
    "bot.links.LinkFilter.feed, in pieces": _streamed(_policy, 16),
    "bot.sources.Citations.footer": _footer,
    "bot.sources.source_line": lambda text: sources.source_line(Source(text, text)),
    "bot.terms.terms_of": terms.terms_of,
    "bot.unfinished.close_open": unfinished.close_open,
}
"""Name → what is fed: the function that is named, or all of a class by way of the method that is named."""


def _runs(*units: str) -> dict[str, Callable[[int], str]]:
    return {repr(unit): lambda size, unit=unit: (unit * (size // len(unit) + 1))[:size] for unit in units}


SHAPES: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: " " * size,
    "spaces between letters": lambda size: "a" + " " * size + "b",
    "newlines between letters": lambda size: "a" + "\n" * size + "b",
    "backticks of all lengths": lambda size: " ".join("`" * run for run in range(1, int((2 * size) ** 0.5))),
    "one long string in JSON": lambda size: json.dumps({"a": "x" * size}),
    **_runs("\n", "\t\n", "- a\n", "> ", "|a|b|\n", "|-|-|\n", "_\n"),
    **_runs("<", "<a>", "</", "[", "](", ":[a](", '[a](b "', "![", "(", ")", "{", '{"a":', "}", "`", "``` "),
    **_runs('"', "it's ", "\\", '\\"', "\u0301 ", "a\u0301\u0302", "\U0001f1e9\U0001f1ea", "漢字a", "\u200d", "\x00"),
    **_runs("*", "_", "*a ", "a* ", "_a_", "a~~ ", "|", "a-", "a.", ".", "1,", "@", "a@", "https://a.b/c ", "&amp;"),
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
