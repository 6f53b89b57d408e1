"""The Responses wire: chosen where Chat Completions refuses, and the same for a caller."""

from __future__ import annotations

import pytest

from bot.contract.errors import ModelBusy, ModelDropped
from bot.contract.transcript import AssistantEntry, SystemEntry, ToolEntry
from bot.model import Models
from bot.model.base import Request
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, Open, RecordingClock


@pytest.fixture
def thinking(opened: Open, server: ModelServer) -> Models:
    server.models += ["gpt-5.4-mini", "gpt-5-mini"]
    return opened("openai:gpt-5.4-mini", reasoning_effort="high")


async def test_effort_beside_tools_goes_by_responses_for_the_models_that_ask_for_it(
    server: ModelServer, opened: Open, asking: Ask, thinking: Models, question: Request, tool_question: Request
) -> None:
    await asking(thinking, tool_question)
    await asking(thinking, question)
    await asking(opened("openai:gpt-5-mini", reasoning_effort="high"), tool_question)
    await asking(opened("openai:gpt-5.4-mini"), tool_question)

    assert [request.path.removeprefix("/v1/") for request in server.requests] == [
        "responses", "chat/completions", "chat/completions", "chat/completions",
    ]  # fmt: skip
    assert server.requests[0]["reasoning"] == {"effort": "high"}
    assert server.requests[0]["store"] is False


async def test_text_and_reasoning_stream_and_usage_is_counted(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request
) -> None:
    server.reply(Reply("Here it is. 早安", reasoning="Let me see."))

    asked = await asking(thinking, tool_question)

    assert asked.text == asked.answer.text == "Here it is. 早安"
    assert asked.reasoning == "Let me see."
    assert asked.answer.finish == "stop"
    assert asked.answer.usage.prompt > 0


async def test_without_a_report_the_instructions_count_as_well(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request
) -> None:
    server.reply(Reply("Here.", usage={}), Reply("Here.", usage={}))

    short = (await asking(thinking, tool_question)).answer
    entries = (SystemEntry("Answer in the words of a sailor. " * 200), *tool_question.entries)
    long = (await asking(thinking, Request(entries=entries, tools=tool_question.tools))).answer

    assert long.usage.prompt > short.usage.prompt + 800


async def test_calls_and_their_reasoning_return_with_the_results(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request
) -> None:
    server.reply(
        Reply("One moment.", reasoning="Dice.", calls=(("roll_dice", {"sides": 6}), ("roll_dice", '{"sides": 20,}')))
    )

    answer = (await asking(thinking, tool_question)).answer
    entry = AssistantEntry(answer.text, calls=answer.calls, provider=answer.provider, raw=answer.raw)
    results = [ToolEntry(call.id, call.name, "4") for call in answer.calls]
    await asking(thinking, Request(entries=(*tool_question.entries, entry, *results), tools=tool_question.tools))

    assert answer.finish == "tool_calls"
    assert [dict(call.arguments) for call in answer.calls] == [{"sides": 6}, {"sides": 20}]
    items = server.requests[1]["input"]
    assert [item.get("type", item.get("role")) for item in items] == [
        "user", "reasoning", "assistant", *["function_call"] * 2, *["function_call_output"] * 2,
    ]  # fmt: skip
    assert server.requests[1].status == 200


async def test_a_history_of_another_wire_is_taken_without_its_raw_messages(
    server: ModelServer, thinking: Models, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.reply(Reply(calls=(("roll_dice", {"sides": 6}),)))
    answer = (await asking(opened("gemini:scripted"), tool_question)).answer
    entry = AssistantEntry("", calls=answer.calls, provider=answer.provider, raw=answer.raw)

    await asking(
        thinking,
        Request(
            entries=(*tool_question.entries, entry, ToolEntry(answer.calls[0].id, "roll_dice", "4")),
            tools=tool_question.tools,
            tool_choice="none",
            reminder="Answer now.",
        ),
    )

    request = server.requests[1]
    assert request.status == 200
    assert request["tool_choice"] == "none"
    assert request["instructions"].endswith("Answer now.")


async def test_prompt_mode_works_by_responses_too(
    server: ModelServer, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.models.append("gpt-5.4-mini")
    models = opened("openai:gpt-5.4-mini", reasoning_effort="high", tool_mode="prompt")

    await asking(models, tool_question)

    assert "tools" not in server.requests[0].body
    assert "<tool_call>" in server.requests[0]["instructions"]
    assert server.requests[0].status == 200


async def test_a_model_that_only_knows_responses_is_asked_there_from_then_on(
    server: ModelServer, models: Models, asking: Ask, question: Request
) -> None:
    words = "This model is only supported in v1/responses and not in v1/chat/completions."
    server.reply(Reply.refusal(404, words), Reply("Here."), Reply("There."))

    assert (await asking(models, question)).answer.text == "Here."
    assert (await asking(models, question)).answer.text == "There."
    assert len(server.requests) == 3


async def test_a_limit_reached_is_told(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request
) -> None:
    server.reply(Reply("Half an ans", finish_reason="length"))

    assert (await asking(thinking, tool_question)).answer.finish == "length"


@pytest.mark.parametrize("reply", [Reply("Some text.", drop_after=4), Reply("Some text.", error_object=4)])
async def test_a_broken_stream_is_a_drop(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request, reply: Reply
) -> None:
    server.reply(reply)

    asked = await asking(thinking, tool_question)

    assert isinstance(asked.error, ModelDropped)
    assert "Some text.".startswith(asked.text)


async def test_a_busy_server_is_busy_here_too(
    server: ModelServer, thinking: Models, asking: Ask, tool_question: Request, clock: RecordingClock
) -> None:
    clock.instant = True
    server.reply(*[Reply.refusal(503, "Overloaded")] * 3)

    assert isinstance((await asking(thinking, tool_question)).error, ModelBusy)
