"""`parley replay` repeats every kind of turn: stopped, with files, allowed by a person, joined, jobs, other agents."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain
from itertools import repeat as repeat_forever
from pathlib import Path

import pytest

from bot.app import RecordedModel
from bot.cli.replay import load, repeat
from bot.cli.replaytest import write_test
from bot.contract import Enclosure, EnclosureKind, Quoted, SettingsError, reference_of
from bot.store import Recording
from playground.model import Reply
from tests.bot.cli.replaying import JOB, LONG, OTHER, UNLIMITED, Control, Stored, calls, storing

Made = Callable[[Stored], Awaitable[int]]
REFUSED = Reply(status=401)
HEARS = {"TRANSCRIBE_MODEL": "openai:whisper-1"}
ASKS = Reply("I order it.", calls=(("order_tea", {"query": "sencha"}),))


async def _stopped_in_words(one: Stored) -> int:
    return await one.ask_and_stop(lambda: one.shows("Green tea is grown in Uji"), Reply(LONG, hang_after=70))


async def _stopped_before_words(one: Stored) -> int:
    before = len(one.model.requests)
    return await one.ask_and_stop(lambda: len(one.model.requests) > before, Reply(LONG, hang_after=0))


async def _stopped_in_a_later_pass(one: Stored) -> int:
    return await one.ask_and_stop(
        lambda: one.shows("Green tea is grown in Uji"), calls("tea", "cups"), Reply(LONG, hang_after=70)
    )


async def _stopped_in_a_call(one: Stored) -> int:
    return await one.ask_and_stop(one.tool.hung.is_set, calls("tea"), calls("cups", "slow"))


async def _file(one: Stored) -> int:
    return await one.ask(calls("a table", "tea"), Reply("Here is the table [1]."))


async def _allowed(one: Stored) -> int:
    turn = await one.ask(ASKS)
    return await one.press(Control.ALLOW, turn, Reply("It is ordered."))


async def _denied(one: Stored) -> int:
    turn = await one.ask(ASKS)
    return await one.press(Control.DENY, turn, Reply("Then I leave it."))


async def _undecided(one: Stored) -> int:
    return await one.ask(ASKS)


async def _allowed_twice(one: Stored) -> int:
    turn = await one.ask(calls("tea"), ASKS)
    turn = await one.press(Control.ALLOW, turn, Reply("And cups.", calls=(("order_tea", {"query": "cups"}),)))
    return await one.press(Control.ALLOW, turn, Reply("Both are ordered."))


async def _collected(one: Stored) -> int:
    await one.app.store.settings.set(one.question().chat, "busy", "collect")
    one.model.reply(Reply("Both cost 800 yen."))
    await one.app.dispatcher.deliver(one.question("What does tea cost?"))
    await one.app.dispatcher.deliver(one.question("And what do cups cost?"))
    await one.app.dispatcher.wait_idle()
    return await one.app.store.turns.find_newest()


async def _steered(one: Stored) -> int:
    return await _steer(one)


async def _steered_in_group(one: Stored) -> int:
    return await _steer(one, group=True)


async def _steer(one: Stored, **given: object) -> int:
    first = one.question("What does tea cost?\n\nIn Kyoto.", **given)
    await one.app.store.settings.set(first.chat, "busy", "steer")
    one.model.reply(calls("tea", "wait for me"), Reply("Tea 800 yen, cups too."))
    run, begun, go_on = one.tool.run, asyncio.Event(), asyncio.Event()

    async def wait(arguments: object, context: object) -> object:
        begun.set()
        await go_on.wait()
        return await run(arguments, context)  # type: ignore[arg-type]

    one.tool.run = wait  # type: ignore[method-assign, assignment]
    await one.app.dispatcher.deliver(first)
    await begun.wait()
    await one.app.dispatcher.deliver(one.question("And what do cups cost?\n\nThank you.", **given))
    while one.app.dispatcher.queue.peek(first.chat) is None:
        await asyncio.sleep(0.005)
    go_on.set()
    await one.app.dispatcher.wait_idle()
    one.tool.run = run  # type: ignore[method-assign]
    return await one.app.store.turns.find_newest()


async def _job(one: Stored) -> int:
    plan = Reply("Plan.", calls=(("search_notes", {"query": "tea"}),))
    return await one.ask(plan, calls("cups"), Reply("The whole report [1]."), command=JOB)


async def _named_call(one: Stored) -> int:
    return await one.ask(Reply("It is 42."), command="tool", text="calculator 6*7")


async def _cut_off(one: Stored) -> int:
    return await one.ask(Reply("Tea is a leaf and", finish_reason="length"))


async def _too_long(one: Stored) -> int:
    return await one.ask(Reply("Green tea is grown in Uji, and sold in Kyoto.\n\n" * 2_200))


def _failing(*replies: Reply, **given: object) -> Made:
    """A turn whose model says this, and the last of it again and again."""

    async def make(one: Stored) -> int:
        says = chain(replies, repeat_forever(replies[-1]))
        one.model.script = lambda _: next(says)
        try:
            return await one.ask(**given)  # type: ignore[arg-type]
        finally:
            one.model.script = None

    return make


FAILED: Mapping[str, Made] = {
    "key refused": _failing(REFUSED),
    "no money": _failing(Reply(status=402)),
    "busy": _failing(Reply(status=429, retry_after=600)),
    "content refused": _failing(Reply(status=400, error={"code": "content_filter", "message": "it is filtered"})),
    "filtered": _failing(Reply("", finish_reason="content_filter")),
    "broken off": _failing(Reply(LONG, error_object=60), REFUSED),
    "broken off twice": _failing(Reply(LONG, drop_after=60), Reply(LONG, drop_after=30)),
    "refused after a search": _failing(calls("tea", "nothing"), REFUSED),
    "broken off after a search": _failing(calls("tea"), Reply(LONG, drop_after=60), REFUSED),
    "nothing said": _failing(Reply("")),
    "nothing said after a search": _failing(calls("tea", text=""), Reply("")),
    "failed job": _failing(calls("tea"), calls("cups"), REFUSED, command=JOB),
}


def _enclosing(*enclosed: Enclosure, **given: object) -> Made:
    """A turn whose question came with attachments."""

    async def make(one: Stored) -> int:
        return await one.ask(calls("tea"), Reply("It costs 800 yen [1]."), enclosed=enclosed, **given)  # type: ignore[arg-type]

    return make


def _alone(*enclosed: Enclosure) -> Made:
    """A turn about nothing but attachments that cannot be read: no model is asked."""
    return lambda one: one.ask(text=" ", enclosed=enclosed)


PRICES = Enclosure(kind=EnclosureKind.FILE, name="prices.csv", media_type="text/csv", size=27, source="the prices")
NOTES = Enclosure(kind=EnclosureKind.FILE, name="Ada's notes.txt", media_type="text/plain", size=90, source="the notes")
PHOTO = Enclosure(kind=EnclosureKind.PICTURE, media_type="image/png", size=500, source="a photo")
SPEECH = Enclosure(kind=EnclosureKind.VOICE, media_type="audio/ogg", size=900, seconds=3, source="speech")
NOTHING = Enclosure(kind=EnclosureKind.FILE, name="tea.bin", size=68, source="nothing")
QUOTED = Quoted(author="Grace Hopper", text="These are the prices.", enclosed=(NOTES, PHOTO))
FILES: Mapping[str, Made] = {
    "a file": _enclosing(PRICES),
    "a file without words": _enclosing(PRICES, text=" "),
    "a picture": _enclosing(PHOTO),
    "a voice message": _enclosing(SPEECH, text=" "),
    "a voice message that nobody hears": _alone(replace(SPEECH, source="noise")),
    "a file that cannot be read": _enclosing(NOTHING),
    "files of every kind": _enclosing(PRICES, PHOTO, NOTES, SPEECH, NOTHING),
    "a quoted file": _enclosing(PRICES, quoted=QUOTED),
}
KINDS: Mapping[str, Made] = {
    **FAILED,
    **FILES,
    "stopped in words": _stopped_in_words,
    "stopped before words": _stopped_before_words,
    "stopped in a later pass": _stopped_in_a_later_pass,
    "stopped in a call": _stopped_in_a_call,
    "file": _file,
    "allowed": _allowed,
    "denied": _denied,
    "undecided": _undecided,
    "allowed twice": _allowed_twice,
    "collected": _collected,
    "steered": _steered,
    "steered in a group": _steered_in_group,
    "job": _job,
    "named call": _named_call,
    "cut off": _cut_off,
    "too long": _too_long,
}


async def _other(one: Stored) -> int:
    return await one.ask(text="What does tea cost?")


async def _other_file(one: Stored) -> int:
    return await one.ask(text="Give me a file.")


async def _other_asks(one: Stored) -> int:
    turn = await one.ask(text="Please book it.")
    return await one.press(Control.ALLOW, turn)


async def _other_denied(one: Stored) -> int:
    turn = await one.ask(text="Please book it.")
    return await one.press(Control.DENY, turn)


async def _other_stopped(one: Stored) -> int:
    return await one.ask_and_stop(lambda: one.shows("It costs"), text="Tell me slowly.")


async def _other_failed(one: Stored) -> int:
    return await one.ask(text="Please fail.")


OTHERS: Mapping[str, Made] = {
    "answer": _other,
    "file": _other_file,
    "allowed": _other_asks,
    "denied": _other_denied,
    "stopped": _other_stopped,
    "failed": _other_failed,
}


async def _load(url: str, turn: int) -> Recording | str:
    try:
        return await load(url, reference_of(turn))
    except SettingsError as error:
        return str(error)


async def _repeat(recording: Recording | str) -> object:
    if isinstance(recording, str):
        return recording
    again = Recording.from_json(json.dumps(recording.to_json()))
    assert again.to_json() == recording.to_json()
    return await repeat(again, {})


async def _write(recording: Recording | str, file: Path) -> str:
    if isinstance(recording, str):
        return recording
    if wrong := await write_test(recording, {}, str(file), str):
        return wrong
    words = re.findall(r"\w+", file.read_text().lower())
    return ", ".join(word for word in ("ada", "lovelace", "9090909", "7070707", "42424242") if word in words)


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_every_kind_of_turn_comes_out_the_same(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, states = {}, {}
    async with storing(tmp_path, monkeypatch, platform, **UNLIMITED, **HEARS) as one:
        for kind, make in KINDS.items():
            await one.app.store.settings.set(one.question().chat, "busy", None)
            turns[kind] = await make(one)
            record = await one.app.store.turns.find_record(turns[kind])
            assert record is not None
            states[kind] = str(record.state)

    recordings = {kind: await _load(one.url, turn) for kind, turn in turns.items()}
    # What is written as a test is repeated for it, too, with other people.
    whole = platform == "telegram"
    found = {kind: await _repeat(recording) if whole else [] for kind, recording in recordings.items()}
    written = {kind: await _write(recording, tmp_path / f"{kind}.py") for kind, recording in recordings.items()}

    assert found == {kind: [] for kind in KINDS}
    assert written == dict.fromkeys(KINDS, "")
    assert [kind for kind, state in states.items() if state != "done"] == [
        *FAILED,
        "stopped in words",
        "stopped before words",
        "stopped in a later pass",
        "stopped in a call",
    ]


async def test_a_turn_whose_file_is_deleted_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with storing(tmp_path, monkeypatch, "slack") as one:
        turn = await KINDS["file"](one)
    with closing(sqlite3.connect(one.url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("DELETE FROM files")

    assert "a file of its answer is deleted" in str(await _load(one.url, turn))


async def test_turns_of_another_authors_agent_come_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = {}
    async with storing(tmp_path, monkeypatch, "discord", OTHER) as one:
        for kind, make in OTHERS.items():
            turns[kind] = await make(one)

    recordings = {kind: await _load(one.url, turn) for kind, turn in turns.items()}
    found = {kind: await _repeat(recording) for kind, recording in recordings.items()}
    written = {kind: await _write(recording, tmp_path / f"{kind}.py") for kind, recording in recordings.items()}

    assert found == {kind: [] for kind in OTHERS}
    assert written == dict.fromkeys(OTHERS, "")


async def test_a_turn_in_a_long_chat_is_repeated_with_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storing(tmp_path, monkeypatch, "telegram", **UNLIMITED) as one:
        for number in range(3):
            await one.ask(Reply(f"Answer {number}."), text=f"Question {number}?")
        chat = one.question().chat
        await one.app.store.history.set_summary(chat, "Ada likes sencha.", 4, "telegram:9090909", first=1, after=0)
        turn = await one.ask(calls("tea"), Reply("Tea [1]."))
        summarised_later = await one.ask(Reply("Yes."), text="Are you sure?")
        await one.app.store.history.set_summary(chat, "Ada asks much.", 10, "outside", first=1, after=4)
    asked: list[Mapping[str, object]] = []

    def note(_: Recording, model: RecordedModel) -> list[str]:
        asked.extend(model.requests)
        return []

    monkeypatch.setattr("bot.cli.replay.compare_requests", note)

    recording = await _load(one.url, turn)
    assert isinstance(recording, Recording) and recording.summary == ("", "")
    assert await _repeat(recording) == []
    assert "Question 0?" in str(asked[0]["messages"]) and "Ada asks much" not in str(asked[0]["messages"])

    with closing(sqlite3.connect(one.url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE chats SET summary = 'Ada likes sencha.', summary_upto = 4")
    asked.clear()
    for each in (turn, summarised_later):
        recording = await _load(one.url, each)
        assert isinstance(recording, Recording) and recording.summary == ("Ada likes sencha.", "outside")
        assert await _repeat(recording) == []
        assert await _write(recording, tmp_path / f"{each}.py") == ""
    read = str(asked[0]["messages"])
    assert "Ada likes sencha." in read and "Question 2?" in read and "Question 0?" not in read


async def test_what_joined_an_answer_is_known_to_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storing(tmp_path, monkeypatch, "slack") as one:
        await _steered(one)
        await one.ask(Reply("Yes."), text="Are you sure?")

        read = [str(message["content"]) for message in one.model.requests[-1].body["messages"]]

    assert "And what do cups cost?\n\nThank you." in read
    assert read.index("And what do cups cost?\n\nThank you.") < read.index("Are you sure?")
