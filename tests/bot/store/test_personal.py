"""A person who wants to be forgotten is, in every chat; the others keep theirs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from bot.contract.messages import ChatId, MessageRef, ReplyTarget, Sender
from bot.contract.transcript import AssistantEntry, ToolEntry, Usage, UserEntry
from bot.store import InboxState, PageState, Store, TurnState
from bot.store.personal import Holding
from tests.bot.store.conftest import Held, Message, ask_again, taken_in
from tools.contract.base import NewReminder, ToolCall, ToolResult

GROUP = ChatId("telegram", "42", "-100")
ADA, BOB = Sender(id="telegram:1", name="Ada"), Sender(id="telegram:2", name="Bob")
SECRET = "Rosebud was the sledge"
Say = Callable[..., Awaitable[int]]


@pytest.fixture
def say(store: Store, message: Message) -> Say:
    """One whole turn of a person, with a call, a page and a file; its id."""
    number = 0

    async def say(text: str, who: Sender, where: ChatId, *, again: bool = False) -> int:
        nonlocal number
        number += 1
        group = where == GROUP
        turn = await taken_in(store, message(f"m{number}", text, where=where, sender=who, group=group))
        await store.turns.begin(turn, where, who.id)
        if again:
            await ask_again(store, where, turn, who.id)
        call = ToolCall("c", "search", {"query": text})
        await store.turns.save_pass(turn, 1, AssistantEntry("", (call,)), "m", Usage(1, 1))
        await store.turns.start_call(turn, call, passnumber=1, position=0, effects=False)
        await store.turns.end_call(turn, "c", ToolResult(text=text))
        ref = MessageRef(f"r{number}")
        await store.turns.save_page(turn, 0, body=text, ref=ref, state=PageState.FINAL, nonce="")
        file = await store.files.put(str(where), f"{number}.txt", "text/plain", f"{number} {text}".encode())
        await store.files.save_attachment(turn, 0, file, ref=ref, state=PageState.FINAL, nonce="")
        entries = (
            UserEntry(text),
            AssistantEntry("", (call,)),
            ToolEntry("c", "search", text),
            AssistantEntry(text * 300),
        )
        await store.turns.close(
            turn, TurnState.DONE, entries, visible=text, reasoning=text, model="m", usage=Usage(1, 1)
        )
        await store.intake.end(turn, InboxState.DONE)
        return turn

    return say


async def test_everything_of_a_person_is_gone_and_the_others_keep_theirs(
    store: Store, chat: ChatId, message: Message, say: Say, held: Held
) -> None:
    await say(SECRET, ADA, chat)
    await say("Bob asks", BOB, GROUP)
    await say(SECRET, ADA, GROUP)
    await say(SECRET, BOB, GROUP, again=True)
    await say("Bob asks on", BOB, GROUP)
    await store.settings.set(chat, "model", SECRET)
    await store.settings.set(GROUP, "model", "of the group")
    await store.intake.end(await store.intake.take_in(message("command", SECRET, sender=ADA)) or 0, InboxState.DONE)
    await store.facts.remember(ADA.id, SECRET)
    await store.facts.remember(str(GROUP), SECRET, ADA.id)
    await store.facts.remember(str(GROUP), "Bob likes tea", BOB.id)
    await store.timers.bind(GROUP, ADA, ReplyTarget("telegram")).set(str(GROUP), ADA.id, NewReminder(5.0, SECRET))
    await store.timers.bind(GROUP, BOB, ReplyTarget("telegram")).set(str(GROUP), BOB.id, NewReminder(5.0, "tea"))
    assert await store.people.count_held(ADA.id) == Holding(turns=3, facts=2, reminders=1)
    assert any(SECRET.encode() in content for content in held().values()), "the test can fail"

    await store.people.forget(ADA.id)

    assert not await store.people.count_held(ADA.id)
    for name, content in held().items():
        assert SECRET.encode() not in content and b"rosebud" not in content, name
    [left] = await store.history.list_chats()
    assert (left.chat, left.turns) == (GROUP, 2)
    said = [row.entry.text for row in await store.history.list_entries(GROUP) if isinstance(row.entry, UserEntry)]
    assert said == ["Bob asks", "Bob asks on"]
    assert await store.settings.get(GROUP, "model") == "of the group"
    assert [text for _, _, text in await store.facts.recall((str(GROUP),), "", 5)] == ["Bob likes tea"]
    assert await store.people.count_held(BOB.id) == Holding(turns=2, facts=1, reminders=1)


async def test_a_summary_that_may_speak_of_the_person_is_made_anew(store: Store, say: Say) -> None:
    await say("Bob asks", BOB, GROUP)
    await say("Ada asks", ADA, GROUP)
    rows = await store.history.list_entries(GROUP)
    await store.writer.execute(
        "UPDATE chats SET summary = ?, summary_upto = ? WHERE chat = ?", (SECRET, rows[-1].sequence, str(GROUP))
    )

    await store.people.forget(ADA.id)

    assert await store.history.get_summary(GROUP) is None


async def test_people_are_known_by_the_name_under_which_they_asked_last(store: Store, chat: ChatId, say: Say) -> None:
    await say("first", Sender(id="telegram:1", name="Ada Byron"), chat)
    await say("later", Sender(id="telegram:1", name="Ada Lovelace"), GROUP)
    await say("also", BOB, GROUP)

    assert await store.people.names_of(["telegram:1", "telegram:3"]) == {"telegram:1": "Ada Lovelace"}
    assert await store.people.names_of([]) == {}


async def test_what_a_person_asked_last_is_listed_whatever_signs_are_in_it(
    store: Store, chat: ChatId, message: Message
) -> None:
    """Half a surrogate pair and a NUL sign are no reason to show nothing."""
    for number, (text, command) in enumerate(
        (("plain", ""), ("torn \ud83d\0", ""), ("all", "export"), ("x" * 900, ""))
    ):
        turn = await taken_in(store, message(str(number), text, command=command))
        await store.turns.open(turn, chat, "telegram:1")

    assert await store.people.list_questions("telegram:1") == ["x" * 500, "torn \ufffd", "plain"]
