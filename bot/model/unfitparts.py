"""The part of a request that a server refuses, found in its words: a role, a form of history, or schemas of tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bot.model.learned import Part

_SYSTEM: Final = re.compile(
    r"system (?:role|message|prompt|instruction)s? (?:is |are )?(?:not |un)(?:supported|allowed|enabled)"
    r"|developer instruction is not enabled"
    r"|(?:not support|n't support|unsupported|unexpected|invalid|unknown)\b[^.]{0,60}\b(?:role )?[`'\"]?system\b"
    r"|\brole\b[^.]{0,40}\bsystem\b[^.]{0,40}(?:not |un)(?:supported|allowed|expected)"
)
_TOOL: Final = re.compile(
    r"(?:unexpected|unsupported|invalid|unknown)\b[^.]{0,40}\brole\W{1,6}tool\b"
    r"|\brole\W{1,6}tool\W[^.]{0,40}(?:not |un)(?:supported|allowed|expected)"
    r"|[`'\"]tool[`'\"] is not one of|keyerror:? ?[`'\"]tool[`'\"]"
)
_NEITHER: Final = re.compile(
    r"only user and assistant roles|roles must alternate"
    r"|(?:input should be|must be|one of)[^.]{0,20}user[^.]{0,12}assistant"
)
"""Refusals of all but two roles, without saying which of ours is excess."""
_PLACE: Final = re.compile(
    r"function_?declarations\W{1,2}(\d{1,3})\b|\btools\W{1,4}(\d{1,3})\W{1,4}(?:function(?!_?declarations)|parameters|input|custom|name|type)"
)
_NAMED: Final = re.compile(r"(?:function|tool)s?:? {0,2}[`'\"]([\w.-]{1,64})[`'\"]")
_SCHEMA: Final = re.compile(r"schema|parameters|input_schema|propert(?:y|ies)|function name")
_QUOTED: Final = re.compile(r"[`'\"]([\w.-]{1,64})[`'\"]")


def refused_role(words: str, sent: Mapping[str, Any]) -> str:
    """Return `system` or `tool` if a message of that role was sent and is refused; empty if neither is.

    Templates of models raise their own errors about roles (Gemma, Mistral, Llama 2), and servers pass them on as 400 or
    500. If it could be either, it is `system`: asked without, the server says whether it was the other, too.

    Args:
        words: the server's text, in lower case.
    """
    roles = {message.get("role") for message in sent.get("messages") or () if isinstance(message, Mapping)}
    neither = _NEITHER.search(words)
    if "system" in roles and (neither or _SYSTEM.search(words)):
        return "system"
    return "tool" if "tool" in roles and (neither or _TOOL.search(words)) else ""


_SIGNATURE: Final = re.compile(r"thought_?signature")
_CALL_ID: Final = re.compile(
    r"(?:tool call id|tool_call_id|tool_calls?\W{1,4}\d{0,3}\W{0,4}id|tool_use\.id|tool_use_id)\b.{0,80}"
    r"(?:must|length|pattern|match|too long)"
)
_EMPTY: Final = re.compile(
    r"text content is empty|must not be empty|must be non-?empty|(?:can|should)(?:not| not|n't) be empty"
    r"|at least one content element|text field in the contentblock.{0,60}blank"
    r"|content\b.{0,40}(?:field required|is a required field|expected a string, got null|should be a valid string)"
)
_SCHEMAS: Final = re.compile(r"schema|grammar|unable to generate parser")
_EXCESS: Final = re.compile(r"unsupported|not (?:supported|allowed|permitted)|extra|unknown|unrecognized|unexpected")
_GIVEN_BACK: Final = ("reasoning_content", "reasoning_details", "extra_content")


def refused_history(words: str, sent: Mapping[str, Any]) -> Part | None:
    """Return the form of the conversation's earlier messages that a server refuses and can be sent otherwise.

    Args:
        words: as above.
    """
    messages = [message for message in sent.get("messages") or () if isinstance(message, Mapping)]
    callers = [message for message in messages if message.get("tool_calls")]
    if callers and _SIGNATURE.search(words):
        return "unsigned_calls"
    if callers and _CALL_ID.search(words):
        return "call_ids"
    if any(name in words and any(name in one for one in messages) for name in _GIVEN_BACK) and _EXCESS.search(words):
        return "given_back"
    return "empty_content" if any(not one.get("content") for one in callers) and _EMPTY.search(words) else None


def refused_schemas(words: str, sent: Mapping[str, Any]) -> bool:
    """Return True if a server refuses the schema of some tool, without saying which.

    Args:
        words: as above.
    """
    return bool(sent.get("tools")) and _SCHEMAS.search(words) is not None


def refused_tool(words: str, sent: Mapping[str, Any]) -> str:
    """Return the name of the one declared tool that a server refuses; empty if none.

    Servers give its place in the list (`tools[19].function.parameters`, `tools.3.custom.input_schema`, Gemini
    `function_declarations[2]`) or its name.

    Args:
        words: as above.
    """
    declared = [_name(tool) for tool in sent.get("tools") or ()]
    if not declared:
        return ""
    place = _PLACE.search(words)
    if place is not None:
        number = int(place[1] or place[2])
        return declared[number] if number < len(declared) else ""
    by_name = {name.lower(): name for name in declared}
    named = [match[1] for match in _NAMED.finditer(words)]
    if not named and _SCHEMA.search(words):
        named = [match[1] for match in _QUOTED.finditer(words)]
    return next((by_name[name] for name in named if name in by_name), "") if _SCHEMA.search(words) else ""


def _name(tool: Mapping[str, Any]) -> str:
    return str((tool.get("function") or tool).get("name") or "")
