"""Every tool of the table, asked for by the model in all three chats at once, and run from a shell."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import runpy
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from playground.loopback import Loopback
from playground.model import Reply
from playground.model.images import png
from playground.web import DexscreenerServer, MediaWikiServer, OpenAlexServer, OpenMeteoServer
from tests.conftest import Nursery, RawJson, RawObject
from tests.journeys.conftest import Start, World
from tools import TOOLS
from tools.contract.base import Unavailable
from tools.settings import SETTINGS

ROOT = Path(__file__).parents[2]
_PLATFORMS = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))
person, SYNTAX = _PLATFORMS["person"], _PLATFORMS["SYNTAX"]
WAYS = ("telegram", "slack direct", "discord direct")
PNG = b"\x89PNG\r\n\x1a\n"
PAGE = """<html><head><title>The ferry of Holm</title></head><body><article><h1>The ferry of Holm</h1>
<p>The ferry leaves the island of Holm at a quarter past six every morning, and takes forty minutes to the mainland,
where the bus waits for it. In winter, when the sound is frozen, a hovercraft goes instead of it, at the same hours.</p>
<p>Tickets are sold on board. Bicycles travel free of charge, and so do dogs that behave.</p></article></body></html>"""


@dataclass(frozen=True)
class Scene:
    """What is called, one call after the other, and what the last result must say."""

    said: str
    """A pattern of what the service, or the tool itself, says; the model's answer quotes what fits it."""
    calls: tuple[tuple[str, Mapping[str, RawJson]], ...]
    """`{page}` in an argument is the loopback page, `{number}` the first number of the result before."""
    file: bytes = b""
    """How a file begins that is posted with the answer."""


def one(tool: str, said: str, file: bytes = b"", **arguments: RawJson) -> Scene:
    return Scene(said, ((tool, arguments),), file)


_KEPT = ("remember", {"fact": "Ada plays the cello"})
SCENES: dict[str, Scene] = {
    "search_web": one("search_web", r"Panels have become cheaper", query="solar power"),
    "read_page": one("read_page", r"at a quarter past six every morning", url="{page}"),
    # What it reads of a file that was sent: `test_sent_files.py`.
    "read_file": Scene(r"There is no file 'tea\.txt' in this chat", (("read_file", {"file": "tea.txt"}),)),
    "run_python": one("run_python", r"\b5050\b", code="total = sum(range(101))\nprint(total)"),
    "query_database": one("query_database", r"\b4711\b", sql="SELECT sum(amount) AS total FROM orders"),
    "remind_me": one("remind_me", r"in 2 hours: Water the fern", text="Water the fern", delay="2 hours"),
    "generate_image": one("generate_image", r"image-\w+\.png", png("a red fox"), prompt="a red fox"),
    "remember": Scene(r"Kept as fact \d+", (_KEPT,)),
    "recall": Scene(r"Ada plays the cello", (_KEPT, ("recall", {"query": "cello"}))),
    "forget": Scene(r"Fact \d+ is forgotten", (_KEPT, ("forget", {"number": "{number}"}))),
    "search_papers": one("search_papers", r"Sourdough microbiomes across four continents", query="sourdough"),
    "get_weather": one("get_weather", r"partly cloudy, 6\.0 °C", place="Oslo"),
    "wikipedia": one("wikipedia", r"often called the first computer programmer", query="Ada Lovelace"),
    "token_price": one("token_price", r"\$0\.0000112", token="PEPE"),
    "calculator": one("calculator", r"\b391\b", expression="17*23"),
    "plan": one("plan", r"1 of 2 done", steps=["Read", "Write"], done=1),
    "current_time": one("current_time", r"2026-05-31, 21:00", time="2026-05-31 15:00", zone="Europe/Oslo", add="6 h"),
}


def scene_of(tool: str) -> Scene:
    """The scene of a tool; of one that has none its first example, whatever it says but an error.

    Raises:
        Unavailable: it has none, and cannot be opened without settings.
    """
    if tool in SCENES:
        return SCENES[tool]
    settings: RawJson = SETTINGS.get(tool)
    opened = importlib.import_module(TOOLS[tool]).open_tool(settings and settings(_env_file=None))
    return one(tool, r"(?m)^(?!Error:|\[data).+$", **opened.spec.examples[0])


IN_CHATS = {"read_file"}
"""A shell has no files of a chat."""


@pytest.fixture
async def services(world: World) -> AsyncIterator[dict[str, str]]:
    """Everything that tools talk to, on loopback: the settings that lead there, and `{page}`."""

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    site = web.Application()
    site.router.add_get("/ferry", page)
    loopback = Loopback(site)
    with closing(sqlite3.connect(world.data / "sales.db")) as db, db:
        db.execute("CREATE TABLE orders AS SELECT 4700 AS amount UNION ALL SELECT 11")
    async with AsyncExitStack() as stack:
        await loopback.open()
        stack.push_async_callback(loopback.close)
        papers = await stack.enter_async_context(OpenAlexServer())
        weather = await stack.enter_async_context(OpenMeteoServer())
        articles = await stack.enter_async_context(MediaWikiServer())
        prices = await stack.enter_async_context(DexscreenerServer())
        world.settings |= {
            "FETCH_ALLOW": loopback.url.removeprefix("http://"),
            "DATABASES": f"sales=sqlite:///{world.data}/sales.db",
            "IMAGE_MODEL": "openai:gpt-image-1",
            "CODE_BACKEND": "auto",
            "OPENALEX_BASE_URL": papers.base_url,
            "OPEN_METEO_BASE_URL": weather.base_url,
            "OPEN_METEO_GEOCODING_URL": weather.base_url,
            "WIKIPEDIA_BASE_URL": articles.language_url,
            "DEXSCREENER_BASE_URL": prices.base_url,
        }
        yield {"page": f"{loopback.url}/ferry"}


@pytest.fixture
def plots(sandbox_possible: None) -> None:
    """A sandbox in which figures can be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed (extra: code)")


def filled(arguments: Mapping[str, RawJson], services: Mapping[str, str], before: str) -> RawObject:
    number = re.search(r"\d+", before)
    values = {"{page}": services["page"], "{number}": int(number.group()) if number else 0}
    return {name: values.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}


def results_of(body: RawJson) -> list[str]:
    """What the tools have said since the last question."""
    results: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            results = []
        elif message["role"] == "tool":
            results.append(str(message["content"]))
    return results


async def play(scene: Scene, world: World, start: Start, services: Mapping[str, str]) -> None:
    """Ask on three platforms at once, and check what the model read and what the chats show."""

    def script(body: RawJson) -> Reply:
        results = results_of(body)
        if len(results) < len(scene.calls):
            name, arguments = scene.calls[len(results)]
            return Reply(calls=((name, filled(arguments, services, results[-1] if results else "")),))
        said = re.search(scene.said, results[-1])
        return Reply(f"I was told: {said.group() if said else 'nothing of use'}.", words_per_second=200)

    world.model.script = script
    async with start("telegram", "slack", "discord", TOOL_MODE="native") as bot:
        people = [person(world, way) for way in WAYS]
        for somebody in people:
            command = "/job " if scene.calls[-1][0] == "plan" else ""
            somebody.say(f"{command}please find that out for me on {somebody.platform}")
        for somebody in people:
            await getattr(world, somebody.platform).screen.until(lambda _, one=somebody: one.messages)
        await bot.dispatcher.wait_idle()

    for somebody in people:
        asked = [one for one in world.model.requests if f"for me on {somebody.platform}" in str(one.messages)]
        assert [one.status for one in asked] == [200] * (len(scene.calls) + 1)
        offered = [tool["function"]["name"] for tool in asked[0].body["tools"]]
        assert scene.calls[-1][0] in offered
        said = re.search(scene.said, results_of(asked[-1].body)[-1])
        assert said, results_of(asked[-1].body)
        first, *rest = somebody.messages
        assert first.text.partition("\n")[0].strip() == f"I was told: {said.group()}."
        assert not any(message.text.strip() for message in rest)
        files = [content for message in somebody.messages for _, _, content in message.files]
        assert len(files) == bool(scene.file)
        assert all(content.startswith(scene.file) for content in files)
        shown = [version.text for message in somebody.messages for version in message.versions]
        assert not any(piece in text for piece in SYNTAX if piece not in said.group() for text in shown), shown
        assert getattr(world, somebody.platform).refusals == 0


def test_every_tool_has_a_scene_or_an_example_that_is_one() -> None:
    lacking = {}
    for tool in TOOLS:
        try:
            scene_of(tool)
        except Unavailable as lack:
            lacking[tool] = str(lack)

    assert set(SCENES) <= set(TOOLS)
    assert not lacking, "what they lack is given to them by a scene in SCENES"


@pytest.fixture
def scene(tool: str) -> Scene:
    try:
        return scene_of(tool)
    except Unavailable as lack:
        pytest.skip(f"{tool} has no scene: {lack}")


@pytest.mark.parametrize("tool", TOOLS)
async def test_the_model_uses_a_tool_on_three_platforms_at_once(
    tool: str, scene: Scene, world: World, start: Start, services: dict[str, str]
) -> None:
    # A person's yes is what `test_approvals.py` is about.
    world.settings["CONFIRM_TOOLS"] = f"-{tool}"
    await play(scene, world, start, services)


async def test_a_plot_is_an_image_on_three_platforms(
    plots: None, world: World, start: Start, services: dict[str, str]
) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]);"
    await play(one("run_python", r"figure\.png", PNG, code=code), world, start, services)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool not in IN_CHATS])
async def test_a_tool_runs_from_the_shell(
    tool: str, scene: Scene, world: World, services: dict[str, str], nursery: Nursery
) -> None:
    passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = {**passed, **world.environment()}
    output = ""
    for name, arguments in scene.calls:
        given = json.dumps(filled(arguments, services, output))
        told = await nursery.talk(
            *("tools", name, given, "--data", "kept.json"), folder=world.data, environment=environment
        )
        output = told.out
        assert told.code == 0, told.err

    assert re.search(scene.said, output), output
    if scene.file:
        [made] = re.findall(r"^File: (.+)$", output, re.M)
        assert (world.data / made).read_bytes().startswith(scene.file)
