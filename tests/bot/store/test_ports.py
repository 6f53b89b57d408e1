"""What tools keep: facts, timers and files."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.context.facts import ChatFacts
from bot.contract.messages import ChatId, File, MessageRef, ReplyTarget, Sender
from bot.contract.origin import OURS, OUTSIDE
from bot.store import Keep, PageState, Store
from bot.store.facts import FACTS, match_expression, split_words
from bot.store.files import FILE_BYTES
from tests.bot.store.conftest import HandClock, Message, taken_in
from tools.contract.base import Facts, Files, NewReminder, Reminder, Timers, ToolError

ADA = Sender(id="telegram:1", name="Ada", language="en", groups=("slack:T1",))


@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ("我住在北京，喜欢喝茶", "北京"),
        ("我住在北京，喜欢喝茶", "他喜欢什么？"),
        ("我的猫叫咪咪", "猫"),
        ("My cat is called Minka", "cats? no, my CAT"),
        ("My cat is called Minka", "mink"),
        ("Né à Zürich", "zurich"),
        ("東京タワーが好きです", "タワー"),
        ("ฉันชอบกินข้าว", "ข้าว"),
        ("Кошку зовут Мурка", "мурка"),
    ],
)
async def test_a_fact_is_found_by_its_words_in_any_language(store: Store, fact: str, query: str) -> None:
    id = await store.facts.remember("p", fact)
    await store.facts.remember("p", "something else entirely")
    await store.facts.remember("someone else", fact)

    assert await store.facts.recall(("p",), query, 1) == [(id, "p", fact)]


async def test_an_empty_query_lists_everything_newest_first(store: Store) -> None:
    for owner, text in ("p", "one"), ("c", "two"), ("x", "not theirs"):
        await store.facts.remember(owner, text)

    assert [text for _, _, text in await store.facts.recall(("p", "c"), " ", 10)] == ["two", "one"]
    assert len(await store.facts.recall(("p", "c"), "", 1)) == 1
    assert await store.facts.recall(("p",), "?!", 10) == []
    assert await store.facts.recall((), "", 10) == []


async def test_a_fact_said_twice_is_kept_once(store: Store) -> None:
    assert await store.facts.remember("p", "likes tea") == await store.facts.remember("p", " likes tea ")


async def test_words_from_outside_take_nothing_from_a_fact(store: Store) -> None:
    for origin, kept in ((OUTSIDE, OUTSIDE), (OURS, OURS), (OUTSIDE, OURS)):
        await store.facts.remember("telegram:1", "likes tea", origin)
        [fact] = await store.facts.list_newest(("telegram:1",), 5)
        assert fact.origin == kept


async def test_only_its_owner_can_forget_a_fact(store: Store) -> None:
    id = await store.facts.remember("p", "likes tea")

    assert not await store.facts.forget(("q",), id)
    assert await store.facts.forget(("p",), id)
    assert not await store.facts.forget(("p",), id)
    assert await store.facts.recall(("p",), "tea", 5) == []


async def test_the_model_is_told_what_cannot_be_remembered(store: Store) -> None:
    with pytest.raises(ToolError, match="empty"):
        await store.facts.remember("p", " ")
    with pytest.raises(ToolError, match="2000"):
        await store.facts.remember("p", "x" * 2001)
    await store.writer.run(
        lambda db: db.executemany(
            "INSERT INTO facts (owner, text, at) VALUES ('p', ?, 0)", [(str(number),) for number in range(FACTS)]
        )
    )
    with pytest.raises(ToolError, match="Forget one first"):
        await store.facts.remember("p", "one too many")


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_text_breaks_the_search(fact: str, query: str) -> None:
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5 (words, tokenize = 'unicode61 remove_diacritics 2')")
    connection.execute("INSERT INTO w VALUES (?)", (split_words(fact),))
    if expression := match_expression(query):
        connection.execute("SELECT * FROM w WHERE w MATCH ?", (expression,)).fetchall()
    connection.close()


async def test_a_timer_is_due_with_everything_needed_to_write_again(url: str, clock: HandClock, chat: ChatId) -> None:
    target = ReplyTarget("telegram", {"chat": 7})
    async with Store.open(url, clock=clock) as store:
        timers = store.timers.bind(chat, ADA, target)
        late = await timers.set("scope", "person", NewReminder(2000.0, "later"))
        soon = await timers.set("scope", "person", NewReminder(1000.0, "Tea!"))
        assert await timers.pending("scope", "person") == [
            Reminder(soon, 1000.0, "Tea!"),
            Reminder(late, 2000.0, "later"),
        ]

    async with Store.open(url, clock=clock) as store:
        assert await store.timers.find_next_due(["telegram"]) == 1000.0
        assert await store.timers.list_due(999.0, ["telegram"]) == []
        [timer] = await store.timers.list_due(1000.0, ["telegram"])
        assert (timer.chat, timer.person, timer.target, timer.text) == (chat, ADA, target, "Tea!")
        assert await store.intake.take_in(timer.to_delivery(1000.0), store.timers.claim(timer))
        assert await store.intake.take_in(timer.to_delivery(1000.0), store.timers.claim(timer)) is None
        assert [timer.text for timer in await store.timers.list_due(9999.0, ["telegram"])] == ["later"]


async def test_a_timer_is_cancelled_by_whoever_set_it(store: Store, chat: ChatId) -> None:
    timers = store.timers.bind(chat, ADA, ReplyTarget("telegram"))
    id = await timers.set("scope", "person", NewReminder(1000.0, "Tea!"))

    assert not await timers.cancel("scope", "another", id)
    assert not await timers.cancel("elsewhere", "person", id)
    assert await timers.cancel("scope", "person", id)
    assert await store.timers.find_next_due(["telegram"]) is None


async def test_the_model_is_told_why_no_timer_can_be_set(store: Store, chat: ChatId) -> None:
    with pytest.raises(ToolError, match="nothing can be written later"):
        await store.timers.bind(chat, ADA, None).set("scope", "person", NewReminder(1000.0, "Tea!"))
    timers = store.timers.bind(chat, ADA, ReplyTarget("telegram"))
    with pytest.raises(ToolError, match="2000"):
        await timers.set("scope", "person", NewReminder(1000.0, "x" * 2001))
    for number in range(50):
        await timers.set("scope", "person", NewReminder(1000.0, str(number)))
    with pytest.raises(ToolError, match="Cancel one first"):
        await timers.set("scope", "person", NewReminder(1000.0, "one too many"))


async def test_the_newest_file_of_a_name_is_read_in_its_own_chat_only(store: Store) -> None:
    await store.files.put("chat", "notes.txt", "text/plain", b"old")
    id = await store.files.put("chat", "notes.txt", "text/plain", b"new")

    assert await store.files.read("chat", "notes.txt") == b"new"
    assert await store.files.read("another", "notes.txt") is None
    assert await store.files.get(id) == File("notes.txt", "text/plain", b"new")
    assert await store.files.get(99) is None


async def test_equal_content_is_kept_once_until_its_last_file_goes(store: Store, clock: HandClock) -> None:
    await store.files.put("chat", "a.bin", "application/octet-stream", b"same")
    again = await store.files.put("chat", "a.bin", "application/octet-stream", b"same")
    clock.day += 20 * 86_400
    other = await store.files.put("another", "b.bin", "application/octet-stream", b"same")
    assert (again, other, await digests(store)) == (1, 2, [hashlib.sha256(b"same").digest()])

    clock.day += 20 * 86_400
    await store.prune()
    assert await store.files.read("chat", "a.bin") is None
    assert await store.files.read("another", "b.bin") == b"same"

    clock.day += 20 * 86_400
    await store.prune()
    assert await digests(store) == []


async def test_files_are_kept_as_long_as_the_operator_says(store: Store, clock: HandClock) -> None:
    for name in ("a", "b"):
        await store.files.put("chat", name, "x/y", name.encode() * (1 << 20))
        clock.day += 86_400

    await store.prune(Keep.from_days(chats=0, files=0))
    assert len(await digests(store)) == 2
    await store.prune(Keep(files=1.5 * 86_400))
    assert [await store.files.read("chat", name) is None for name in ("a", "b")] == [True, False]
    clock.day += 1
    await store.prune(Keep.from_days(chats=1, files=300))
    assert await digests(store) == [], "no file outlives what was said around it"


async def test_large_files_go_one_by_one_so_that_others_write_between(store: Store, clock: HandClock) -> None:
    for name in ("a", "b", "c"):
        await store.files.put("chat", name, "x/y", name.encode() * (1 << 20))
    clock.day += 86_400
    before = store.writer.commits

    assert await store.files.prune(1.0) == 3

    assert store.writer.commits - before == 4, "each alone, and a last look"
    assert await digests(store) == []


async def test_content_that_a_crash_left_without_a_file_is_removed(store: Store) -> None:
    await store.files.put("chat", "a", "x/y", b"kept")
    await store.files.put("chat", "b", "x/y", b"orphan")
    await store.writer.execute("DELETE FROM files WHERE name = 'b'")

    await store.prune()

    assert await digests(store) == [hashlib.sha256(b"kept").digest()]


async def test_files_have_a_limit_each_and_together(store: Store) -> None:
    with pytest.raises(ToolError, match="at most 16 MiB"):
        await store.files.put("chat", "huge", "x/y", bytes(FILE_BYTES + 1))
    for number in range(5):
        await store.files.put("chat", str(number), "x/y", bytes([number]) * FILE_BYTES)

    assert await store.files.read("chat", "0") is None, "the oldest gave way"
    assert await store.files.read("chat", "1") is not None
    assert len(await digests(store)) == 4


async def test_the_delivery_of_a_file_is_recorded_like_a_page(store: Store, chat: ChatId, message: Message) -> None:
    turn = await taken_in(store, message())
    await store.turns.open(turn, chat, "telegram:1")
    file = await store.files.put(str(chat), "plot.png", "image/png", b"\x89PNG")
    await store.files.save_attachment(turn, 0, file, ref=None, state=PageState.SENDING, nonce="n")
    await store.files.save_attachment(turn, 0, file, ref=MessageRef("99"), state=PageState.FINAL, nonce="n")

    [attachment] = (await store.turns.load(turn)).attachments

    assert (attachment.file, attachment.name, attachment.ref, attachment.state) == (
        file,
        "plot.png",
        MessageRef("99"),
        "final",
    )


def test_the_store_fits_the_ports_that_tools_declare(store: Store, chat: ChatId, message: Message) -> None:
    ports: tuple[Facts, Timers, Files] = (
        ChatFacts(store.facts, message()),
        store.timers.bind(chat, ADA, None),
        store.files,
    )

    assert all(ports)


async def digests(store: Store) -> list[bytes]:
    rows = await store.writer.run(lambda db: db.execute("SELECT digest FROM blobs").fetchall())
    return [row[0] for row in rows]
