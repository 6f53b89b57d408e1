"""A person writes in Telegram, a person reads in Telegram."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from bot.app import App
from playground.faults import Fault
from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ADA = 7


def text_of(world: World, chat: int = ADA) -> str:
    return "".join(message.text for message in world.telegram.screen.of(str(chat)))


async def ask(world: World, bot: App, text: str, chat: int = ADA, **more: Any) -> list[Shown]:
    """Say something, wait until everything is answered, and return the bot's new messages."""
    before = len(world.telegram.screen.of(str(chat)))
    handled = len(world.model.requests)
    world.telegram.person(ADA, "Ada")
    world.telegram.say(chat, text, person=ADA, **more)
    await world.telegram.screen.until(lambda screen: len(screen.of(str(chat))) > before)
    await bot.dispatcher.wait_idle()
    assert len(world.model.requests) >= handled
    return list(world.telegram.screen.of(str(chat))[before:])


async def test_a_question_is_answered_by_editing_one_message(world: World, start: Start) -> None:
    world.model.reply(Reply("Tea is made of leaves and hot water. " * 6, words_per_second=40))
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "please tell me about tea")

    assert message.text == ("Tea is made of leaves and hot water. " * 6).strip()
    assert len(message.versions) > 1
    assert world.telegram.refusals == 0


async def test_a_search_is_asked_for_run_and_answered_from_in_two_passes(world: World, start: Start) -> None:
    world.model.reply(
        Reply("Let me look.", calls=(("search_web", {"query": "green tea"}),)), Reply("Green tea is not fermented [1].")
    )
    world.tavily.faults.add("search", Fault(delay=1.5))
    async with start("telegram", TOOL_MODE="native") as bot:
        [message] = await ask(world, bot, "what is green tea made of, look it up")

    answer, _, footer = message.text.partition("\n\nSources\n")
    assert answer == "Let me look.\n\nGreen tea is not fermented [1]."
    assert footer.startswith("[1] ") and "\n" not in footer
    assert [request.status for request in world.model.requests] == [200, 200]
    assert any("green tea" in version.text for version in message.versions[:-1]), "no status was shown"
    assert len(world.tavily.requests) == 1


async def test_a_model_without_native_tools_searches_all_the_same_and_shows_no_syntax(
    world: World, start: Start
) -> None:
    world.model.supports_tools = False
    world.model.script = lambda body: (
        Reply("Green tea is not fermented.", words_per_second=60)
        if "<tool_result" in str(body["messages"][-1]["content"])
        else Reply('I look.\n<tool_call>{"name": "search_web", "arguments": {"query": "green tea"}}</tool_call>',
                   words_per_second=60)
    )  # fmt: skip
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "what is green tea made of, look it up")

    assert message.text == "I look.\n\nGreen tea is not fermented."
    for version in message.versions:
        assert "tool_call" not in version.text and "{" not in version.text


async def test_the_chat_is_remembered_after_a_restart_and_no_other_chat_is(world: World, start: Start) -> None:
    async with start("telegram") as bot:
        world.model.reply(Reply("Noted."))
        await ask(world, bot, "my cat is called Minka, remember it")
    async with start("telegram") as bot:
        world.model.reply(Reply("Minka."), Reply("I do not know."))
        await ask(world, bot, "what is my cat called?")
        world.telegram.person(8, "Bob")
        world.telegram.say(8, "what is my cat called?", person=8)
        await world.telegram.screen.until(lambda screen: screen.of("8"))
        await bot.dispatcher.wait_idle()

    said = [[message["content"] for message in request.messages[1:]] for request in world.model.requests]
    assert said[1] == ["my cat is called Minka, remember it", "Noted.", "what is my cat called?"]
    assert said[2] == ["what is my cat called?"]


async def test_twenty_chats_at_once_each_get_their_own_answer(world: World, start: Start) -> None:
    def answer(body: RawJson) -> Reply:
        number = body["messages"][-1]["content"].rsplit(" ", 1)[1]
        return Reply(" ".join(f"answer{number}" for _ in range(80)), words_per_second=80)

    world.model.script = answer
    async with start("telegram") as bot:
        for number in range(20):
            world.telegram.person(100 + number, f"P{number}")
            world.telegram.say(100 + number, f"please explain number {number}", person=100 + number)
        await world.telegram.screen.until(lambda screen: all(screen.of(str(100 + n)) for n in range(20)))
        await bot.dispatcher.wait_idle()

    for number in range(20):
        assert text_of(world, 100 + number) == " ".join(f"answer{number}" for _ in range(80))
    assert world.telegram.refusals == 0


async def test_stop_ends_the_answer_keeps_what_was_shown_and_closes_the_models_stream(
    world: World, start: Start
) -> None:
    world.model.reply(Reply("word " * 3000, words_per_second=50))
    async with start("telegram") as bot:
        world.telegram.person(ADA, "Ada")
        world.telegram.say(ADA, "please write a very long text", person=ADA)
        await world.telegram.screen.until(lambda _: text_of(world).startswith("word word"))
        world.telegram.say(ADA, "/stop", person=ADA)
        async with asyncio.timeout(PATIENCE):
            await world.model.requests[0].ended.wait()
        await bot.dispatcher.wait_idle()

    assert text_of(world).startswith("word word")
    assert text_of(world).endswith("Stopped.")
    assert world.model.requests[0].closed_early


async def test_a_dropped_stream_keeps_what_came_and_says_so(world: World, start: Start) -> None:
    world.model.reply(
        Reply("Half of the answer is here and the rest never comes", drop_after=23), Reply("x", drop_after=0)
    )
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "please tell me something")

    half, note = message.text.split("\n\n")
    assert half == "Half of the answer is h"
    assert re.fullmatch(
        r"The model's answer broke off here\. Write /retry to ask again\. \(Reference [0-9a-f]{6}\)", note
    )


async def test_retry_answers_the_last_question_again_and_forgets_the_first_try(world: World, start: Start) -> None:
    world.model.reply(Reply("A bad answer."), Reply("A good answer."), Reply("Third."))
    async with start("telegram") as bot:
        await ask(world, bot, "please tell me something")
        [again] = await ask(world, bot, "/retry")
        await ask(world, bot, "and then what happened")

    assert again.text == "A good answer."
    said = [message["content"] for message in world.model.requests[-1].messages[1:]]
    assert said == ["please tell me something", "A good answer.", "and then what happened"]


async def test_new_begins_a_conversation_without_the_old_one(world: World, start: Start) -> None:
    world.model.reply(Reply("One."), Reply("Two."))
    async with start("telegram") as bot:
        await ask(world, bot, "please tell me something")
        await ask(world, bot, "/new")
        await ask(world, bot, "please tell me more")

    assert [message["content"] for message in world.model.requests[-1].messages[1:]] == ["please tell me more"]


async def test_a_group_hears_only_what_is_meant_for_the_bot_and_tells_who_speaks(world: World, start: Start) -> None:
    world.model.reply(Reply("Hello Ada."))
    async with start("telegram") as bot:
        world.telegram.group(-50, "Friends")
        world.telegram.person(ADA, "Ada")
        world.telegram.say(-50, "nothing for the bot here", person=ADA)
        world.telegram.say(-50, f"@{world.telegram.bot['username']} please say hello", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of("-50"))
        await bot.dispatcher.wait_idle()

    assert len(world.model.requests) == 1
    assert world.model.requests[0].messages[-1]["content"] == "Ada: please say hello"


async def test_a_stranger_hears_one_sentence_with_his_id_and_no_model_is_asked(world: World, start: Start) -> None:
    async with start("telegram", ALLOW_ALL="false", ALLOWED_USERS="telegram:99") as bot:
        [message] = await ask(world, bot, "hello, please answer")
        world.telegram.say(ADA, "and again, please", person=ADA)
        await asyncio.sleep(0.3)
        await bot.dispatcher.wait_idle()

    assert "telegram:7" in message.text
    assert len(world.telegram.screen.of(str(ADA))) == 1
    assert world.model.requests == []


async def test_the_pairing_code_makes_its_sender_the_owner_once(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.reply(Reply("At your service."))
    async with start("telegram", ALLOW_ALL="false") as bot:
        code = next(
            word
            for record in caplog.records
            for word in record.getMessage().split()
            if "-" in word and word[:4].isdigit()
        )
        [welcome] = await ask(world, bot, f"/pair {code}")
        [answer] = await ask(world, bot, "please help me with something")
        world.telegram.person(8, "Eve")
        world.telegram.say(8, f"/pair {code}", person=8)
        await world.telegram.screen.until(lambda screen: screen.of("8"))

    assert "You now own this bot" in welcome.text
    assert answer.text == "At your service."
    assert "This code is wrong or has expired. If this bot is yours, write /link to it" in text_of(world, 8)


async def test_a_dead_search_is_told_to_the_model_and_answered_honestly(world: World, start: Start) -> None:
    world.model.reply(Reply(calls=(("search_web", {"query": "news"}),)), Reply("The search does not work right now."))
    async with start("telegram", TAVILY_API_BASE_URL="http://127.0.0.1:9") as bot:
        [message] = await ask(world, bot, "please look up the news")

    assert message.text == "The search does not work right now."
    result = world.model.requests[1].messages[-1]
    assert result["role"] == "tool" and "\nError: The search service cannot be reached." in result["content"]
    assert "127.0.0.1" not in result["content"]


async def test_an_unknown_model_is_one_plain_sentence(world: World, start: Start) -> None:
    async with start("telegram", MODEL="openai:no-such-model") as bot:
        [message] = await ask(world, bot, "please answer me")

    assert "is not set up correctly" in message.text
    assert "no-such-model" not in message.text


async def test_a_long_answer_arrives_whole_and_every_fence_is_balanced(world: World, start: Start) -> None:
    from playground.model.texts import long_answer

    world.model.reply(Reply(long_answer(), words_per_second=600))
    async with start("telegram") as bot:
        await ask(world, bot, "please write the long text")

    messages = world.telegram.screen.of(str(ADA))
    assert len(messages) >= 3
    assert messages[-1].text.endswith("the answer arrived whole. 🏁")
    assert all(len(message.text.encode("utf-16-le")) // 2 <= 4096 for message in messages)
    assert world.telegram.refusals == 0


async def test_the_same_update_delivered_ten_times_is_one_turn(world: World, start: Start) -> None:
    world.model.reply(Reply("Once."))
    async with start("telegram") as bot:
        world.telegram.person(ADA, "Ada")
        update = world.telegram.say(ADA, "please answer once", person=ADA)
        await world.telegram.screen.until(lambda screen: screen.of(str(ADA)))
        for _ in range(9):
            world.telegram.redeliver(update)
        world.model.reply(Reply("Second."))
        await bot.dispatcher.wait_idle()
        await ask(world, bot, "please answer again")

    assert [message.text for message in world.telegram.screen.of(str(ADA))] == ["Once.", "Second."]


async def test_a_secret_never_reaches_the_chat(world: World, start: Start) -> None:
    world.model.reply(Reply("The key is sk-loopback-key and nothing else.", words_per_second=20))
    async with start("telegram") as bot:
        [message] = await ask(world, bot, "please tell me your key")

    assert message.text == "The key is [secret removed] and nothing else."
    assert not any("sk-loop" in version.text for version in message.versions)
