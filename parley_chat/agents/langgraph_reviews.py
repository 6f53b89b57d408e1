"""What nodes of a graph ask, LangChain's middleware for human review among them, and the answers that it takes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

_OF_NODE = "interrupt-"


def is_of_node(id: str) -> bool:
    """Tell whether a call stands for what a node asked: no tool runs."""
    return id.startswith(_OF_NODE)


def as_call(interrupt: Any, node: str) -> dict[str, Any]:
    """Return what a node asks in words of its own as a call."""
    value = json.loads(json.dumps(interrupt.value, default=str))
    arguments = value if isinstance(value, dict) else {"question": value}
    return {"id": f"{_OF_NODE}{interrupt.id}", "name": node, "args": arguments}


def calls_in(value: Any) -> list[dict[str, Any]]:
    """Return the calls that the value of an interrupt asks about together, each with `name` and `args`; empty: it is
    another question."""
    if not isinstance(value, dict):
        return []
    return [value] if value.get("type") == "tool_approval" else list(value.get("action_requests", ()))


def answers_to(value: Any) -> tuple[Any, Any] | None:
    """Return what the interrupt takes if a person refuses, and if they allow; None: it is not the middleware's."""
    if not (calls := calls_in(value)):
        return None
    if calls[0] is value:
        return {"type": "reject"}, {"type": "approve"}
    rules = {one["action_name"]: one["allowed_decisions"] for one in value.get("review_configs", ())}
    allowed = [rules.get(call["name"], ()) for call in calls]
    refused, approved = (_decisions(kind, allowed) for kind in ("reject", "approve"))
    return {"decisions": refused}, {"decisions": approved}


def _decisions(kind: str, allowed: Iterable[Collection[str]]) -> list[dict[str, str]]:
    """Return a decision about each call: words in place of a result if it takes no other."""
    words = {"type": "respond", "message": f"The person said {'yes' if kind == 'approve' else 'no'}."}
    return [{"type": kind} if kind in one or "respond" not in one else words for one in allowed]


def as_one(calls: list[dict[str, Any]], open: Iterable[Any], id: str) -> dict[str, Any]:
    """Return what the card shows: the open call that it is about, or all calls as one, named by the interrupt's id."""
    if len(calls) == 1:
        for call in open:
            if calls[0].get("tool_call_id", call["id"]) == call["id"] and call["args"] == calls[0]["args"]:
                return dict(call)
    numbered = {f"{number}. {call['name']}": call["args"] for number, call in enumerate(calls, 1)}
    return {"id": f"{_OF_NODE}{id}", "name": ", ".join(call["name"] for call in calls), "args": numbered}
