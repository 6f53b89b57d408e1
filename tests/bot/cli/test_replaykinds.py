"""`parley replay` repeats every kind of turn, and writes it as a test without people's names and ids."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from bot.app import RecordedModel
from bot.cli.replay import load, repeat
from bot.cli.replaytest import write_test
from bot.contract import SettingsError, reference_of
from bot.store import Recording
from playground.model import Reply
from tests.bot.cli.replaying import OTHER, UNLIMITED, calls, storing
from tests.bot.cli.replaykinds import FAILED, FILES, KINDS, OTHERS, PICTURES
from tests.bot.cli.test_replayfaults import fails

HEARS = {"TRANSCRIBE_MODEL": "openai:whisper-1"}


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


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_turns_whose_files_are_deleted_come_out_the_same(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = {}
    async with storing(tmp_path, monkeypatch, platform, **UNLIMITED, **HEARS) as one:
        for kind, make in {**FILES, **PICTURES, "file": KINDS["file"]}.items():
            turns[kind] = await make(one)
        await one.app.store.files.prune(-1.0)
        assert await one.app.store.files.get(1) is None

    recordings = {kind: await _load(one.url, turn) for kind, turn in turns.items()}

    assert {kind: await _repeat(recording) for kind, recording in recordings.items()} == {kind: [] for kind in turns}
    written = {kind: await _write(recording, tmp_path / f"{kind}.py") for kind, recording in recordings.items()}
    assert written == dict.fromkeys(turns, "")


async def test_a_turn_of_an_earlier_version_whose_file_is_deleted_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storing(tmp_path, monkeypatch, "slack") as one:
        turn = await KINDS["file"](one)
        another = await KINDS["file"](one)
    with closing(sqlite3.connect(one.url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("UPDATE calls SET result = json_remove(result, '$.made')")
        assert await _repeat(await _load(one.url, turn)) == []
        db.execute("DELETE FROM files")

        assert "a file of its answer is deleted" in str(await _load(one.url, turn))
        db.execute("UPDATE calls SET result = json_set(result, '$.files', json('[]'))")
        assert "a file of its answer is deleted" in str(await _load(one.url, another))


async def test_continue_without_the_question_that_it_continues_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storing(tmp_path, monkeypatch, "slack") as one:
        turn = await KINDS["continued"](one)
    # An earlier version deleted a question without what continued its answer.
    with closing(sqlite3.connect(one.url.removeprefix("sqlite:///"), isolation_level=None)) as db:
        db.execute("DELETE FROM turns WHERE id = 1")

    assert "the question whose answer it continues is deleted" in str(await _load(one.url, turn))


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_questions_beyond_a_spent_quota_come_out_the_same_also_those_that_nobody_was_told_of(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, told = [], []
    async with storing(tmp_path, monkeypatch, platform, **{**UNLIMITED, "TOKENS_PER_DAY_PERSON": "12000"}) as one:
        for _ in range(3):
            turns.append(await one.ask(Reply("Tea."), text=f"What is tea? {'Tell me more. ' * 2000}"))
            record = await one.app.store.turns.find_record(turns[-1])
            assert record is not None
            told.append(record.visible)

    assert told[0] == "Tea." and "used up" in told[1] and told[2] == ""
    for turn in turns:
        recording = await _load(one.url, turn)
        assert await _repeat(recording) == []
        assert await _write(recording, tmp_path / f"{turn}.py") == ""
    assert not await asyncio.to_thread(fails, tmp_path / f"{turns[2]}.py")
    monkeypatch.setattr("bot.turn.closing.is_said", _always)
    assert await asyncio.to_thread(fails, tmp_path / f"{turns[2]}.py")


async def _always(*_: object) -> bool:
    return True


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
        await KINDS["steered"](one)
        await one.ask(Reply("Yes."), text="Are you sure?")

        read = [str(message["content"]) for message in one.model.requests[-1].body["messages"]]

    assert "And what do cups cost?\n\nThank you." in read
    assert read.index("And what do cups cost?\n\nThank you.") < read.index("Are you sure?")
