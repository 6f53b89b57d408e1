"""Model servers that nobody here wrote, asked by the client of the bot.

llama.cpp's own server is taken from the PATH (`llama-server`); `tests/real/install models` puts llama-cpp-python's
server and a litellm proxy into `.real/`. All of them serve one tiny model that is made here. With `PARLEY_RECORD=1` the
samples beside this file are written anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.contract.clock import SystemClock
from bot.contract.errors import ContextTooLong
from bot.contract.transcript import AssistantEntry, ToolEntry, UserEntry
from bot.model import ModelOptions, Models
from bot.model.base import Request
from tests.bot.model.conftest import Ask
from tests.conftest import RawObject
from tools.contract.base import ToolSpec

ROOT = Path(__file__).parents[3]
LLAMA_SERVER = shutil.which("llama-server")
LLAMA_PYTHON = ROOT / ".real/llama/bin/python"
LITELLM = ROOT / ".real/litellm/bin/litellm"
WINDOW = 2048
KEY = "sk-of-the-loopback-only-0123456789"
TINY = runpy.run_path(str(Path(__file__).with_name("tiny_model.py")))
TOOL = ToolSpec(name=TINY["TOOL"]["name"], purpose="The weather.", parameters=TINY["TOOL"]["parameters"])


def needs(server: str) -> Any:
    """One server as a parameter, skipped where it is missing."""
    reason = {
        "llama.cpp": "" if LLAMA_SERVER else "llama-server is not on the PATH: install llama.cpp",
        "llama-cpp-python": "" if LLAMA_PYTHON.exists() else "llama-cpp-python is not in .real/",
        "litellm": "" if LITELLM.exists() and LLAMA_SERVER else "litellm is not in .real/, or llama-server not here",
    }[server]
    skip = pytest.mark.skipif(bool(reason), reason=reason and f"{reason} (tests/real/install models)")
    return pytest.param(server, marks=[skip, pytest.mark.xdist_group(server)])


pytestmark = [
    pytest.mark.real,
    pytest.mark.first,
    pytest.mark.parametrize("name", [needs("llama.cpp"), needs("llama-cpp-python"), needs("litellm")]),
]


@asynccontextmanager
async def running(command: list[str], port: int, folder: Path, health: str) -> AsyncIterator[str]:
    """A program until it is not needed any more; its base URL."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    with (folder / f"{port}.log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            *command, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True
        )
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(180):
                while True:
                    assert child.returncode is None, (folder / f"{port}.log").read_text()[-2000:]
                    try:
                        async with session.get(f"http://127.0.0.1:{port}{health}") as answer:
                            if answer.status == 200:
                                break
                    except aiohttp.ClientError:
                        pass
                    await asyncio.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
async def server(name: str, tmp_path: Path) -> AsyncIterator[str]:
    """The base URL of the server of this name, with the tiny model."""
    model = tmp_path / "tiny.gguf"
    TINY["write"](model)
    port = free_port()
    where = ["--host", "127.0.0.1", "--port"]
    native = [str(LLAMA_SERVER), "-m", str(model), "--jinja", "-c", str(WINDOW), "-np", "1", "-t", "1", *where]
    async with AsyncExitStack() as stack:
        start = stack.enter_async_context
        if name == "llama.cpp":
            yield await start(running([*native, str(port)], port, tmp_path, "/health"))
        elif name == "llama-cpp-python":
            ours = [str(LLAMA_PYTHON), "-m", "llama_cpp.server", "--model", str(model), "--n_ctx", str(WINDOW)]
            yield await start(running([*ours, *where, str(port)], port, tmp_path, "/v1/models"))
        else:
            behind = free_port()
            base = await start(running([*native, str(behind)], behind, tmp_path, "/health"))
            config = {
                "model_list": [
                    {"model_name": "tiny", "litellm_params": {"model": "openai/tiny", "api_base": base, "api_key": "x"}}
                ],
                "litellm_settings": {"num_retries": 0},
            }
            (tmp_path / "litellm.yaml").write_text(json.dumps(config))
            proxy = [str(LITELLM), "--config", "litellm.yaml", "--telemetry", "False", *where, str(port)]
            yield await start(running(proxy, port, tmp_path, "/health/liveliness"))


async def test_a_server_that_nobody_here_wrote_answers_calls_and_refuses(server: str, name: str, asking: Ask) -> None:
    options = ModelOptions(
        name="vllm:tiny", tool_mode="auto", turn_seconds=300.0, keys={"vllm": KEY}, base_urls={"vllm": server}
    )
    hello = Request(entries=(UserEntry("hi"),), max_tokens=30_000)
    # llama-cpp-python forces a call only by its name.
    choice = TOOL.name if name == "llama-cpp-python" else "required"
    async with Models(options, SystemClock()) as models:
        said = await asking(models, hello)
        assert (said.text, said.answer.finish) == (TINY["TEXT"], "stop")

        cut = await asking(models, replace(hello, max_tokens=3))
        assert (cut.text, cut.answer.finish) == ("Tea is a", "length")

        called = (await asking(models, replace(hello, tools=(TOOL,), tool_choice=choice))).answer
        [call] = called.calls
        assert (call.name, call.arguments, call.problem) == (TOOL.name, TINY["ARGUMENTS"], "")
        told = AssistantEntry(called.text, (call,), provider=called.provider, raw=called.raw)
        result = ToolEntry(call.id, call.name, "It rains.")
        again = await asking(models, replace(hello, entries=(*hello.entries, told, result), tools=(TOOL,)))
        assert again.answer.text.startswith("Tea")

        long = await asking(models, replace(hello, entries=(UserEntry("x" * 5_000),), max_tokens=16))
        if name == "llama-cpp-python":
            assert long.error is not None  # it does not say why
        else:
            assert isinstance(long.error, ContextTooLong)
            assert models.window("vllm:tiny") == WINDOW
        assert (await asking(models, hello)).text == TINY["TEXT"]


@pytest.mark.skipif(not os.environ.get("PARLEY_RECORD"), reason="set PARLEY_RECORD=1 to write the samples anew")
async def test_the_samples_are_written_anew(server: str, name: str) -> None:
    tool = {"type": "function", "function": TINY["TOOL"]}
    forced = {"type": "function", "function": {"name": TOOL.name}} if name == "llama-cpp-python" else "required"
    called = {"tools": [tool], "tool_choice": forced}
    wishes: dict[str, RawObject] = {
        "text": {"max_tokens": 200},
        "truncated": {"max_tokens": 3},
        "call": {**called, "max_tokens": 300},
        "cut call": {**called, "max_tokens": 8},
        "too long": {"messages": [{"role": "user", "content": "x" * 5_000}], "max_tokens": 5},
        "limit beyond the window": {"max_tokens": 50_000},
        **({"unknown model": {"model": "other"}} if name == "litellm" else {}),
    }
    usual = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    recorded = []
    # A server that fails in the middle closes its connection after a while.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}, connector=connector) as session:
        for wish, more in wishes.items():
            body = {**usual, "stream_options": {"include_usage": True}, **more}
            async with session.post(f"{server}/chat/completions", json=body) as answer:
                recorded.append({"name": wish, "status": answer.status, "body": scrubbed(await answer.text())})
    file = Path(__file__).with_name("samples") / f"{name}.json"
    kept = [one for one in json.loads(file.read_text()) if one["name"] not in wishes]
    file.write_text(json.dumps([*recorded, *kept], indent=1, ensure_ascii=False) + "\n")


def scrubbed(body: str) -> str:
    """A body with ids, times and durations that say nothing of this machine."""
    for found, instead in (
        (r'("id": ?"chatcmpl-)[\w-]+', r"\g<1>1"),
        (r"(cmpl-)[0-9a-f]{8}-[0-9a-f-]{27}", r"\g<1>1"),
        (r'("created": ?)\d+', r"\g<1>1795351200"),
        (r'("id":")[A-Za-z0-9]{32}(")', r"\g<1>8zUSKI6m2DTar7KnYJVKhLmOmGNjTeEI\2"),
        (r'("system_fingerprint":")[^"]+', r"\g<1>b1"),
        (r'((?:_ms|_per_second)":)[\d.e-]+', r"\g<1>1.0"),
    ):
        body = re.sub(found, instead, body)
    return body
