"""What a strict server refuses: rules of Chat Completions that lenient servers let pass and others answer with 400."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from playground.model.reply import Body, error_object

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}\Z")
LONGEST_STRING = 10_485_760
LONGEST_ID = 40
LONGEST_DESCRIPTION = 1024
MOST_TOOLS = 128
ROLES = ("system", "developer", "user", "assistant", "tool")
PARAMETERS = frozenset(
    (
        *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls"),
        *("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "n", "seed", "user", "metadata"),
        *("store", "response_format", "reasoning_effort", "verbosity", "logprobs", "top_logprobs", "logit_bias"),
        *("presence_penalty", "frequency_penalty", "service_tier", "prompt_cache_key", "safety_identifier"),
        # What compatible servers add: Ark, DeepSeek, Qwen, OpenRouter, Ollama.
        *("thinking", "enable_thinking", "chat_template_kwargs", "reasoning", "provider", "think", "options"),
        "keep_alive",
    )
)
MESSAGE_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {
        *("role", "content", "name", "tool_calls", "refusal", "annotations", "audio"),
        *("reasoning_content", "reasoning", "reasoning_details", "extra_content"),
    },
    "tool": {"role", "content", "tool_call_id", "name"},
}


_SIGNS = {"png": b"\x89PNG", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"WEBP"}


class Refused(Exception):
    """The request breaks a rule; carries the status and OpenAI's error object."""

    def __init__(self, message: str, param: str = "", *, status: int = 400, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.error = error_object(message, "invalid_request_error", code, param)


def check(body: Body, *, tools_with_history: bool = True) -> None:
    """Refuse a Chat Completions request that a strict server refuses.

    `tools_with_history`: tool messages need `tools` beside them, as several servers ask.

    Raises:
        Refused: with the place and the reason.
    """
    for key in body:
        if key not in PARAMETERS:
            raise Refused(f"Unrecognized request argument supplied: {key}", key, code="unknown_parameter")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("Invalid 'messages': expected a non-empty array of messages.", "messages")
    names = _check_tools(body.get("tools")) if "tools" in body else set()
    _check_options(body, names)
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    _check_order(messages)
    if tools_with_history and not names and any(message["role"] == "tool" for message in messages):
        raise Refused("Messages with tool calls or tool results need 'tools' to be specified.", "tools")


def check_reasoning(messages: list[Body], wanted: str) -> None:
    """Refuse what Kimi and DeepSeek refuse while they think: their own calls without the reasoning before them.

    `wanted`: `calls`; `answers`, then all that the model said; empty: nothing.

    Raises:
        Refused: with the place.
    """
    for index, message in enumerate(messages):
        held = wanted == "answers" or (wanted == "calls" and "tool_calls" in message)
        if held and message["role"] == "assistant" and not message.get("reasoning_content"):
            raise Refused(
                f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}"
                if wanted == "calls"
                else "The `reasoning_content` in the thinking mode must be passed back to the API."
            )


def _check_options(body: Body, names: set[str]) -> None:
    if body.get("stream_options") is not None and not body.get("stream"):
        raise Refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    for key in ("tool_choice", "parallel_tool_calls"):
        if body.get(key) is not None and not names:
            raise Refused(f"'{key}' is only allowed when 'tools' are specified.", key)
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name") if choice.get("type") == "function" else None
        if name not in names:
            raise Refused(f"Tool choice {name!r} not found in 'tools' parameter.", "tool_choice")
    elif choice not in (None, "none", "auto", "required"):
        raise Refused(f"Invalid value: {choice!r}. Supported values are: 'none', 'auto', 'required'.", "tool_choice")
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens"
        )
    for key in ("max_tokens", "max_completion_tokens"):
        if body.get(key) is not None and (not _is_number(body[key], int) or body[key] < 1):
            raise Refused(f"Invalid '{key}': expected an integer of at least 1.", key)
    if body.get("temperature") is not None and (
        not _is_number(body["temperature"], int, float) or not 0 <= body["temperature"] <= 2
    ):
        raise Refused("Invalid 'temperature': expected a number between 0 and 2.", "temperature")
    if body.get("n") not in (None, 1):
        raise Refused("Invalid 'n': this server gives one choice.", "n")
    stop = body.get("stop")
    stops = [stop] if stop is None or isinstance(stop, str) else stop
    if (
        not isinstance(stops, list)
        or len(stops) > 4
        or not all(item is None or isinstance(item, str) for item in stops)
    ):
        raise Refused("Invalid 'stop': expected a string or at most 4 strings.", "stop")


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _check_tools(tools: Any) -> set[str]:
    if not isinstance(tools, list) or not tools:
        raise Refused("Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools")
    if len(tools) > MOST_TOOLS:
        raise Refused(f"Invalid 'tools': array too long. Expected at most {MOST_TOOLS}, got {len(tools)}.", "tools")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools[{index}]"
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
            raise Refused(f"Invalid '{where}': expected {{'type': 'function', 'function': …}}.", where)
        function = tool["function"]
        name = function.get("name")
        if not isinstance(name, str) or not NAME.match(name):
            raise Refused(
                f"Invalid '{where}.function.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'.",
                f"{where}.function.name",
            )
        if name in names:
            raise Refused(f"Invalid '{where}.function.name': {name!r} is given twice.", f"{where}.function.name")
        names.add(name)
        description = function.get("description", "")
        if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION:
            raise Refused(
                f"Invalid '{where}.function.description': longer than {LONGEST_DESCRIPTION} characters.",
                f"{where}.function.description",
            )
        if "parameters" in function:
            _check_schema(function["parameters"], f"{where}.function.parameters", name)
    return names


def _check_schema(schema: Any, where: str, name: str) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, dict) else schema
        raise Refused(
            f"Invalid schema for function {name!r}: schema must be a JSON Schema of 'type: \"object\"', "
            f"got 'type: {json.dumps(kind, default=str)}'.",
            where,
            code="invalid_function_parameters",
        )
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(value, dict) for value in properties.values()):
        raise Refused(f"Invalid schema for function {name!r}: 'properties' must hold schemas.", where)
    for key, value in properties.items():
        if value.get("type") == "array" and "items" not in value:
            raise Refused(
                f"Invalid schema for function {name!r}: In context=('properties', '{key}'), array schema missing "
                "items.",
                where,
                code="invalid_function_parameters",
            )
    required = schema.get("required", [])
    if not isinstance(required, list) or any(key not in properties for key in required):
        raise Refused(f"Invalid schema for function {name!r}: 'required' names unknown properties.", where)


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict):
        raise Refused(f"Invalid '{where}': expected an object.", where)
    role = message.get("role")
    if role not in ROLES:
        raise Refused(f"Invalid value: {role!r}. Supported values are: {', '.join(map(repr, ROLES))}.", f"{where}.role")
    for key in message:
        if key not in MESSAGE_KEYS[role]:
            raise Refused(f"Additional properties are not allowed: '{where}.{key}'.", f"{where}.{key}")
    name = message.get("name")
    if name is not None and role != "tool" and not (isinstance(name, str) and SPEAKER.match(name)):
        raise Refused(rf"Invalid '{where}.name': string does not match pattern '^[^\s<|\\/>]+$'.", f"{where}.name")
    _check_content(message, role, where)
    if role == "tool" and not (isinstance(message.get("tool_call_id"), str) and message["tool_call_id"]):
        raise Refused(f"Missing required parameter: '{where}.tool_call_id'.", f"{where}.tool_call_id")
    if "tool_calls" in message:
        _check_calls(message["tool_calls"], f"{where}.tool_calls")


def _check_content(message: Body, role: str, where: str) -> None:
    content = message.get("content")
    if content is None and role == "assistant" and (message.get("tool_calls") or message.get("refusal")):
        return
    if isinstance(content, str):
        if len(content) > LONGEST_STRING:
            raise Refused(
                f"Invalid '{where}.content': string too long. Expected a string with maximum length {LONGEST_STRING}, "
                f"but got a string with length {len(content)} instead.",
                f"{where}.content",
                code="string_above_max_length",
            )
        return
    kinds = {"text", "image_url", "input_audio", "file"} if role == "user" else {"text"}
    if not isinstance(content, list) or not content:
        shown = "null" if content is None else type(content).__name__
        raise Refused(
            f"Invalid value for '{where}.content': expected a string or an array of parts, got {shown}.",
            f"{where}.content",
        )
    for index, part in enumerate(content):
        if not isinstance(part, dict) or part.get("type") not in kinds:
            raise Refused(f"Invalid '{where}.content[{index}].type'.", f"{where}.content[{index}]")
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise Refused(f"Missing required parameter: '{where}.content[{index}].text'.", f"{where}.content[{index}]")
        if part["type"] == "image_url":
            _check_picture(part.get("image_url"), f"{where}.content[{index}].image_url")


def _check_picture(given: Any, where: str) -> None:
    """A picture is what its data says, in one of four formats."""
    url = given.get("url") if isinstance(given, dict) else None
    if not isinstance(url, str):
        raise Refused(f"Missing required parameter: '{where}.url'.", f"{where}.url")
    found = re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+=*)", url)
    if found is None or _SIGNS[found[1]] not in base64.b64decode(found[2][:24] + "=" * (-len(found[2][:24]) % 4)):
        raise Refused(
            "You uploaded an unsupported image. Please make sure your image is valid.",
            f"{where}.url",
            code="invalid_image_format",
        )


def _check_calls(calls: Any, where: str) -> None:
    if not isinstance(calls, list) or not calls:
        raise Refused(f"Invalid '{where}': empty array. Expected an array with minimum length 1.", where)
    seen: set[str] = set()
    for index, call in enumerate(calls):
        place = f"{where}[{index}]"
        if not isinstance(call, dict) or call.get("type") != "function" or not isinstance(call.get("function"), dict):
            raise Refused(f"Invalid '{place}': expected a function call.", place)
        for key in call:
            if key not in ("id", "type", "function", "extra_content"):
                raise Refused(f"Additional properties are not allowed: '{place}.{key}'.", f"{place}.{key}")
        identity = call.get("id")
        if not isinstance(identity, str) or not identity:
            raise Refused(f"Missing required parameter: '{place}.id'.", f"{place}.id")
        if len(identity) > LONGEST_ID:
            raise Refused(
                f"Invalid '{place}.id': string too long. Expected a string with maximum length {LONGEST_ID}, "
                f"but got a string with length {len(identity)} instead.",
                f"{place}.id",
                code="string_above_max_length",
            )
        if identity in seen:
            raise Refused(f"Duplicate value for '{place}.id': {identity!r}.", f"{place}.id")
        seen.add(identity)
        name = call["function"].get("name")
        if not isinstance(name, str) or not NAME.match(name):
            raise Refused(f"Invalid '{place}.function.name'.", f"{place}.function.name")
        arguments = call["function"].get("arguments")
        try:
            parsed = json.loads(arguments) if isinstance(arguments, str) else None
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise Refused(
                f"Invalid '{place}.function.arguments': expected a string with a JSON object.",
                f"{place}.function.arguments",
            )


def _check_order(messages: list[Body]) -> None:
    """Each message with calls is followed by one tool message per call, and by nothing else before they end."""
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            if identity not in waiting:
                raise Refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    f"with 'tool_calls' ({identity!r} is not waited for).",
                    f"messages[{index}].role",
                )
            waiting.remove(identity)
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls", [])]
    if waiting:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            "messages",
        )
