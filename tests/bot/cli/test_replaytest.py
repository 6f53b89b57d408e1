"""`parley replay --test FILE`: a stored turn as a test that passes, without people's names and ids, or keys."""

from __future__ import annotations

import asyncio
import os
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.replay import load
from bot.cli.replaytest import record, replace_people
from bot.contract import AssistantEntry, MessageSent, Quoted, SettingsError, UserEntry, reference_of
from bot.operations import Outlet
from bot.settings import configure
from bot.store import Recording
from playground.model import Reply
from tests.bot.cli.conftest import Inside
from tests.bot.cli.test_replay import KINDS, calls, store_turns
from tests.conftest import Nursery, Told

KEY = "sk-operator-key-5678"
TOLD = ("Ada", "Lovelace", "9090909", "7070707", "42424242", KEY, "ada@example.com")

OTHERWISE = """
from bot.safety import Citations

Citations.list_cited = lambda self, answer, language: "Sources: none."
"""
"""A program that writes other sources under its answers."""
ANSWER = Reply(f"Ada, tea costs 800 yen [1]. The key {KEY} and ada@example.com are yours, 7070707 is this chat.")


async def written(folder: Path, patch: pytest.MonkeyPatch, platform: str) -> Path:
    """Store a turn and write it as a test."""
    await store_turns(folder, patch, platform, KINDS["plain"], (calls("tea", "cups"), ANSWER))
    file = folder / "test_turn.py"

    assert await record(configure(), reference_of(2), str(file), Outlet([KEY]).words) == 0
    return file


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_the_written_test_passes_and_fails_once_the_answer_is_another(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await written(tmp_path, monkeypatch, platform)

    text = file.read_text()
    assert not [word for word in TOLD if word.lower() in text.lower()]
    assert "800 yen" in text and "Person1" in text
    assert file.stat().st_mode & 0o077 == 0
    run = runpy.run_path(str(file))["test_the_turn_comes_out_the_same"]
    await asyncio.to_thread(run)
    monkeypatch.setattr("bot.safety.Citations.list_cited", lambda *_: "Sources: none.")
    with pytest.raises(AssertionError):
        await asyncio.to_thread(run)


async def test_pytest_runs_the_written_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nursery: Nursery) -> None:
    file = await written(tmp_path, monkeypatch, "telegram")
    alone = ("-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path), str(file))

    passed = await nursery.talk("pytest", *alone, folder=tmp_path, environment=os.environ)
    (tmp_path / "conftest.py").write_text(OTHERWISE)
    failed = await nursery.talk("pytest", *alone, folder=tmp_path, environment=os.environ)

    assert passed.code == 0 and "1 passed" in passed.out, passed.out
    assert failed.code == 1 and "the answer: stored" in failed.out, failed.out


async def test_a_file_that_exists_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await store_turns(tmp_path, monkeypatch, "telegram", KINDS["plain"])
    file = tmp_path / "test_turn.py"
    file.write_text("mine")

    with pytest.raises(SettingsError, match="exists already"):
        await record(configure(), reference_of(1), str(file), str)

    assert file.read_text() == "mine"


async def test_speakers_of_a_group_and_quoted_people_are_replaced_and_words_of_ours_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await store_turns(tmp_path, monkeypatch, "telegram", KINDS["search"])
    one = await load(url, reference_of(1))
    assert isinstance(one.question, MessageSent)
    sender = replace(one.question.sender, name="User Done")
    quoted = Quoted(text="Grace said so", author="Grace Hopper", message_id="555666")
    asked = replace(one.question, sender=sender, quoted=quoted, group=True)
    before = (UserEntry("Bar_bara: I am Bar_bara", "telegram:121212"), AssistantEntry("Hello, BAR\\_BARA. 121212"))
    told = replace(one, question=asked, before=before)

    made = replace_people(told, str)

    assert isinstance(made, Recording) and made.state == one.state
    assert [call.call.name for call in made.calls] == ["search_notes"]
    first, second = made.before
    assert isinstance(first, UserEntry) and isinstance(second, AssistantEntry)
    assert first.text == "Person3: I am Person3" and first.origin.startswith("telegram:1000")
    assert second.text == f"Hello, Person3. {first.origin.removeprefix('telegram:')}"
    assert isinstance(made.question, MessageSent) and made.question.quoted is not None
    assert (made.question.quoted.author, made.question.quoted.text) == ("Person2", "Person2 said so")
    assert made.question.sender.name == "Person1"


async def test_a_turn_that_comes_out_otherwise_becomes_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await store_turns(tmp_path, monkeypatch, "slack", KINDS["plain"])
    monkeypatch.setattr("bot.turn.closing.footer.write_footer", _write_more)

    code = await record(configure(), reference_of(1), str(tmp_path / "test_turn.py"), str)

    assert code == 1 and not (tmp_path / "test_turn.py").exists()
    assert capsys.readouterr().out.startswith("no test is written: the answer: stored 'Tea is a")


async def _write_more(*_: object) -> list[str]:
    return ["More."]


def test_the_command_line_gives_each_outcome_its_code(tmp_path: Path, inside: Inside) -> None:
    with pytest.MonkeyPatch.context() as patch:
        url = asyncio.run(store_turns(tmp_path, patch, "discord", KINDS["search"]))
    environment = {"DATABASE_URL": url, "PARLEY_ENV_FILE": ""}

    def run(*arguments: str) -> Told:
        return inside.run("replay", *arguments, folder=tmp_path, environment=environment)

    same, written = run(reference_of(1)), run(reference_of(1), "--test", "test_turn.py")
    again, unknown = run(reference_of(1), "--test", "test_turn.py"), run(reference_of(7))

    assert (same.code, same.out) == (0, f"turn [{reference_of(1)}] came out the same\n")
    assert written.code == 0 and written.out.startswith("test_turn.py is written; ")
    assert (again.code, again.err) == (2, "parley: 'test_turn.py' exists already; name another file\n")
    assert (unknown.code, unknown.err) == (2, f"parley: no turn has the reference '{reference_of(7)}'\n")


async def test_keys_and_names_in_links_are_replaced_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link = "https://files.example/ada_lovelace/t?user=7070707&next=our-door-opens-for-ever&page=2"
    door = "https://db.example/x?path=correct-horse-battery"
    answer = Reply(f"Here: {link} and [this]({link}), or {door}, Ada_Lovelace.")
    await store_turns(tmp_path, monkeypatch, "discord", (calls(link), answer))
    file = tmp_path / "test_turn.py"

    code = await record(configure(), reference_of(1), str(file), Outlet([KEY]).words)

    assert code == 0, capsys.readouterr().out
    text = file.read_text()
    told = ("lovelace", "our-door", "7070707", "correct-horse")
    assert not [word for word in told if word in text.lower()]
    assert "page=2" in text and "next=hidden" in text
