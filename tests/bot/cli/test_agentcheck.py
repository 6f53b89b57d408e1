"""`parley doctor` tries the agents of other authors: it loads and opens them, and asks nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.cli import agentcheck
from bot.cli.agentcheck import examine_agents
from bot.cli.main import configured
from bot.operations import Outlet
from bot.settings import read_channels
from tests.bot.cli.conftest import Inside


async def examined(inside: Inside, tmp_path: Path, agent: str, channels: str = "") -> list[tuple[bool, str]]:
    (tmp_path / "channels.yaml").write_text(channels)
    model = {"MODEL": "openai:scripted", "OPENAI_API_KEY": "sk-1234567890"}
    with inside.alone(tmp_path, {"PARLEY_ENV_FILE": "", "AGENT": agent, **model}):
        made = configured(Outlet())
        found = read_channels(str(tmp_path / "channels.yaml"))
        return [(finding.well, finding.text) async for finding in examine_agents(made, found)]


async def test_one_that_loads_is_well_and_ours_is_not_named(inside: Inside, tmp_path: Path) -> None:
    channels = "telegram:1/7:\n  agent: parley\ntelegram:1/8:\n  agent: tests.ownagents:Drawing\n"

    assert await examined(inside, tmp_path, "") == []
    told = await examined(inside, tmp_path, "tests.ownagents:Echo", channels)
    assert [well for well, _ in told] == [True, True]
    assert told[0][1] == "tests.ownagents:Echo can be loaded (AGENT); it was asked nothing"
    assert "Drawing" in told[1][1] and "telegram:1/8" in told[1][1]


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("no_such_module_here:agent", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("tests.ownagents:Unopened", "cannot be opened: ConnectionError: nobody listens at 127.0.0.1:9"),
        ("tests.ownagents:Unclosed", "cannot be closed: ValueError"),
        ("tests.ownagents:Slow", "did not open and close within 0.01 s"),
    ],
)
async def test_one_that_cannot_be_used_is_one_sentence(
    agent: str, why: str, inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if agent.endswith("Slow"):
        monkeypatch.setattr(agentcheck, "OPEN_SECONDS", 0.01)

    [(well, text)] = await examined(inside, tmp_path, agent)

    assert not well and text.startswith("AGENT: the agent") and why in text and "\n" not in text
