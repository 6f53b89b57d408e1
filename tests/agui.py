"""What clients of AG-UI take: the order of events that the protocol's own client verifies, that of clients before 1.0,
and that the server ran all tools, so none is left for the client to run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.conftest import RawObject

ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})


def verified(events: Sequence[RawObject]) -> Sequence[RawObject]:
    """Return the events of a whole run, which begins, ends, and leaves nothing open."""
    kinds = [one["type"] for one in events]
    assert kinds[0] == "RUN_STARTED" and kinds[-1] in ENDS, kinds
    assert not ENDS.intersection(kinds[:-1]) and kinds.count("RUN_STARTED") == 1, kinds
    message, call, steps = "", "", set[str]()
    messages, unanswered, arguments = set[str](), list[str](), dict[str, str]()
    for one in events:
        kind, id = one["type"], one.get("toolCallId", "")
        if kind not in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "CUSTOM"):
            assert not message, f"{kind} inside of a message"
        if kind not in ("TOOL_CALL_ARGS", "TOOL_CALL_END"):
            assert not call, f"{kind} inside of a call"
        match kind:
            case "TEXT_MESSAGE_START":
                message = one["messageId"]
                assert message not in messages, "a message begins again"
                messages.add(message)
            case "TEXT_MESSAGE_CONTENT":
                assert one["messageId"] == message and one["delta"], one
            case "TEXT_MESSAGE_END":
                assert one["messageId"] == message, one
                message = ""
            case "TOOL_CALL_START":
                assert one["toolCallName"] and id not in arguments, one
                call, arguments[id] = id, ""
                unanswered.append(id)
            case "TOOL_CALL_ARGS":
                assert id == call, one
                arguments[id] += one["delta"]
            case "TOOL_CALL_END":
                assert id == call and isinstance(json.loads(arguments[id]), dict), one
                call = ""
            case "TOOL_CALL_RESULT":
                assert isinstance(one["content"], str) and one["messageId"] not in messages, one
                messages.add(one["messageId"])
                # A call of another run may have its result here: this one acts on the decision about it.
                assert id in unanswered or id not in arguments, "a second result"
                unanswered = [other for other in unanswered if other != id]
            case "STEP_STARTED":
                assert one["stepName"] not in steps, one
                steps.add(one["stepName"])
            case "STEP_FINISHED":
                steps.remove(one["stepName"])
    assert not steps, steps
    interrupts = events[-1].get("outcome", {}).get("interrupts", [])
    assert [
        one["toolCallId"] for one in interrupts if one["reason"] == "tool_call" and "metadata" not in one
    ] == unanswered
    return events


def calls_of(events: Sequence[RawObject]) -> list[tuple[str, RawObject, str]]:
    """Return the calls of a run: the name of each, its arguments and its result; empty while it has none."""
    names = {one["toolCallId"]: one["toolCallName"] for one in events if one["type"] == "TOOL_CALL_START"}
    given = {one["toolCallId"]: json.loads(one["delta"]) for one in events if one["type"] == "TOOL_CALL_ARGS"}
    results = {one["toolCallId"]: one["content"] for one in events if one["type"] == "TOOL_CALL_RESULT"}
    return [(names[id], given[id], results.get(id, "")) for id in names]
