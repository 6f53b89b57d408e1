"""Each file of `examples/` is read and run by what it is for; packages are installed in `tests/journeys`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dotenv import dotenv_values

from bot.model import ModelName, read_providers
from bot.settings import read, read_channels, variables
from bot.settings.configuration import settings_classes
from tools import open_registry
from tools.calling.plugins import find_plugins
from tools.contract.base import Json, ToolCall, ToolContext
from tools.mcp.config import read_config

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RUN = {".env", ".toml", ".yaml", ".json", ".py", ".html"}
"""What the tests below run, each file by its ending; the page is opened by `tests/journeys/test_web_widget.py`."""


def test_every_example_is_listed_and_run() -> None:
    listed = re.findall(r"^\| \[.+?\]\((.+?)\) \|", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    packages = {path.parent for path in EXAMPLES.glob("*/pyproject.toml")}
    files = {
        path
        for path in EXAMPLES.rglob("*")
        if path.is_file()
        and not packages & {*path.parents}
        and path.name != "README.md"
        and "__pycache__" not in path.parts
    }

    assert {EXAMPLES / name for name in listed} == files | packages
    assert {path.suffix for path in files} == RUN


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.env")), ids=lambda path: path.name)
def test_every_setting_of_an_example_is_taken(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables(settings_classes()):
        monkeypatch.delenv(name, raising=False)
    written = dotenv_values(file)

    taken = {name.upper(): value for kind in settings_classes() for name, value in read(kind, file)}

    assert not [name for name in written if not taken.get(name)]
    assert ModelName.parse(str(written["MODEL"])).provider
    assert all((EXAMPLES / str(written[name])).exists() for name in ("CHANNELS_FILE", "TOOLS_DIR") if name in written)


def test_the_model_servers_of_the_example_are_read() -> None:
    rows = {row.name: row for row in read_providers(str(EXAMPLES / "providers.toml"))}

    assert list(rows) == ["groq", "house", "gateway"]
    assert not rows["house"].key_needed


def test_the_chats_of_the_example_are_read() -> None:
    channels = read_channels(str(EXAMPLES / "channels.yaml"))

    assert list(channels.channels)[1] == "telegram:-100200300"
    assert len(channels.channels) == 5


def test_the_mcp_servers_of_the_example_are_read_without_a_complaint() -> None:
    config = read_config(EXAMPLES / "mcp.json", {"WIKI_KEY": "x" * 20})

    assert not config.problems
    assert [server.name for server in config.servers] == ["notes", "wiki"]


async def test_the_tool_of_the_example_counts_working_days() -> None:
    registry = open_registry({}, plugins=find_plugins(str(EXAMPLES / "tools")))
    over_christmas: dict[str, Json] = {
        "first": "2026-12-21",
        "last": "2027-01-03",
        "holidays": ["2026-12-25", "2027-01-01"],
    }

    result = await registry.run(ToolCall("call-1", "working_days", over_christmas), ToolContext())
    wrong = await registry.run(ToolCall("call-2", "working_days", {"first": "21.12.", "last": "x"}), ToolContext())
    await registry.close()

    assert (result.ok, result.text) == (True, "8 working days from 2026-12-21 to 2027-01-03.")
    assert not wrong.ok and "YYYY-MM-DD" in wrong.text
