"""A tool that asks first: what is asked, who decides, and that it runs once or not at all."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bot.contract import Button, ChatId, Control, ControlPressed, Page, ReplyTarget, Sender
from bot.contract.limits import Limits
from bot.store import TurnRecord
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.conftest import RawJson
from tests.patience import PATIENCE

ADA, BOB, EVE = "telegram:7", "telegram:8", "telegram:9"
TOOL = "calculator"
SUM = {"expression": "6*7"}
WAITS = "⏳ Only the person who asked, or an admin, can decide, within 60 minutes. Until then nothing is done."
NOT_YOURS = "Only the person who asked, or an admin, may do that."
GONE = "This request is not open: nothing was done for this answer. Ask again for what you still want."


def wants(*calls: tuple[str, dict[str, str]], text: str = "") -> Reply:
    return Reply(text, calls=calls or ((TOOL, SUM),))


def card(it: Rig, chat: str = "7") -> Page:
    """The newest message that asks, or asked, something."""
    return [page for page in it.memory.pages[chat].values() if "🔐" in page.body][-1]


def buttons(it: Rig, chat: str = "7") -> list[Button]:
    return list(card(it, chat).buttons)


async def press(
    it: Rig,
    button: Button,
    *,
    person: str = ADA,
    chat: str = "7",
    mark: str | None = None,
    awaited: bool = False,
    group: bool = False,
) -> list[str]:
    """Press, wait until all is answered, and read what is told aside and what is new in the chat."""
    it.number += 1
    aside = f"aside{it.number}"
    target = {"chat": aside if person != ADA or awaited else chat}
    before = len(it.shown(target["chat"]))
    await it.deliver(
        ControlPressed(
            delivery=f"p{it.number}",
            chat=ChatId("telegram", "42", chat),
            sender=Sender(id=person, name="Ada"),
            target=replace(it.message("").target, data=target),
            control=button.control,
            turn=button.turn,
            mark=button.mark if mark is None else mark,
            awaited=awaited,
            group=group,
        )
    )
    await it.idle()
    await settled(it)
    return it.shown(target["chat"])[before:]


async def settled(it: Rig) -> None:
    """Wait until what is shown again stands."""
    async with asyncio.timeout(PATIENCE):
        while it.bot.settling.waiting:
            await asyncio.sleep(0.001)


def calls_of(tmp_path: Path) -> list[tuple[str, str]]:
    """The calls that ran, with their arguments, in every turn."""
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        rows = db.execute("SELECT name, arguments FROM calls WHERE result IS NOT NULL AND status = 'completed'")
        return [(str(name), str(arguments)) for name, arguments in rows]


def told(it: Rig, request: int = -1) -> list[RawJson]:
    messages: list[RawJson] = it.model.requests[request].body["messages"]
    return messages


async def test_a_tool_shows_its_call_and_waits_and_runs_once_when_it_is_allowed(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(text="I work it out."), Reply("It is 42."))
        [asked] = await it.say("what is 6*7?")

        assert asked == (
            "I work it out.\n\n🔐 **May I do this?** The tool `calculator` would run with exactly this:\n\n"
            "- **Expression**: `6*7`\n\n" + WAITS
        )
        assert [one.label for one in buttons(it)] == ["✅ Allow", "🚫 Refuse"]
        assert calls_of(tmp_path) == [] and len(it.model.requests) == 1
        assert it.bot.dispatcher.queue.busy == 0

        allow, deny = buttons(it)
        assert await press(it, allow) == ["It is 42."]
        assert calls_of(tmp_path) == [(TOOL, '{"expression": "6*7"}')]
        assert card(it).body == asked.replace(WAITS, "✅ Allowed.") and not card(it).buttons
        roles = [(one["role"], str(one.get("content"))[:30]) for one in told(it)]
        assert [role for role, _ in roles][-6:] == ["assistant", "tool", "assistant", "user", "assistant", "tool"]
        assert "Not run yet" in str(told(it)) and "42" in told(it)[-1]["content"]

        assert await press(it, allow, awaited=True) == ["✅ Allowed."]
        assert await press(it, deny, awaited=True) == ["✅ Allowed."]
        assert len(calls_of(tmp_path)) == 1 and len(it.model.requests) == 2


async def test_a_refusal_is_told_to_the_model_as_the_result_of_the_call(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), wants(), Reply("Then I leave it."))
        await it.say("what is 6*7?")

        assert await press(it, buttons(it)[1]) == ["Then I leave it."]

        results = [one["content"] for one in told(it) if one["role"] == "tool"]
        assert ["the person was shown the call and refused it" in result for result in results] == [False, True, True]
        assert calls_of(tmp_path) == [] and card(it).body.endswith("🚫 Refused: it was not done.")


async def test_only_who_asked_and_admins_decide_and_strangers_hear_so_aside(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants(), Reply("It is 42."))
        await it.say("what is 6*7?", group=True)
        for button in buttons(it):
            told_aside = await press(it, button, person=BOB, group=True)
            assert told_aside == ([NOT_YOURS] if button.control is Control.ALLOW else [])
        assert calls_of(tmp_path) == [] and card(it).body.endswith(WAITS)

        # An admin decides; the call is made with the rights of who asked.
        assert await press(it, buttons(it)[0], person=EVE, group=True) == ["It is 42."]
        [turn] = [one for one in await records(it) if one.visible == "It is 42."]
        assert turn.person == ADA and len(calls_of(tmp_path)) == 1


async def records(it: Rig) -> list[TurnRecord]:
    newest = await it.bot.store.turns.find_newest()
    found = [await it.bot.store.turns.find_record(number) for number in range(1, newest + 1)]
    return [one for one in found if one is not None]


async def test_where_admins_decide_who_asked_does_not(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(Limits(approval_seconds=7_200.0), CONFIRM_TOOLS=TOOL, ADMINS=EVE, CONFIRM_BY="admins") as it:
        it.model.reply(wants(), Reply("It is 42."))
        [asked] = await it.say("what is 6*7?")
        assert asked.endswith("⏳ Only an admin of this bot can decide, within 2 h 0 min. Until then nothing is done.")

        assert await press(it, buttons(it)[0], awaited=True) == ["Only an admin of this bot may do that here."]
        assert calls_of(tmp_path) == [] and len(it.model.requests) == 1
        assert await press(it, buttons(it)[0], person=EVE) == ["It is 42."]


async def test_the_decision_of_an_admin_leads_on_to_the_next_question(rig: OpenRig, tmp_path: Path) -> None:
    """What the call of a decision wants next is asked of the person whose question it all began with."""
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants(), wants((TOOL, {"expression": "1+1"})), Reply("It is 42, and 2."))
        await it.say("what is 6*7, and 1+1?")
        first = buttons(it)[0]
        await press(it, first, person=EVE)
        [second] = [one for pages in it.memory.pages.values() for one in pages.values() if "`1+1`" in one.body]
        assert second.buttons[0].turn != first.turn and len(calls_of(tmp_path)) == 1

        assert await press(it, second.buttons[0]) == ["It is 42, and 2."]
        assert {one.person for one in await records(it)} == {ADA} and len(calls_of(tmp_path)) == 2


async def test_what_an_admin_allows_again_and_again_is_done_for_who_asked(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants(), wants((TOOL, {"expression": "1+1"})), Reply("It is 42, and 2."))
        await it.say("what is 6*7, and 1+1?")
        await press(it, buttons(it)[0], person=EVE)
        [second] = [one for pages in it.memory.pages.values() for one in pages.values() if "`1+1`" in one.body]
        assert await press(it, second.buttons[0], person=EVE) == ["It is 42, and 2."]
        assert {one.person for one in await records(it)} == {ADA} and len(calls_of(tmp_path)) == 2


async def test_a_button_allows_only_the_call_that_it_stood_under(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("It is 42."))
        await it.say("what is 6*7?")
        allow = buttons(it)[0]

        assert await press(it, allow, mark="0123456789abcdef", awaited=True) == [GONE]
        assert await press(it, replace(allow, turn=99), awaited=True) == [GONE]
        assert await press(it, allow, chat="8", awaited=True) == [GONE]
        with closing(sqlite3.connect(tmp_path / "parley.db")) as db, db:
            db.execute("UPDATE approvals SET call = replace(call, '6*7', '6*8')")
        assert await press(it, allow) == ["It is 42."]
        assert calls_of(tmp_path) == [], "what is stored is not what was shown"


async def test_other_questions_go_on_and_the_next_thing_asked_takes_the_place_of_the_first(
    rig: OpenRig, tmp_path: Path
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("Tea is a leaf."), wants((TOOL, {"expression": "1+1"})), Reply("Two."))
        await it.say("what is 6*7?")
        first = card(it)
        assert await it.say("what is tea?") == ["Tea is a leaf."]
        assert card(it).body == first.body, "it still waits"

        await it.say("and what is 1+1?")
        await settled(it)
        [old] = [page for page in it.memory.pages["7"].values() if "6*7" in page.body]
        assert old.body.endswith("✖️ This request was withdrawn: it was not done.") and not old.buttons
        assert await press(it, first.buttons[0], awaited=True) == ["✖️ This request was withdrawn: it was not done."]
        assert await press(it, buttons(it)[0]) == ["Two."]
        assert calls_of(tmp_path) == [(TOOL, '{"expression": "1+1"}')]


async def test_one_call_is_asked_about_at_a_time_and_the_others_of_its_pass_run(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(
            wants((TOOL, SUM), ("current_time", {}), (TOOL, {"expression": "1+1"}), (TOOL, {})), Reply("It is 42.")
        )
        await it.say("what is 6*7, 1+1, and the time?")
        assert [name for name, _ in calls_of(tmp_path)] == ["current_time"]

        await press(it, buttons(it)[0])

        results = [str(one["content"]) for one in told(it) if one["role"] == "tool"]
        assert "Not run yet" in results[0] and "asked about another call first" in results[2]
        assert "expression" in results[3], "what would fail is not asked about"
        assert "42" in results[4]


async def test_stop_and_new_end_the_waiting(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        for command, person in (("/stop", ADA), ("/new", ADA), ("/stop", EVE), ("/retry", ADA)):
            it.model.reply(wants(), Reply("Something else."))
            await it.say("what is 6*7?", group=True)
            asked = card(it)
            await it.say("/stop", person=BOB, group=True)
            assert card(it).body == asked.body, "it is not theirs to stop"

            await it.say(command, person=person, group=True)
            await settled(it)
            assert card(it).body.endswith("✖️ This request was withdrawn: it was not done.") and not card(it).buttons
            it.memory.pages.clear()
            if command != "/retry":
                await it.say("and now?", group=True)
                it.memory.pages.clear()
        assert calls_of(tmp_path) == []


async def test_where_no_button_works_nothing_is_asked_and_nothing_runs(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("I cannot do that here."))
        passing = ReplyTarget("telegram", {"chat": "7", "lasts": False})
        await it.deliver(replace(it.message("what is 6*7?"), target=passing))
        await it.idle()

        assert it.shown() == ["I cannot do that here."] and calls_of(tmp_path) == []
        assert "cannot be asked here" in told(it)[-1]["content"]


async def test_a_call_that_a_person_writes_out_asks_as_well(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS="calc*,-current_time") as it:
        it.model.reply(Reply("It is 2."))
        [asked] = await it.say("/tool calculator 1+1")
        assert "`1+1`" in asked and calls_of(tmp_path) == [] and it.model.requests == []

        assert await press(it, buttons(it)[0]) == ["It is 2."]
        assert len(calls_of(tmp_path)) == 1


async def test_an_allowed_call_that_fails_is_not_made_again_without_another_decision(
    rig: OpenRig, tmp_path: Path
) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        broken = {"expression": "1/0"}
        it.model.reply(wants((TOOL, broken)), wants((TOOL, broken)), Reply("I give up."))
        await it.say("what is 1/0?")

        [again] = await press(it, buttons(it)[0])
        assert "🔐" in again and len(buttons(it)) == 2
        assert await press(it, buttons(it)[1]) == ["I give up."]


async def test_who_was_shut_out_meanwhile_has_nothing_done(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL, ADMINS=EVE) as it:
        it.model.reply(wants())
        await it.say("what is 6*7?")
        [allow, _] = buttons(it)
        await it.say(f"/forbid {ADA}", person=EVE, chat="9")

        assert it.shown() == []
        assert await press(it, allow, awaited=True) == [NOT_YOURS]
        await press(it, allow, person=EVE)
        assert calls_of(tmp_path) == [] and len(it.model.requests) == 1


async def test_it_is_asked_in_the_language_of_the_person(rig: OpenRig) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants(), Reply("四十二。"))
        [asked] = await it.say("六乘七等于多少？")
        assert "可以这样做吗" in asked and [one.label for one in buttons(it)] == ["✅ 允许", "🚫 拒绝"]
        await press(it, buttons(it)[0])
        assert card(it).body.endswith("✅ 已允许。")
        assert any("（已用按钮允许。）" in str(one["content"]) for one in told(it) if one["role"] == "user")


async def test_what_is_too_long_is_cut_and_goes_with_a_file(rig: OpenRig, tmp_path: Path) -> None:
    async with rig(CONFIRM_TOOLS=TOOL) as it:
        it.model.reply(wants((TOOL, {"expression": "+".join(map(str, range(1000)))})), Reply("Much."))
        await it.say("add them all up")
        assert "This is too long to show here" in card(it).body and "⟪3,2" in card(it).body
        with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
            [(name, content)] = db.execute("SELECT name, content FROM files JOIN blobs USING (digest)")
        assert name == "arguments.json" and json.loads(content)["expression"].endswith("+998+999")
        assert await press(it, buttons(it)[0]) == ["Much."]
