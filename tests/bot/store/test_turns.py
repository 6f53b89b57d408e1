"""A turn's stages survive the process, its end is one transaction, and a reply finds its turn again."""

from __future__ import annotations

import pytest

from bot.contract.messages import ChatId, File, MessageRef, MessageSent
from bot.contract.origin import OUTSIDE
from bot.contract.transcript import AssistantEntry, Entry, Picture, ToolEntry, Usage, UserEntry
from bot.store import FILE_BYTES, InboxState, PageState, Store, StoredTurn, TurnState
from tests.bot.store.conftest import HandClock, Message, ask_again, taken_in
from tools.contract.base import ProducedFile, Source, ToolCall, ToolResult, ToolStatus

SEARCH = ToolCall("call_0", "search_web", {"query": "weather"})
AGAIN = ToolCall("call_0", "search_web", {"query": "weather tomorrow"})
FOUND = ToolResult(
    text="It rains.", sources=(Source("Weather", "https://weather.example"),), untrusted=True, seconds=1.5
)
ASKS = AssistantEntry("", (SEARCH,), raw={"role": "assistant", "tool_calls": [{"id": "call_0"}]})
USAGE = Usage(10, 20, 5, 1)


@pytest.fixture
async def turn(store: Store, chat: ChatId, message: Message) -> int:
    """A turn that has just been opened."""
    return await begin(store, message("q1", "What is the weather?"))


async def begin(store: Store, incoming: MessageSent) -> int:
    turn = await taken_in(store, incoming)
    await store.intake.begin(turn)
    await store.turns.open(turn, incoming.chat, incoming.sender.id)
    return turn


async def close(
    store: Store, turn: int, *entries: Entry, state: TurnState = TurnState.DONE, visible: str = "Hello"
) -> None:
    await store.turns.close(turn, state, entries, visible=visible, reasoning="", model="openai:x", usage=USAGE)


async def test_a_turn_goes_on_in_another_process_with_everything_that_was_stored(
    store: Store, url: str, clock: HandClock, turn: int
) -> None:
    await store.turns.save_pass(turn, 1, ASKS, "openai:x", USAGE)
    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
    await store.turns.end_call(turn, "call_0", FOUND)
    await store.turns.start_call(turn, AGAIN, passnumber=2, position=0, effects=True)
    ref = MessageRef("99", "draft")
    await store.turns.save_page(turn, 0, body="It r", ref=None, state=PageState.SENDING, nonce="n-0")
    await store.turns.save_page(turn, 0, body="It rains.", ref=ref, state=PageState.SHOWN, nonce="n-0")

    async with Store.open(url, clock=clock) as other:
        state = await other.turns.load(turn)

    [first] = state.passes
    assert (first.number, first.entry, first.model, first.usage) == (1, ASKS, "openai:x", USAGE)
    searched, running = state.calls
    assert (searched.call, searched.status, searched.result) == (SEARCH, "completed", FOUND)
    assert (running.call, running.status, running.result, running.effects) == (AGAIN, "running", None, True)
    [page] = state.pages
    assert (page.end, page.body, page.ref, page.state, page.nonce) == (
        0,
        "It rains.",
        ref,
        "shown",
        "n-0",
    )


async def test_files_of_a_result_are_there_when_the_turn_goes_on(store: Store, turn: int) -> None:
    plot = ProducedFile("plot.png", "image/png", b"\x89PNG")
    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
    await store.turns.end_call(turn, "call_0", ToolResult(text="A plot.", files=(plot,)))

    [call] = (await store.turns.load(turn)).calls

    assert call.result is not None
    assert call.result.files == (plot,)


async def test_a_file_that_is_too_long_is_left_out_and_the_result_is_kept(store: Store, turn: int) -> None:
    call = ToolCall("c", "run_code", {})
    await store.turns.start_call(turn, call, passnumber=1, position=0, effects=False)
    long, short = ProducedFile("long", "x/y", bytes(FILE_BYTES + 1)), ProducedFile("short", "x/y", b"1")
    await store.turns.end_call(turn, "c", ToolResult(text="two files", files=(long, short)))

    [kept] = (await store.turns.load(turn)).calls
    assert kept.result is not None and (kept.result.text, kept.result.files) == ("two files", (short,))


async def test_the_pictures_of_a_pass_are_kept_with_it_but_for_one_that_is_too_long(store: Store, turn: int) -> None:
    made = [Picture(0, "image/png", content, f"{len(content)}.png") for content in (b"png", b"x" * (FILE_BYTES + 1))]

    kept = await store.turns.save_pass(turn, 1, AssistantEntry("A cat.", pictures=tuple(made)), "openai:x", USAGE)
    [stored] = (await store.turns.load(turn)).passes

    assert [one.name for one in kept.pictures] == ["3.png"]
    assert stored.entry == kept
    assert [one.content for one in stored.entry.pictures] == [b"png"]
    assert await store.files.get(kept.pictures[0].stored) == File("3.png", "image/png", b"png")


async def test_whose_words_a_result_has_is_known_after_a_restart(store: Store, turn: int) -> None:
    """Else what a page said would come before a model without its boundary."""
    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
    for own_words in (True, False):
        await store.turns.end_call(turn, "call_0", ToolResult(text="4", own_words=own_words))

        [call] = (await store.turns.load(turn)).calls

        assert call.result is not None and call.result.own_words == own_words


async def test_parallel_calls_with_one_id_each_get_their_result(store: Store, turn: int) -> None:
    """Some servers call every call `call_0`."""
    for position in range(2):
        await store.turns.start_call(turn, SEARCH, passnumber=1, position=position, effects=False)
    await store.turns.end_call(turn, "call_0", ToolResult(text="one"))
    await store.turns.end_call(turn, "call_0", ToolResult(text="two", ok=False, status=ToolStatus.TIMEOUT))

    calls = await store.turns.list_calls(turn)

    assert [(call.status, call.result and call.result.text) for call in calls] == [
        ("completed", "one"),
        ("timeout", "two"),
    ]


async def test_a_call_that_runs_again_forgets_its_first_outcome(store: Store, turn: int) -> None:
    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
    await store.turns.end_call(turn, "call_0", ToolResult(text="cut off", ok=False, status=ToolStatus.CANCELLED))

    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)

    [call] = await store.turns.list_calls(turn)
    assert (call.status, call.result) == ("running", None)


async def test_every_call_of_a_pass_leaves_a_record_whatever_becomes_of_it(store: Store, turn: int) -> None:
    """Also one that never starts: a repeat, an unknown tool, arguments that are no JSON, a turn that is stopped."""
    calls = tuple(ToolCall(f"c{place}", "search_web", {"query": str(place)}) for place in range(4))
    await store.turns.save_pass(turn, 1, AssistantEntry("", calls), "openai:x", USAGE)
    assert [call.status for call in await store.turns.list_calls(turn)] == ["pending"] * 4

    await store.turns.end_call(turn, "c0", ToolResult(text="again", status=ToolStatus.CACHED))
    await store.turns.start_call(turn, calls[1], passnumber=1, position=1, effects=False)
    await store.turns.end_call(turn, "c1", ToolResult(text="It rains."))
    await store.turns.start_call(turn, calls[2], passnumber=1, position=2, effects=False)
    assert [call.status for call in await store.turns.list_calls(turn)] == ["cached", "completed", "running", "pending"]

    await close(store, turn, UserEntry("What is the weather?"), answer("Rain."), state=TurnState.STOPPED)

    assert [call.status for call in await store.turns.list_calls(turn)] == [
        "cached",
        "completed",
        "cancelled",
        "cancelled",
    ]


async def test_opening_a_turn_again_changes_nothing(store: Store, chat: ChatId, clock: HandClock, turn: int) -> None:
    before = await store.turns.find_record(turn)
    clock.day += 60

    await store.turns.open(turn, chat, "telegram:2")

    assert await store.turns.find_record(turn) == before is not None


async def test_of_a_turn_that_was_never_opened_nothing_is_stored(store: Store) -> None:
    assert await store.turns.load(77) == StoredTurn(77)


async def test_an_ended_turn_is_history_and_keeps_nothing_for_resuming(store: Store, chat: ChatId, turn: int) -> None:
    await store.turns.save_pass(turn, 1, ASKS, "openai:x", USAGE)
    await store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
    await store.turns.end_call(turn, "call_0", FOUND)
    await store.turns.save_page(turn, 0, body="It rains.", ref=MessageRef("99"), state=PageState.FINAL, nonce="n")
    entries: list[Entry] = [
        UserEntry("What is the weather?"),
        ASKS,
        ToolEntry("call_0", "search_web", "It rains."),
        answer("Rain."),
    ]

    await close(store, turn, *entries, visible="Rain.")

    assert [row.entry for row in await store.history.list_entries(chat)] == entries
    assert await store.intake.list_waiting() == []
    state = await store.turns.load(turn)
    assert state.passes == ()
    assert [page.body for page in state.pages] == [""]
    assert [call.result for call in state.calls] == [FOUND], "the text comes from history now"


async def test_an_answer_cannot_be_closed_twice(store: Store, chat: ChatId, turn: int) -> None:
    await close(store, turn, UserEntry("a"), answer("b"))

    await close(store, turn, UserEntry("a"), answer("b"), state=TurnState.FAILED)

    assert len(await store.history.list_entries(chat)) == 2
    last = await store.turns.find_last(chat)
    assert last is not None
    assert last.state == "done"


async def test_a_turn_given_up_before_it_was_opened_has_a_record(store: Store, chat: ChatId, message: Message) -> None:
    turn = await taken_in(store, message("poison"))

    await store.turns.close(
        turn, TurnState.FAILED, [], visible="Sorry.", reasoning="", model="", usage=Usage(), error="two attempts"
    )

    last = await store.turns.find_last(chat)
    assert last is not None
    assert (last.id, last.person, last.state, last.error) == (turn, "telegram:1", "failed", "two attempts")
    assert await store.intake.list_waiting() == []


async def test_the_last_turn_is_found_for_retry_and_why(
    store: Store, chat: ChatId, turn: int, message: Message
) -> None:
    await close(store, turn, UserEntry("a"), answer("b"), visible="b")
    running = await begin(store, message("q2"))

    last = await store.turns.find_last(chat)

    assert last is not None
    assert (last.id, last.incoming, last.visible, last.model, last.usage) == (
        turn,
        message("q1", "What is the weather?"),
        "b",
        "openai:x",
        USAGE,
    )
    assert running != last.id
    assert await store.turns.find_last(ChatId("telegram", "42", "8")) is None


async def test_a_retry_takes_the_answer_out_of_history_and_keeps_the_question(
    store: Store, chat: ChatId, turn: int, message: Message
) -> None:
    await close(store, turn, UserEntry("weather?"), answer("Sun."))
    retry = await taken_in(store, message("q2", command="retry"))

    replaced = await ask_again(store, chat, retry)
    resumed = await store.turns.take_over(retry, replaced, chat, "telegram:1", asks_again=True, messages=False)
    await store.intake.begin(retry)
    before = await store.history.list_entries(chat)
    await close(store, retry, UserEntry("weather?"), answer("Rain."))

    assert resumed == replaced == turn, "a retry that was killed and resumed does not eat another turn"
    assert before == []
    assert [row.entry for row in await store.history.list_entries(chat)] == [UserEntry("weather?"), answer("Rain.")]
    last = await store.turns.find_last(chat)
    assert last is not None
    assert (last.id, last.incoming) == (retry, message("q1", "What is the weather?")), "to be asked a third time"


async def test_there_is_nothing_to_retry_after_new(store: Store, chat: ChatId, turn: int) -> None:
    await close(store, turn, UserEntry("a"), answer("b"))
    await store.history.begin_anew(chat)

    assert await store.turns.find_last(chat) is None


async def test_whose_words_a_message_of_ours_holds_is_that_of_its_turn(
    store: Store, chat: ChatId, turn: int, message: Message
) -> None:
    await store.turns.save_page(turn, 0, body="x", ref=MessageRef("99"), state=PageState.SHOWN, nonce="")
    assert await store.turns.origin_of(chat, "99") == OUTSIDE  # not ended: nobody knows yet

    entries: list[Entry] = [UserEntry("q", "telegram:7"), AssistantEntry("a", origin="telegram:7")]
    await store.turns.close(turn, TurnState.DONE, entries, visible="", reasoning="", model="", usage=Usage())

    assert await store.turns.origin_of(chat, "99") == "telegram:7"
    assert await store.turns.origin_of(ChatId("telegram", "42", "8"), "99") == OUTSIDE
    assert await store.turns.origin_of(chat, "98") == OUTSIDE
    # So is the turn itself.
    assert await store.turns.find_shown_in(chat, "99") == turn
    assert await store.turns.find_shown_in(ChatId("telegram", "42", "8"), "99") == 0
    assert await store.turns.find_shown_in(chat, "98") == 0


async def test_half_a_surrogate_pair_from_a_model_does_not_cost_the_answer(
    store: Store, chat: ChatId, turn: int
) -> None:
    torn = "\ud83d"
    call = ToolCall(torn, torn, {torn: torn})
    await store.turns.save_pass(turn, 1, AssistantEntry(torn, (call,)), "m", Usage())
    await store.turns.start_call(turn, call, passnumber=1, position=0, effects=False)
    await store.turns.end_call(turn, torn, ToolResult(text=torn))
    await store.turns.save_page(turn, 0, body=torn, ref=None, state=PageState.SHOWN, nonce="")
    await store.turns.close(
        turn, TurnState.DONE, [UserEntry(torn)], visible=torn, reasoning=torn, model="", usage=Usage()
    )

    assert [row.entry for row in await store.history.list_entries(chat)] == [UserEntry("\ufffd")]
    assert [call.status for call in await store.turns.list_calls(turn)] == ["completed"]


async def test_mistaken_states_are_refused(store: Store, turn: int) -> None:
    with pytest.raises(ValueError, match="is no end"):
        await close(store, turn, state=TurnState.RUNNING)


def answer(text: str) -> AssistantEntry:
    return AssistantEntry(text)


async def test_beginning_counts_the_attempt_and_opens_the_record_at_once(
    store: Store, chat: ChatId, message: Message
) -> None:
    incoming = message("q7", "And now?")
    turn = await taken_in(store, incoming)
    commits = store.writer.commits

    assert await store.turns.begin(turn, chat, incoming.sender.id) == 1
    assert store.writer.commits == commits + 1
    assert await store.turns.begin(turn, chat, incoming.sender.id) == 2


async def test_what_has_ended_is_neither_counted_nor_opened(store: Store, chat: ChatId, message: Message) -> None:
    incoming = message("q8", "Too late")
    turn = await taken_in(store, incoming)
    await store.intake.end(turn, InboxState.OFFLINE)

    assert await store.turns.begin(turn, chat, incoming.sender.id) == 0
    assert await store.history.list_chats() == []


async def test_a_reply_that_is_to_be_shown_again_is_found_by_the_next_process(
    store: Store, url: str, clock: HandClock, turn: int, chat: ChatId
) -> None:
    for number in range(2):
        ref = MessageRef(f"9{number}")
        await store.turns.save_page(turn, number, body="It", ref=ref, state=PageState.FINAL, nonce="n")
    await store.turns.close(
        turn,
        TurnState.DONE,
        [],
        visible="It rains.",
        reasoning="",
        model="",
        usage=USAGE,
        again_at=clock.wall() + 2,
        cuts=(3,),
    )

    async with Store.open(url, clock=clock) as other:
        assert await other.turns.list_unsettled() == [(turn, chat, clock.wall() + 2, clock.wall())]
        record = await other.turns.load_shown(turn)
        await other.turns.show_again(turn, None)
        assert await other.turns.list_unsettled() == []

    assert record is not None and record.visible == "It rains."
    assert (record.chat, record.question.delivery, record.target) == (chat, "q1", record.question.target)
    assert [(page.ref, page.end, page.body) for page in record.stored.pages] == [
        (MessageRef("90"), 3, ""),
        (MessageRef("91"), 0, ""),
    ]


async def test_a_reply_of_a_forgotten_chat_is_not_shown_again(
    store: Store, clock: HandClock, turn: int, chat: ChatId
) -> None:
    await store.turns.close(
        turn, TurnState.DONE, [], visible="It rains.", reasoning="", model="", usage=USAGE, again_at=clock.wall()
    )
    await store.history.forget(chat)

    assert await store.turns.list_unsettled() == []
    assert await store.turns.load_shown(turn) is None


async def test_a_question_that_is_answered_again_is_shown_where_it_was_asked_again(
    store: Store, message: Message, chat: ChatId
) -> None:
    first = await begin(store, message("q1", "What is the weather?"))
    await close(store, first)
    again = await begin(store, message("q2", "retry"))
    await ask_again(store, chat, again)
    await close(store, again, visible="It rains.")

    record = await store.turns.load_shown(again)

    assert record is not None
    assert (record.question.delivery, record.visible) == ("q1", "It rains.")
