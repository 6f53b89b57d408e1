"""What of receiving and answering no process does."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from bot.app import App
from bot.contract import MessageSent, StoreError
from bot.intake import Platforms, Roles
from bot.intake.ownership import Role
from bot.intake.roles import find_lack
from bot.settings.configuration import configure
from tests.bot.conftest import Memory
from tests.bot.store.conftest import HandClock
from tests.contract.fleets import message


class Two:
    """This process, and another one."""

    def __init__(self, role: Role, clock: HandClock) -> None:
        self.role = role
        self.others: list[set[Role] | None] = []
        self.listens: list[str] = []
        self._clock = clock

        self.left: dict[str, str] = {}

    async def claim(self, platform: str, identity: str) -> None:
        pass

    async def recall(self, name: str) -> str:
        return self.left.get(name, "")

    async def leave(self, name: str, session: str) -> None:
        if self.others and self.others[0] is None:
            raise StoreError("out of reach")
        self.left[name] = session

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
        await roles.watch(Platforms(adapters={}, clock=clock))

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and said[0].startswith("no process answers") and said[1].endswith("answered again")
    assert roles.state == {"role": "intake"} and two.listens == [""] * 6


async def test_what_nobody_does_is_told_to_who_watches() -> None:
    clock = HandClock()
    two = Two(Role.TURNS, clock)
    two.others = [{Role.TURNS}]
    roles = Roles(clock, two)
    with pytest.raises(asyncio.CancelledError):
        await roles.watch(Platforms(adapters={}, clock=clock))

    assert roles.state["role"] == "turns" and str(roles.state["lack"]).startswith("no process receives")


async def test_a_process_alone_does_everything_and_tells_nobody() -> None:
    roles = Roles(HandClock(), None)

    await roles.watch(Platforms(adapters={}, clock=HandClock()))

    assert roles.state == {"role": "all"}


async def test_who_only_receives_knows_the_tools_of_those_who_answer() -> None:
    """Told again when they are others, as when a server brings its own, and when the database was out of reach."""
    clock = HandClock()
    two, tools = Two(Role.TURNS, clock), ["calculator"]
    two.others = [{Role.TURNS}, None, {Role.ALL}]
    answers, receives = Roles(clock, two, lambda: tools), Two(Role.INTAKE, clock)
    receives.left = two.left
    with pytest.raises(asyncio.CancelledError):
        await answers.watch(Platforms(adapters={}, clock=clock))
    tools.append("github__search")
    two.others = [{Role.TURNS}]
    with pytest.raises(asyncio.CancelledError):
        await answers.watch(Platforms(adapters={}, clock=clock))

    assert await Roles(clock, receives).list_tools() == await answers.list_tools() == ("calculator", "github__search")
    assert await Roles(clock, None, lambda: tools).list_tools() == ("calculator", "github__search")


@pytest.mark.parametrize(("role", "runs"), [(Role.INTAKE, False), (Role.TURNS, True)])
async def test_who_only_receives_opens_no_tools_and_starts_no_servers(
    role: Role, runs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What a server is told is masked all the same in what is received."""
    caplog.set_level(logging.INFO)
    server = {"command": "true", "env": {"API_KEY": "a-key-of-tea-1234"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"tea": server}}))
    settings = {
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": "sk-loopback-key-1234",
        "ALLOW_ALL": "true",
        "CODE_BACKEND": "off",
        "TOOLS_OFF": "tea__water",
        "MCP_CONFIG": str(tmp_path / "mcp.json"),
        "DATABASE_URL": f"sqlite:///{tmp_path}/parley.db",
        "PARLEY_ENV_FILE": "",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    stop = asyncio.Event()
    stop.set()
    async with App(configure(), {"telegram": Memory()}, members=Two(role, HandClock())) as bot:
        await bot.serve(stop)
        offered = bot.registry.specs()
        await bot.dispatcher.deliver(message("my key is a-key-of-tea-1234"))
        [row] = await bot.store.intake.list_waiting()

    assert bool(offered) is runs and ("MCP servers of" in caplog.text) is runs
    assert isinstance(row.incoming, MessageSent) and row.incoming.text == "my key is [secret removed]"
