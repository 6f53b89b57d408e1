"""What a server cannot take of a request is found out once, left out from then on, and the question is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from bot.contract import AssistantEntry, SystemEntry, ToolEntry, UserEntry
from bot.contract.errors import ModelRefused, SetupRefused
from bot.model.base import Request
from bot.model.schemas import simplified
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


DEEP: RawObject = {
    "type": "object",
    "$defs": {
        "Place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}}}
    },
    "anyOf": [{"required": ["place"]}, {"required": ["near"]}],
    "properties": {
        "place": {"$ref": "#/$defs/Place", "description": "Where."},
        "near": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Place"}]},
        "days": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
        "unit": {"enum": ["C", "F"]},
        "tags": {"type": "array", "items": [{"type": "string"}]},
        "more": True,
        "self": {"$ref": "#/properties/self"},
        "both": {"allOf": [{"properties": {"a": {"type": "number"}}}, {"properties": {"b": {"type": "boolean"}}}]},
    },
    "required": ["place", "gone"],
}
PLACE: RawObject = {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}}


def test_a_simplified_schema_has_one_type_for_each_value() -> None:
    assert simplified(DEEP) == {
        "type": "object",
        "properties": {
            "place": {**PLACE, "description": "Where."},
            "near": PLACE,
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "string"},
            "self": {"type": "string"},
            "both": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}}},
        },
        "required": ["place"],
    }


def test_a_schema_without_end_ends() -> None:
    endless: RawObject = {"type": "object", "properties": {}}
    endless["properties"]["again"] = {"$ref": "#"}

    assert len(str(simplified(endless))) < 2_000
    assert simplified({"anyOf": [{"$ref": "#"}]})["type"] == "object"


SCHEMAS_REFUSED = {
    "Moonshot": "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: "
    "<At path 'root': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
    "llama.cpp": "Failed to parse grammar",
    "llama.cpp's parsers": "Unable to generate parser for this template. Automatic parser generation failed: "
    "\nUnrecognized schema",
}


@pytest.mark.parametrize("name", SCHEMAS_REFUSED)
@pytest.mark.parametrize("simple", [True, False])
async def test_tools_whose_schemas_are_refused_without_a_name_are_declared_more_simply_then_in_words(
    server: ModelServer, opened: Open, asking: Ask, name: str, simple: bool
) -> None:
    def script(body: RawObject) -> Reply:
        tools = str(body.get("tools", ""))
        return (
            Reply.refusal(400, SCHEMAS_REFUSED[name]) if tools and ("anyOf" in tools or not simple) else Reply("Done.")
        )

    server.script = script
    models = opened("vllm:scripted")
    parameters: RawObject = {"type": "object", "properties": {"days": DEEP["properties"]["days"]}}
    request = Request(entries=(UserEntry("Go."),), tools=(ToolSpec(name="go", purpose="Goes.", parameters=parameters),))

    for _ in range(2):
        assert (await asking(models, request)).answer.text == "Done."

    assert len(server.requests) == (3 if simple else 4)
    assert ("tools" in server.requests[-1].body) == simple


HISTORY = (
    UserEntry("Roll."),
    AssistantEntry("", calls=(ToolCall("call_1", "add_note", {"text": "x"}),), provider="elsewhere", raw={"x": 1}),
    ToolEntry("call_1", "add_note", "noted"),
    UserEntry("And?"),
)


def _caller(body: RawObject) -> RawObject:
    return next((one for one in body["messages"] if one.get("tool_calls")), {})


HISTORY_REFUSED: dict[str, tuple[str, Callable[[RawObject], bool]]] = {
    "Gemini, through a gateway": (
        "Provider returned error: Function call is missing a thought_signature in functionCall parts. This is required",
        lambda body: not _caller(body),
    ),
    "Mistral": (
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        lambda body: (
            len(_caller(body)["tool_calls"][0]["id"]) == 9
            and body["messages"][2]["tool_call_id"] == _caller(body)["tool_calls"][0]["id"]
        ),
    ),
    "Moonshot": ("Invalid request: text content is empty", lambda body: "content" not in _caller(body)),
    "xAI": (
        "Invalid request content: Each message must have at least one content element.",
        lambda body: bool(_caller(body).get("content")),
    ),
}


@pytest.mark.parametrize("name", HISTORY_REFUSED)
async def test_calls_of_history_are_told_as_a_server_takes_them(
    server: ModelServer, opened: Open, asking: Ask, name: str
) -> None:
    words, taken = HISTORY_REFUSED[name]
    server.script = lambda body: Reply("So.") if taken(body) else Reply.refusal(400, words)
    models = opened("vllm:scripted")

    for _ in range(2):
        assert (await asking(models, Request(entries=HISTORY, tools=TOOLS))).answer.text == "So."

    assert len(server.requests) <= 4 and server.requests[-2].status == 200
    assert "noted" in str(server.requests[-1].messages)


async def test_what_a_server_does_not_want_back_of_its_own_answers_is_left_out(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    server.script = lambda body: (
        Reply.refusal(400, "'messages.1' : property 'reasoning_content' is unsupported")
        if any("reasoning_content" in one for one in body["messages"])
        else Reply(reasoning="Hm.", calls=(("add_note", {"text": "x"}),))
        if len(body["messages"]) < 3
        else Reply("So.")
    )
    models = opened("deepseek:scripted")
    answer = (await asking(models, Request(entries=(UserEntry("Note x."),), tools=TOOLS))).answer
    own = AssistantEntry("", calls=answer.calls, provider=answer.provider, raw=answer.raw)
    entries = (UserEntry("Note x."), own, ToolEntry(answer.calls[0].id, "add_note", "noted"))

    asked = await asking(models, Request(entries=entries, tools=TOOLS))

    assert asked.answer.text == "So."
    assert server.requests[-1].messages[1]["tool_calls"][0]["id"] == answer.calls[0].id


@pytest.mark.parametrize(
    "words",
    [
        "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing",
        "tool_choice 'specified' is incompatible with thinking enabled",
        "[{'type': 'literal_error', 'loc': ('body', 'tool_choice'), 'msg': \"Input should be 'auto'\"}]",
    ],
)
async def test_a_choice_that_a_server_does_not_know_is_made_in_words(
    server: ModelServer, opened: Open, asking: Ask, words: str
) -> None:
    server.script = lambda body: Reply.refusal(404, words) if "tool_choice" in body else Reply("So.")
    request = Request(entries=(UserEntry("Note x."),), tools=TOOLS, tool_choice="required")

    assert (await asking(opened("vllm:scripted"), request)).answer.text == "So."
    assert "Call one of your tools now." in str(server.requests[-1].messages)


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
