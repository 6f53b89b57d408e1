"""Which calls may be made: none of a tool that the person may not use, and few while the model reads words from
outside.

A page, a search result or a quote may tell a model to send the conversation somewhere. So once such words are in the
prompt, a tool that opens addresses opens only those that people or results brought, exactly as written, and a person is
asked about a tool whose arguments may reach others, unless the operator allows the host or the tool. Tools that ask one
service of the operator's choice (a search, an encyclopedia) still run: their arguments reach nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

from bot.agent.provenance import SpecOf, brings, stands_in
from bot.contract import Entry, Permits, allow_everything, is_from_outside, join_origins, matches
from bot.markdown import host_of
from bot.settings import ToolRuleSettings
from tools.contract.base import ToolCall, ToolSpec
from tools.fetch.guard import wire_form

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """The call may be made."""

    follow: Callable[[str], bool] = lambda address: True
    """Returns True for an address to which a page may redirect the call."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call is not made."""

    reason: str
    """The error that the model reads as the call's result."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The call is made if a person allows it."""

    outside: bool = False
    """Because the conversation contains words from outside."""
    changed: bool = False
    """A person allowed it, and the tool has changed since."""


Verdict: TypeAlias = Run | Refuse | Ask
"""The decision about a call."""

_HOST_CHARS = 100
_WITHHELD = (
    "{name} was not run: this conversation holds text from outside, and what {name} is given may reach others. Answer "
    "without it, and say that it can be used in a new conversation (the command new), or when the operator allows it."
)
_NOT_PERMITTED = (
    "{name} was not run: the operator does not leave it to the person who asks here. Answer without it, and do not try "
    "to do the same in another way."
)
_CANNOT_ASK = (
    "{name} was not run: a person must allow it first, and cannot be asked here. Answer without it, and say that it "
    "can be used where this bot's answers have buttons."
)
_DENIED = (
    "{name} was not run: the person was shown the call and refused it. Do not try it again or in another way unless "
    "the person asks for it."
)
_NOT_BROUGHT = (
    "{name} did not open this address: this conversation holds text from outside, so only addresses are opened that "
    "stand in it as they are: in a person's message or in a result. Use one of those, unchanged, or ask the person to "
    "write the address."
)


class CallPolicy:
    """Decides about calls by the words that the model has read; one for the process."""

    def __init__(self, rules: ToolRuleSettings, words: str = "") -> None:
        """
        Args:
            words: the operator's own words, whose addresses may be opened.
        """
        self._hosts = tuple(host.lower() for host in rules.trusted_hosts)
        self._tools = rules.trusted_tools
        self._words = words
        self._confirm = tuple(one for one in rules.confirm_tools if not one.startswith("-"))
        self._unasked = tuple(one[1:] for one in rules.confirm_tools if one.startswith("-"))
        self.untrusted = rules.untrusted_calls

    @property
    def named(self) -> list[tuple[str, str]]:
        """Every setting that names tools, with each name or pattern in it."""
        confirm = [("CONFIRM_TOOLS", name) for name in (*self._confirm, *self._unasked)]
        return confirm + [("TRUSTED_TOOLS", name) for name in self._tools]

    def asks_first(self, spec: ToolSpec) -> bool:
        """Return True if a person is asked before this tool runs."""
        if matches(spec.name, self._confirm):
            return True
        return spec.asks and not matches(spec.name, self._unasked)

    def trusts_tool(self, name: str) -> bool:
        """Return True if the operator lets this tool run in any case."""
        return matches(name, self._tools)

    def trusts_address(self, address: str) -> bool:
        """Return True if the operator allows every page of this address's host."""
        host = wire_form(address).partition("/")[0].partition(":")[0]
        return bool(host) and any(fnmatchcase(host, pattern) for pattern in self._hosts)

    def names(self, form: str) -> bool:
        """Return True if the operator's own words contain this address."""
        return stands_in(form, self._words)


@dataclass(slots=True)
class Clearance:
    """Decides which calls a model may make that reads `_entries`, for `_person`, with the rights in `_permits`, and
    whether `_may_ask`."""

    _policy: CallPolicy
    _entries: tuple[Entry, ...]
    _person: str
    _spec_of: SpecOf
    _permits: Permits = allow_everything
    _may_ask: bool = True
    origin: str = field(init=False)
    """The origin of the words that led to the calls."""
    _known: dict[str, bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.origin = join_origins(entry.origin for entry in self._entries)

    @property
    def outside(self) -> bool:
        """The model has read words from outside."""
        return is_from_outside(self.origin, self._person)

    def withheld(self, specs: Iterable[ToolSpec]) -> set[str]:
        """Return which of these tools must not be called whatever their arguments are, as these may reach others."""
        if self._asks_about_tools or not self.outside:
            return set()
        return {spec.name for spec in specs if spec.outside and not self._policy.trusts_tool(spec.name)}

    def _may_reach_others(self, spec: ToolSpec) -> bool:
        return spec.outside and self.outside and not self._policy.trusts_tool(spec.name)

    @property
    def _asks_about_tools(self) -> bool:
        return self._may_ask and self._policy.untrusted != "refuse"

    def judge(self, spec: ToolSpec, call: ToolCall, *, allowed: bool | None = None) -> Verdict:
        """Decide about one call that the model requests.

        Args:
            allowed: a person's decision about this very call; None: nobody was asked.
        """
        if spec.name not in self._permits({spec.name}):
            log.info("%s was not run: %s may not use it there", spec.name, self._person)
            return Refuse(_NOT_PERMITTED.format(name=spec.name))
        if allowed is False:
            return Refuse(_DENIED.format(name=spec.name))
        if allowed:
            return self._run_allowed(spec, call)
        if self._may_reach_others(spec):
            return Ask(outside=True) if self._asks_about_tools else Refuse(_WITHHELD.format(name=spec.name))
        verdict = self._judge_address(spec, call)
        if isinstance(verdict, Run) and self._policy.asks_first(spec):
            return Ask() if self._may_ask else Refuse(_CANNOT_ASK.format(name=spec.name))
        return verdict

    def _judge_address(self, spec: ToolSpec, call: ToolCall) -> Verdict:
        address = call.arguments.get(spec.address) if spec.address else None
        if address is None:
            return Run()
        address = str(address)
        host = host_of(address)[:_HOST_CHARS]
        log.info("%s wants to open an address at %r", spec.name, host)
        if not self.outside or self._policy.trusts_tool(spec.name) or self._is_brought(address):
            return Run()
        if self._policy.trusts_address(address):
            # A page there may pass on what the model has put into the address.
            return Run(self._may_follow)
        if self._may_ask and self._policy.untrusted == "ask":
            return Ask(outside=True)
        log.warning(
            "%s may not open %r: the model wrote an address that is in no message and no result",
            spec.name,
            host,
        )
        return Refuse(_NOT_BROUGHT.format(name=spec.name))

    def _run_allowed(self, spec: ToolSpec, call: ToolCall) -> Run:
        """Run a call that a person allowed; a page that it opens may redirect it only within its host."""
        address = call.arguments.get(spec.address) if spec.address else None
        if address is None or not self.outside:
            return Run()
        host = host_of(str(address))
        return Run(lambda next: host_of(next) == host or self._may_follow(next))

    def _may_follow(self, address: str) -> bool:
        return self._policy.trusts_address(address) or self._is_brought(address)

    def _is_brought(self, address: str) -> bool:
        form = wire_form(address)
        if form not in self._known:
            self._known[form] = bool(form) and (
                self._policy.names(form) or brings(form, self._entries, self._person, self._spec_of)
            )
        return self._known[form]
