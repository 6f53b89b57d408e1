"""What the operator's page reads: sums, lists, one turn's story, search; each without a look at a whole table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Unpack

import pytest

from bot.contract import reference_of
from bot.contract.messages import ChatId, MessageRef, Quoted, Sender
from bot.contract.transcript import AssistantEntry, ToolEntry, Usage, UserEntry
from bot.store import Delivered, PageState, Store, TurnState
from bot.store.database import Database, open_database
from bot.store.finding import WINDOW
from bot.store.insights import VIEWS
from bot.store.opening import add_functions
from tests.bot.conftest import MessageDetails
from tests.bot.store.conftest import OF_THE_FILE, HandClock, Message, taken_in
from tests.bot.store.manyturns import write_turns
from tests.conftest import RawJson, RawObject
from tools.contract.base import Source, ToolCall, ToolResult, ToolStatus

MIDNIGHT = 1_800_057_600.0
TODAY, YESTERDAY = "2027-01-16", "2027-01-15"
ADA, BOB = "telegram:1", "slack:T1/U2"
HOME, GROUP = ChatId("telegram", "42", "7"), ChatId("slack", "T1", "C2", "17.000100")
ROOM, THREAD = ChatId("telegram", "42", "-1001234", "9"), ChatId("discord", "9", "300", "301")
SEARCH = ToolCall("call_0", "search_web", {"query": "weather"})


class Asked:
    """A store in which people ask and are answered."""

    def __init__(self, store: Store, clock: HandClock, message: Message) -> None:
        self.store, self.clock, self._message = store, clock, message
        self._number = 0
        clock.day = MIDNIGHT + 60

    async def turn(
        self,
        text: str = "What is the weather?",
        *,
        person: str = ADA,
        name: str = "Ada",
        where: ChatId = HOME,
        state: TurnState = TurnState.DONE,
        visible: str = "It rains.",
        delivered: Delivered = Delivered(0.5, 0.25, 3),  # noqa: B008 - frozen
        result: ToolResult | None = None,
        model: str = "openai:x",
        sent_as: str = "",
        shown_as: str = "",
        **fields: Unpack[MessageDetails],
    ) -> int:
        self._number += 1
        number = self._number
        incoming = self._message(
            f"q{number}",
            text,
            where=where,
            sender=Sender(id=person, name=name),
            message_id=sent_as or f"{number}00",
            **fields,
        )
        turn = await taken_in(self.store, incoming)
        await self.store.turns.begin(turn, where, person)
        asks = AssistantEntry("Let me look.", (SEARCH,))
        entries: list[UserEntry | AssistantEntry | ToolEntry] = [UserEntry(text)]
        if result is not None:
            await self.store.turns.save_pass(turn, 1, asks, model, Usage(10, 20))
            await self.store.turns.start_call(turn, SEARCH, passnumber=1, position=0, effects=False)
            await self.store.turns.end_call(turn, "call_0", result)
            entries += [asks, ToolEntry("call_0", "search_web", result.text, result.ok)]
        ref = MessageRef(shown_as or f"{number}01")
        await self.store.turns.save_page(turn, 0, body=visible, ref=ref, state=PageState.FINAL, nonce=f"n{number}")
        await self.store.turns.close(
            turn,
            state,
            [*entries, AssistantEntry(visible)],
            visible=visible,
            reasoning="The north is wet.",
            model=model,
            usage=Usage(1000, 200, 50, 5),
            dollars=0.5,
            error="timed out" if state == TurnState.FAILED else "",
            delivered=delivered,
        )
        return turn

    async def view(self, view: str, **asked: str) -> RawObject:
        told = await self.store.insights.read(view, asked)
        assert told is not None
        return told


@pytest.fixture
def asked(store: Store, clock: HandClock, message: Message) -> Asked:
    return Asked(store, clock, message)


def ids(rows: RawJson) -> list[int]:
    return [row["id"] for row in rows]


async def test_the_overview_sums_a_period_and_the_one_before(asked: Asked) -> None:
    asked.clock.day = MIDNIGHT - 1
    await asked.turn(delivered=Delivered(1.5, 4.0, 9, 1))
    asked.clock.day = MIDNIGHT + 1
    bad = await asked.turn(state=TurnState.FAILED)
    await asked.turn(person=BOB, name="Bob", where=GROUP, model="openai:y", result=ToolResult(text="", seconds=2.0))
    await asked.store.turns.rate(bad, "bad")

    today, both = await asked.view("overview", days="1"), await asked.view("overview", days="2")

    assert (today["since"], today["today"], both["since"]) == (TODAY, TODAY, YESTERDAY)
    assert {name: today["totals"][name] for name in ("turns", "failed", "dollars", "chats", "bad", "late")} == {
        "turns": 2,
        "failed": 1,
        "dollars": 1.0,
        "chats": 2,
        "bad": 1,
        "late": 0,
    }
    assert (today["before"]["turns"], today["before"]["waited"], both["before"]["turns"]) == (1, 4.0, 0)
    assert [(row["day"], row["platform"], row["model"], row["turns"]) for row in both["by_day"]] == [
        (YESTERDAY, "telegram", "openai:x", 1),
        (TODAY, "slack", "openai:y", 1),
        (TODAY, "telegram", "openai:x", 1),
    ]
    assert [(one["person"], one["name"], one["turns"], one["dollars"]) for one in both["people"]] == [
        (ADA, "Ada", 2, 1.0),
        (BOB, "Bob", 1, 0.5),
    ]
    assert both["tools"] == [{"tool": "search_web", "calls": 1, "failed": 0, "seconds": 2.0, "longest": 2.0}]
    assert [(row["waited"], row["refusals"]) for row in both["slow"]] == [(4.0, 1)]


async def test_turns_are_listed_by_what_went_wrong(asked: Asked) -> None:
    well = await asked.turn()
    slow = [await asked.turn(delivered=Delivered(1.0, waited, 3)) for waited in (3.0, 9.0, 5.0)]
    refused = await asked.turn(delivered=Delivered(edits=3, refusals=2))
    failed = await asked.turn("Why?  " + "x" * 300, state=TurnState.FAILED)
    await asked.store.turns.rate(well, "bad")

    listed = {kind: (await asked.view("turns", kind=kind))["turns"] for kind in ("all", "slow", "refused", "failed")}
    older = await asked.view("turns", before=str(slow[1]))

    assert ids(listed["all"]) == [failed, refused, *slow[::-1], well] and ids(older["turns"]) == [slow[0], well]
    assert ids(listed["slow"]) == [slow[1], slow[2], slow[0]]
    assert ids(listed["refused"]) == [refused] and ids(listed["failed"]) == [failed]
    assert ids((await asked.view("turns", kind="bad"))["turns"]) == [well]
    [row] = listed["failed"]
    assert (row["reference"], row["chat"], row["name"], row["state"]) == (
        reference_of(failed),
        str(HOME),
        "Ada",
        "failed",
    )
    assert row["question"] == "Why? " + "x" * 154 + "…"


async def test_chats_people_and_tools_lead_to_their_turns(asked: Asked) -> None:
    failing = ToolResult(text="no", ok=False, status=ToolStatus.TIMEOUT, seconds=6.0)
    first = await asked.turn(result=failing)
    asked.clock.day += 1
    second = await asked.turn(person=BOB, name="Bob", where=GROUP)
    await asked.store.turns.rate(second, "good")

    chats, tools = (await asked.view("chats"))["chats"], await asked.view("tools", tool="search_web")
    older = await asked.view("chats", before=str(chats[0]["last_at"]))
    chat, person = await asked.view("chat", chat=str(HOME)), await asked.view("person", person=BOB)

    assert [(row["chat"], row["name"], row["turns"], row["good"], row["bad"]) for row in chats] == [
        (str(GROUP), "Bob", 1, 1, 0),
        (str(HOME), "Ada", 1, 0, 0),
    ]
    assert [row["chat"] for row in older["chats"]] == [str(HOME)]
    assert ids(chat["turns"]) == [first] and ids(person["turns"]) == [second] and person["name"] == "Bob"
    assert tools["by_day"] == [{"day": TODAY, "calls": 1, "failed": 1}]
    [call] = tools["failed"]
    assert (call["id"], call["status"], call["seconds"]) == (first, "timeout", 6.0)
    assert await asked.store.insights.read("chat", {"chat": "telegram:42/99"}) is None
    assert await asked.store.insights.read("person", {"person": "telegram:99"}) is None


async def test_a_turn_is_told_with_everything_that_is_stored_of_it(asked: Asked) -> None:
    found = ToolResult(text="Rain.", sources=(Source("Weather", "https://weather.example"),), seconds=1.5)
    turn = await asked.turn(
        result=found,
        quoted=Quoted(text="earlier words", author="Bob"),
        delivered=Delivered(0.5, 2.5, 7, 1),
        state=TurnState.FAILED,
    )

    told = await asked.view("turn", turn=str(turn))

    assert (told["reference"], told["question"], told["answer"]) == (
        reference_of(turn),
        "What is the weather?",
        "It rains.",
    )
    assert (told["first_words"], told["waited"], told["edits"], told["refusals"]) == (0.5, 2.5, 7, 1)
    assert told["usage"] == {"prompt": 1000, "cached": 50, "completion": 200, "reasoning": 5}
    assert (told["state"], told["error"], told["reasoning"]) == ("failed", "timed out", "The north is wet.")
    assert told["quoted"] == {"author": "Bob", "text": "earlier words"}
    assert [(one["text"], one["calls"]) for one in told["passes"]] == [
        ("Let me look.", ["search_web"]),
        ("It rains.", []),
    ]
    [call] = told["calls"]
    assert (call["tool"], call["arguments"], call["status"], call["seconds"], call["result"]) == (
        "search_web",
        {"query": "weather"},
        "completed",
        1.5,
        "Rain.",
    )
    assert call["sources"] == [{"title": "Weather", "url": "https://weather.example"}]
    assert told["pages"] == [{"number": 0, "message": "101", "form": "message", "state": "final"}]
    assert await asked.store.insights.read("turn", {"turn": "999"}) is None


async def test_a_running_turn_is_told_too(asked: Asked, message: Message) -> None:
    turn = await taken_in(asked.store, message("running"))
    await asked.store.turns.begin(turn, HOME, ADA)
    await asked.store.turns.save_pass(turn, 1, AssistantEntry("Let me look.", (SEARCH,)), "openai:x", Usage())

    told = await asked.view("turn", turn=str(turn))

    assert (told["state"], told["ended_at"], [one["text"] for one in told["passes"]]) == (
        "running",
        None,
        ["Let me look."],
    )
    [call] = told["calls"]
    assert (call["status"], call["result"]) == ("pending", None)


LINKS = {
    "telegram": (ROOM, "100", "101", "https://t.me/c/1234/9/100", "https://t.me/c/1234/101?thread=9"),
    "slack": (
        *(GROUP, "1700000000.000100", "1700000000.000200", "https://acme.slack.com/archives/C2/p1700000000000100"),
        "https://acme.slack.com/archives/C2/p1700000000000200?thread_ts=17.000100&cid=C2",
    ),
    "discord": (
        *(THREAD, "100", "101", "https://discord.com/channels/5/301/100"),
        "https://ptb.discord.com/channels/@me/300/101",
    ),
}


@pytest.mark.parametrize("platform", LINKS)
async def test_a_message_s_link_leads_to_its_turn(platform: str, asked: Asked) -> None:
    where, sent, shown, question, answer = LINKS[platform]
    await asked.turn(person=BOB, sent_as=sent, shown_as=shown)
    turn = await asked.turn(where=where, person=BOB, sent_as=sent, shown_as=shown)

    for link in (question, answer, f"  {answer} ", question.removeprefix("https://")):
        told = await asked.view("find", q=link)
        assert told == {"turn": turn, "reference": reference_of(turn)}, link
    assert "turn" not in await asked.view("find", q=question.replace("100", "999"))


async def test_what_an_operator_pastes_is_found(asked: Asked) -> None:
    first = await asked.turn("Is green tea fermented?", visible="Not at all.")
    second = await asked.turn(person=BOB, name="Bób", where=GROUP, visible="100 % 'sure' of 绿茶\nand \\ more")

    async def found(text: str) -> RawObject:
        return await asked.view("find", q=text)

    assert (await found(f" {reference_of(first).upper()} "))["turn"] == first
    assert (await found(f"t{second}"))["turn"] == second
    assert (await found(str(GROUP))) == {"chat": str(GROUP)} and (await found(BOB)) == {"person": BOB}
    assert ids((await found("GREEN Tea"))["turns"]) == [first] and ids((await found("bób"))["turns"]) == [second]
    assert ids((await found("绿茶\nand \\"))["turns"]) == [second] and ids((await found("100 %"))["turns"]) == [second]
    assert (await found("100%"))["turns"] == [] and (await found("sender"))["turns"] == []
    assert (await found("' OR 1=1 --"))["turns"] == [] and (await found("   "))["turns"] == []
    assert (await found("ffffff"))["turns"] == []


async def test_words_are_looked_for_further_back_page_by_page(asked: Asked) -> None:
    oldest = await asked.turn("Rosebud?")
    await asked.store.writer.execute(
        "INSERT INTO inbox (id, chat, incoming, received_at) "
        f"SELECT id + {3 * WINDOW}, chat, incoming, received_at FROM inbox WHERE id = ?",
        (oldest,),
    )
    await asked.store.turns.open(oldest + 3 * WINDOW, HOME, ADA)

    found, before, looks = [], "", 0
    while looks < 9:
        told = await asked.view("find", q="rosebud", before=before)
        found += ids(told["turns"])
        looks += 1
        before = str(told["before"])
        if before == "0":
            break

    assert found == [oldest + 3 * WINDOW, oldest] and looks == 4


async def test_a_forgotten_chat_is_gone_from_every_view(asked: Asked) -> None:
    turn = await asked.turn("Rosebud?", name="Orson", delivered=Delivered(1.0, 9.0, 3, 2), state=TurnState.FAILED)
    await asked.store.turns.rate(turn, "bad")

    await asked.store.history.forget(HOME)

    said = [str(await asked.view(view)) for view in ("overview", "people", "tools", "turns", "chats")]
    said += [str(await asked.view("turns", kind=kind)) for kind in ("slow", "refused", "failed", "bad")]
    said += [str(await asked.view("find", q=text)) for text in ("orson", reference_of(turn))]
    assert not [one for one in said if "Orson" in one or str(HOME) in one or ADA in one or "osebud" in one]
    for view, asks in (("turn", {"turn": str(turn)}), ("chat", {"chat": str(HOME)}), ("person", {"person": ADA})):
        assert await asked.store.insights.read(view, asks) is None


@pytest.mark.parametrize(
    ("view", "parameters"),
    [
        ("overview", {"days": "0"}),
        ("overview", {"days": "9" * 40}),
        ("overview", {"days": "-1"}),
        ("turns", {"kind": "'; DROP TABLE turns"}),
        ("turns", {"before": "1e9"}),
        ("chats", {"before": "soon"}),
        ("chat", {"chat": "nowhere"}),
        ("turn", {"turn": "²"}),
        ("find", {"q": "x", "before": "1" * 30}),
    ],
)
async def test_malformed_parameters_are_no_query(view: str, parameters: dict[str, str], asked: Asked) -> None:
    with pytest.raises(ValueError, match=r"."):
        await asked.store.insights.read(view, parameters)
    assert await asked.store.insights.read("../turns", {}) is None


def views_of(last: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Every view as the page asks for it, over `last` turns."""
    for days in ("1", "7", "30", "90", "365"):
        yield from ((view, {"days": days}) for view in ("overview", "people", "tools", "turns", "chats"))
        yield from (("turns", {"days": days, "kind": kind}) for kind in ("slow", "refused", "failed", "bad"))
        yield "tools", {"days": days, "tool": "search_web"}
    yield "turns", {"days": "365", "before": str(last // 2)}
    yield "chat", {"chat": "telegram:42/-1003"}
    yield "chat", {"chat": "telegram:42/-1003", "before": str(last // 2)}
    yield "person", {"person": "telegram:3"}
    yield from (("turn", {"turn": str(turn)}) for turn in (1, last // 2, last))
    found = (
        *(reference_of(last // 2), f"t{last}", "telegram:3", "telegram:42/-1003", "question 7", "rosebud"),
        f"https://t.me/c/3/{2 * (last // 2) + 1}",
        f"https://acme.slack.com/archives/C4/p{last}000100",
        "https://discord.com/channels/1/100005/999",
        "https://discord.com/channels/1/777777/999",
    )
    yield from (("find", {"q": text}) for text in found)
    yield "find", {"q": "rosebud", "before": str(last // 2)}


@OF_THE_FILE
async def test_no_view_reads_a_whole_table(
    url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_turns(tmp_path / "parley.db", 2_000, clock.day)
    said: list[str] = []

    async def open_traced(place: Path | str, *, uri: bool = False, timeout: float) -> Database:
        opened = await open_database(place, uri=uri, timeout=timeout)
        await opened.run_together(lambda db: db.set_trace_callback(said.append))
        return opened

    monkeypatch.setattr("bot.store.opening.open_database", open_traced)
    async with Store.open(url, clock=clock) as store:
        said.clear()
        asked = {view for view, parameters in views_of(2_000) if await store.insights.read(view, parameters)}
        statements = {sql for sql in said if sql.lstrip().startswith(("SELECT", "WITH"))}

    assert asked == VIEWS.keys()
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        add_functions(db)
        plans = {sql: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in statements}
    assert len(plans) > 50
    whole = {step: sql for sql, plan in plans.items() for step in plan if step.startswith("SCAN")}
    assert {step: sql for step, sql in whole.items() if not step.startswith(("SCAN CONSTANT ROW", "SCAN (subq"))} == {}
    lists = {"waited > 2.0": "turns_late", "refusals > 0": "turns_refused", "WHERE rating = 'bad'": "turns_bad"}
    lists |= {"state = 'failed'": "turns_failed", "last_at >=": "chats_by_last", "AND status IN": "calls_failed"}
    for condition, index in lists.items():
        served = [plan for sql, plan in plans.items() if condition in sql]
        assert served and all(any(index in step for step in plan) for plan in served), condition
