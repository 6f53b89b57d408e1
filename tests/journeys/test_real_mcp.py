"""MCP servers that nobody here wrote, in a chat: every question gets the tool it needs out of all of theirs.

`tests/real/install` puts them into `.real/`. The model is scripted: it makes the call of the question if the tool was
offered, and says so if not.
"""

# ruff: noqa: E501  # a question and its call are one row of a table
from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.app import App
from playground.model import Reply
from playground.web import DexscreenerServer
from tests.conftest import RawJson, RawObject
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
NODE = ROOT / ".real/node_modules/.bin"
PYTHON = ROOT / ".real/python/bin"
MISSING = "the reference MCP servers are not in .real/: run tests/real/install"

pytestmark = [
    pytest.mark.real,
    pytest.mark.first,
    pytest.mark.skipif(
        not (NODE / "mcp-server-memory").exists() or not (PYTHON / "mcp-server-git").exists(), reason=MISSING
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the call that answers it, and what its result holds. `@` stands for the folder of the servers."""

    question: str
    tool: str
    arguments: RawObject
    found: str


GRAPH = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes engines"]}]}
SEES = {"entityName": "Ada", "contents": ["wrote the first program"]}
KNOWS = {"relations": [{"from": "Ada", "to": "Babbage", "relationType": "knows"}]}
THOUGHT = {"thought": "first the roof", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
EDIT = {"path": "@/notes.txt", "edits": [{"oldText": "buy milk", "newText": "buy oats"}], "dryRun": False}
REPO = {"repo_path": "@/repo"}
QUESTIONS = [
    Asked("please echo the message hello there", "everything__echo", {"message": "hello there"}, "hello there"),
    Asked("get the sum of 2 and 40 with the everything server", "everything__get-sum", {"a": "2", "b": 40}, "42"),
    Asked("show me the tiny image", "everything__get-tiny-image", {}, "image/png"),
    Asked("get the structured content for Chicago", "everything__get-structured-content", {"location": "Chicago"}, "temp"),
    Asked("get two resource links", "everything__get-resource-links", {"count": 2}, "[link]"),
    Asked("get the resource reference of text 1", "everything__get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "1"),
    Asked("get an annotated message of the type success", "everything__get-annotated-message", {"messageType": "success"}, "success"),
    Asked("trigger the long running operation, short please", "everything__trigger-long-running-operation", {"duration": 0.2, "steps": 2}, "completed"),
    Asked("read the text file notes.txt", "filesystem__read_text_file", {"path": "@/notes.txt"}, "buy milk"),
    Asked("read multiple files at once: notes.txt and plan.md", "filesystem__read_multiple_files", {"paths": ["@/notes.txt", "@/plan.md"]}, "roof"),
    Asked("list the directory of my files", "filesystem__list_directory", {"path": "@"}, "notes.txt"),
    Asked("list the directory with sizes", "filesystem__list_directory_with_sizes", {"path": "@"}, "Total"),
    Asked("show the directory tree", "filesystem__directory_tree", {"path": "@/deep"}, "inner"),
    Asked("search files that match plan", "filesystem__search_files", {"path": "@", "pattern": "**/plan*"}, "plan.md"),
    Asked("get the file info of plan.md: when was it modified?", "filesystem__get_file_info", {"path": "@/plan.md"}, "modified"),
    Asked("which directories are allowed? list allowed directories", "filesystem__list_allowed_directories", {}, "@"),
    Asked("write a file called hello.txt", "filesystem__write_file", {"path": "@/hello.txt", "content": "hi"}, "hello.txt"),
    Asked("create the directory archive", "filesystem__create_directory", {"path": "@/archive"}, "archive"),
    Asked("edit the file notes.txt: oats instead of milk", "filesystem__edit_file", EDIT, "buy oats"),
    Asked("move the file old.txt to new.txt", "filesystem__move_file", {"source": "@/old.txt", "destination": "@/new.txt"}, "new.txt"),
    Asked("create the entities of my knowledge graph: Ada", "memory__create_entities", GRAPH, "Ada"),
    Asked("add observations to the entity Ada", "memory__add_observations", {"observations": [SEES]}, "first program"),
    Asked("create the relations of Ada and Babbage in the graph", "memory__create_relations", KNOWS, "knows"),
    Asked("search the nodes of the knowledge graph for engines", "memory__search_nodes", {"query": "engines"}, "Ada"),
    Asked("open the nodes called Ada", "memory__open_nodes", {"names": ["Ada"]}, "engines"),
    Asked("read the whole knowledge graph", "memory__read_graph", {}, "person"),
    Asked("think step by step, with sequential thinking", "thinking__sequentialthinking", THOUGHT, "thoughtNumber"),
    Asked("what is the current time in Tokyo by the time server", "time__get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    Asked("convert the time 12:00 from UTC to Tokyo", "time__convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "21:00"),
    Asked("what is the git status of the repository", "git__git_status", REPO, "nothing to commit"),
    Asked("show the git log, the last commit", "git__git_log", {**REPO, "max_count": "1"}, "first words"),
    Asked("list the git branches", "git__git_branch", {**REPO, "branch_type": "local"}, "main"),
    Asked("git show the revision HEAD", "git__git_show", {**REPO, "revision": "HEAD"}, "+one line"),
    Asked("create a git branch called later", "git__git_create_branch", {**REPO, "branch_name": "later"}, "later"),
    Asked("git diff the repository against HEAD", "git__git_diff", {**REPO, "target": "HEAD"}, "Diff"),
    Asked("fetch the address @web/page and tell what stands there", "fetch__fetch", {"url": "@web/page"}, "green tea"),
]  # fmt: skip


@pytest.fixture
async def web_address() -> AsyncIterator[str]:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html><body><p>A page about green tea.</p></body></html>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/page", page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
def servers(tmp_path: Path) -> RawObject:
    """Nine servers, with files, a repository and a graph to work on."""
    folder = tmp_path / "files"
    (folder / "deep/inner").mkdir(parents=True)
    for name, text in {"notes.txt": "buy milk\n", "plan.md": "# the roof\n", "old.txt": "old\n"}.items():
        (folder / name).write_text(text)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(folder / "repo")]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder / "repo")], check=True)
    (folder / "repo/file").write_text("one line\n")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first words"], check=True)
    browser = ["--headless", "--no-sandbox", "--isolated", "--executable-path", shutil.which("chromium") or "chromium"]
    return {
        "everything": {"command": str(NODE / "mcp-server-everything")},
        "filesystem": {"command": str(NODE / "mcp-server-filesystem"), "args": [str(folder)]},
        "memory": {
            "command": str(NODE / "mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
        },
        "thinking": {"command": str(NODE / "mcp-server-sequential-thinking")},
        "browser": {"command": str(NODE / "playwright-mcp"), "args": browser},
        "time": {"command": str(PYTHON / "mcp-server-time")},
        "git": {"command": str(PYTHON / "mcp-server-git"), "args": ["--repository", str(folder / "repo")]},
        "fetch": {"command": str(PYTHON / "mcp-server-fetch"), "args": ["--allow-private-ips"]},
    }


async def test_every_question_finds_its_tool_among_those_of_all_servers(
    world: World, start: Start, servers: RawObject, web_address: str
) -> None:
    file = world.data / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    folder = str(world.data / "files")

    def filled(value: RawJson) -> Any:
        return json.loads(json.dumps(value).replace("@web", web_address).replace("@", folder))

    def script(body: RawJson) -> Reply:
        number = int(str(body["messages"][-1]["content"]).partition("case-")[2].partition(" ")[0] or -1)
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if results:
            return Reply(f"The tool says: {str(results[-1])[:3000]}")
        asked = QUESTIONS[number]
        if asked.tool not in {tool["function"]["name"] for tool in body.get("tools", [])}:
            return Reply(f"{asked.tool} was not offered.")
        return Reply(calls=((asked.tool, filled(asked.arguments)),))

    world.model.script = script
    settings = {"TOOL_MODE": "native", "MCP_CONFIG": str(file), "CONFIRM_TOOLS": "-*"}
    async with start("telegram", **settings) as bot:
        await bot.registry.settle(60.0)
        offered = [spec for spec in bot.registry.specs() if "__" in spec.name]
        answers = [await _ask(world, bot, number, filled(asked.question)) for number, asked in enumerate(QUESTIONS)]
        await _kill("mcp-server-memory")
        for down in (True, False):
            async with asyncio.timeout(PATIENCE):
                while ("MCP memory" in bot.registry.unavailable) is not down:
                    await asyncio.sleep(0.01)
        again = await _ask(world, bot, 25, filled(QUESTIONS[25].question), chat=900)

    assert len(QUESTIONS) == 36
    assert len(offered) >= 65 and not any("simulate-research-query" in spec.name for spec in offered)
    wrong = {
        asked.tool: answer[:300]
        for asked, answer in zip(QUESTIONS, answers, strict=True)
        if filled(asked.found) not in answer
    }
    assert not wrong
    assert "person" in again, "a server that was killed is started again, with what it kept"


async def test_a_price_is_looked_up_and_kept_by_a_server_in_one_question(
    world: World, start: Start, servers: RawObject
) -> None:
    """A chain over our own tool and a server's, with more tools than are offered; the operator trusts that server."""
    file = world.data / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    kept = {"entities": [{"name": "ETH", "entityType": "price", "observations": ["about 3,000 dollars"]}]}
    steps = [
        Reply(calls=(("token_price", {"token": "ETH"}),)),
        Reply(calls=(("memory__create_entities", kept),)),
        Reply(calls=(("memory__create_entities", kept),)),
        Reply("记好了。"),
    ]

    def script(body: RawJson) -> Reply:
        results = [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
        if any('"ETH"' in result for result in results):
            return steps[-1]
        return steps[len(results)]

    world.model.script = script
    async with DexscreenerServer() as prices:
        settings = {"TOOL_MODE": "native", "MCP_CONFIG": str(file), "TRUSTED_TOOLS": "memory__*", "CONFIRM_TOOLS": "-*"}
        async with start("telegram", DEXSCREENER_BASE_URL=prices.base_url, **settings) as bot:
            await bot.registry.settle(60.0)
            answer = await _ask(world, bot, 700, "帮我查一下ETH的价格，然后保存到记忆里", chat=700)

    assert answer.endswith("记好了。")
    assert '"ETH"' in (world.data / "memory.jsonl").read_text()


async def _ask(world: World, bot: App, number: int, question: str, chat: int = 0) -> str:
    """Each question in a chat of its own: nothing that a server said stands before it."""
    id = chat or 100 + number
    world.telegram.person(id, f"Person {id}")
    world.telegram.say(id, f"case-{number} {question}", person=id)
    await world.telegram.screen.until(lambda screen: screen.of(str(id)))
    await bot.dispatcher.wait_idle()
    return "\n".join(message.text for message in world.telegram.screen.of(str(id)))


async def _kill(program: str) -> None:
    """`kill -9` for the server of this process's own, which its keeper started."""
    named = {int(entry.name): entry for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    named = {number: entry for number, entry in named.items() if program in _command(entry)}
    keepers = {number for number, entry in named.items() if _parent(entry) == os.getpid()}
    found = [number for number, entry in named.items() if _parent(entry) in keepers]
    assert len(found) == 1
    os.kill(found[0], signal.SIGKILL)
    while Path(f"/proc/{found[0]}").exists():
        await asyncio.sleep(0.01)


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _parent(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
