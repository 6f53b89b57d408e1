"""The model server through the real `openai` client: answers, streams, keys, the list of models, Responses."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from playground.faults import Fault
from playground.model import ModelServer, Reply
from tests.conftest import RawJson
from tests.patience import PATIENCE

ASK: list[RawJson] = [{"role": "user", "content": "hi"}]
TOOL: RawJson = {
    "type": "function",
    "function": {
        "name": "calculator",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
    },
}


async def test_a_reply_arrives_whole_without_streaming(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("Hello there.", reasoning="hm", calls=(("calculator", {"expression": "1+1"}),)))

    answer = await client.chat.completions.create(model="scripted", messages=ASK, tools=[TOOL])

    message = answer.choices[0].message
    assert message.content == "Hello there."
    assert message.model_extra == {"reasoning_content": "hm"}
    assert message.tool_calls and message.tool_calls[0].type == "function"
    assert json.loads(message.tool_calls[0].function.arguments) == {"expression": "1+1"}
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.usage is not None and answer.usage.completion_tokens > 0


async def test_a_reply_streams_in_words_and_ends_with_its_usage(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    text = "Some words, 一些中文 and 👩‍👩‍👧‍👦\n\nan end."
    server.reply(Reply(text))

    stream = await client.chat.completions.create(
        model="scripted", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]

    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert "".join(pieces) == text
    assert len(pieces) > 5
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_streamed_calls_come_in_pieces_that_join_to_their_arguments(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    arguments = {"expression": "1 + 2 + 3 + 4 + 5 + 6"}
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    server.reply(Reply(calls=(("calculator", arguments), ("calculator", "{}")), call_ids=("a", "b"), call_extras=extra))

    stream = await client.chat.completions.create(model="scripted", messages=ASK, tools=[TOOL], stream=True)
    deltas = [
        call
        async for chunk in stream
        if chunk.choices and chunk.choices[0].delta.tool_calls
        for call in chunk.choices[0].delta.tool_calls
    ]

    first = [delta for delta in deltas if delta.index == 0]
    assert len(first) > 2
    assert [delta.id for delta in deltas if delta.id] == ["a", "b"]
    assert json.loads("".join(delta.function.arguments or "" for delta in first if delta.function)) == arguments
    assert first[0].model_extra == extra


@pytest.mark.parametrize(("indexes", "expected"), [("missing", [None, None]), ("same", [0, 0])])
async def test_calls_may_lack_indexes_or_share_one(
    server: ModelServer, client: openai.AsyncOpenAI, indexes: str, expected: list[int | None]
) -> None:
    calls = (("calculator", {"expression": "1"}), ("calculator", {"expression": "2"}))
    server.reply(Reply(calls=calls, call_indexes=indexes, whole_calls=True, finish_reason="stop"))

    async with client.chat.completions.with_streaming_response.create(
        model="scripted", messages=ASK, tools=[TOOL], stream=True
    ) as response:
        lines = [line async for line in response.iter_lines() if line.startswith("data: {")]

    choices = [json.loads(line[6:])["choices"][0] for line in lines]
    deltas = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
    assert [delta.get("index") for delta in deltas] == expected
    assert [json.loads(delta["function"]["arguments"]) for delta in deltas] == [given for _, given in calls]
    assert choices[-1]["finish_reason"] == "stop"


async def test_a_call_can_be_written_as_text_of_any_family(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("Let me see.", calls=(("calculator", {"expression": "1"}),), text_calls="glm"))

    answer = await client.chat.completions.create(model="scripted", messages=ASK)

    content = answer.choices[0].message.content or ""
    assert content.startswith("Let me see.\n<tool_call>calculator")
    assert not answer.choices[0].message.tool_calls


async def test_a_script_sees_the_request_and_a_waiting_reply_goes_first(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    server.script = lambda body: Reply(body["messages"][-1]["content"].upper())
    server.reply(Reply("queued"))

    answers = [await client.chat.completions.create(model="scripted", messages=ASK) for _ in range(2)]

    assert [answer.choices[0].message.content for answer in answers] == ["queued", "HI"]
    assert [seen["messages"] for seen in server.requests] == [ASK, ASK]
    assert [seen.status for seen in server.requests] == [200, 200]


async def test_explicit_deltas_are_sent_as_they_are(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply(chunks=({"content": "a"}, {"content": None}, {"content": "b", "tool_calls": []}), usage={}))

    stream = await client.chat.completions.create(
        model="scripted", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]

    assert [chunk.choices[0].delta.content for chunk in chunks] == ["a", None, "b", None]
    assert not any(chunk.usage for chunk in chunks)


async def test_the_key_is_asked_for_only_when_one_is_set(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["scripted"]
    server.key = "secret"

    with pytest.raises(openai.AuthenticationError) as error:
        await client.chat.completions.create(model="scripted", messages=ASK)
    good = await client.with_options(api_key="secret").models.retrieve("scripted")

    assert error.value.code == "invalid_api_key"
    assert good.id == "scripted"


async def test_an_unknown_model_is_not_found(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as error:
        await client.chat.completions.create(model="gpt-99", messages=ASK)

    assert error.value.code == "model_not_found"


async def test_leaving_a_stream_is_noted(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("word " * 50, hang_after=20))
    server.reply(Reply("word"))

    stream = await client.chat.completions.create(model="scripted", messages=ASK, stream=True)
    text = ""
    async for chunk in stream:
        text += chunk.choices[0].delta.content or ""
        if len(text) == 20:
            break
    await stream.close()
    await asyncio.wait_for(server.requests[0].ended.wait(), PATIENCE)
    async for _ in await client.chat.completions.create(model="scripted", messages=ASK, stream=True):
        pass

    assert server.requests[0].closed_early
    assert server.requests[0].sent == 20
    assert not server.requests[1].closed_early


async def test_a_paced_reply_spreads_its_words_over_time(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("one two three four five", words_per_second=50))

    async for _ in await client.chat.completions.create(model="scripted", messages=ASK, stream=True):
        pass

    seen = server.requests[0]
    assert seen.last_at - seen.first_at >= 4 / 50 * 0.9
    assert seen.at <= seen.first_at <= seen.last_at <= seen.ended_at


async def test_a_fault_goes_before_the_model(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.faults.add("chat.completions", Fault(status=429, retry_after=7))
    server.faults.add("chat.completions", Fault(drop="before"))
    server.faults.add("chat.completions", Fault(drop="after"))

    with pytest.raises(openai.RateLimitError) as busy:
        await client.chat.completions.create(model="scripted", messages=ASK)
    for _ in range(2):
        with pytest.raises(openai.APIConnectionError):
            await client.chat.completions.create(model="scripted", messages=ASK)
    answer = await client.chat.completions.create(model="scripted", messages=ASK)

    assert busy.value.response.headers["retry-after"] == "7"
    assert answer.choices[0].message.content


async def test_held_headers_wait_for_the_test(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    until = asyncio.Event()
    server.reply(Reply("late", hang_before_headers=True, until=until))

    task = asyncio.ensure_future(client.chat.completions.create(model="scripted", messages=ASK))
    seen = await server.asked()
    assert not seen.ended.is_set()
    until.set()

    assert (await task).choices[0].message.content == "late"


async def test_responses_streams_text_reasoning_and_calls(server: ModelServer, client: openai.AsyncOpenAI) -> None:
    server.reply(Reply("Some text.", reasoning="Let me see.", calls=(("calculator", {"expression": "6*7"}),)))
    tool: RawJson = {"type": "function", **TOOL["function"], "strict": False}

    stream = await client.responses.create(model="scripted", input="6*7?", tools=[tool], stream=True, store=False)
    events = [event async for event in stream]

    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Some text."
    written = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
    assert json.loads(written) == {"expression": "6*7"}
    assert events[-1].type == "response.completed"
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message", "function_call"]


async def test_responses_takes_back_the_output_with_the_results(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    server.reply(Reply("Wait.", calls=(("calculator", {"expression": "6*7"}),)))
    tool: RawJson = {"type": "function", **TOOL["function"], "strict": False}
    first = await client.responses.create(model="scripted", input="6*7?", tools=[tool], store=False)
    items: list[RawJson] = [{"role": "user", "content": "6*7?"}, *(item.to_dict() for item in first.output)]

    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="scripted", input=items, tools=[tool], store=False)
    items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "42"})
    second = await client.responses.create(model="scripted", input=items, tools=[tool], store=False)

    assert "42" in second.output_text
