"""This process's role in receiving and answering, and whether another process has the other one."""

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
"""The name under which answering processes publish their tools' names."""


def find_lack(roles: Collection[Role]) -> str:
    """Return the sentence about the work that no process with these roles does; empty if all is done."""
    if not any(role.answers for role in roles):
        return (
            "no process answers: what people write is stored, and waits for a `parley run` or `parley run --only turns`"
        )
    if not any(role.receives for role in roles):
        return "no process receives what people write: that takes a `parley run` or `parley run --only intake`"
    return ""


class Members(Sessions, Protocol):
    """The processes on the database, as one of them knows them."""

    role: Role

    def report(self, listens: str) -> None:
        """Publish the platforms from which this process receives now."""
        ...

    async def roles(self) -> Collection[Role]:
        """Return the roles of the living processes.

        Raises:
            StoreError: it cannot be determined now.
        """
        ...


class Roles:
    """This process's role, and the missing ones; one object for the process."""

    def __init__(self, clock: Clock, members: Members | None, list_tools: Callable[[], Iterable[str]] = tuple) -> None:
        """
        Args:
            members: None if this process is alone and does everything.
            list_tools: returns the names of this process's tools.
        """
        self._clock = clock
        self._members = members
        self._list_tools = list_tools
        self._told_tools = ""
        self.role = Role.ALL if members is None else members.role
        self.lack = ""
        """The sentence about the work that no process does; empty if all is done."""

    @property
    def state(self) -> dict[str, Json]:
        """Its part of `/ready` and `/state`."""
        told: dict[str, Json] = {"role": str(self.role)}
        return told | {"lack": self.lack} if self.lack else told

    async def list_tools(self) -> tuple[str, ...]:
        """Return the names of the tools that answer questions, in this process or in others.

        Raises:
            StoreError: it cannot be determined now.
        """
        if self._members is None or self.role.answers:
            return tuple(self._list_tools())
        return tuple((await self._members.recall(_TOOLS)).split())

    async def watch(self, platforms: Platforms) -> None:
        """Publish what this process receives, and report missing roles to the operator, until cancelled."""
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
        """Publish the names of the tools for processes without tools, whenever they change."""
        if (tools := " ".join(self._list_tools())) != self._told_tools:
            with suppress(StoreError):  # reported at the next check
                await members.leave(_TOOLS, tools)
                self._told_tools = tools

    async def _look(self, members: Members) -> None:
        try:
            lack = find_lack(await members.roles())
        except StoreError:
            return  # the known state is a second old
        if lack != self.lack:
            if lack:
                log.warning("%s", lack)
            else:
                log.info("messages are received and answered again")
            self.lack = lack
