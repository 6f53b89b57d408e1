"""Mend what a server sends so that the SDK's client takes it: the client refuses a whole list or answer for one part.

Only what does not follow the protocol comes here, as JSON; `fits` asks the SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Fits: TypeAlias = Callable[[dict[str, Any]], bool]

SCHEMA, LEFT_OUT = "parley/inputSchema", "parley/leftOut"
"""Under which the schema of a mended tool, and the fields it lost, travel in its `_meta`."""

_OF_TOOLS = ("title", "description", "annotations", "execution")
_OF_LISTS = ("nextCursor", "_meta")


def mend_list(result: dict[str, Any], fits: Fits) -> int:
    """Mend a list of tools in place; return how many had to be left out."""
    for key in _OF_LISTS:
        if key in result and not fits({**result, "tools": []}):
            del result[key]
    tools: list[dict[str, Any]] = []
    for tool in result["tools"]:
        if fits({**result, "tools": [tool]}):
            tools.append(tool)
        elif (mended := _mended_tool(tool, lambda one: fits({**result, "tools": [one]}))) is not None:
            tools.append(mended)
    lost = len(result["tools"]) - len(tools)
    result["tools"] = tools
    return lost


def _mended_tool(tool: object, fits: Fits) -> dict[str, Any] | None:
    """Return a tool without the fields for which it does not fit; None if it has no name."""
    if not isinstance(tool, Mapping):
        return None
    made: dict[str, Any] = {"name": tool.get("name"), "inputSchema": {"type": "object"}}
    if not fits(made):
        return None
    told = [key for key in _OF_TOOLS if tool.get(key) is not None]
    kept = {key: tool[key] for key in told if fits({**made, key: tool[key]})}
    left_out = [key for key in told if key not in kept]
    return {**made, **kept, "_meta": {SCHEMA: tool.get("inputSchema"), LEFT_OUT: left_out}}
