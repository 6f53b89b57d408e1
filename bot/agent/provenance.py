"""Which addresses a conversation brought: those of people and of results, not those that a model made up."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

from bot.agent.echoes import Echoes, leaves_of
from bot.contract import FOREIGN, AssistantEntry, Entry, MessageSent, SystemEntry, ToolEntry, UserEntry, is_from_outside
from bot.markdown import BARE_URL, trim_url
from bot.safety import LinkPolicy, Unknown, clean_untrusted
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolResult, ToolSpec
from tools.fetch.guard import wire_form

SpecOf: TypeAlias = Callable[[str], ToolSpec | None]
"""Finds a tool's spec by its name."""

MOST_READ = 500
"""Addresses of one text, similar to the searched one, that are compared with it."""
_SPACED_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"`]+", re.IGNORECASE)
"""An address up to the next space: its host may have letters of any script."""
_CLOSING = ")]}>'\"，。；：！？、」』）】》”’"
_GOES_ON = r"[A-Za-z0-9_/&=#%+~@\-]"
_PATH = re.compile(r"[/?#]")


def policy_for(question: MessageSent, unknown: Unknown = "code") -> LinkPolicy:
    """Return the link policy for the reply to `question`: it knows the addresses in the message and in its quote."""
    policy = LinkPolicy(unknown=unknown)
    policy.learn(clean_untrusted(question.text))
    # A message of the bot brings nothing: it may contain an address that a model made up.
    for quoted in question.quotes:
        if not quoted.from_bot:
            policy.learn(clean_untrusted(quoted.text))
    for one in question.earlier:
        if not one.from_bot:
            policy.learn(clean_untrusted(one.text))
    return policy


def spec_of(registry: ToolRegistry, entry: AssistantEntry, call: ToolCall) -> ToolSpec | None:
    """Return the declaration of the tool that a pass called; one of another agent's declares nothing."""
    if entry.provider == FOREIGN:
        return ToolSpec(name=call.name, purpose="", parameters={}, effects=True, outside=True)
    return registry.spec(call.name)


def learn_result(policy: LinkPolicy, spec: ToolSpec | None, call: ToolCall, result: ToolResult) -> None:
    """Teach `policy` the addresses in a result: only if it succeeded, and without those of its own call."""
    if result.ok and spec is not None and not spec.echoes:
        policy.learn(clean_untrusted(result.text), unless=_given(spec, call).could_build)


def brings(form: str, entries: Iterable[Entry], person: str, spec_of: SpecOf) -> bool:
    """Return True if an address is in a conversation and not the work of a model that had read words from outside.

    People's messages, their quotes and successful results bring addresses; so does a model's text as long as the model
    had read only our words and those of `person`.

    Args:
        form: the address as `tools.fetch.guard.wire_form` gives it: nothing that is sent may differ.
    """
    calls: dict[str, ToolCall] = {}
    free = False
    for entry in entries:
        brought = False
        match entry:
            case SystemEntry(text, origin):
                brought = not is_from_outside(origin, person) and stands_in(form, text)
            case UserEntry(text, begins=begins):
                brought = stands_in(form, text[begins:])
            case AssistantEntry():
                calls = {call.id: call for call in entry.calls}
                free = not is_from_outside(entry.origin, person)
                brought = free and any(stands_in(form, text) for text in _written(entry))
            case ToolEntry():
                spec, call = spec_of(entry.name), calls.get(entry.call_id)
                if entry.ok and spec is not None and call is not None and not spec.echoes:
                    given = None if free else _given(spec, call)
                    brought = any(
                        given is None or not given.could_build(one)
                        for one in _spellings(form, entry.whole or entry.text)
                    )
        if brought:
            return True
    return False


def stands_in(form: str, text: str) -> bool:
    """Return True if an address is in somebody's text, also without its scheme."""
    if any(_spellings(form, text)):
        return True
    host, path = _parts(form)
    written = {
        name + end for name in _names(host) for one in (path, path.removesuffix("/")) for end in (one, unquote(one))
    }
    either = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    pattern = rf"(?<![A-Za-z0-9_@.\-/:])(?:{either})(?!{_GOES_ON}|[?.:]{_GOES_ON})"
    return any(wire_form(f"http://{one.group()}") == form for one in re.finditer(pattern, text, re.IGNORECASE))


def _spellings(form: str, text: str) -> Iterator[str]:
    """Yield the addresses in running text that are `form` on the wire, as they are written there."""
    host, path = _parts(form)
    names, like = _names(host), _likeness(path)
    lowered = text.lower()
    if not any(name in lowered for name in names):
        return
    word = max(re.findall("[A-Za-z0-9]+", unquote(path)), key=len, default="")
    seen: set[str] = set()
    read = 0
    for pattern in (BARE_URL,) if text.isascii() else (BARE_URL, _SPACED_URL):
        for found in pattern.finditer(text):
            written = found.group()
            # Reading an address as the network does is slow, and a page may contain thousands of similar ones.
            if written in seen or not (word in written or "%" in written or "&" in written):
                continue
            seen.add(written)
            if not any(name in written.lower() for name in names):
                continue
            for one in {written, trim_url(written), trim_url(written.rstrip(_CLOSING)), html.unescape(written)}:
                address = one if "://" in one else f"http://{one}"
                if _likeness(_parts(address.partition("://")[2])[1]) != like:
                    continue
                read += 1
                if wire_form(address) == form:
                    yield one
                elif read > MOST_READ:
                    return


def _parts(form: str) -> tuple[str, str]:
    """Return host and port; path and query."""
    found = _PATH.search(form)
    return (form[: found.start()], form[found.start() :]) if found else (form, "")


def _names(host: str) -> frozenset[str]:
    """Return a host as it is sent, and with the letters that Punycode encodes."""
    try:
        return frozenset({host, host.encode().decode("idna")})
    except UnicodeError:
        return frozenset({host})


def _likeness(path: str) -> str:
    """Return a key that is the same for paths that may be the same on the wire."""
    return re.sub(r"[\W_]", "", unquote(html.unescape(path)).partition("#")[0])


def _written(entry: AssistantEntry) -> list[str]:
    return [entry.text, *(leaf for call in entry.calls for leaf in leaves_of(dict(call.arguments)))]


def _given(spec: ToolSpec, call: ToolCall) -> Echoes:
    """Return a call's arguments without the address that it opened, which its server has already seen."""
    return Echoes({name: value for name, value in call.arguments.items() if name != spec.address})
