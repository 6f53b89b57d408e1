"""A chat written for people: the newest that fits, secrets masked, and written beside the loop."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator

import pytest

from bot.commands.chatfile import AT_ONCE, ChatWriter, Form, write_chat
from bot.operations.watchdog import LoopWatch
from bot.safety.redacted import redact_nothing
from tests.conftest import RawJson

SECRET = "sk-very-secret-123456"


def turn(number: int, answer: str = "A leaf.", **question: object) -> RawJson:
    return {
        "chat": "telegram:42/7",
        "turn": number,
        "person": "telegram:7",
        "question": {"kind": "message", "sender": {"id": "telegram:7", "name": "Ada"}, "text": "Tea?"} | question,
        "state": "done",
        "answer": answer,
        "reasoning": "hidden",
        "model": "m",
        "error": "hidden",
        "started_at": 0.0,
        "replaced_by": None,
        "rating": "",
        "calls": [],
        "messages": ["5"],
    }


async def newest_first(*records: RawJson) -> AsyncIterator[RawJson]:
    for record in records:
        yield record


def test_a_turn_shows_what_people_saw_and_no_secret() -> None:
    def redact(text: str) -> str:
        return text.replace(SECRET, "[secret removed]")

    called = turn(1, SECRET, text=f"about {SECRET}", enclosed=[{"kind": "file", "name": "notes.pdf"}, {"kind": "file"}])
    called["calls"] = [{"name": "search", "arguments": {SECRET: [SECRET, 1]}, "status": "completed", "seconds": 0.5}]

    markdown = ChatWriter(Form.MARKDOWN, redact, "Europe/Paris").write(called)
    written = ChatWriter(Form.JSON, redact).write(called)

    masked = "[secret removed]"
    assert markdown == (f"## 1970-01-01T01:00:00+01:00 · Ada\n\n> about {masked}\n> [notes.pdf]\n> [file]\n\n{masked}")
    assert json.loads(written)["tools"][0]["arguments"] == {masked: [masked, 1]}
    assert "hidden" not in markdown + written and SECRET not in markdown + written


def test_a_command_is_shown_as_it_was_written_and_a_turn_without_an_answer_says_how_it_ended() -> None:
    shown = ChatWriter(Form.MARKDOWN, redact_nothing).write(
        turn(1, "", command="tool", text="calculator 1", sender={"name": ""}) | {"state": "failed"}
    )

    assert shown.endswith("· telegram:7\n\n> /tool calculator 1\n\n(failed)")


@pytest.mark.parametrize("form", Form)
async def test_settings_that_people_made_stand_first_and_others_are_not_told(form: Form) -> None:
    settings = {"chat": "telegram:42/7", "settings": {"persona": "Be\nkind", "begins": "12.5"}}
    internal = {"chat": "telegram:42/7", "settings": {"begins": "12.5"}}
    writer = ChatWriter(form, redact_nothing)

    told = await write_chat(newest_first(settings, turn(2), turn(1)), writer, 10_000)
    untold = await write_chat(newest_first(internal, turn(1)), writer, 10_000)

    text = told.content.decode()
    assert told.turns == 2 and "begins" not in text + untold.content.decode()
    if form is Form.JSON:
        assert [one.get("turn") for one in json.loads(text)] == [None, 1, 2]
        assert [one["turn"] for one in json.loads(untold.content)] == [1]
    else:
        assert text.startswith("## Settings of this chat\n\n- persona: Be kind\n\n## 1970") and text.count("## ") == 3
        assert untold.content.startswith(b"## 1970")


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("most", [10, 1_000, 20_000, 40_000])
async def test_a_file_holds_the_newest_that_fit(form: Form, most: int) -> None:
    records = [turn(number, f"Answer {number}. " + "茶" * 50) for number in range(3 * AT_ONCE, 0, -1)]

    written = await write_chat(newest_first(*records), ChatWriter(form, redact_nothing), most)

    assert len(written.content) <= max(most, 8)
    text = written.content.decode()
    for number in range(1, 3 * AT_ONCE + 1):
        assert (f"Answer {number}." in text) == (number > 3 * AT_ONCE - written.turns)
    if form is Form.JSON:
        assert len(json.loads(text)) == written.turns


async def test_a_long_chat_is_written_by_threads_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def redact(text: str) -> str:
        threads.add(threading.get_ident())
        return text

    records = (turn(number, "tea " * 100) for number in range(5_000, 0, -1))
    async with LoopWatch() as watch:
        written = await write_chat(newest_first(*records), ChatWriter(Form.MARKDOWN, redact), 2**24)

    assert written.turns == 5_000
    assert threads and threading.get_ident() not in threads
    assert watch.longest_computing < 0.05, watch.where
