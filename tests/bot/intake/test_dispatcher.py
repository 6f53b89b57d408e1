"""From "something arrived" to "its turn begins", with the whole core behind it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.contract import StoreError
from bot.contract.limits import Limits
from bot.contract.messages import (
    ChatId,
    ChatMoved,
    Control,
    ControlPressed,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Quoted,
    ReplyTarget,
    TimerDue,
)
from bot.sentences import say
from bot.turn.loading import STARTS_AT_ONCE
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.conftest import RawObject
from tests.patience import PATIENCE
from tools.contract.base import NewReminder, Repeat

ADA, BOB = "telegram:7", "telegram:8"


async def test_a_question_is_answered(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))

        assert await it.say("What is tea?") == ["Tea is a leaf."]


async def test_the_same_delivery_begins_one_turn_however_often_it_comes(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Once."))
        message = it.message("What is tea?")

        await asyncio.gather(*(it.deliver(message) for _ in range(10)))
        await it.idle()
        await it.deliver(message)
        await it.idle()

        assert it.shown() == ["Once."]
        assert len(it.model.requests) == 1


async def test_one_thing_under_two_names_begins_one_turn(rig: OpenRig) -> None:
    """Slack sends a mention as two events; a Telegram album comes in parts."""
    async with rig() as it:
        it.model.reply(Reply("Once."))

        await it.deliver(it.message("What?", also=("C1/17",)), it.message("What?", also=("C1/17",)))
        await it.idle()

        assert it.shown() == ["Once."]


async def test_messages_of_one_chat_are_answered_in_their_order_and_chats_side_by_side(rig: OpenRig) -> None:
    async with rig() as it:
        gate = asyncio.Event()
        it.model.script = lambda body: Reply(f"You said {body['messages'][-1]['content']}.")
        held = it.model.faults.add("*", Fault(hold=gate))
        await it.deliver(it.message("one"), it.message("two"))
        await held.reached.wait()
        assert it.shown("7") == []

        await it.deliver(it.message("three", chat="9", person="telegram:9"))
        await it.until(lambda: it.shown("9") == ["You said three."])
        assert it.shown("7") == []
        gate.set()
        await it.idle()

        assert it.shown("7") == ["You said one.", "You said two."]


async def test_of_many_questions_at_once_the_first_are_not_held_up_by_the_last(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        store, looked_up, gate = it.bot.store, 0, asyncio.Event()
        queue, decided, begin = it.bot.dispatcher.queue, asyncio.Semaphore(0), store.turns.begin
        put = queue.put

        def put_counted(*turn: Any, **more: Any) -> None:
            put(*turn, **more)
            decided.release()

        async def begin_held(*turn: Any) -> int:
            nonlocal looked_up
            looked_up += 1
            await gate.wait()
            attempts: int = await begin(*turn)
            return attempts

        monkeypatch.setattr(queue, "put", put_counted)
        monkeypatch.setattr(store.turns, "begin", begin_held)
        it.model.script = lambda body: Reply(f"You said {body['messages'][-1]['content']}.")
        chats = [str(number) for number in range(100, 120)]

        await it.deliver(*(it.message(f"hello {chat}", chat=chat, person=f"telegram:{chat}") for chat in chats))
        for _ in chats:
            await decided.acquire()
        while queue.busy < len(chats):
            await asyncio.sleep(0)
        assert looked_up == STARTS_AT_ONCE
        gate.set()
        await it.idle()

        assert [it.shown(chat) for chat in chats] == [[f"You said hello {chat}."] for chat in chats]


async def test_what_waits_is_limited_per_person_and_told_once(rig: OpenRig) -> None:
    async with rig() as it:
        gate = asyncio.Event()
        held = it.model.faults.add("*", Fault(hold=gate))
        it.model.script = lambda body: Reply("Yes.")
        await it.deliver(it.message("one"))
        await held.reached.wait()
        for text in ("two", "three", "four", "five"):
            await it.deliver(it.message(text))
        await it.until(lambda: say("queue_full_person", "en") in it.shown())
        # Who is refused silently is refused before the first answer ends.
        async with asyncio.timeout(PATIENCE):
            while sum((await it.bot.store.intake.count_unfinished()).values()) > 3:
                await asyncio.sleep(0.001)
        gate.set()
        await it.idle()

        assert sorted(it.shown()) == sorted([say("queue_full_person", "en"), "Yes.", "Yes.", "Yes."])


async def test_a_message_that_is_empty_or_too_long_costs_no_model_call(rig: OpenRig) -> None:
    async with rig(Limits(question_chars=100)) as it:
        [empty] = await it.say("  ")
        [wordless] = await it.say("", quoted=Quoted(text=" ", message_id="9"), chat="70")
        [long] = await it.say("x" * 101, chat="71")

        assert empty == wordless == "What would you like to know?"
        assert "101" in long and "100" in long
        assert it.model.requests == []


async def test_a_stranger_hears_his_id_once_a_day_in_private_and_nothing_in_a_group(rig: OpenRig) -> None:
    async with rig(ALLOW_ALL="false", ALLOWED_USERS=ADA) as it:
        assert BOB in (await it.say("hello", person=BOB, chat="8"))[0]
        assert await it.say("hello?", person=BOB, chat="8") == []
        assert await it.say("hello", person=BOB, chat="-5", group=True) == []
        assert await it.say("/tools", person=BOB, chat="8") == []
        assert BOB in (await it.say("/whoami", person=BOB, chat="8"))[0]
        assert it.model.requests == []


async def test_start_promises_a_stranger_nothing_and_tells_the_operator_how_to_pair(rig: OpenRig) -> None:
    async with rig(ALLOW_ALL="false") as it:
        [first] = await it.say("/start")
        assert (
            first.startswith("I do not know you yet. If this bot is yours, write /pair and the code") and ADA in first
        )
        await it.say(f"/pair {await it.bot.access.new_pairing_code()}")
        assert (await it.say("/start"))[0].startswith("Hello!")
        [later] = await it.say("/start", person=BOB, chat="8")
        assert later == f"I do not know you yet. The operator of this bot must add your id: {BOB}"


async def test_whoami_says_which_id_is_whose(rig: OpenRig) -> None:
    async with rig() as it:
        assert await it.say("/whoami") == [f"You: `{ADA}`\nThis chat: `{it.message('').chat}`"]


async def test_pair_without_a_code_asks_for_it_and_is_no_guess(rig: OpenRig) -> None:
    async with rig(ALLOW_ALL="false") as it:
        code = await it.bot.access.new_pairing_code()
        for _ in range(6):
            [text] = await it.say("/pair")
            assert text == "Write /pair and the code that the bot's console showed when it started."
        assert await it.say("/pair 0000-00") == ["This code is wrong. The right one is on the bot's console."]
        assert (await it.say(f"/pair {code}"))[0].startswith("Welcome!")


async def test_stop_ends_the_answer_for_its_asker_and_admins_only(rig: OpenRig) -> None:
    async with rig(ADMINS="telegram:1") as it:
        for stopper, stops in ((BOB, False), (ADA, True), ("telegram:1", True)):
            it.model.reply(Reply("word " * 400, words_per_second=50))
            before = len(it.shown())
            await it.deliver(it.message("Tell me", group=True))
            await it.until(partial(it.more_than, before))

            await it.deliver(it.message("/stop", person=stopper, group=True))
            if not stops:
                await it.until(lambda: any("Only the person who asked" in text for text in it.shown()))
                assert it.bot.dispatcher.queue.busy == 1
                await it.deliver(it.message("/stop", group=True))
            await it.idle()
            assert any(text.endswith("Stopped.") for text in it.shown()[before:])


async def test_stop_also_drops_the_waiting_questions_of_who_writes_it_and_of_nobody_else(rig: OpenRig) -> None:
    async with rig() as it:
        gate = asyncio.Event()
        held = it.model.faults.add("*", Fault(hold=gate))
        it.model.script = lambda body: Reply("Yes.")
        await it.deliver(it.message("one", person=BOB, group=True))
        await held.reached.wait()
        second = it.message("oolong", group=True, message_id="5")
        await it.deliver(second, it.message("three", person=BOB, group=True), it.message("four", group=True))
        here = {"chat": second.chat, "sender": second.sender, "target": second.target}
        await it.deliver(MessageEdited(delivery="e5", **here, message_id="5", text="oolong, changed"))  # type: ignore[arg-type]

        await it.deliver(it.message("/stop", group=True))
        await it.until(lambda: say("dropped_waiting", "en") in it.shown())
        gate.set()
        await it.idle()

        assert sorted(it.shown()) == sorted([say("dropped_waiting", "en"), "Yes.", "Yes."])
        assert not await it.bot.dispatcher.store.intake.list_waiting()
        assert "oolong" not in str([one.body for one in it.model.requests])


async def test_a_pressed_stop_is_a_stop(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("word " * 400, words_per_second=50))
        message = it.message("Tell me")
        await it.deliver(message)
        await it.until(lambda: bool(it.shown()))

        await it.deliver(
            ControlPressed(
                delivery="s1",
                chat=message.chat,
                sender=message.sender,
                target=message.target,
                control=Control.STOP,
                turn=1,
            )
        )
        await it.idle()

        assert it.shown()[0].endswith("Stopped.")


async def test_stop_with_nothing_to_stop_says_so(rig: OpenRig) -> None:
    async with rig() as it:
        assert await it.say("/stop") == ["Nothing is being answered right now."]


async def test_an_unknown_command_is_told_and_never_asks_the_model(rig: OpenRig) -> None:
    async with rig() as it:
        [text] = await it.say("/nonsense")

        assert "nonsense" in text and "/help" in text
        assert it.model.requests == []


async def test_retry_is_for_the_asker_and_replaces_the_answer(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("First."), Reply("Second."), Reply("Third."))
        assert await it.say("/retry") == ["There is no question to answer again."]
        await it.say("What is tea?", group=True)
        assert (await it.say("/retry", person=BOB, group=True))[0].startswith("Only the person who asked")
        assert await it.say("/retry", group=True) == ["Second."]
        await it.say("And milk?", group=True)

        told = str(it.model.requests[-1].body["messages"])
        assert "Second." in told and "First." not in told


@pytest.mark.parametrize(
    "text",
    ["/forget", "/forget yes", "/new all", "/model openai:small", "/persona Rhyme", "/people", "/allow telegram:7"],
)
async def test_what_is_for_admins_is_refused_as_that_and_not_as_somebody_elses(rig: OpenRig, text: str) -> None:
    async with rig() as it:
        it.model.reply(Reply("Green."))
        await it.say("What is tea?", person=BOB, group=True)

        assert await it.say(text, person=BOB, group=True) == ["Only an admin of this bot may do that here."]


def presses(message: MessageSent) -> list[Incoming]:
    """One of everything else that a person can do about a message."""
    extra: dict[type, RawObject] = {
        MessageEdited: {"message_id": "5", "text": "/allow telegram:666 admin"},
        MessageDeleted: {"message_id": "5"},
        ControlPressed: {"control": Control.GOOD, "turn": 1},
        TimerDue: {"text": "tea"},
    }
    # That a chat has moved only its platform tells.
    kinds = [kind for kind in get_args(Incoming) if kind not in (MessageSent, ChatMoved)]
    place = {"chat": message.chat, "sender": message.sender, "target": message.target}
    return [kind(delivery=f"{message.delivery}-{kind.__name__}", **place, **extra.get(kind, {})) for kind in kinds]


async def states(it: Rig, tmp_path: Path) -> Counter[str]:
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        return Counter(dict(db.execute("SELECT state, count(*) FROM inbox GROUP BY state")))


async def test_whatever_a_stranger_does_is_refused(rig: OpenRig, tmp_path: Path) -> None:
    """Edits, deletions and buttons as messages; a reminder too, of somebody who has been shut out since."""
    async with rig(ALLOW_ALL="false", ALLOWED_USERS=ADA) as it:
        done = presses(it.message("hello", person=BOB, chat="8"))
        await it.deliver(*done)
        await it.idle()

        # Of changes and deletions of what was never taken in nothing is kept.
        assert await states(it, tmp_path) == {"refused": len(done) - 2}
        # Whoever presses a button hears once, aside, why it does nothing.
        assert it.shown("8") == ["Only the person who asked, or an admin, may do that."] and it.model.requests == []


async def test_a_chat_that_cannot_be_written_to_holds_no_other(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("Yes.")
        it.memory.unreachable.add("8")
        await it.deliver(it.message("/help", chat="8", person=BOB))

        assert await it.say("What is tea?") == ["Yes."]


# What history keeps


async def test_a_stop_in_the_middle_of_tools_leaves_one_result_per_call(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(
            Reply("", calls=(("calculator", {"expression": "1+1"}), ("current_time", {"zone": "UTC"}))),
            Reply("word " * 400, words_per_second=50),
            Reply("Next."),
        )
        await it.deliver(it.message("Reckon 1+1, what time is it?"))
        await it.until(lambda: any("word" in text for text in it.shown()))
        await it.deliver(it.message("/stop"))
        await it.idle()
        await it.say("And now, what time is it?")

        messages = it.model.requests[-1].body["messages"]
        at = next(place for place, one in enumerate(messages) if one.get("tool_calls"))
        asked = [call["id"] for call in messages[at]["tool_calls"]]
        assert [one["tool_call_id"] for one in messages[at + 1 : at + 3]] == asked
        assert messages[at + 3]["role"] == "assistant" and messages[at + 3]["content"].startswith("word")


async def test_calls_of_two_passes_with_one_id_keep_each_its_result(rig: OpenRig) -> None:
    """Some servers begin to count anew in every pass."""
    async with rig() as it:
        it.model.reply(
            Reply("", calls=(("calculator", {"expression": "1+1"}),), call_ids=("call_0",)),
            Reply("", calls=(("calculator", {"expression": "3*7"}),), call_ids=("call_0",)),
            Reply("2 and 21."),
            Reply("Next."),
        )
        await it.say("Reckon 1+1 and 3*7")
        await it.say("Reckon on")

        results = [one["content"] for one in it.model.requests[-1].body["messages"] if one["role"] == "tool"]
        assert ["2" in results[0], "21" in results[1]] == [True, True] and results[0] != results[1]


# /why


async def test_why_tells_how_the_last_answer_came_about(rig: OpenRig) -> None:
    async with rig(PRICES="openai:scripted=1000/500/2000", MONEY_PER_DAY="0", MONEY_PER_DAY_PERSON="0") as it:
        it.model.reply(
            Reply("", calls=(("calculator", {"expression": "17*3"}), ("calculator", {"expression": "17*3"}))),
            Reply("", calls=(("calculator", {"expression": "17*"}), ("nothing", {}))),
            Reply("51."),
        )
        await it.say("What is 17*3?")

        [why] = await it.say("/why")

    head, calls, tokens = why.split("\n\n")
    assert re.fullmatch(r"The last answer came from \*\*openai:scripted\*\* after [\d.]+ s\. Model calls: 3\.", head)
    lines = [line for line in calls.splitlines() if line.startswith("- ")]
    assert [line[2:].partition(":")[0] for line in lines] == [
        '**calculator** `{"expression"',
        '**calculator** `{"expression"',
        '**calculator** `{"expression"',
        "**nothing** `{}`",
    ]
    assert ["completed" in line for line in lines] == [True, False, False, False]
    assert "known already" in lines[1]
    assert ["failed" in line for line in lines[2:]] == [True, True]
    heads = [line.strip() for line in calls.splitlines() if not line.startswith("- ")]
    assert len(heads) == 4 and all(head.startswith("→ `") and head.endswith("`") for head in heads)
    assert "51" in heads[0] and "nothing" in heads[3]
    assert tokens.startswith("Tokens: ") and "\nCost: about $" in tokens


async def test_why_is_told_in_chinese_and_says_what_it_does_not_know(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("茶是叶子。"))
        await it.say("茶是什么？")

        [why] = await it.say("/why 请")

    assert "没有使用工具" in why and "费用：未知" in why


async def test_commands_are_answered_in_the_language_a_person_last_wrote_here_or_elsewhere(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("好。")
        assert await it.say("/stop") == ["Nothing is being answered right now."]

        await it.say("幫我看看這個問題")
        assert await it.say("/stop", chat="9") == ["目前沒有進行中的回答。"]
        assert (await it.say("/tool calculator", chat="9"))[0].startswith("沒有執行 calculator：")
        assert await it.say("/stop", chat="9", person=BOB) == ["Nothing is being answered right now."]

        await it.say("帮我看看这个问题")
        assert await it.say("/stop") == ["当前没有正在进行的回答。"]

        await it.say("/tool calculator 1+2")
        assert await it.say("/stop") == ["当前没有正在进行的回答。"], "what a command is given tells nothing"

        await it.say("Look at this question")
        assert await it.say("/stop") == ["Nothing is being answered right now."]


async def test_why_with_nothing_answered_says_so_and_a_bare_why_is_a_question(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Because."))

        assert await it.say("/why") == ["Nothing was answered here yet."]
        assert await it.say("why") == ["Because."]


@pytest.mark.parametrize("expression", ["`rm` **bold** @everyone", "x" * 900])
async def test_why_shows_arguments_as_code_in_one_short_line(rig: OpenRig, expression: str) -> None:
    async with rig() as it:
        it.model.reply(Reply("", calls=(("calculator", {"expression": expression}),)), Reply("No."))
        await it.say("Reckon something for me")

        [why] = await it.say("/why")

    [line] = [line for line in why.splitlines() if line.startswith("- **calculator**")]
    assert line.count("`") == 2
    assert len(line) < 250


async def resting(it: Rig) -> list[tuple[str, int]]:
    """(state, attempts) of everything unfinished."""
    return [(row.state, row.attempts) for row in await it.bot.store.intake.list_waiting()]


@pytest.mark.parametrize("connected", [True, False], ids=["answering", "waiting for the connection"])
async def test_what_is_unfinished_on_a_platform_that_is_off_rests_until_it_is_back(
    connected: bool, rig: OpenRig, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is tried again in between, and what failed for want of the platform does not count."""
    async with rig() as it:
        gate = asyncio.Event()
        held = it.model.faults.add("*", Fault(hold=gate))
        if not connected:
            it.bot.platforms._open.clear()
        await it.deliver(it.message("one"), it.message("two"))
        if connected:
            await held.reached.wait()
        else:
            while "waits: telegram is not connected" not in caplog.text:
                await asyncio.sleep(0)
        gate.set()

        await it.bot.dispatcher.suspend("telegram")

        assert not it.bot.dispatcher.queue.busy and not it.bot.dispatcher.queue.length
        assert await resting(it) == [("running", 0), ("new", 0)]
        assert caplog.text.count("unfinished on telegram: 2;") == 1
        assert (await it.bot.state())["resting"] == {"telegram": 2}
        it.bot.platforms._open.add("telegram")
        it.model.faults.clear()
        it.model.reply(Reply("One."), Reply("Two."))
        await it.bot.dispatcher.resume("telegram")
        await it.idle()
        assert it.shown()[-1] == "Two." and await resting(it) == []


async def test_what_is_still_decided_about_when_a_platform_goes_off_rests_too(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("One."))
        await it.deliver(it.message("one"))

        await it.bot.dispatcher.suspend("telegram")
        await it.idle()

        assert await resting(it) == [("new", 0)]
        await it.bot.dispatcher.resume("telegram")
        await it.idle()
        assert it.shown()[-1] == "One." and await resting(it) == []


async def test_a_start_names_what_waits_for_a_platform_that_it_does_not_have(
    rig: OpenRig, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig() as it:
        elsewhere = it.message("hi", chat="C1")
        chat, target = ChatId("slack", "T1", "C1"), ReplyTarget("slack", {})
        await it.bot.store.intake.take_in(replace(elsewhere, chat=chat, target=target))

    async with rig() as it:
        assert caplog.text.count("unfinished on slack: 1;") == 1
        assert await resting(it) == [("new", 0)]


async def test_waiting_for_what_is_done_already_lets_the_loop_turn(rig: OpenRig) -> None:
    """From Python 3.12 on `gather` of tasks that are done does not: what takes them away would never be called."""
    async with rig() as it:
        loop = asyncio.get_running_loop()
        loose = it.bot.dispatcher.notices._tasks
        done: asyncio.Task[None] = asyncio.create_task(asyncio.sleep(0))
        await done
        loose.add(done)
        loop.call_soon(loose.discard, done)

        await it.bot.dispatcher.wait_idle()

        assert not loose


async def test_what_people_say_in_a_thread_without_the_bot_is_not_even_kept(rig: OpenRig, tmp_path: Path) -> None:
    async with rig() as it:
        await it.deliver(it.message("lunch?", follow_up=True))
        await it.idle()
        nothing = await states(it, tmp_path)
        it.model.reply(Reply("Tea is a leaf."), Reply("It is a drink."))
        await it.say("What is tea?")

        assert (await it.say("and to drink?", follow_up=True), nothing) == (["It is a drink."], Counter())


@pytest.mark.parametrize("kept", ["by its platform", "here"])
async def test_a_question_that_waited_long_for_a_start_is_answered_with_its_age(rig: OpenRig, kept: str) -> None:
    written = time.time() - 3 * 86_400
    async with rig() as it:
        late = it.message("will it rain tomorrow?", chat="8", sent_at=written, delivery="late")
        command = it.message("/whoami", chat="9", sent_at=written, delivery="command")
        if kept == "here":
            await it.bot.store.intake.take_in(late)
            await it.bot.store.intake.take_in(command)

    async with rig() as it:
        it.model.reply(Reply("It did."))
        if kept == "by its platform":
            await it.deliver(late, command)
        await it.idle()

        assert it.shown("8") == ["⌛ You wrote this 3 days ago, while I was offline.\n\nIt did."]
        assert it.model.requests[0].messages[-1]["content"].startswith("(Written 3 days before you could answer it.")
        assert "offline" not in it.shown("9")[0]
        it.model.reply(Reply("Leaves."))
        assert await it.say("What is tea?", chat="8", sent_at=time.time() - 60) == ["Leaves."]


async def test_a_reminder_is_shown_and_one_for_a_platform_that_is_not_there_waits(rig: OpenRig, tmp_path: Path) -> None:
    async with rig() as it:
        timer = next(one for one in presses(it.message("x")) if isinstance(one, TimerDue))
        away = replace(timer, delivery="away", chat=ChatId("slack", "T1", "C1"), target=ReplyTarget("slack", {}))

        await it.deliver(timer, away)
        # The platform may be taken up only now; the reminder waits for that.
        await it.until(lambda: bool(it.shown()))
        await it.idle()

        assert len(it.shown()) == 1 and "tea" in it.shown()[0]
        assert await states(it, tmp_path) == {"done": 1, "new": 1}


@pytest.mark.parametrize("question", [False, True])
@pytest.mark.parametrize("group", [False, True])
async def test_a_repeated_reminder_of_somebody_who_may_not_ask_any_more_is_paused_and_that_is_said_once(
    rig: OpenRig, group: bool, question: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(ALLOW_ALL="false", ALLOWED_USERS=ADA) as it:
        asked, daily = it.message("", person=BOB), Repeat("0 8 * * *", "UTC", "daily")
        scope, store = str(asked.chat), it.bot.store
        timers = store.timers.bind(asked.chat, asked.sender, asked.target, grouped=group)
        now = time.time()
        number = await timers.set(scope, BOB, NewReminder(now, "tea", repeat=daily, question=question))
        await timers.set(scope, BOB, NewReminder(now, "once", question=question))
        due = await store.timers.list_due(now, ["telegram"])
        for timer in due:
            await it.bot.dispatcher.deliver(timer.to_delivery(now), store.timers.claim(timer))
        await it.idle()

        said = f"Reminder {number} is paused: the operator of this bot no longer lets me answer you."
        assert it.shown() == ([] if group else [said])
        assert [one.paused for one in await timers.pending(scope, BOB)] == [True]
        assert await store.timers.pause_refused(f"timer:{number}:1") is None, "it is paused once"
        assert f"reminder {number} is paused: {BOB} may not ask" in caplog.text
        assert it.model.requests == []


async def test_a_platform_that_is_taken_up_twice_shows_everything_once(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Once."))
        held = it.model.faults.add("*", Fault(hold=asyncio.Event()))
        await it.deliver(it.message("What is tea?"))
        await held.reached.wait()

        await it.bot.dispatcher.resume("telegram")
        assert held.hold is not None
        held.hold.set()
        await it.idle()

        assert it.shown() == ["Once."]


async def test_what_is_being_decided_about_at_the_end_is_decided_at_the_next_start(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        deciding = asyncio.Event()

        async def never(*_: object, **__: object) -> None:
            deciding.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(it.bot.dispatcher.admission, "decide", never)
        await it.deliver(it.message("What is tea?"))
        await deciding.wait()

    async with rig() as it:
        it.model.reply(Reply("A leaf."))
        await it.until(lambda: it.shown() == ["A leaf."])


@pytest.mark.parametrize("allowed", [True, False, None])
async def test_who_is_allowed_is_told_once_that_a_message_cannot_be_stored(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, allowed: bool | None
) -> None:
    async with rig() as it:
        message = it.message("What is tea?")
        timer = next(one for one in presses(message) if isinstance(one, TimerDue))

        async def full(*_: object) -> None:
            raise StoreError("the disk is full")

        async def known(*_: object) -> bool:
            if allowed is None:
                raise StoreError("the disk is full")
            return allowed

        monkeypatch.setattr(it.bot.store.intake, "take_in", full)
        monkeypatch.setattr(it.bot.dispatcher.access, "allows", known)
        for one in (timer, message, message):
            with pytest.raises(StoreError):
                await it.deliver(one)
        await it.idle()

        assert [text.split(" (")[0] for text in it.shown()] == [
            "I can't save messages right now, so I can't answer yet. I will go on as soon as I can."
        ] * bool(allowed)
