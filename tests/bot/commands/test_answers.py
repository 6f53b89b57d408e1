"""What a person reads who asks about a chat, about people and about the last answer, or asks again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.contract import Quoted, Usage
from bot.contract.origin import OUTSIDE
from bot.store import TurnState
from playground.faults import Fault
from playground.model import Reply
from tests.bot.conftest import InGroup, OpenRig, Rig

ADA, BOB = "telegram:7", "telegram:8"
GROUP: InGroup = {"chat": "-50", "group": True}


async def long_talk(it: Rig, turns: int) -> None:
    for number in range(turns):
        it.model.reply(Reply(f"Chapter {number}. " + "It rained for a day. " * 100))
        await it.say(f"Tell me chapter {number}")


async def test_context_says_what_a_model_is_told_of_a_chat_and_what_it_is_not(rig: OpenRig) -> None:
    async with rig(CONTEXT_TOKENS="4000", SUMMARY_AT="0") as it:
        history, chat = it.bot.store.history, it.message("").chat
        [empty] = await it.say("/context")
        await it.bot.store.facts.remember(ADA, "Ada likes [tea](https://evil.example).")
        await long_talk(it, 10)
        first = (await history.list_entries(chat))[0].sequence
        await history.set_summary(chat, "Ada asked for a tale.", first + 1, ADA, first=first, after=0)

        [told] = await it.say("/context")

    assert "last 0 turns" in empty and "What I remember" not in empty
    assert "It also sees what I remember:\n\n- Ada likes" in told and "evil.example)" not in told
    assert "It sees this summary of the 1 turn before these:\n\n> Ada asked for a tale." in told
    assert "Older turns that do not fit" in told


async def test_words_of_the_bot_that_somebody_quotes_are_as_trusted_as_the_turn_they_came_from(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?")
        [shown] = it.memory.pages["7"]
        briefings = it.bot.dispatcher.actions.answers.briefings

        async def origin(id: str, *, from_bot: bool = True) -> str:
            quoted = Quoted(text="Tea is a leaf.", from_bot=from_bot, message_id=id)
            return (await briefings.load_past(it.message("Is it?", quoted=quoted))).quoted_origin

        assert await origin(shown) == ADA
        assert await origin("unknown") == await origin(shown, from_bot=False) == OUTSIDE


async def test_memory_lists_what_is_remembered_and_forgets_it(rig: OpenRig) -> None:
    async with rig() as it:
        number = await it.bot.store.facts.remember(ADA, "Ada likes tea.")

        [listed] = await it.say("/memory")
        await it.say(f"/memory forget {number}")
        [after] = await it.say("/memory")

    assert "Ada likes tea." in listed
    assert after == "I remember nothing here."


async def test_usage_tells_an_admin_of_everybody_in_private_alone(rig: OpenRig) -> None:
    async with rig(ADMINS=ADA) as it:
        [alone] = await it.say("/usage")
        [among_others] = await it.say("/usage", **GROUP)

    assert "- you: 0 questions" in alone and "everybody" in alone
    assert "- you: 0 questions" in among_others and "everybody" not in among_others


async def test_an_admin_lets_a_group_in_by_pair_and_reads_who_is_in_in_private_alone(rig: OpenRig) -> None:
    async with rig(ADMINS=ADA, ALLOW_ALL="false") as it:
        [paired] = await it.say("/pair", **GROUP)
        [in_group] = await it.say("/people", **GROUP)
        [people] = await it.say("/people")

    assert "-50" in paired and "can write to me now" in paired
    assert in_group == "I only tell you that in a private chat."
    assert f"- `{ADA}`" in people and "-50" in people


async def test_why_of_a_sentence_of_our_own_says_that_no_model_was_asked(rig: OpenRig) -> None:
    async with rig() as it:
        message = it.message("hello")
        turn = await it.bot.store.intake.take_in(message)
        assert turn is not None
        await it.bot.store.turns.open(turn, message.chat, ADA)
        await it.bot.store.turns.close(turn, TurnState.DONE, (), visible="", reasoning="", model="", usage=Usage())

        [why] = await it.say("/why")

    assert "no model was asked" in why


async def test_new_in_a_group_is_for_the_asker_and_for_all_where_an_admin_says_so(rig: OpenRig) -> None:
    async with rig(ADMINS=ADA) as it:
        for person in (ADA, BOB):
            it.model.reply(Reply(f"Hello {person}."))
            await it.say("Tell me a tale", person=person, **GROUP)

        own = await it.say("/new", person=BOB, **GROUP)
        it.model.reply(Reply("A tale."))
        await it.say("Tell me a tale", person=BOB, **GROUP)
        told = str(it.model.requests[-1].body["messages"])
        refused = await it.say("/new all", person=BOB, **GROUP)
        everything = await it.say("/new all", person=ADA, **GROUP)
        alone = await it.say("/new")

    assert "Your new conversation starts here" in own[0] and "`/new all`" in own[0]
    assert f"Hello {ADA}." in told and f"Hello {BOB}." not in told
    assert "admin" in refused[0]
    assert everything == alone == ["A new conversation starts here."]


async def test_forget_asks_first_and_deletes_then(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?")

        [asked] = await it.say("/forget")
        chat = it.message("").chat
        before = await it.bot.store.history.count_turns(chat)
        [done] = await it.say("/forget yes")

        assert ": 1 turn, reminders" in asked and "`/forget yes`" in asked
        assert (before, await it.bot.store.history.count_turns(chat)) == (1, 0)
        assert "1" in done


async def test_what_another_program_reads_is_said_to_go_later(
    rig: OpenRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.forgetting._PATIENCE", 0.0)
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?")
        with closing(sqlite3.connect(tmp_path / "parley.db", isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM history").fetchall()
            [done] = await it.say("/forget yes")

        assert done.endswith(
            "1 turn. Another program is reading the database right now; the files are overwritten "
            "as soon as it is done."
        )


async def test_a_question_right_behind_forget_is_answered(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?")

        it.model.reply(Reply("Coffee is a bean."))
        done, answer = await asyncio.gather(it.say("/forget yes"), it.say("What is coffee?"))

        assert "Coffee is a bean." in [*done, *answer]
        assert "Tea" not in str(it.model.requests[-1].body["messages"])


async def test_retry_of_anothers_question_is_refused_once_an_hour(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?", **GROUP)

        first = await it.say("/retry", person=BOB, **GROUP)
        second = await it.say("/retry", person=BOB, **GROUP)

    assert len(first) == 1 and second == []
    assert len(it.model.requests) == 1


async def test_a_retry_that_a_former_process_began_goes_on_without_another_look_at_whose_it_is(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.reply(Reply("Tea is a leaf."))
        await it.say("What is tea?")
        held = it.model.faults.add("*", Fault(hold=asyncio.Event()))
        await it.deliver(it.message("/retry"))
        await held.reached.wait()
        await it.bot.dispatcher.suspend("telegram")
        it.model.faults.clear()

        it.model.reply(Reply("Tea is a drink."))
        await it.bot.dispatcher.resume("telegram")
        await it.idle()

        assert it.shown()[-1] == "Tea is a drink."
        kept = [row.entry.text for row in await it.bot.store.history.list_entries(it.message("").chat)]
        assert kept == ["What is tea?", "Tea is a drink."]


async def test_a_command_that_is_being_written_is_completed_with_what_its_writer_may_choose(rig: OpenRig) -> None:
    settings = {"MODELS": "openai:scripted,openai:tea,openai:my-tea", "TOOLS_FOR": "calculator=admins"}
    async with rig(ADMINS=ADA, ALLOW_ALL="false", ALLOWED_CHATS="telegram:42/-50", **settings) as it:
        answers = it.bot.dispatcher.actions.answers

        async def suggested(word: str, begun: str, person: str = ADA, chat: str = "-50") -> tuple[str, ...]:
            typed = it.message(begun, command=word, person=person, chat=chat, group=True)
            return await answers.suggest(typed)

        models = [await suggested("model", begun) for begun in ("", " OpenAI:T", "tea", "none")]
        tools = await suggested("tool", "c")
        in_group = [await suggested("model", "", BOB), await suggested("tool", "calculat", BOB)]
        strangers = [await suggested(word, "", BOB, "-51") for word in ("model", "tool")]
        others = await suggested("persona", "")

    assert models == [
        ("openai:scripted", "openai:tea", "openai:my-tea"),
        ("openai:tea",),
        ("openai:tea", "openai:my-tea"),
        (),
    ]
    assert tools[0] == "calculator" and all("c" in name for name in tools)
    assert [name.startswith("c") for name in tools] == sorted((name.startswith("c") for name in tools), reverse=True)
    assert in_group == [(), ()] and strangers == [(), ()] and others == ()


async def test_why_in_a_group_is_for_who_asked_and_for_admins(rig: OpenRig) -> None:
    async with rig(ADMINS="telegram:1") as it:
        it.model.reply(
            Reply(calls=(("calculator", {"expression": "6*7"}),), reasoning="Ada's secret number."), Reply("It is 42.")
        )
        await it.say("6*7?", **GROUP)
        [refused] = await it.say("/why", person=BOB, **GROUP)
        [own] = await it.say("/why", **GROUP)
        [admin] = await it.say("/why", person="telegram:1", **GROUP)

        it.model.reply(Reply("Tea is a leaf.", reasoning="Bob asks for tea."))
        await it.say("What is tea?", person=BOB, **GROUP)
        [before] = await it.say("/why", **GROUP)
        [bobs] = await it.say("/why", person=BOB, **GROUP)

    assert refused == "Only the person who asked, or an admin, may do that."
    assert "6*7" in own and "secret number" in own and own == admin == before
    assert "asks for tea" in bobs and "6*7" not in bobs
