"""Which tools a person may use in a chat: one answer for listing, offering and running them.

`TOOLS_OFF` switches tools off for everybody, `TOOLS_FOR` reserves some for people, roles and chats, and `CHANNELS_FILE`
names the tools of single chats. The rights are those of the asker: nothing that others wrote in the chat, or that a
model makes of it, changes them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from bot.contract import ADMINS, Incoming, MessageSent, Sender, SettingsError, matches
from bot.policy.access import ids_of
from bot.sentences import say
from bot.settings import ChannelsFile
from tools.calling.registry import ToolRegistry
from tools.contract.nearness import closest

log = logging.getLogger(__name__)

SERVERS_SECONDS: Final = 30.0
"""How long MCP servers may take to list their tools before names count as wrong."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What one person may use in one chat."""

    off: tuple[str, ...] = ()
    """Names and patterns of the tools that are off in this chat."""
    limits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names and patterns of reserved tools, with the ids that each is reserved for."""
    ids: frozenset[str] = frozenset()
    """The ids by which the limits can name this person: own id, roles, chat, `admins`."""
    only: tuple[str, ...] = ()
    """Names and patterns of the only tools of this chat; empty: all but `off`."""

    is_open: bool = field(init=False)
    """Nothing is off or reserved: no tool needs a check."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_open", not (self.off or self.limits or self.only))

    def allows(self, name: str) -> bool:
        """Return True if the person may use the tool; if several lines name it, all must list them."""
        return self.is_open or (not self.is_off(name) and self.may_read(name))

    def select(self, names: Set[str]) -> Set[str]:
        """Return which of these tools may be used."""
        return names if self.is_open else {name for name in names if self.allows(name)}

    def may_read(self, name: str) -> bool:
        """Return True if the tool's results for others here may be read: a tool that is off now was reserved for
        nobody."""
        return all(self.ids.intersection(who) for pattern, who in self.limits if fnmatchcase(name, pattern))

    def is_off(self, name: str) -> bool:
        """Return True if nobody may use the tool in this chat."""
        return matches(name, self.off) or (bool(self.only) and not matches(name, self.only))


_NO_TOOLS: Final = Permit(off=("*",))


@dataclass(eq=False, repr=False)
class ToolRights:
    """Decides what a person may use; one for the process."""

    registry: ToolRegistry
    admin: Callable[[Sender], Awaitable[bool]] | None = None
    """Tells who is an admin; without it nobody is."""
    _: KW_ONLY
    off: Sequence[str] = ()
    """The tools that are off for everybody; the registry knows them."""
    limits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    channels: ChannelsFile = field(default_factory=ChannelsFile)

    def __post_init__(self) -> None:
        self._admins_named = any(ADMINS in who for _, who in self.limits)

    async def permit_for(self, message: Incoming) -> Permit:
        """Return what the sender of `message` may use in its chat."""
        if isinstance(message, MessageSent) and message.alone:
            return _NO_TOOLS
        channel = self.channels.channel_of(message.chat)
        permit = Permit(channel.tools_off, only=channel.tools_only)
        if not self.limits:
            return permit
        known = ids_of(message)
        if self._admins_named and self.admin is not None and await self.admin(message.sender):
            known |= {ADMINS}
        return replace(permit, limits=self.limits, ids=frozenset(known))

    def is_limited(self, name: str) -> bool:
        """Return True if the tool is reserved for some."""
        return matches(name, (pattern for pattern, _ in self.limits))

    @property
    def named(self) -> list[tuple[str, str]]:
        """Every setting that names tools, with each name or pattern in it."""
        found = [("TOOLS_OFF", name) for name in self.off] + [("TOOLS_FOR", name) for name, _ in self.limits]
        return found + [
            ("CHANNELS_FILE", name)
            for channel in self.channels.channels.values()
            for name in (*channel.tools_only, *channel.tools_off)
        ]

    @property
    def lines(self) -> list[str]:
        """Return the tools that are off or reserved, a line each, for the operator."""
        off = [f"tools switched off: {', '.join(self.off)}"] if self.off else []
        off += [
            f"tools in {chat}: {', '.join(channel.tools.value)}"
            for chat, channel in self.channels.channels.items()
            if channel.tools is not None
        ]
        return off + [f"{tool} is reserved for {', '.join(who)}" for tool, who in self.limits]

    def explain_closed(self, permit: Permit, language: str) -> Mapping[str, str]:
        """Return the tools that a person may not use, by name, each with the sentence about it."""
        off = dict.fromkeys(self.registry.switched_off, "tool_off")
        for spec in () if permit.is_open else self.registry.specs():
            if not permit.allows(spec.name):
                off[spec.name] = "tool_off" if permit.is_off(spec.name) else "tool_not_yours"
        return {name: say(key, language, name=name) for name, key in off.items()}


async def check_tools(registry: ToolRegistry, named: Iterable[tuple[str, str]]) -> None:
    """Check that every tool in the settings exists, as far as is known before servers answer, and log the tools with
    faults.

    Raises:
        SettingsError: some do not exist; a sentence for each.
    """
    if not registry.runs:
        return  # the servers' part reports it
    for name, why in registry.broken.items():
        log.error("the tool %s is off: %s", name, why)
    faults = [f"{name} cannot be used: {why}" for name, why in registry.faults.items()]
    if wrong := [*faults, *await find_misnamed(registry, named, 0.0)]:
        raise SettingsError(*wrong)


async def try_tools(registry: ToolRegistry, named: Iterable[tuple[str, str]]) -> None:
    """Try the tools that only a trial can check, and log those that settings name wrongly."""
    if not registry.runs:
        return
    await registry.prove()
    for sentence in await find_misnamed(registry, named, SERVERS_SECONDS):
        log.warning("%s", sentence)


async def find_misnamed(registry: ToolRegistry, named: Iterable[tuple[str, str]], seconds: float) -> list[str]:
    """Return a sentence for each name or pattern that matches no tool.

    Args:
        named: settings and their names.
        seconds: how long to wait for servers, which bring their own tools; 0: start none for this.
    """
    named = list(dict.fromkeys(named))
    if not named:
        return []
    if seconds:
        await registry.settle(seconds)
    names = registry.known
    said = []
    for setting, pattern in named:
        # The tools of a server that is not running are unknown.
        if any(fnmatchcase(name, pattern) for name in names) or registry.could_bring(pattern):
            continue
        near = closest(pattern.lower(), names, 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else "`parley tools` lists them"
        said.append(f"{setting} names {pattern[:60]!r}, and there is no such tool; {hint}")
    return said
