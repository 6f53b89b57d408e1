"""Which earlier entries a turn continues."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from bot.contract.messages import ChatId, MessageRef
from bot.contract.transcript import AssistantEntry, Usage, UserEntry
from bot.store import PageState, Store, Summary, TurnState
from bot.store.branches import NEWEST_BRANCHED
from bot.store.export import Extent
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, ask_again, taken_in

ADA, BOB = "telegram:1", "telegram:2"


class Talk:
    """Questions of one chat, each named by a letter, and what the model is told before each."""

    def __init__(self, store: Store, chat: ChatId, message: Message) -> None:
        self.store, self.chat, self.message = store, chat, message
        self.turns: dict[str, int] = {}

    async def begin(self, name: str, replies_to: str = "", person: str = ADA) -> str:
        """Open a turn; return the earlier turns that it knows, as their letters."""
        asked = self.message(f"d{name}", name, message_id=f"m{name}", replies_to=replies_to)
        turn = self.turns[name] = await taken_in(self.store, asked)
        before = await self.told(turn)
        await self.store.turns.begin(turn, self.chat, person)
        assert await self.told(turn) == before, "opened or not, it continues the same"
        return before

    async def end(self, name: str, pages: int = 1) -> None:
        turn = self.turns[name]
        for number in range(pages):
            if not (await self.store.turns.load(turn)).pages[number:]:
                ref = MessageRef(f"r{name}{number or ''}")
                await self.store.turns.save_page(turn, number, body="", ref=ref, state=PageState.FINAL, nonce="")
        entries = (UserEntry(name), AssistantEntry(name.lower()))
        done, usage = TurnState.DONE, Usage()
        await self.store.turns.close(turn, done, entries, visible="", reasoning="", model="", usage=usage)

    async def ask(self, name: str, replies_to: str = "", person: str = ADA, pages: int = 1) -> str:
        before = await self.begin(name, replies_to, person)
        await self.end(name, pages)
        return before

    async def ask_all(self, names: str) -> None:
        for name in names:
            await self.ask(name)

    async def change(self, name: str, old: str, replies_to: str = "") -> str:
        """Ask a question anew in the place of its former turn."""
        asked = self.message(f"d{name}", name, message_id=f"m{old}", replies_to=replies_to, replaces=self.turns[old])
        turn = self.turns[name] = await taken_in(self.store, asked)
        await self.store.turns.take_over(turn, self.turns[old], self.chat, ADA)
        return await self.told(turn)

    async def retry(self, name: str) -> str:
        turn = self.turns[name] = await taken_in(self.store, self.message(f"d{name}", command="retry"))
        await ask_again(self.store, self.chat, turn)
        return await self.told(turn)

    async def told(self, turn: int = 0) -> str:
        """The questions that a turn continues, each with its answer."""
        _, rows = await self.store.history.load(self.chat, turn=turn)
        said = "".join(row.entry.text for row in rows)
        assert said[1::2] == said[::2].lower()
        return said[::2]


@pytest.fixture
def talk(store: Store, chat: ChatId, message: Message) -> Talk:
    return Talk(store, chat, message)


async def test_a_reply_to_an_older_answer_continues_from_it_and_what_follows_stays_there(talk: Talk) -> None:
    await talk.ask_all("ABC")

    assert await talk.ask("D", "rA") == "A"
    assert await talk.ask("E", "rD") == "AD"
    assert await talk.ask("F") == "ADE", "what replies to nothing continues where was spoken last"
    assert await talk.ask("G", "rC") == "ABC"
    assert await talk.ask("H") == "ABCG"
    assert await talk.ask("I", "rE") == "ADE"
    assert await talk.ask("J", "rF") == "ADEF"
    assert await talk.told() == "ADEFJ"


@pytest.mark.parametrize("replied", ["rC", "mA", "r?", ""])
async def test_what_replies_to_the_newest_answer_or_to_none_of_the_chat_continues_all(talk: Talk, replied: str) -> None:
    await talk.ask_all("ABC")

    assert await talk.ask("D", replied) == "ABC"


async def test_an_answer_of_another_chat_is_none_to_continue_from(talk: Talk, store: Store, message: Message) -> None:
    there = Talk(store, ChatId("telegram", "42", "8"), lambda *text, **more: message(*text, where=there.chat, **more))
    await there.ask("X")
    await talk.ask_all("AB")

    assert await talk.ask("C", "rX") == "AB"


async def test_a_reply_to_any_message_of_an_answer_counts_also_to_a_file(talk: Talk, store: Store) -> None:
    await talk.ask("A", pages=3)
    await talk.begin("B")
    file = await store.files.put(str(talk.chat), "plot.png", "image/png", b"x")
    await store.files.save_attachment(
        talk.turns["B"], 0, file=file, ref=MessageRef("photo"), state=PageState.FINAL, nonce=""
    )
    await talk.end("B")
    await talk.ask("C")

    assert await talk.ask("D", "rA2") == "A"
    assert await talk.ask("E", "photo") == "AB"


async def test_after_new_no_reply_brings_back_what_was_left_behind(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")
    await store.history.begin_anew(talk.chat)

    assert await talk.ask("D", "rA") == ""
    assert await talk.ask("E") == "D"
    assert await talk.ask("F", "rB") == "DE"
    assert await talk.ask("G", "rD") == "D"


async def test_a_branch_whose_person_began_anew_is_left_for_the_newest_that_stands(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA", person=BOB)
    await store.history.begin_anew_for(talk.chat, BOB, 99)

    assert await talk.ask("D") == "AB"
    assert await talk.ask("E", "rC") == "ABD", "what it replies to is left behind"
    assert await talk.ask("F") == "ABDE"


async def test_an_answer_made_again_stays_on_its_branch(talk: Talk) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")

    assert await talk.retry("D") == "A"
    await talk.end("D")
    assert await talk.ask("E") == "AD"
    assert await talk.ask("F", "rB") == "AB"
    assert await talk.ask("G", "rC") == "AD", "in place of the answer that was shown then, the history has the new one"


async def test_a_changed_question_stays_on_its_branch(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")
    await talk.ask("D")
    await talk.ask("E", "rB")

    assert await talk.change("F", "D") == "AC", "not what was said on the other branch"
    replaced = await store.turns.load_replaced(talk.turns["F"])
    assert replaced is not None and not replaced.later
    await talk.end("F")
    assert await talk.change("G", "C", "rA") == "A"
    await talk.end("G")
    assert await talk.change("H", "G", "rA") == "A"
    await talk.end("H")
    assert await talk.told() == "AH"


async def test_a_changed_question_on_the_newest_branch_knows_what_came_after_it(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")
    await talk.ask("D")
    await talk.ask("E")

    assert await talk.change("F", "D") == "ACE"
    replaced = await store.turns.load_replaced(talk.turns["F"])
    assert replaced is not None and replaced.later


async def test_a_question_changed_off_the_newest_branch_continues_what_stood_before_it(talk: Talk) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")

    assert await talk.change("D", "B") == "A"
    await talk.end("D")
    assert await talk.change("E", "A") == "D", "what is changed here is on every branch"


async def test_a_question_changed_while_it_is_answered_stays_on_its_branch(talk: Talk) -> None:
    await talk.ask_all("AB")
    await talk.begin("C", "rA")

    assert await talk.change("D", "C", "rA") == "A"
    await talk.end("D")
    await talk.begin("E")
    assert await talk.change("F", "E") == "AD"


async def test_a_changed_question_of_before_new_continues_what_came_since(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await store.history.begin_anew(talk.chat)
    await talk.ask("C")

    assert await talk.change("D", "B") == "C"


@pytest.mark.parametrize(("gone", "left"), [("A", "CD"), ("B", "ACD"), ("C", "AD"), ("D", "AC")])
async def test_what_is_deleted_opens_no_way_to_another_branch(talk: Talk, store: Store, gone: str, left: str) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")
    await talk.ask("D")

    await store.turns.forget(talk.chat, f"m{gone}")

    assert await talk.told() == left
    assert await talk.ask("E") == left


async def test_what_continues_a_deleted_answer_of_a_branch_continues_what_that_did(talk: Talk, store: Store) -> None:
    await talk.ask_all("AB")
    await talk.ask("C", "rA")
    await talk.ask_all("DE")
    await talk.ask("F", "rC")

    await store.turns.forget(talk.chat, "mC")

    assert await talk.told() == "AF"
    assert await talk.ask("G", "rE") == "ADE"
    assert await talk.ask("H", "rC") == "ADEG", "nothing is known of it any more"


async def test_what_a_chat_left_behind_on_a_branch_is_read_from_its_newest_answer(talk: Talk, store: Store) -> None:
    await talk.ask_all("ABC")
    await talk.ask("D", "rA")
    await talk.ask("E")

    rows = await store.history.list_entries(talk.chat, limit=3)
    assert [row.entry.text for row in rows] == ["E", "e"], "whole turns"
    rows = await store.history.list_entries(talk.chat, limit=5)
    assert [row.entry.text for row in rows] == ["D", "d", "E", "e"]
    oldest, more = await store.history.list_oldest(talk.chat, after=0, limit=4)
    assert [row.entry.text for row in oldest] == ["A", "a", "D", "d"] and more
    oldest, more = await store.history.list_oldest(talk.chat, after=8)
    assert [row.entry.text for row in oldest] == ["E", "e"] and not more
    assert await store.history.list_oldest(ChatId("telegram", "42", "nobody"), after=0) == ([], False)
    assert await store.history.count_summarised(ChatId("telegram", "42", "nobody")) == 0


async def test_a_summary_is_told_where_all_that_it_was_made_from_is_continued(talk: Talk, store: Store) -> None:
    history, chat = store.history, talk.chat
    await talk.ask_all("ABCD")
    await history.set_summary(chat, "A and B.", 4, first=1, after=0)

    await talk.begin("E", "rA")
    assert await history.load(chat, turn=talk.turns["E"]) == (None, (await history.list_oldest(chat, after=0))[0][:2])
    await talk.end("E")
    assert await history.get_summary(chat) is None and await history.count_summarised(chat) == 0
    assert await history.get_summary_end(chat) == 4

    await talk.begin("F", "rC")
    summary, rows = await history.load(chat, turn=talk.turns["F"])
    assert summary == Summary("A and B.", 4) and [row.entry.text for row in rows] == ["C", "c"]
    await talk.end("F")
    assert await history.count_summarised(chat) == 2

    await talk.ask("G", "rE")
    await history.set_summary(chat, "A and E.", 10, first=1, after=0)
    assert await history.get_summary(chat) is None, "it was made without knowing of the other"
    await history.set_summary(chat, "A and E.", 10, first=1, after=4)
    assert await history.get_summary(chat) == Summary("A and E.", 10)
    assert await history.count_summarised(chat) == 2
    assert await talk.ask("H", "rD") == "ABCD"


async def test_a_branch_is_kept_over_a_restart(url: str, clock: HandClock, chat: ChatId, message: Message) -> None:
    async with Store.open(url, clock=clock) as store:
        talk = Talk(store, chat, message)
        await talk.ask_all("AB")
        await talk.ask("C", "rA")
        assert await talk.begin("D", "rB") == "AB"

    async with Store.open(url, clock=clock) as store:
        again = Talk(store, chat, message)
        assert await again.told(talk.turns["D"]) == "AB"
        again.turns = talk.turns
        await again.end("D")
        assert await again.ask("E", "rC") == "AC"
        exported = [turn["continues"] async for turn in store.history.export(Extent(chat))]
        assert exported == [None, None, talk.turns["A"], talk.turns["B"], talk.turns["C"]]


@OF_THE_FILE
async def test_the_way_back_is_found_by_its_index(talk: Talk, tmp_path: Path) -> None:
    await talk.ask("A")
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {NEWEST_BRANCHED}", (1, 9)).fetchall()

    assert [step[3] for step in plan] == ["SEARCH turns USING INDEX turns_branched (chat=? AND first_sequence<?)"]


@dataclass
class Node:
    """One answered question of the plain model below."""

    name: str
    message: str
    """In which it is shown."""
    person: str
    replies_to: str
    parent: Node | None
    question: str
    """The name of the message, in whatever version, that it answers."""
    stands: bool = True
    next: Node | None = None


class Model:
    """The same conversation as a tree of parents, without any of the store's economies."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        """In the order in which they ended."""
        self.since = 0

    def standing(self) -> list[Node]:
        return [node for node in self.nodes[self.since :] if node.stands]

    def newest(self) -> Node | None:
        return self.standing()[-1] if self.standing() else None

    def answer(self, name: str) -> Node | None:
        """The answer that a reply to a message means."""
        node = next((one for one in self.nodes if one.message == name), None)
        while node is not None and node.next is not None:
            node = node.next
        return node if node is not None and node in self.standing() else None

    def way(self, node: Node | None) -> list[Node]:
        found = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def told(self, parent: Node | None) -> str:
        return "".join(node.name for node in self.way(parent) if node in self.standing())

    def former(self, old: Node) -> Node | None:
        """What a turn in the place of another one continues, where its question replies to nothing."""
        newest = self.newest()
        if newest is None or self.nodes.index(old) < self.since or old in self.way(newest):
            return newest
        return old.parent

    def remove(self, question: str) -> None:
        for gone in [node for node in self.nodes if node.question == question]:
            for node in self.nodes:
                if node.parent is gone:
                    node.parent = gone.parent
            self.since -= self.nodes.index(gone) < self.since
            self.nodes.remove(gone)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(10, 200))])
async def test_whatever_people_do_the_same_is_told_as_of_a_tree(talk: Talk, store: Store, seed: int) -> None:
    chance, model = Random(seed), Model()
    for number in range(18):
        name, person = chr(ord("A") + number), chance.choice([ADA, BOB])
        known = [node.message for node in model.nodes]
        replies_to = chance.choice([*known, "", ""])
        act = chance.choice(["ask"] * 6 + ["change", "change", "retry", "forget", "own", "new"])
        if act == "new" and chance.random() < 0.5:
            await store.history.begin_anew(talk.chat)
            model.since = len(model.nodes)
        elif act == "own":
            await store.history.begin_anew_for(talk.chat, person, 10_000 + number)
            for node in model.standing():
                node.stands = node.stands and node.person != person
        elif act == "forget" and model.nodes:
            gone = chance.choice(model.nodes).question
            await store.turns.forget(talk.chat, f"m{gone}")
            model.remove(gone)
        elif act == "retry" and (last := model.newest()) is not None:
            last.stands = False
            parent = model.answer(last.replies_to) or model.former(last)
            assert await talk.retry(name) == model.told(parent), (seed, number)
            await talk.end(name)
            last.next = Node(name, f"r{name}", ADA, last.replies_to, parent, last.question)
            model.nodes.append(last.next)
        elif act == "change" and (able := [node for node in model.nodes if node.stands]):
            old = chance.choice(able)
            old.stands = False
            parent = model.answer(old.replies_to) or model.former(old)
            assert await talk.change(name, old.question, old.replies_to) == model.told(parent), (seed, number)
            await talk.end(name)
            old.next = Node(name, old.message, ADA, old.replies_to, parent, old.question)
            model.nodes.append(old.next)
        else:
            parent = model.answer(replies_to) or model.newest()
            assert await talk.ask(name, replies_to, person) == model.told(parent), (seed, number)
            model.nodes.append(Node(name, f"r{name}", person, replies_to, parent, name))
        assert await talk.told() == model.told(model.newest()), (seed, number, act)
