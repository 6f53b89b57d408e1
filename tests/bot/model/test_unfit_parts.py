"""What a server cannot take of a request is found out once, left out from then on, and the question is answered."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bot.contract import AssistantEntry, SystemEntry, ToolEntry, UserEntry
from bot.contract.errors import ModelRefused, SetupRefused
from bot.model.base import Request
from playground.model import ModelServer, Reply
from tests.bot.model.conftest import Ask, Open
from tests.conftest import RawObject
from tools.contract.base import ToolCall, ToolSpec

SCHEMA: RawObject = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = tuple(
    ToolSpec(name=name, purpose="Does things.", parameters=SCHEMA) for name in ("add_note", "list_Events", "send_mail")
)
SYSTEM = SystemEntry("You are Parley.")

SYSTEM_REFUSED = {
    "Google's Gemma": (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
    "Gemma's template in vLLM": (400, "System role not supported"),
    "Gemma's template in SGLang": (500, "jinja2.exceptions.TemplateError: System role not supported"),
    "Mistral's template in LM Studio": (400, "Error rendering prompt: Only user and assistant roles are supported!"),
    "Llama 2's template": (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    "OpenAI's o1-mini": (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    "a gateway": (422, "[{'loc': ['body', 'messages', 0, 'role'], 'msg': \"Input should be 'user' or 'assistant'\"}]"),
}


@pytest.mark.parametrize("name", SYSTEM_REFUSED)
async def test_a_model_without_a_system_role_is_told_it_before_the_first_question(
    server: ModelServer, opened: Open, asking: Ask, name: str
) -> None:
    status, words = SYSTEM_REFUSED[name]

    def script(body: RawObject) -> Reply:
        refused = any(message["role"] == "system" for message in body["messages"])
        return Reply.refusal(status, words) if refused else Reply("Hello.")

    server.script = script
    models = opened("vllm:scripted")
    entries = (SYSTEM, UserEntry("Hi"), AssistantEntry("Yes?"), UserEntry("Hello"))

    for _ in range(2):
        assert (await asking(models, Request(entries=entries))).answer.text == "Hello."

    sent = [(message["role"], message["content"]) for message in server.requests[-1].messages]
    assert sent == [("user", "You are Parley.\n\nHi"), ("assistant", "Yes?"), ("user", "Hello")]
    refused = sum(request.status != 200 for request in server.requests)
    assert len(server.requests) == 2 + refused, "a refusal is learned once"
    assert refused == (1 if status < 500 else refused)


async def test_a_conversation_that_begins_with_an_answer_or_a_picture_keeps_them_without_a_system_role(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    server.script = lambda body: (
        Reply.refusal(400, "System role not supported") if body["messages"][0]["role"] == "system" else Reply("Hello.")
    )

    await asking(opened("vllm:scripted"), Request(entries=(SYSTEM, AssistantEntry("Yes?"), UserEntry("Hello"))))

    assert [message["role"] for message in server.requests[-1].messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    "words",
    [
        'messages: Unexpected role "tool". Allowed roles are "user" or "assistant"',
        "'tool' is not one of ['system', 'assistant', 'user', 'function'] - 'messages.2.role'",
        "KeyError: 'tool'",
        "Only user and assistant roles are supported!",
    ],
)
async def test_a_server_without_a_role_for_results_is_given_them_in_words(
    server: ModelServer, opened: Open, asking: Ask, words: str
) -> None:
    server.script = lambda body: (
        Reply.refusal(400, words) if any(one["role"] == "tool" for one in body["messages"]) else Reply("It is a four.")
    )
    call = ToolCall("a", "add_note", {"text": "x"})
    entries = (UserEntry("Note x."), AssistantEntry("", calls=(call,)), ToolEntry("a", "add_note", "noted"))

    assert (await asking(opened("vllm:scripted"), Request(entries=entries, tools=TOOLS))).answer.text == "It is a four."

    assert "tools" not in server.requests[-1].body
    assert "noted" in str(server.requests[-1].messages)


UNFIT = {
    "OpenAI": "Invalid schema for function 'list_Events': In context=('properties',), array schema missing items.",
    "OpenAI's place": "{'message': 'Invalid schema', 'param': 'tools[1].function.parameters'}",
    "Gemini": "* Request.tools[0].function_declarations[1].parameters.properties[a].items: missing field.",
    "Gemini, a keyword": "Unknown name \"minimum\" at 'tools[0].function_declarations[1].parameters': no field.",
    "Anthropic": "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "DeepSeek": "Invalid schema for function 'list_Events': schema must be a JSON Schema of 'type: \"object\"'",
    "a checker": "[{'loc': ['body', 'tools', 1, 'function', 'parameters'], 'msg': 'Field required'}]",
    "a name in words": 'The parameters schema of "list_events" could not be compiled',
}


@pytest.mark.parametrize("name", UNFIT)
async def test_one_tool_that_a_server_cannot_take_is_left_out_and_the_others_stay(
    server: ModelServer, opened: Open, asking: Ask, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    def script(body: RawObject) -> Reply:
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        return Reply.refusal(400, UNFIT[name]) if "list_Events" in names else Reply("Done.")

    server.script = script
    models = opened()
    request = Request(entries=(UserEntry("Note x."),), tools=TOOLS, tool_choice="list_Events")

    with caplog.at_level(logging.WARNING):
        asked = await asyncio.gather(*(asking(models, request) for _ in range(3)))
        await asking(models, request)

    assert [one.answer.text for one in asked] == ["Done."] * 3
    last = server.requests[-1].body
    assert [tool["function"]["name"] for tool in last["tools"]] == ["add_note", "send_mail"]
    assert "tool_choice" not in last
    assert len(server.requests) <= 7 and server.requests[-2].status == 200
    [said] = [record for record in caplog.records if "list_Events" in record.getMessage()]
    assert "not offered to this model" in said.getMessage()


async def test_a_server_that_refuses_one_tool_after_the_other_is_told_of_them_in_words(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    server.script = lambda body: (
        Reply.refusal(400, "tools[0].function.parameters: no") if body.get("tools") else Reply("In words.")
    )
    tools = tuple(ToolSpec(name=f"tool_{number}", purpose="Does things.", parameters=SCHEMA) for number in range(20))

    assert (await asking(opened(), Request(entries=(UserEntry("Go."),), tools=tools))).answer.text == "In words."
    assert len(server.requests) <= 11

    asked = await asking(opened(tool_mode="native"), Request(entries=(UserEntry("Go."),), tools=tools))
    assert isinstance(asked.error, ModelRefused)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "Country, region, or territory not supported"),
        (400, "User location is not supported for the API use."),
    ],
)
async def test_a_country_that_is_not_served_is_no_matter_of_the_key(
    server: ModelServer, opened: Open, asking: Ask, question: Request, status: int, words: str
) -> None:
    server.reply(Reply.refusal(status, words, code="unsupported_country_region_territory" if status == 403 else ""))

    error = (await asking(opened(), question)).error

    assert type(error) is SetupRefused and "not offered where this bot runs" in str(error)
