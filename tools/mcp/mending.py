"""Repair a server's messages for the SDK's client, which refuses a whole list or answer for one bad part.

Only messages that break the protocol come here, as JSON; `fits` asks the SDK.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Fits: TypeAlias = Callable[[dict[str, Any]], bool]

SCHEMA, LEFT_OUT = "parley/inputSchema", "parley/leftOut"
"""The keys in `_meta` for the schema of a repaired tool, and for the fields it lost."""

MOST_BLOCKS = 200
"""Parts of an answer that are read: checking one takes as long as parsing a thousand letters."""

_UNREAD = ("_meta", "annotations", "icons")
"""Optional fields of a part that are not used here."""
_OF_TOOLS = ("title", "description", "annotations", "execution")
_LIST: dict[str, Any] = {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""A complete list, for every version of the protocol."""


def mend_list(result: dict[str, Any], fits: Fits) -> int:
    """Repair a list of tools in place; return how many had to be left out."""
    around = {key: one for key, one in result.items() if key != "tools" and fits({**_LIST, key: one})}
    whole = {**_LIST, **around}
    tools: list[dict[str, Any]] = []
    for tool in result["tools"]:
        if fits({**whole, "tools": [tool]}):
            tools.append(tool)
        elif (mended := _mended_tool(tool, lambda one: fits({**whole, "tools": [one]}))) is not None:
            tools.append(mended)
    lost = len(result["tools"]) - len(tools)
    result.clear()
    result.update({**whole, "tools": tools})
    return lost


def _mended_tool(tool: object, fits: Fits) -> dict[str, Any] | None:
    """Return a tool without the fields that break the protocol; None if it has no name."""
    if not isinstance(tool, Mapping):
        return None
    made: dict[str, Any] = {"name": tool.get("name"), "inputSchema": {"type": "object"}}
    if not fits(made):
        return None
    told = [key for key in _OF_TOOLS if tool.get(key) is not None]
    kept = {key: tool[key] for key in told if fits({**made, key: tool[key]})}
    left_out = [key for key in told if key not in kept]
    return {**made, **kept, "_meta": {SCHEMA: tool.get("inputSchema"), LEFT_OUT: left_out}}


def cut_answer(result: dict[str, Any]) -> None:
    """Cut an answer with very many parts in place, and say so in its last one."""
    content = result.get("content")
    if isinstance(content, list) and len(content) > MOST_BLOCKS:
        left_out = f"[{len(content) - MOST_BLOCKS} more parts were left out]"
        result["content"] = [*content[:MOST_BLOCKS], _text(left_out)]


def mended_answer(result: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Return the readable parts of a tool's answer; parts in no form of the protocol become text."""
    kind = result.get("resultType")
    made: dict[str, Any] = {"resultType": kind if isinstance(kind, str) else "complete", "content": []}
    if result.get("isError") not in (None, False, 0, "false"):
        made["isError"] = True
    content = result.get("content")
    blocks = content if isinstance(content, list) else [content]
    read = [_mended_block(one, lambda block: fits({**made, "content": [block]})) for one in blocks]
    made["content"] = [one for one in read if one is not None]
    structured = result.get("structuredContent")
    if structured is None and not made["content"]:
        # The old form (`toolResult`), or the bare value that a tool returned.
        known = {"content", "structuredContent", "isError", "resultType", "_meta"}
        structured = {key: one for key, one in result.items() if key not in known} or None
    if structured is not None:
        whole = {**made, "structuredContent": structured}
        made = whole if fits(whole) else {**made, "structuredContent": {"result": structured}}
    return made


def _mended_block(block: Any, fits: Fits) -> dict[str, Any] | None:
    """Return a part of an answer in a form of the protocol; None for an empty one."""
    told = block
    if isinstance(block, dict):
        plain = {key: one for key, one in block.items() if one is not None and key not in _UNREAD}
        for one in (block, plain, {"mimeType": "application/octet-stream", **plain}):
            if fits(one):
                return one
        told = plain.get("text", plain if plain.keys() > {"type"} else None)
    if told in (None, "", [], {}):
        return None
    return _text(told if isinstance(told, str) else json.dumps(told, ensure_ascii=False))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
