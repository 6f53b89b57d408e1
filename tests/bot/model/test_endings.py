"""An answer is whole only where its server says so in a known word; any other ending is taken for a broken one."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest
from aiohttp import web

from bot.contract.errors import ContextTooLong, ModelDropped, SetupRefused
from bot.model.base import Request
from bot.model.endings import meaning_of
from bot.model.loops import LoopWatch
from tests.bot.model.conftest import Ask, Events, Open, RawServer
from tests.conftest import RawJson, RawObject

CALL: RawObject = {"id": "a", "function": {"name": "roll_dice", "arguments": '{"sides": 6}'}}


def chunk(finish: RawJson = None, **delta: RawJson) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


@pytest.mark.parametrize(
    "reason", ["stop", "STOP", "FinishReason.STOP", "end_turn", "stop-sequence", "eos", "COMPLETE"]
)
def test_a_known_word_for_the_end_is_the_end(reason: str) -> None:
    assert meaning_of(reason) == "stop"


@pytest.mark.parametrize(
    ("reason", "means"),
    [
        ("tool_use", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("model_context_window_exceeded", "length"),
        ("incomplete", "length"),
        ("repetition_truncation", "length"),
        ("content_filter: RECITATION", "content_filter"),
        ("sensitive", "content_filter"),
        ("refusal", "content_filter"),
        ("abort", "broken"),
        ("unknown", "broken"),
        ("network_error", "broken"),
        ("insufficient_system_resource", "broken"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "bad_call"),
        ("UNEXPECTED_TOOL_CALL", "bad_call"),
        ("stop it", "broken"),
        ("", ""),
        ("null", ""),
        (None, ""),
        (7, ""),
    ],
)
def test_a_reason_means_length_withheld_or_broken_off(reason: RawJson, means: str) -> None:
    assert meaning_of(reason) == means


@pytest.mark.parametrize("reason", ["abort", "unknown", "something_new: sk-secret"])
async def test_an_unknown_ending_is_a_drop_and_named_once(
    raw_server: RawServer,
    opened: Open,
    question: Request,
    asking: Ask,
    events: Events,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "bot.model")
    url = await raw_server(events(chunk(content="It is "), chunk(reason), "[DONE]"))
    models = opened(base_urls={"openai": url})

    first, second = await asking(models, question), await asking(models, question)

    for asked in (first, second):
        assert isinstance(asked.error, ModelDropped)
        assert asked.text == "It is "
    assert [record.getMessage().count(reason.partition(":")[0]) for record in caplog.records] == [1]
    assert "sk-secret" not in caplog.text + str(first.error)


async def test_an_unknown_reason_on_the_way_counts_for_nothing(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    chunks = [chunk("in_progress", content="It is "), chunk("null", content="here."), chunk("stop")]

    asked = await asking(opened(base_urls={"openai": await raw_server(events(*chunks, "[DONE]"))}), question)

    assert (asked.answer.text, asked.answer.finish) == ("It is here.", "stop")


@pytest.mark.parametrize("finish", ["", "null", None])
async def test_a_server_that_says_done_needs_no_reason(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, finish: str | None
) -> None:
    url = await raw_server(events(chunk(content="It is "), chunk(finish, content="here."), "[DONE]"))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert (asked.answer.text, asked.answer.finish) == ("It is here.", "stop")


USAGE = json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}})


async def test_a_count_behind_the_answer_says_that_it_is_whole(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    """OpenCode's gateway ends the streams of Muse without a reason and without [DONE]."""
    url = await raw_server(events(chunk(content="It is "), chunk(content="here."), USAGE))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert (asked.answer.text, asked.answer.finish) == ("It is here.", "stop")


@pytest.mark.parametrize(
    "counts", [[USAGE, chunk(content="It is ")], [chunk(content="It"), USAGE, chunk(content=" is ")]]
)
async def test_a_count_before_the_last_words_says_nothing(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, counts: list[str]
) -> None:
    asked = await asking(opened(base_urls={"openai": await raw_server(events(*counts))}), question)

    assert isinstance(asked.error, ModelDropped)
    assert asked.text == "It is "


async def test_an_error_in_a_field_of_its_own_is_one(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    """llama.cpp until autumn 2025."""
    error = {"code": 400, "message": "the request exceeds the available context size", "type": "invalid_request_error"}
    handler = events(chunks=[f"error: {json.dumps(error)}\n\n".encode(), b"data: [DONE]\n\n"])

    asked = await asking(opened(base_urls={"openai": await raw_server(handler)}), question)

    assert isinstance(asked.error, ContextTooLong)


LOOP = "I will stop here. "


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_a_model_that_repeats_itself_without_end_is_stopped(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, field: str
) -> None:
    url = await raw_server(
        events(chunk(**{field: "Well. "}), *(chunk(**{field: LOOP}) for _ in range(20_000)), "[DONE]")
    )

    asked = await asking(opened(base_urls={"openai": url}), replace(question, max_output_chars=10**9))

    written = asked.text or asked.reasoning
    assert 20_000 < len(written) < 180_000, "not all of it, however much is read at once"
    if field == "content":
        assert asked.answer.finish == "cut"
    else:
        assert isinstance(asked.error, ModelDropped)


def test_long_texts_with_repeated_parts_are_no_loop() -> None:
    table = "".join(f"| {number} | yes | no |\n" for number in range(1_800))
    song = "".join(f"{number} bottles of beer on the wall\n{LOOP * 3}\n" for number in range(600, 0, -1))

    for text in (table, song, "hello " * 3_000, "x" * 19_000 + "\nThat was it."):
        watch = LoopWatch()
        assert not any(watch.feed(text[at : at + 7]) for at in range(0, len(text), 7))


async def test_a_body_that_ends_without_either_is_a_drop(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    url = await raw_server(events(chunk(content="It is "), chunk(tool_calls=[{"index": 0, **CALL}])))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert isinstance(asked.error, ModelDropped)
    assert asked.text == "It is "


@pytest.mark.parametrize(
    ("arguments", "runs"), [('{"sides": 6}', True), ('{"sides": ', False), ("", False), ("sides=6", False)]
)
async def test_calls_that_are_whole_are_made_although_the_ending_is_unknown(
    raw_server: RawServer,
    opened: Open,
    tool_question: Request,
    asking: Ask,
    events: Events,
    arguments: str,
    runs: bool,
) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "roll_dice", "arguments": arguments}}
    url = await raw_server(events(chunk(tool_calls=[call]), chunk("unknown"), "[DONE]"))

    asked = await asking(opened(base_urls={"openai": url}), tool_question)

    assert isinstance(asked.error, ModelDropped) is not runs
    if runs:
        assert [(call.name, dict(call.arguments)) for call in asked.answer.calls] == [("roll_dice", {"sides": 6})]
        assert asked.answer.finish == "tool_calls"


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("new", ""), ("", "")]
)
async def test_responses_are_incomplete_for_a_known_reason_or_broken_off(
    raw_server: RawServer, opened: Open, tool_question: Request, asking: Ask, events: Events, reason: str, finish: str
) -> None:
    said = json.dumps({"type": "response.output_text.delta", "delta": "It is "})
    details = {"reason": reason} if reason else None
    ended = json.dumps({"type": "response.incomplete", "response": {"incomplete_details": details}})
    models = opened(
        "openai:gpt-5.4-mini", reasoning_effort="high", base_urls={"openai": await raw_server(events(said, ended))}
    )

    asked = await asking(models, tool_question)

    assert asked.text == "It is "
    assert asked.answer.finish == finish if finish else isinstance(asked.error, ModelDropped)


NO_ANSWERS = [
    "<!DOCTYPE html><html><body>Sign in</body></html>",
    "404 page not found",
    '{"code": 401, "msg": "invalid token sk-secret-key-of-ours"}',
    '{"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "x"}',
    '{"success": false, "message": "no"}',
    '{"detail": "Not Found"}',
    '{"status": "ok", "version": 3}',
    '[{"code": 7, "message": "no"}]',
    '{"base_resp": {"status_code": 1004, "status_msg": "login fail"}, "choices": null}',
    'data: {"code": 11200, "message": "AppIdNoAuthError", "sid": "x"}\n\n',
    'data: {"header": {"code": 10013, "message": "no"}}\n\n',
    'event:error\n:HTTP_STATUS/400\ndata:{"code":"InvalidParameter","message":"url error","request_id":"x"}\n\n',
    'data: {"id": "x", "choices": []}\n\ndata: {"id": "x", "choices": []}\n\ndata: [DONE]\n\n',
    'data: {"id": "x", "choices": [], "usage": {"prompt_tokens": 7}}\n\n',
]


@pytest.mark.parametrize("body", NO_ANSWERS)
@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_a_body_that_holds_no_answer_is_refused_with_its_cause(
    raw_server: RawServer, opened: Open, tool_question: Request, asking: Ask, wire: str, body: str
) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="text/html" if body[0] == "<" else "text/plain")

    base_urls = {"openai": await raw_server(handle)}
    name, effort = ("openai:gpt-5.4-mini", "high") if wire == "responses" else ("openai:scripted", "")

    asked = await asking(opened(name, base_urls=base_urls, reasoning_effort=effort), tool_question)

    assert isinstance(asked.error, SetupRefused)
    assert "base URL" in str(asked.error) or "OPENAI_API_KEY" in str(asked.error)
    assert "sk-secret" not in str(asked.error)


@pytest.mark.parametrize("body", [one for one in NO_ANSWERS if not one.startswith("data") and "event" not in one])
async def test_so_it_is_by_ollama(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, body: str
) -> None:
    async def handle(request: web.Request) -> web.Response:
        if request.path.endswith("/api/show"):
            return web.json_response({"model_info": {"x.context_length": 8192}})
        return web.json_response({}) if request.path.endswith("/api/ps") else web.Response(text=body)

    asked = await asking(opened("ollama:scripted", base_urls={"ollama": await raw_server(handle)}), question)

    assert isinstance(asked.error, SetupRefused)


@pytest.mark.parametrize(
    "last", ['{"code": 10013, "message": "no", "sid": "x"}', '{"base_resp": {"status_code": 1}, "choices": null}']
)
async def test_an_error_behind_the_first_words_is_a_drop_although_the_server_says_done(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events, last: str
) -> None:
    url = await raw_server(events(chunk(content="It is "), last, "[DONE]"))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert isinstance(asked.error, ModelDropped)
    assert asked.text == "It is "


async def test_events_beside_an_answer_change_nothing(
    raw_server: RawServer, opened: Open, question: Request, asking: Ask, events: Events
) -> None:
    beside = ['{"type": "ping"}', '{"choices": [], "prompt_filter_results": []}', '{"choices": [], "cost": "0"}']
    said = [chunk(content="It is "), '{"code": 0, "message": "Success", "choices": []}', chunk(content="here.")]
    url = await raw_server(events(*beside, *said, '{"usage": {"prompt_tokens": 9}}', "[DONE]"))

    asked = await asking(opened(base_urls={"openai": url}), question)

    assert (asked.answer.text, asked.answer.finish) == ("It is here.", "stop")
