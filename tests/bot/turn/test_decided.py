"""A decision about a tool that asks first: what holds when it comes twice, late, or is asked about again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract import (
    Button,
    ChatId,
    Control,
    ControlPressed,
    MessageRef,
    MessageSent,
    ReplyTarget,
    Sender,
    Unreachable,
)
from bot.contract.limits import Limits
from bot.reply import Settling
from bot.settings import ToolRuleSettings
from bot.store import Approval, ApprovalState, Store, digest_of
from bot.turn import Approvals
from playground.model import Reply
from tests.bot.conftest import OpenRig, Place, Rig
from tests.bot.store.test_approvals import CHAT, close, turn_of
from tests.bot.turn.test_approvals import (
    ADA,
    BOB,
    EVE,
    SUM,
    TOOL,
    WAITS,
    buttons,
    calls_of,
    card,
    press,
    settled,
    told,
    wants,
)
from tests.conftest import FakeClock
from tools.contract.base import ToolCall

OWNER = "telegram:1"
ADMINS_ONLY = "Only an admin of this bot may do that here."
ENDED = "⌛ Nobody decided in time: it was not done."


def results(it: Rig) -> list[str]:
    """What the model was told last of every call."""
    return [str(one["content"]) for one in told(it) if one["role"] == "tool"]


async def answer_again(it: Rig, again: str) -> list[str]:
    """Ask for another answer in one of the two ways, and read what is shown in the chat then."""
    if again == "/retry":
        await it.say("/retry")
    else:
        [button] = [one for page in it.memory.pages["7"].values() for one in page.buttons if _regenerates(one)]
        await press(it, button)
    await settled(it)
    return it.shown()


def delete_newest(it: Rig) -> None:
    id, _ = it.memory.pages["7"].popitem()
    it.memory.gone.add(id)


def _regenerates(button: Button) -> bool:
    return button.control is Control.REGENERATE


@pytest.mark.parametrize("again", ["/retry", "button"])
async def test_an_answer_that_is_made_anew_has_the_result_of_the_allowed_call(
    rig: OpenRig, tmp_path: Path, again: str
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("It is 42."))
        await it.say("what is 6*7?")
        await press(it, buttons(it)[0])
        ran = len(calls_of(tmp_path))

        for number in range(2):
            # The model may want it again; it has the result that it was told.
            it.model.reply(wants(), Reply(f"Forty-two, {number}."))
            shown = await answer_again(it, again)
            assert shown[-1] == f"Forty-two, {number}." and len(it.memory.pages["7"]) == (2 if again == "button" else 3)
            assert [("42" in one, "Not run yet" in one) for one in results(it)] == [
                (False, True),
                (True, False),
                (True, False),
            ]
            assert "The same call was made before" in results(it)[-1]
            delete_newest(it) if again == "/retry" else None
        assert ran == 1 and begun(tmp_path) == 1, "it ran once"


def begun(tmp_path: Path) -> int:
    """How many different moments there are at which a call of the tool began."""
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        [(count,)] = db.execute("SELECT count(DISTINCT started_at) FROM calls WHERE name = ? AND effects", (TOOL,))
        return int(count)


@pytest.mark.parametrize("again", ["/retry", "button"])
@pytest.mark.parametrize("outcome", ["refused", "failed"])
async def test_an_answer_that_is_made_anew_is_told_that_the_call_was_refused_or_failed(
    rig: OpenRig, tmp_path: Path, outcome: str, again: str
) -> None:
    expression, told_of = ("6*7", "refused it") if outcome == "refused" else ("1/0", "Error:")
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants((TOOL, {"expression": expression})), Reply("I leave it."))
        await it.say("what is it?")
        await press(it, buttons(it)[outcome == "refused"])
        last = results(it)[-1]
        assert told_of in last

        for number in range(2):
            it.model.reply(Reply(f"It was not done, {number}."))
            assert (await answer_again(it, again))[-1] == f"It was not done, {number}."
            assert results(it)[1:] == [last], "the same as before, once"
            delete_newest(it) if again == "/retry" else None

        # Who wants it after all is asked again.
        it.model.reply(wants((TOOL, {"expression": expression})))
        await answer_again(it, again)
        assert card(it).body.endswith(WAITS) and calls_of(tmp_path) == []


async def test_a_tool_that_changed_since_it_was_allowed_is_asked_about_again(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("It is 42."))
        [asked] = await it.say("what is 6*7?")
        with closing(sqlite3.connect(tmp_path / "parley.db")) as db, db:
            assert db.execute("UPDATE approvals SET tool = 'other'").rowcount == 1
        old = buttons(it)[0]

        [again] = await press(it, old)
        assert again == f"⚠️ The tool `{TOOL}` has changed since this was allowed, so it was not done.\n\n{asked}"
        assert calls_of(tmp_path) == [] and len(it.model.requests) == 1
        assert await press(it, old, awaited=True) == ["✅ Allowed."]
        assert calls_of(tmp_path) == []

        assert await press(it, buttons(it)[0]) == ["It is 42."]
        assert len(calls_of(tmp_path)) == 1 and all("changed" not in one for one in results(it))


async def test_another_answer_where_the_changed_tool_waits_asks_and_does_not_run(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), wants())
        await it.say("what is 6*7?")
        with closing(sqlite3.connect(tmp_path / "parley.db")) as db, db:
            db.execute("UPDATE approvals SET tool = 'other'")
        await press(it, buttons(it)[0])
        [*_, again] = await it.say("/retry")

        assert again.endswith(WAITS) and calls_of(tmp_path) == []
        assert all("unknown" not in one for one in results(it)), "it never began"


async def press_at_once(it: Rig, *pressed: tuple[Button, str]) -> None:
    presses = []
    for number, (button, person) in enumerate(pressed):
        presses.append(
            ControlPressed(
                delivery=f"once{number}",
                chat=ChatId("telegram", "42", "7"),
                sender=Sender(id=person, name="Somebody"),
                target=ReplyTarget("telegram", {"chat": f"aside of {person}"}),
                control=button.control,
                turn=button.turn,
                mark=button.mark,
                awaited=True,
                group=True,
            )
        )
    await asyncio.gather(*(it.deliver(one) for one in presses))
    await it.idle()
    await settled(it)


@pytest.mark.parametrize("first", [ADA, EVE])
async def test_of_two_people_who_decide_at_once_one_counts_and_the_other_hears_how(
    rig: OpenRig, tmp_path: Path, first: str
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants(), Reply("Done with it."))
        await it.say("what is 6*7?", group=True)
        allow, deny = buttons(it)
        both = [(allow, ADA), (deny, EVE)]

        await press_at_once(it, *(both if first == ADA else both[::-1]))

        approval = await it.bot.store.approvals.load(allow.turn)
        assert approval is not None
        won = approval.state is ApprovalState.ALLOWED
        assert len(calls_of(tmp_path)) == won and len(it.model.requests) == 2
        said = "✅ Allowed." if won else "🚫 Refused: it was not done."
        assert card(it).body.endswith(said) and not card(it).buttons
        loser = f"aside of {EVE if won else ADA}"
        assert it.shown(loser) == [said]


async def test_twenty_presses_at_once_run_the_call_once(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants(), Reply("It is 42."))
        await it.say("what is 6*7?", group=True)
        allow = buttons(it)[0]
        await press_at_once(it, *[(allow, (ADA, EVE, BOB)[number % 3]) for number in range(20)])

        assert len(calls_of(tmp_path)) == begun(tmp_path) == 1 and len(it.model.requests) == 2


async def test_who_is_no_admin_any_more_decides_nothing_about_what_others_asked(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=OWNER, CONFIRM_BY="admins") as it:
        await it.say(f"/allow {EVE} admin", person=OWNER, chat="9")
        it.model.reply(wants(), Reply("It is 42."))
        await it.say("what is 6*7?", group=True)
        await it.say(f"/allow {EVE}", person=OWNER, chat="9")

        assert await press(it, buttons(it)[0], person=EVE, group=True) == [ADMINS_ONLY]
        assert calls_of(tmp_path) == [] and card(it).body.endswith("Until then nothing is done.")
        assert await press(it, buttons(it)[0], person=OWNER, group=True) == ["It is 42."]


async def test_who_may_not_use_the_tool_any_more_has_nothing_done_by_an_allowed_call(
    rig: OpenRig, tmp_path: Path
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants())
        await it.say("what is 6*7?")
        allow = buttons(it)[0]
    async with rig(CONFIRM_TOOLS=TOOL, TOOLS_FOR=f"{TOOL}={EVE}") as it:
        it.model.reply(Reply("You may not."))
        await press(it, allow)
        assert calls_of(tmp_path) == [] and "does not leave it to the person" in results(it)[-1]


async def test_a_press_after_its_time_decides_nothing_though_the_card_still_has_buttons(
    rig: OpenRig, tmp_path: Path
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants())
        await it.say("what is 6*7?")
        allow = buttons(it)[0]
        with closing(sqlite3.connect(tmp_path / "parley.db")) as db, db:
            db.execute("UPDATE approvals SET expires_at = 1")

        assert await press(it, allow, awaited=True) == [ENDED]
        assert card(it).body.endswith(ENDED) and not card(it).buttons
        assert await press(it, allow, awaited=True) == [ENDED]
        assert calls_of(tmp_path) == [] and len(it.model.requests) == 1


class Shown(Settling):
    """Counts which replies are shown again."""

    def __init__(self) -> None:
        self.turns: list[int] = []

    async def refresh(self, turn: int, chat: ChatId) -> None:
        self.turns.append(turn)


@pytest.fixture
def shown() -> Shown:
    return Shown()


@pytest.fixture
def approvals(store: Store, clock: FakeClock, shown: Shown) -> Approvals:
    return Approvals(
        store=store,
        settling=shown,
        clock=clock,
        rules=ToolRuleSettings.model_construct(),
        limits=Limits(approval_seconds=60.0),
    )


async def asked_by(store: Store, clock: FakeClock, delivery: str = "d1") -> Approval:
    """A stored question of a turn that has ended, which waits for a minute."""
    turn = await turn_of(store, delivery)
    call = ToolCall("c1", TOOL, dict(SUM))
    approval, _ = await store.approvals.open(
        Approval(
            turn=turn,
            chat=CHAT,
            person=ADA,
            call=call,
            digest=digest_of(call),
            tool="",
            origin="",
            language="en",
            line="Waits.",
            expires_at=clock.wall() + 60,
        )
    )
    await close(store, turn)
    return approval


async def test_a_question_is_ended_when_its_time_is_over_where_its_platform_is_in_use(
    approvals: Approvals, store: Store, clock: FakeClock, shown: Shown
) -> None:
    asked, served = await asked_by(store, clock), list[tuple[str, int]]()

    async def end_due(*platforms: str) -> float | None:
        return await approvals.end_due(platforms, lambda _, place, row: served.append((place, row)), shown.refresh)

    clock.now += 59
    assert await end_due("slack") is None
    assert await end_due("slack", "telegram") == asked.expires_at and shown.turns == []
    clock.now += 1
    assert await end_due("slack") is None and len(await store.approvals.list_waiting()) == 1
    assert await end_due("telegram") is None

    stored = await store.approvals.load(asked.turn)
    assert stored is not None and stored.state is ApprovalState.EXPIRED
    assert shown.turns == [asked.turn] and served == [(str(CHAT), asked.turn)]
    assert await end_due("telegram") is None and len(shown.turns) == 1


async def test_what_was_decided_before_a_turn_ended_is_shown_and_what_ended_meanwhile_is_left(
    approvals: Approvals, store: Store, clock: FakeClock, shown: Shown
) -> None:
    asked = await asked_by(store, clock)
    await store.approvals.decide(asked.turn, asked.mark, 99, allowed=False)
    await approvals.follow(asked)
    assert shown.turns == [asked.turn]

    other = await asked_by(store, clock, "d2")
    await approvals.follow(other)
    await store.approvals.withdraw(CHAT)
    await clock.advance(61)
    assert shown.turns == [asked.turn], "who withdrew it showed that"

    denied = await store.approvals.load(asked.turn)
    assert denied is not None
    await approvals.follow(denied)
    await store.history.forget(CHAT)
    await approvals.follow(asked)
    await approvals.show(asked.turn, CHAT)
    assert shown.turns == [asked.turn], "nothing is left to show"


async def test_a_decision_about_a_forgotten_question_is_none(
    approvals: Approvals, store: Store, clock: FakeClock
) -> None:
    asked = await asked_by(store, clock)
    message = MessageSent(
        delivery="p1", chat=CHAT, sender=Sender(id=ADA), target=ReplyTarget("telegram", {}), text="", decides=asked.turn
    )
    decision = await approvals.decision_of(99, message)
    assert decision is not None and not decision.allowed, "no press of it"
    await store.history.forget(CHAT)
    assert await approvals.decision_of(99, message) is None


@pytest.mark.parametrize("group", [False, True])
async def test_a_card_that_waits_goes_with_what_is_forgotten(rig: OpenRig, group: bool) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=ADA) as it:
        it.model.reply(wants())
        await it.say("what is 6*7?", group=group)
        assert "6*7" in card(it).body

        await it.say("/forget yes", group=group)
        await settled(it)

        [said] = it.shown()
        assert said.startswith("Everything stored about this chat is deleted")


@pytest.mark.parametrize("forbidden", ["telegram:8", "telegram:42/-50", "here"])
async def test_a_card_that_waits_goes_with_who_may_not_ask_any_more(
    rig: OpenRig, forbidden: str, tmp_path: Path
) -> None:
    where = "-50"
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=OWNER) as it:
        for person, chat in ((BOB, where), (EVE, "-60")):
            it.model.reply(wants())
            await it.say("what is 6*7?", group=True, person=person, chat=chat)
        waiting = buttons(it, where)

        await it.say(f"/forbid {forbidden}", person=OWNER, chat=where, group=True)
        await settled(it)

        [said] = it.shown(where)
        assert "can no longer write to me" in said
        assert "6*7" in it.shown("-60")[0]
        await press(it, waiting[0], person=OWNER, group=True)
        assert calls_of(tmp_path) == []


async def test_a_message_that_cannot_be_deleted_keeps_nobody_from_forgetting(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def resists(place: Place, at: MessageRef) -> None:
        raise Unreachable("the bot was removed")

    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants())
        await it.say("what is 6*7?")
        monkeypatch.setattr(Place, "remove", resists)
        [said] = await it.say("/forget yes")

        assert "is deleted" in said and "its reply could not be deleted: the bot was removed" in caplog.text
