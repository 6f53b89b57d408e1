"""Requests that a strict server refuses, each through the real client."""

from __future__ import annotations

import openai
import pytest

from playground.model import ModelServer
from tests.conftest import RawJson, RawObject

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "2"}
TOOL = {"type": "function", "function": {"name": "calculator", "parameters": {"type": "object", "properties": {}}}}


def tool(**changes: RawJson) -> RawObject:
    return {"type": "function", "function": {**TOOL["function"], **changes}}  # type: ignore[dict-item]


async def ask(client: openai.AsyncOpenAI, **request: RawJson) -> None:
    await client.chat.completions.create(model="scripted", **request)


async def test_a_well_formed_conversation_passes(client: openai.AsyncOpenAI) -> None:
    system = {"role": "system", "content": "Be brief."}
    two = {**CALLED, "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}], "reasoning_content": "hm"}
    messages = [
        system,
        USER,
        two,
        RESULT,
        {**RESULT, "tool_call_id": "c2"},
        {"role": "assistant", "content": "2"},
        USER,
    ]

    await ask(client, messages=messages, tools=[TOOL], tool_choice="none", parallel_tool_calls=True)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "non-empty array"),
        ([{"role": "robot", "content": "hi"}], "Supported values"),
        ([{"role": "user", "content": None}], "got null"),
        ([{"role": "user", "content": 7}], "got int"),
        ([{"role": "user", "content": []}], "array of parts"),
        ([{"role": "user", "content": [{"type": "sound"}]}], r"content\[0\]"),
        ([{"role": "assistant", "content": None}], "got null"),
        ([{"role": "user", "content": "hi", "name": "Ada Lovelace"}], "does not match pattern"),
        ([{"role": "user", "content": "hi", "mood": "good"}], "Additional properties"),
        ([USER, CALLED], "did not have response messages: c1"),
        ([USER, CALLED, USER, RESULT], "did not have response messages: c1"),
        ([USER, RESULT], "must be a response"),
        ([USER, CALLED, {**RESULT, "tool_call_id": "c9"}], "'c9' is not waited for"),
        ([USER, CALLED, RESULT, RESULT], "must be a response"),
        ([USER, {**CALLED, "tool_calls": []}], "empty array"),
        ([USER, {**CALLED, "tool_calls": [CALL, CALL]}, RESULT], "Duplicate"),
        ([USER, {**CALLED, "tool_calls": [{**CALL, "id": ""}]}], "Missing required parameter"),
        ([USER, {**CALLED, "tool_calls": [{**CALL, "id": "c" * 41}]}], "string too long"),
        ([USER, {**CALLED, "tool_calls": [{**CALL, "index": 0}]}, RESULT], "Additional properties"),
        (
            [USER, {**CALLED, "tool_calls": [{**CALL, "function": {"name": "a", "arguments": "{"}}]}, RESULT],
            "JSON object",
        ),
        ([USER, {**CALLED, "tool_calls": [{**CALL, "function": {"name": "a b", "arguments": "{}"}}]}], "name"),
    ],
)
async def test_a_broken_conversation_is_refused_with_the_reason(
    client: openai.AsyncOpenAI, messages: list[RawJson], words: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=words):
        await ask(client, messages=messages, tools=[TOOL])


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"tools": []}, "empty array"),
        ({"tools": [TOOL] * 2}, "given twice"),
        ({"tools": [tool(name=f"t{number}") for number in range(129)]}, "array too long"),
        ({"tools": [tool(name="a b")]}, "does not match pattern"),
        ({"tools": [{"name": "calculator"}]}, r"tools\[0\]"),
        ({"tools": [tool(parameters={"type": "string"})]}, "type: .*object"),
        ({"tools": [tool(parameters={"type": "object", "properties": {"a": {"type": "array"}}})]}, "missing items"),
        ({"tools": [tool(parameters={"type": "object", "properties": {}, "required": ["a"]})]}, "unknown properties"),
        ({"tools": [tool(description="a" * 1025)]}, "longer than 1024"),
        ({"tool_choice": "auto"}, "only allowed when 'tools'"),
        ({"parallel_tool_calls": True}, "only allowed when 'tools'"),
        ({"tools": [TOOL], "tool_choice": "calculator"}, "Supported values"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "not found in 'tools'"),
        ({"stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
        ({"temperature": 3}, "between 0 and 2"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "at the same time"),
        ({"max_tokens": 0}, "at least 1"),
        ({"stop": ["a"] * 5}, "at most 4"),
        ({"extra_body": {"wishes": 3}}, "Unrecognized request argument supplied: wishes"),
    ],
)
async def test_options_a_strict_server_refuses(client: openai.AsyncOpenAI, request_: RawObject, words: str) -> None:
    with pytest.raises(openai.BadRequestError, match=words):
        await ask(client, messages=[USER], **request_)


async def test_tool_messages_need_tools_beside_them_unless_the_server_is_lenient(
    client: openai.AsyncOpenAI, server: ModelServer
) -> None:
    messages = [USER, CALLED, RESULT]

    with pytest.raises(openai.BadRequestError, match="need 'tools'"):
        await ask(client, messages=messages)
    server.tools_with_history = False
    await ask(client, messages=messages)


async def test_a_server_without_tools_says_so_in_ollamas_words(client: openai.AsyncOpenAI, server: ModelServer) -> None:
    server.supports_tools = False

    with pytest.raises(openai.BadRequestError, match="library/scripted does not support tools"):
        await ask(client, messages=[USER], tools=[TOOL])
    await ask(client, messages=[USER])
