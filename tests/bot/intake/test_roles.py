"""What of receiving and answering no process does."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bot.contract import StoreError
from bot.intake import Platforms, Roles
from bot.intake.ownership import Role
from bot.intake.roles import find_lack
from tests.bot.store.conftest import HandClock


class Two:
    """This process, and another one."""

    def __init__(self, role: Role, clock: HandClock) -> None:
        self.role = role
        self.others: list[set[Role] | None] = []
        self.listens: list[str] = []
        self._clock = clock

    def report(self, listens: str) -> None:
        self.listens.append(listens)

    async def roles(self) -> set[Role]:
        if not self.others:
            raise asyncio.CancelledError
        if (found := self.others.pop(0)) is None:
            raise StoreError("out of reach")
        return found


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({Role.ALL}, ""),
        ({Role.INTAKE, Role.TURNS}, ""),
        ({Role.INTAKE}, "no process answers"),
        ({Role.TURNS}, "no process receives"),
    ],
)
def test_what_no_process_does_is_named(roles: set[Role], said: str) -> None:
    assert find_lack(roles).startswith(said) and bool(find_lack(roles)) == bool(said)


async def test_what_nobody_does_is_said_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = HandClock()
    two = Two(Role.INTAKE, clock)
    two.others = [{Role.INTAKE}, {Role.INTAKE}, None, {Role.INTAKE, Role.TURNS}, {Role.INTAKE, Role.TURNS}]
    roles = Roles(clock, two)

    with pytest.raises(asyncio.CancelledError):
        await roles.watch(Platforms({}, clock))

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and said[0].startswith("no process answers") and said[1].endswith("answered again")
    assert roles.state == {"role": "intake"} and two.listens == [""] * 6


async def test_what_nobody_does_is_told_to_who_watches() -> None:
    clock = HandClock()
    two = Two(Role.TURNS, clock)
    two.others = [{Role.TURNS}]
    roles = Roles(clock, two)
    with pytest.raises(asyncio.CancelledError):
        await roles.watch(Platforms({}, clock))

    assert roles.state["role"] == "turns" and str(roles.state["lack"]).startswith("no process receives")


async def test_a_process_alone_does_everything_and_tells_nobody() -> None:
    roles = Roles(HandClock(), None)

    await roles.watch(Platforms({}, HandClock()))

    assert roles.state == {"role": "all"}
