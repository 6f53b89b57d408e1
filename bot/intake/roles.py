"""What a process does of receiving and answering, and whether another one does the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Protocol

from bot.contract import Clock, StoreError
from bot.intake.ownership import LOOK_SECONDS, Role, Sessions
from bot.intake.platforms import Platforms
from tools.contract.base import Json

log = logging.getLogger(__name__)

_TOOLS = "tools"
"""Under which name processes that answer leave the names of their tools."""


def find_lack(roles: Collection[Role]) -> str:
    """Return what no process with these roles does, in a sentence; empty if all is done."""
    if not any(role.answers for role in roles):
        return (
            "no process answers: what people write is stored, and waits for a `parley run` or `parley run --only turns`"
        )
    if not any(role.receives for role in roles):
        return "no process receives what people write: that takes a `parley run` or `parley run --only intake`"
    return ""


class Members(Sessions, Protocol):
    """The processes that share the database, as one of them knows them."""

    role: Role

    def report(self, listens: str) -> None:
        """Let the others know from which platforms this process receives now."""
        ...

    async def roles(self) -> Collection[Role]:
        """Return the roles of the processes that are alive.

        Raises:
            StoreError: that cannot be known now.
        """
        ...


class Roles:
    """This process's role, and what no process does; one object for the process."""

    def __init__(self, clock: Clock, members: Members | None, list_tools: Callable[[], Iterable[str]] = tuple) -> None:
        """
        Args:
            members: None where there is this process alone, which does everything.
            list_tools: returns the names of this process's tools.
        """
        self._clock = clock
        self._members = members
        self._list_tools = list_tools
        self._told_tools = ""
        self.role = Role.ALL if members is None else members.role
        self.lack = ""
        """What no process does, in a sentence; empty if all is done."""

    @property
    def state(self) -> dict[str, Json]:
        """What `/ready` and `/state` tell of it."""
        told: dict[str, Json] = {"role": str(self.role)}
        return told | {"lack": self.lack} if self.lack else told

    async def list_tools(self) -> tuple[str, ...]:
        """Return the names of the tools with which questions are answered, by this process or by others.

        Raises:
            StoreError: that cannot be known now.
        """
        if self._members is None or self.role.answers:
            return tuple(self._list_tools())
        return tuple((await self._members.recall(_TOOLS)).split())

    async def watch(self, platforms: Platforms) -> None:
        """Tell the others what this process receives from, and the operator what nobody does, until cancelled."""
        if self._members is None:
            return
        while True:
            listens = [name for name, state in platforms.state.items() if state == "listening"]
            self._members.report(", ".join(sorted(listens)))
            if self.role is not Role.ALL:
                await self._look(self._members)
            if self.role.answers:
                await self._tell_tools(self._members)
            await self._clock.sleep(LOOK_SECONDS)

    async def _tell_tools(self, members: Members) -> None:
        """Leave the names of the tools for processes that have none, whenever they are others."""
        if (tools := " ".join(self._list_tools())) != self._told_tools:
            with suppress(StoreError):  # told with the next look
                await members.leave(_TOOLS, tools)
                self._told_tools = tools

    async def _look(self, members: Members) -> None:
        try:
            lack = find_lack(await members.roles())
        except StoreError:
            return  # what is known is of a second ago
        if lack != self.lack:
            if lack:
                log.warning("%s", lack)
            else:
                log.info("messages are received and answered again")
            self.lack = lack
