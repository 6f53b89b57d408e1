"""The calls of an answer for a program: what has begun, without secrets, cut, and only what its person may read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.contract import (
    AssistantEntry,
    ChatId,
    Control,
    ControlPressed,
    MessageSent,
    RecalledCall,
    ReplyTarget,
    Sender,
    SystemClock,
    ToolEntry,
    Usage,
)
from bot.policy import ToolRights
from bot.store import Approval, ApprovalState, Store, TurnState, digest_of
from bot.turn.recalling import ARGUMENT_CHARS, RESULT_CHARS, CallRecall
from tests.bot.store.conftest import taken_in
from tools.calling.registry import ToolRegistry
from tools.contract.base import Json, ToolCall, ToolResult

CHAT, ADA = ChatId("web", "ada", "tea"), Sender(id="web:ada")
SEND, READ = ToolCall("c1", "send", {"to": "Bob"}), ToolCall("c2", "read", {"what": "leaves"})


class Desk:
    """A store with one answer of Ada's."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.recall = self.recalled_with()

    def recalled_with(self, **limits: str) -> CallRecall:
        reserved = tuple((name, (who,)) for name, who in limits.items())
        rights = ToolRights(ToolRegistry([]), limits=reserved)
        return CallRecall(store=self.store, rights=rights, redact=lambda text: text.replace("hunter2", "[removed]"))

    async def begin(self, *calls: ToolCall, run: str = "r1", press: ControlPressed | None = None) -> int:
        asked = press or MessageSent(
            delivery=run, message_id=run, chat=CHAT, sender=ADA, target=ReplyTarget("web"), text="tea?"
        )
        turn = await taken_in(self.store, asked)
        await self.store.turns.begin(turn, CHAT, ADA.id)
        await self.store.turns.save_pass(turn, 1, AssistantEntry("", calls), "m", Usage())
        return turn

    async def call(self, turn: int, call: ToolCall, result: str | None = None, position: int = 0) -> None:
        await self.store.turns.start_call(turn, call, passnumber=1, position=position, effects=False)
        if result is not None:
            await self.store.turns.end_call(turn, call.id, ToolResult(text=result))

    async def ask(self, turn: int, call: ToolCall, seconds: float = 60.0) -> str:
        wanted = Approval(
            turn=turn, chat=CHAT, person=ADA.id, call=call, digest=digest_of(call), tool="", origin="", language="en",
            line="", expires_at=SystemClock().wall() + seconds,
        )  # fmt: skip
        await self.store.approvals.open(wanted)
        return wanted.mark

    async def close(self, turn: int, state: TurnState = TurnState.DONE, *told: ToolEntry) -> None:
        await self.store.turns.close(turn, state, told, visible="", reasoning="", model="m", usage=Usage())

    async def calls(self, run: str = "r1", **limits: str) -> tuple[RecalledCall, ...]:
        return await self.recalled_with(**limits).list_calls(CHAT, run, ())


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=SystemClock()) as store:
        yield Desk(store)


async def test_calls_are_told_from_their_begin_to_their_result(desk: Desk) -> None:
    assert await desk.calls() == ()
    turn = await desk.begin(SEND, READ)
    assert await desk.calls() == ()
    await desk.call(turn, READ, position=1)
    begun = RecalledCall(id=f"call-{turn}-1-1", name="read", arguments={"what": "leaves"})
    assert await desk.calls() == (begun,)
    await desk.store.turns.end_call(turn, "c2", ToolResult(text="Green."))

    [ended] = await desk.calls()
    assert (ended.id, ended.result) == (begun.id, "Green.")
    assert await desk.recall.list_calls(CHAT, "r1", {ended.id}) == ()
    assert await desk.recall.list_calls(ChatId("web", "bob", "tea"), "r1", ()) == ()
    assert await desk.recall.list_calls(CHAT, "", ()) == ()


async def test_a_call_that_the_end_of_its_answer_cut_off_has_an_end(desk: Desk) -> None:
    turn = await desk.begin(SEND, READ)
    await desk.call(turn, SEND)
    await desk.close(turn, TurnState.STOPPED)

    assert [(one.name, (one.result or "")[:6], one.waits) for one in await desk.calls()] == [
        ("send", "Error:", False),
        ("read", "Error:", False),
    ]


async def test_secrets_and_invisible_signs_are_taken_out_and_what_is_long_is_cut(desk: Desk) -> None:
    long: dict[str, Json] = {"text": "x" * 10_000, "list": list(range(3_000)), "few": [1], "word": "hunter2"}
    turn = await desk.begin(
        call := ToolCall("c1", "send", long), ToolCall("c2", "read", {str(n): "y" * 99 for n in range(300)})
    )
    await desk.call(turn, call, f"hunter2\u200b {'z' * 10_000}")
    await desk.close(turn)

    first, second = await desk.calls()
    assert first.arguments["text"] == f"{'x' * (ARGUMENT_CHARS - 1)}…" and first.arguments["few"] == [1]
    assert str(first.arguments["list"]).startswith("[0, 1, 2") and first.arguments["word"] == "[removed]"
    assert first.result is not None and first.result.startswith("[removed] zz") and len(first.result) == RESULT_CHARS
    assert second.arguments == {}


async def test_the_name_of_a_call_is_one_line_whatever_a_model_wrote(desk: Desk) -> None:
    turn = await desk.begin(
        odd := ToolCall("c1", "no\nsuch\u202e", {"a\u200b": ["b\u200b"]}), ToolCall("c2", "\u200b", {})
    )
    await desk.call(turn, odd, "What?")
    await desk.close(turn)

    first, second = await desk.calls()
    assert (first.name, first.arguments, second.name) == ("no such", {"a": ["b"]}, "unknown")


async def test_what_a_reserved_tool_was_given_and_found_is_for_those_who_may_use_it(desk: Desk) -> None:
    turn = await desk.begin(SEND, READ)
    await desk.call(turn, SEND, "Sent to Bob.")
    await desk.call(turn, READ, position=1)

    mine, open_ = await desk.calls(send="web:ada", read="web:ada")
    assert (mine.arguments, mine.result, open_.arguments) == (SEND.arguments, "Sent to Bob.", READ.arguments)
    theirs, running = await desk.calls(send="web:bob", read="web:bob")
    assert (theirs.name, theirs.arguments, running.arguments, running.result) == ("send", {}, {}, None)
    assert theirs.result and "reserved" in theirs.result


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (ApprovalState.ALLOWED, "allowed it"),
        (ApprovalState.DENIED, "refused it"),
        (ApprovalState.EXPIRED, "in time"),
        (ApprovalState.WITHDRAWN, "withdrawn"),
    ],
)
async def test_a_call_that_a_person_is_asked_about_waits_until_it_is_decided(
    desk: Desk, state: ApprovalState, told: str
) -> None:
    turn = await desk.begin(READ, SEND)
    await desk.call(turn, READ, "Green.")
    mark = await desk.ask(turn, SEND, -1.0 if state is ApprovalState.EXPIRED else 60.0)
    _, waits = await desk.calls()
    await desk.close(turn)
    assert await desk.calls() == (_, waits) and waits.waits and waits.result is None
    press = await taken_in(desk.store, pressed(turn, mark, allowed=state is ApprovalState.ALLOWED))
    match state:
        case ApprovalState.EXPIRED:
            assert await desk.store.approvals.expire(turn, lambda *_: None)
        case ApprovalState.WITHDRAWN:
            await desk.store.approvals.withdraw(CHAT, ADA.id)
        case _:
            await desk.store.approvals.decide(turn, mark, press, allowed=state is ApprovalState.ALLOWED)

    _, decided = await desk.calls()
    assert (decided.id, decided.waits) == (waits.id, False) and told in (decided.result or "")


def pressed(turn: int, mark: str, *, allowed: bool) -> ControlPressed:
    control = Control.ALLOW if allowed else Control.DENY
    return ControlPressed(
        delivery="r2", chat=CHAT, sender=ADA, target=ReplyTarget("web"), control=control, turn=turn, mark=mark
    )


@pytest.mark.parametrize("own", [True, False])
async def test_the_answer_to_a_decision_has_the_result_of_the_call_that_was_asked_about(desk: Desk, own: bool) -> None:
    """Our agent names a decided call itself, one of another author as it did before."""
    turn = await desk.begin(READ, SEND)
    mark = await desk.ask(turn, SEND)
    await desk.close(turn)
    press = await desk.begin(press=pressed(turn, mark, allowed=True))
    assert await desk.calls("r2") == ()
    await desk.store.approvals.decide(turn, mark, press, allowed=True)
    asked = RecalledCall(id=f"call-{turn}-1-1", name="send", arguments=SEND.arguments, decided=True)
    assert await desk.calls("r2") == (asked,)

    call = ToolCall(f"decided{press}" if own else "c1", "send", SEND.arguments)
    await desk.call(press, call)
    assert await desk.calls("r2") == (asked,)
    await desk.call(press, call, "Sent.")
    await desk.store.turns.start_call(press, SEND, passnumber=2, position=0, effects=False)
    first, again = await desk.calls("r2")
    assert (first.id, first.result, first.decided) == (asked.id, "Sent.", True)
    assert (again.id, again.decided) == (f"call-{press}-2-0", False)


async def test_a_refused_call_has_an_end_even_if_its_agent_says_nothing_of_it(desk: Desk) -> None:
    turn = await desk.begin(SEND)
    mark = await desk.ask(turn, SEND)
    await desk.close(turn)
    press = await desk.begin(press=pressed(turn, mark, allowed=False))
    await desk.store.approvals.decide(turn, mark, press, allowed=False)
    await desk.call(press, SEND)

    refused, again = await desk.calls("r2")
    assert (refused.id, refused.decided) == (f"call-{turn}-1-0", True) and "refused" in (refused.result or "")
    assert (again.id, again.result) == (f"call-{press}-1-0", None)


async def test_the_result_of_an_ended_answer_is_that_of_its_history(desk: Desk) -> None:
    turn = await desk.begin(READ)
    await desk.call(turn, READ, "Green, whole.")
    await desk.close(turn, TurnState.DONE, ToolEntry("c2", "read", text="Green.", ok=True))

    [ended] = await desk.calls()
    assert ended.result == "Green."
