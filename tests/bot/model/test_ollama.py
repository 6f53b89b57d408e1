"""Ollama is told how large a window a request needs, and drops nothing of it."""

from __future__ import annotations

import json

import pytest
from aiohttp import web

from bot.contract import SetupRefused
from bot.contract.errors import ContextTooLong, ModelDropped
from bot.contract.transcript import AssistantEntry, SystemEntry, ToolEntry, UserEntry
from bot.model.assembly import Delta
from bot.model.base import CallPiece, Request
from bot.model.ollama import OllamaAssembly
from bot.model.sse import LineDecoder
from playground.model import ModelServer, Reply
from playground.model.ollama import Ollama
from tests.bot.model.conftest import Ask, Open, RawServer

NAME = "ollama:scripted"


@pytest.fixture
def ollama(server: ModelServer) -> Ollama:
    server.ollama = Ollama()
    return server.ollama


def long(words: int) -> Request:
    return Request(entries=(SystemEntry("Be brief."), UserEntry("The word is Rosebud."), UserEntry("word " * words)))


async def test_a_long_request_gets_a_window_that_holds_it(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    server.reply(Reply("Yes."))

    asked = await asking(opened(NAME), long(6000))

    assert asked.answer.text == "Yes." and ollama.dropped == [0]
    [seen] = server.requests
    assert seen.path == "/api/chat" and seen.body["options"]["num_ctx"] == 16_384 == ollama.loads[-1]


async def test_without_it_the_emulator_drops_what_does_not_fit(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    """By Chat Completions, which reads no `num_ctx`: so the other tests can fail."""
    server.models.append("v")
    server.reply(Reply("Yes."))

    await asking(opened("vllm:scripted"), long(6000))

    assert server.requests[0].path == "/v1/chat/completions" and ollama.dropped == [1]


async def test_the_window_grows_in_powers_of_two_and_never_shrinks(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    models = opened(NAME)
    for words in (10, 4000, 10, 4100, 12_000, 10):
        server.reply(Reply("Yes."))
        await asking(models, long(words))

    assert ollama.loads == [4096, 8192, 32_768]
    assert not any(ollama.dropped) and ollama.shows == 1


async def test_a_model_that_is_loaded_with_more_is_not_loaded_again(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    ollama.loads.append(16_384)
    server.reply(Reply("Yes."))

    await asking(opened(NAME), long(10))

    assert ollama.loads == [16_384]


async def test_where_the_server_counts_more_than_we_do_the_window_grows_until_it_fits(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    ollama.heaviness = 3.0
    server.reply(Reply("Yes."))

    asked = await asking(opened(NAME), long(4000))

    assert asked.answer.text == "Yes." and ollama.dropped == [0]
    assert [request.status for request in server.requests] == [400, 200]
    assert ollama.loads == [8192, 16_384]


async def test_an_answer_that_found_no_room_finds_it_when_it_is_asked_for_again(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    models, tale = opened(NAME), "and then it rained " * 1000
    server.reply(Reply(tale), Reply(tale))

    first, second = await asking(models, long(10)), await asking(models, long(10))

    assert first.answer.finish == "length" and len(first.answer.text) < len(tale)
    assert second.answer.finish == "stop" and second.answer.text == tale
    assert ollama.loads == [4096, 8192]


async def test_where_even_the_longest_window_is_too_short_it_is_said(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    ollama.heaviness = 30.0

    asked = await asking(opened(NAME), long(4000))

    assert isinstance(asked.error, ContextTooLong) and ollama.loads[-1] == 32_768
    assert [request.status for request in server.requests] == [400, 400, 400]


async def test_what_no_window_of_the_model_holds_is_too_long_and_not_cut(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    ollama.longest_window = 6000
    models = opened(NAME)

    asked = await asking(models, long(12_000))

    assert isinstance(asked.error, ContextTooLong) and asked.error.window == 6000
    assert not server.requests and models.window(NAME) == 6000
    server.reply(Reply("Yes."))
    assert (await asking(models, long(4000))).answer.text == "Yes."
    assert ollama.loads == [6000] and ollama.dropped == [0]


async def test_calls_results_thoughts_and_counts_are_told_in_ollamas_own_form(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.reply(
        Reply("I roll.", reasoning="A die, then.", calls=(("roll_dice", {"sides": 6}), ("roll_dice", {"sides": 8}))),
        Reply("4 and 7."),
    )
    models = opened(NAME)

    first = await asking(models, tool_question)

    answer = first.answer
    assert (answer.text, answer.reasoning, answer.finish) == ("I roll.", "A die, then.", "tool_calls")
    assert [dict(call.arguments) for call in answer.calls] == [{"sides": 6}, {"sides": 8}]
    assert len({call.id for call in answer.calls}) == 2
    assert sum(isinstance(piece, CallPiece) for piece in first.pieces) == 2
    made = AssistantEntry(text="I roll.", calls=answer.calls, provider=answer.provider, raw=answer.raw)
    results = [ToolEntry(call.id, "roll_dice", text) for call, text in zip(answer.calls, ("4", "7"), strict=True)]
    second = await asking(models, Request(entries=(*tool_question.entries, made, *results), tools=tool_question.tools))
    assert second.answer.text == "4 and 7."
    assert [request.status for request in server.requests] == [200, 200]
    told = server.requests[1].body["messages"]
    assert [one["tool_name"] for one in told if one["role"] == "tool"] == ["roll_dice", "roll_dice"]
    assert "stream_options" not in server.requests[1].body


async def test_tools_that_a_model_cannot_take_are_taught_in_words(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.supports_tools = False
    server.reply(Reply("Hello."))

    asked = await asking(opened(NAME), tool_question)

    assert asked.answer.text == "Hello." and not asked.answer.native
    assert [request.status for request in server.requests] == [400, 200]
    assert server.requests[1].body["options"]["stop"]


async def test_a_server_that_is_no_ollama_is_asked_by_chat_completions(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    models = opened(NAME)
    for _ in range(2):
        server.reply(Reply("Yes."))
        assert (await asking(models, long(10))).answer.text == "Yes."

    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2


async def test_a_model_that_is_pulled_later_is_found_then(
    server: ModelServer, ollama: Ollama, opened: Open, asking: Ask
) -> None:
    models = opened("ollama:other")
    assert isinstance((await asking(models, long(10))).error, SetupRefused)

    server.models.append("other")
    server.reply(Reply("Yes."))
    assert (await asking(models, long(6000))).answer.text == "Yes."
    assert server.requests[-1].path == "/api/chat" and ollama.dropped == [0]


@pytest.mark.parametrize(
    "answer",
    ["[]", "{}", '{"model_info": []}', '{"model_info": {"x.context_length": "many"}}', "<html>", '{"model_info": {}}'],
)
async def test_whatever_a_server_says_of_itself_it_is_asked(
    answer: str, raw_server: RawServer, opened: Open, asking: Ask
) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/api"):
            return web.Response(text=answer, content_type="application/json")
        chunk = {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}
        return web.Response(text=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", content_type="text/event-stream")

    url = await raw_server(handle)

    asked = await asking(opened(NAME, base_urls={"ollama": url}), long(10))

    assert asked.answer.text == "Yes."


@pytest.mark.parametrize("fault", ["drop", "error"])
async def test_a_stream_that_breaks_off_is_a_drop(fault: str, raw_server: RawServer, opened: Open, asking: Ask) -> None:
    lines = {
        "drop": '{"message": {"content": "It is"}, "done": false}\n',
        "error": '{"message": {"content": "It is"}, "done": false}\n{"error": "an error was encountered"}\n',
    }

    async def handle(request: web.Request) -> web.StreamResponse:
        told = {"/api/show": '{"model_info": {"a.context_length": 8192}}', "/api/ps": '{"models": []}'}
        return web.Response(text=told.get(request.path, lines[fault]))

    url = await raw_server(handle)

    asked = await asking(opened(NAME, base_urls={"ollama": url}), long(10))

    assert isinstance(asked.error, ModelDropped)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_lines_are_found_wherever_the_stream_is_cut(size: int) -> None:
    data = b'{"a": 1}\r\n\n{"b": "\xe4\xb8\xad"}\n{"c": 3}'
    decoder = LineDecoder()

    found = [event for at in range(0, len(data), size) for event in decoder.feed(data[at : at + size])]

    assert [json.loads(event) for event in (*found, *decoder.finish())] == [{"a": 1}, {"b": "中"}, {"c": 3}]


def test_what_a_line_holds_beside_a_message_does_no_harm() -> None:
    assembly = OllamaAssembly()
    for event in ({}, {"message": 3}, {"message": {"tool_calls": "x"}}, {"message": {"tool_calls": [3]}}):
        assembly.add(event, Delta())
    assembly.add({"done": True, "done_reason": "length", "prompt_eval_count": "x"}, Delta())

    assert assembly.finish == "length" and assembly.usage is None and assembly.calls() == ()


@pytest.mark.parametrize(
    ("reason", "finish"), [("", "stop"), ("length", "length"), ("load", "broken"), ("new", "broken")]
)
def test_an_answer_is_whole_where_its_reason_is_known(reason: str, finish: str) -> None:
    assembly = OllamaAssembly()

    assembly.add({"message": {"content": "It is"}, "done": True, "done_reason": reason}, Delta())

    assert assembly.finish == finish
