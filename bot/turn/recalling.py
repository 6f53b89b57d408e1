"""What became of a delivery and the tool calls of its answer, as programs of its person get them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bot.contract import ChatId, Recalled, RecalledCall
from bot.policy import ToolRights
from bot.reply import card_in
from bot.safety import Redact, clean_name, clean_untrusted, redacted, without_boundaries
from bot.store import DECIDED, ApprovalState, CallRecord, DeliveryCalls, Store
from tools.contract.base import Json, ToolCall, ToolStatus

NAME_CHARS: Final = 100
RESULT_CHARS: Final = 4_000
ARGUMENT_CHARS: Final = 2_000
ARGUMENTS_CHARS: Final = 16_000
"""The longest arguments of a call, as JSON; longer ones are left out."""
_NAMELESS: Final = "unknown"
_RESERVED: Final = "[left out: the tool is reserved for others]"
_NO_RESULT: Final = "Error: the answer ended without a result of this call; whether it was carried out is not known."
_OUTCOMES: Final = {
    ApprovalState.ALLOWED: "The person allowed it; the answer to that decision has its result.",
    ApprovalState.DENIED: "Not run: the person refused it.",
    ApprovalState.EXPIRED: "Not run: nobody decided about it in time.",
    ApprovalState.WITHDRAWN: "Not run: the question about it was withdrawn.",
}


@dataclass(eq=False, repr=False, kw_only=True)
class CallRecall:
    """Reads answers and their calls; one object for the process."""

    store: Store
    rights: ToolRights
    redact: Redact

    async def recall(self, chat: ChatId, delivery: str) -> Recalled | None:
        """Return what is stored of a chat's delivery, see `Deliveries.recall`, with what it asks a person.

        Raises:
            StoreError: the database cannot be read now.
        """
        recalled = await self.store.deliveries.recall(chat, delivery)
        if recalled is None or not recalled.asks:
            return recalled
        asked = await self.store.approvals.load(int(recalled.asks.partition(":")[0]))
        return recalled if asked is None else replace(recalled, question=card_in(recalled.text, asked))

    async def list_calls(self, chat: ChatId, delivery: str, known: Collection[str]) -> tuple[RecalledCall, ...]:
        """Return the calls of the answer to a chat's delivery that have begun by now, except the known ones: without
        secrets, and cut. Those of tools reserved for others than its sender have neither arguments nor results.

        Raises:
            StoreError: the database cannot be read now.
        """
        stored = await self.store.deliveries.list_calls(chat, delivery)
        calls = [call for call in _told(stored) if call.id not in known] if stored is not None else []
        reserved = set[str]()
        if stored is not None and any(self.rights.is_limited(call.name) for call in calls):
            permit = await self.rights.permit_for(stored.incoming)
            reserved = {call.name for call in calls if not permit.may_read(call.name)}
        return tuple(
            replace(call, name=self._name(call), arguments={}, result=call.result and _RESERVED)
            if call.name in reserved
            else replace(call, name=self._name(call), arguments=self._arguments(call), result=self._result(call))
            for call in calls
        )

    def _name(self, call: RecalledCall) -> str:
        return _cut(clean_name(self.redact(call.name)), NAME_CHARS) or _NAMELESS

    def _arguments(self, call: RecalledCall) -> Mapping[str, Json]:
        arguments = redacted.redact_call(ToolCall(call.id, call.name, call.arguments), self._clean).arguments
        cut = {name: cut_argument(value) for name, value in arguments.items()}
        return cut if len(json.dumps(cut)) <= ARGUMENTS_CHARS else {}

    def _result(self, call: RecalledCall) -> str | None:
        return None if call.result is None else _cut(without_boundaries(self._clean(call.result)), RESULT_CHARS)

    def _clean(self, text: str) -> str:
        return clean_untrusted(self.redact(text))


def cut_argument(value: Json) -> Json:
    """Return an argument, as text if it is too long to be shown whole."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= ARGUMENT_CHARS else _cut(text, ARGUMENT_CHARS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _told(stored: DeliveryCalls) -> Iterator[RecalledCall]:
    """Yield the calls that have begun, and the one that a person is asked about."""
    own = _decided_record(stored)
    if (decided := stored.decided) is not None:
        result = _outcome(own) if own is not None else None
        if own is None and decided.state is not ApprovalState.ALLOWED:
            result = _OUTCOMES[decided.state]
        id, call = _id(decided.turn, *stored.decided_as), decided.call
        yield RecalledCall(id=id, name=call.name, arguments=call.arguments, result=result, decided=True)
    for record in stored.records:
        if record is own:
            continue
        result, waits = _outcome(record), False
        if record is _asked_record(stored):
            assert stored.asked is not None
            waits = stored.asked.state is ApprovalState.WAITING
            result = None if waits else _OUTCOMES[stored.asked.state]
        elif record.status is ToolStatus.PENDING:
            continue
        yield RecalledCall(
            id=_id(stored.turn, record.passnumber, record.position),
            name=record.call.name,
            arguments=record.call.arguments,
            result=result,
            waits=waits,
        )


def _decided_record(stored: DeliveryCalls) -> CallRecord | None:
    """Return the call that was decided about: agents of other authors make it under its own id."""
    if stored.decided is None:
        return None
    allowed, asked = stored.decided.state is ApprovalState.ALLOWED, stored.decided.call
    for record in stored.records:
        call = record.call
        if call.id == f"{DECIDED}{stored.turn}" or (allowed and (call.id, call.name) == (asked.id, asked.name)):
            return record
    return None


def _asked_record(stored: DeliveryCalls) -> CallRecord | None:
    asked = stored.asked
    found = [one for one in stored.records if asked is not None and one.call.id == asked.call.id]
    return found[-1] if found else None


def _outcome(record: CallRecord) -> str | None:
    """Return what a call came to; None if it has not ended."""
    if record.result is not None:
        return record.result.text
    return None if record.status in (ToolStatus.PENDING, ToolStatus.RUNNING) else _NO_RESULT


def _id(turn: int, passnumber: int, position: int) -> str:
    return f"call-{turn}-{passnumber}-{position}"
