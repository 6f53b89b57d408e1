"""What three servers that nobody here wrote put on the wire, and what is made of it.

`samples/` holds bodies as llama.cpp's server, llama-cpp-python's server and a litellm proxy before the first sent them
to one tiny model (`tiny_model.py`); ids, times and durations are made equal. `test_real_servers.py` asks the servers
themselves, and writes the bodies anew with `PARLEY_RECORD=1`.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from bot.contract.errors import ContextTooLong, ModelBusy, ModelDropped, ModelRefused
from bot.model import Models
from bot.model.base import Answer, Request
from tests.bot.model.conftest import Ask, Asked, Open, RawServer, RecordingClock
from tests.conftest import RawJson, RawObject
from tools.contract.base import ToolSpec

FOLDER = Path(__file__).with_name("samples")
SERVERS = ("llama.cpp", "llama-cpp-python", "litellm")
TINY = runpy.run_path(str(Path(__file__).with_name("tiny_model.py")))
TOOL = ToolSpec(name=TINY["TOOL"]["name"], purpose="The weather.", parameters=TINY["TOOL"]["parameters"])


def sample(whose: str, name: str) -> RawObject:
    found = json.loads((FOLDER / f"{whose}.json").read_text())
    return next(one for one in found if one["name"] == name)


Sampled = Callable[..., Awaitable[Models]]
AskSample = Callable[..., Awaitable[Asked]]


@pytest.fixture
def sampled(raw_server: RawServer, opened: Open, clock: RecordingClock) -> Sampled:
    """Models whose server answers every request with one of its samples, in pieces of so many bytes."""
    clock.instant = True

    async def serve(whose: str, name: str, size: int = 0) -> Models:
        wire = sample(whose, name)
        body = wire["body"].encode()

        async def handle(request: web.Request) -> web.StreamResponse:
            kind = "application/json" if wire["status"] != 200 else "text/event-stream"
            response = web.StreamResponse(status=wire["status"], headers={"Content-Type": kind})
            await response.prepare(request)
            for start in range(0, len(body), size or len(body) or 1):
                await response.write(body[start : start + (size or len(body))])
            await response.write_eof()
            return response

        return opened("vllm:tiny", base_urls={"vllm": await raw_server(handle)})

    return serve


@pytest.fixture
def ask(sampled: Sampled, asking: Ask, question: Request) -> AskSample:
    """Ask the models of `sampled`."""

    async def ask(whose: str, name: str, size: int = 0) -> Asked:
        models = await sampled(whose, name, size)
        return await asking(models, replace(question, tools=(TOOL,), tool_choice="required", max_tokens=200))

    return ask


@pytest.mark.parametrize("size", [0, 7])
@pytest.mark.parametrize("whose", SERVERS)
async def test_words_arrive_as_they_were_written(ask: AskSample, whose: str, size: int) -> None:
    asked = await ask(whose, "text", size)

    assert asked.text == asked.answer.text == TINY["TEXT"]
    assert (asked.answer.finish, asked.answer.calls) == ("stop", ())


@pytest.mark.parametrize("size", [0, 7])
@pytest.mark.parametrize("whose", SERVERS)
async def test_a_call_has_its_arguments_once(ask: AskSample, whose: str, size: int) -> None:
    answer: Answer = (await ask(whose, "call", size)).answer

    [call] = answer.calls
    assert (call.name, call.arguments, call.problem) == (TINY["TOOL"]["name"], TINY["ARGUMENTS"], "")
    assert answer.finish == "tool_calls"
    raw: RawJson = answer.raw["tool_calls"]
    assert raw[0]["id"] == call.id
    # Where the grammar lets words stand before a call, the model writes some.
    assert answer.text == ("" if whose == "llama-cpp-python" else TINY["TEXT"])


@pytest.mark.parametrize("whose", SERVERS)
async def test_an_answer_that_the_limit_cut_says_so(ask: AskSample, whose: str) -> None:
    asked = await ask(whose, "truncated")

    assert (asked.text, asked.answer.finish) == ("Tea is a", "length")


@pytest.mark.parametrize("whose", ["llama.cpp", "litellm"])
async def test_a_call_that_the_limit_cut_does_not_run(ask: AskSample, whose: str) -> None:
    [call] = (await ask(whose, "cut call")).answer.calls

    assert "cut off" in call.problem


@pytest.mark.parametrize(
    ("whose", "name", "used"),
    [
        ("llama.cpp", "text", (53, 5)),
        ("litellm", "text", (53, 5)),
        ("llama.cpp", "truncated", (53, 3)),
        ("litellm", "truncated", (53, 3)),
    ],
)
async def test_the_tokens_that_a_server_counted_are_taken_over(
    ask: AskSample, whose: str, name: str, used: tuple[int, int]
) -> None:
    answer = (await ask(whose, name)).answer

    assert (answer.usage.prompt, answer.usage.completion) == used


async def test_a_server_that_counts_nothing_is_estimated(ask: AskSample) -> None:
    usage = (await ask("llama-cpp-python", "text")).answer.usage

    assert usage.prompt > 0 and usage.completion > 0


@pytest.mark.parametrize("whose", ["llama.cpp", "litellm"])
async def test_the_window_is_learned_from_the_refusal(
    sampled: Sampled, asking: Ask, question: Request, whose: str
) -> None:
    models = await sampled(whose, "too long")
    asked = await asking(models, question)

    assert isinstance(asked.error, ContextTooLong)
    assert asked.error.window == models.window("vllm:tiny") == 2048


@pytest.mark.parametrize(
    ("whose", "name", "kind"),
    [
        # It finds out after it has said that all is well, and says nothing more.
        ("llama-cpp-python", "too long", ModelDropped),
        ("litellm", "backend gone", ModelBusy),
        ("litellm", "unknown model", ModelRefused),
    ],
)
async def test_a_failure_has_its_name(ask: AskSample, whose: str, name: str, kind: type) -> None:
    assert isinstance((await ask(whose, name)).error, kind)
