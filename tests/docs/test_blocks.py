"""The examples in the documents, read by what reads them: `mcp.json`, `channels.yaml`, settings, a tool."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters import Platform
from bot.contract import SettingsError
from bot.model import read_providers
from bot.settings import read, read_channels, variables
from bot.settings.configuration import settings_classes
from parley_chat.agent import Message, Question, Text
from parley_chat.contract import suites
from tests.conftest import RawJson
from tools import open_registry
from tools.calling.plugins import find_plugins
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, Tool, ToolCall, ToolContext
from tools.mcp.config import read_config

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^(`{3,}|~{3,})(\S*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    (path.name, match[2], match[3])
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
    if path.name != "call-syntax.md"
    for match in FENCE.finditer(path.read_text(encoding="utf-8"))
]
SHOWN: dict[str, tuple[dict[str, Json], str]] = {
    "roll_dice": ({"sides": 1}, "1"),
    "countdown": ({"day": "2030-12-24"}, "23 days from 2030-12-01 to 2030-12-24"),
}
"""The tools that are shown, each with arguments and what it says to them late on 2030-11-30, in Tokyo."""
ELSEWHERE = {"sh", "sql", "text"}
"""Read by `test_documents.py`; by `test_operating_server.py`; drawings."""


def blocks(language: str) -> list[str]:
    return [text for _, word, text in BLOCKS if word == language]


def test_every_block_says_what_it_is() -> None:
    assert {word for _, word, _ in BLOCKS} <= {"json", "yaml", "python", "ini", "toml", *ELSEWHERE}
    assert all(blocks(language) for language in ("json", "yaml", "python", "ini", "toml", "sh"))


@pytest.mark.parametrize("text", blocks("json"))
def test_an_example_of_mcp_json_is_read_without_a_complaint(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text, encoding="utf-8")

    config = read_config(file, {"SEARCH_KEY": "x" * 20})

    assert not config.problems
    assert [server.name for server in config.servers] == list(json.loads(text)["mcpServers"])


@pytest.mark.parametrize("text", blocks("yaml"))
def test_an_example_of_a_file_of_chats_is_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text(text, encoding="utf-8")

    assert list(read_channels(str(file)).channels) == re.findall(r"^(\S+):$", text, re.MULTILINE)


@pytest.mark.parametrize("text", blocks("ini"))
def test_an_example_of_settings_is_taken(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables(settings_classes()):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / ".env"
    file.write_text(text, encoding="utf-8")
    lines = [line.partition("=") for line in text.splitlines()]

    taken = {name.upper(): value for kind in settings_classes() for name, value in read(kind, file)}

    assert lines
    assert not [name for name, _, value in lines if not value or not taken[name]]


@pytest.mark.parametrize("text", [text for text in blocks("python") if "open_tool" in text])
async def test_the_tool_that_a_document_shows_runs(text: str) -> None:
    written: dict[str, Callable[[object], Tool]] = {}
    exec(compile(text, "the document", "exec"), written)
    registry = ToolRegistry([written["open_tool"](None)])

    result = await registry.run(ToolCall("call-1", "roll_dice", {"sides": 1}), ToolContext())

    assert (result.ok, result.text) == (True, "1")


OF_A_PLATFORM = [text for text in blocks("python") if "parley_chat.tool" not in text and "open_tool" not in text]


def test_the_platform_that_a_document_shows_is_one_whose_people_can_be_listed(tmp_path: Path) -> None:
    [text] = [text for text in OF_A_PLATFORM if "PLATFORM" in text]
    written: dict[str, RawJson] = {"__name__": "parley_wall"}
    exec(compile(text, "the document", "exec", dont_inherit=True), written)
    platform, file = written["PLATFORM"], tmp_path / ".env"
    file.write_text("WALL_TOKEN=wall-1\n")

    assert isinstance(platform, Platform) and platform.settings.needs == "WALL_TOKEN"
    assert read(platform.settings, file).configured and not platform.settings().configured
    with pytest.raises(SettingsError):
        platform.settings.model_validate({"wall_token": "other"}).require()
    assert platform.ids.person.read("123", short=False) and platform.ids.chat.read("1/2", short=False)


async def test_the_agent_that_a_document_shows_answers() -> None:
    [text] = [text for text in OF_A_PLATFORM if "class Echo" in text]
    written: dict[str, RawJson] = {"__name__": "myagent"}
    exec(compile(text, "the document", "exec", dont_inherit=True), written)
    asked = Question(
        turn="t1", attempt=1, chat="c", person="p", name="Ada", language="en", zone="UTC", instructions="",
        messages=(Message(role="user", text="Tea?"),),
    )  # fmt: skip

    said = [event async for event in written["agent"].answer(asked)]

    assert said == [Text("You wrote: "), Text("Tea?")]


def test_the_suites_that_a_document_shows_are_those_that_are_shipped() -> None:
    [text] = [text for text in OF_A_PLATFORM if "Contract" in text]
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    [names] = [[one.name for one in node.names] for node in imports if node.module == suites.__name__]

    assert set(names) | {"QuoteContract"} == {name for name in suites.__all__ if name.endswith("Contract")}
    assert all(f"({name}):" in text for name in names)


@pytest.mark.parametrize("text", [text for text in blocks("python") if "from parley_chat.tool" in text])
async def test_the_file_that_a_document_shows_is_a_tool(text: str, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(text)
    registry = open_registry({}, plugins=find_plugins(str(tmp_path)))
    [name] = {spec.name for spec in registry.specs()} & set(SHOWN)
    arguments, said = SHOWN[name]
    now = datetime(2030, 11, 30, 23, 30, tzinfo=UTC)

    context = ToolContext(now=lambda: now, zone="Asia/Tokyo")
    result = await registry.run(ToolCall("call-1", name, arguments), context)
    await registry.close()

    assert (result.ok, result.text) == (True, said)


@pytest.mark.parametrize("text", blocks("toml"))
def test_an_example_of_other_model_servers_is_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(text, encoding="utf-8")

    assert [row.name for row in read_providers(str(file))] == re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
