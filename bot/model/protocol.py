"""Our own words to the model. Stable parts come first and the date last, so that prompt caches hit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from bot.contract import ToolEntry
from tools.contract.base import Json, ToolSpec
from tools.contract.plaintext import plain_values

CALL_FORMAT: Final = '<tool_call>{"name": "TOOL", "arguments": {"PARAMETER": "VALUE"}}</tool_call>'
"""The one notation for calls that is taught; many more are understood."""

RESULT_OPENING: Final = "<tool_result"
"""The beginning of a block of results; a model that writes it invents one."""


_ANSWER_FROM_RESULTS: Final = (
    "These are the results of the calls you made. Answer the original question from them, in the language in which "
    "it was asked; after what rests on a numbered result write its number, as [2]. Call another tool only if something "
    "is still missing."
)

_MUST: Final = (
    "You must call a tool when the answer depends on current facts, on a calculation, or on data that only a tool "
    "has. You must not call one for greetings, thanks, small talk, or what you know for certain."
)


def tool_protocol(tools: Sequence[ToolSpec]) -> str:
    """Return the instructions for calls in text, for models and servers without native calls; empty without tools.

    One format, shown literally on one line; then each tool with an example.
    """
    if not tools:
        return ""
    head = "\n".join(
        (
            "You can use tools. To call one, write exactly this, on one line, with double quotes:",
            CALL_FORMAT,
            "Write the tag and stop. Do not invent the result: it comes in the next message. Do not put the call in a "
            "code block. Several calls: one tag each.",
            _MUST,
        )
    )
    return "\n\n".join([head, "Tools:", *(_describe(tool) for tool in tools)])


def _describe(tool: ToolSpec) -> str:
    lines = [f"## {tool.name}", tool.purpose]
    if tool.use_when:
        lines.append(f"Use when: {tool.use_when}")
    if tool.not_for:
        lines.append(f"Not for: {tool.not_for}")
    if tool.source:
        lines.append(f"Source: {tool.source}")
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    if isinstance(properties, dict) and properties:
        lines.append("Parameters:")
        for name, schema in properties.items():
            lines.append(_parameter(name, schema if isinstance(schema, dict) else {}, needed=name in needed))
    else:
        lines.append("Parameters: none.")
    for question, arguments in zip(tool.asked, tool.examples, strict=False):
        lines += ["Example:", f"Person: {question}", f"You: {written_call(tool.name, arguments)}"]
    if tool.examples and not tool.asked:
        lines.append(f"Example: {written_call(tool.name, tool.examples[0])}")
    return "\n".join(lines)


def _parameter(name: str, schema: Mapping[str, Json], *, needed: bool) -> str:
    kind = schema.get("type")
    words = [str(kind) if isinstance(kind, str) else "any", "required" if needed else "optional"]
    choices = schema.get("enum")
    if isinstance(choices, list):
        words.append("one of " + ", ".join(as_json(choice) for choice in choices))
    if schema.get("default") is not None:
        words.append(f"default {as_json(schema['default'])}")
    # Only its author's own: a value of ours would be a wrong one that looks right.
    declared = schema.get("examples")
    example = declared[0] if isinstance(declared, list) and declared else schema.get("example")
    if example is not None:
        words.append(f"e.g. {as_json(example)}")
    description = schema.get("description")
    said = f": {description}" if isinstance(description, str) and description else ""
    return f"- {name} ({', '.join(words)}){said}"


def as_json(value: Json) -> str:
    return json.dumps(plain_values(value), ensure_ascii=False)


def written_call(name: str, arguments: Mapping[str, Json]) -> str:
    """Return a call in the protocol's notation."""
    # A closing tag inside a string would end the call for less careful parsers.
    body = as_json({"name": name, "arguments": dict(arguments)}).replace("</", "<\\/")
    return f"<tool_call>{body}</tool_call>"


_TAG: Final = re.compile(r"<(\s*/?\s*tool_result)", re.IGNORECASE)
_UNFIT: Final = re.compile(r'["<>&\x00-\x1f]')


def results_message(results: Sequence[ToolEntry]) -> str:
    """Return results for a model that calls in text: a block per call, and what to do with them.

    Nothing inside a block can close it or open another.
    """
    blocks = []
    for result in results:
        name, call_id = (_UNFIT.sub("_", value) for value in (result.name, result.call_id))
        status = "ok" if result.ok else "error"
        text = _TAG.sub("‹\\1", result.text)
        blocks.append(f'{RESULT_OPENING} name="{name}" id="{call_id}" status="{status}">\n{text}\n</tool_result>')
    return "\n".join([*blocks, "", _ANSWER_FROM_RESULTS])


def results_texts(results: Sequence[ToolEntry]) -> list[str]:
    """Return results for a model that calls natively, one text each; the last one ends with what to do with them."""
    texts = [result.text for result in results]
    return [*texts[:-1], *(f"{text}\n\n[{_ANSWER_FROM_RESULTS}]" for text in texts[-1:])]


def must_call(name: str = "") -> str:
    """Return `tool_choice` in words: call this tool, or any if `name` is empty."""
    return f"Call the tool {name} now." if name else "Call one of your tools now."
