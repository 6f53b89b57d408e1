"""What is counted of the house: code lines, floors, and calls of our own functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.house import OWN, PLAIN, ROOT, SEARCH, Calls, arrows_of, code_lines, count, describe, floors_of
from bot.contract import ChatId, SystemClock


def test_a_code_line_is_neither_empty_nor_a_comment_nor_a_docstring(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""Two\n\nlines."""\n\n# a comment\nx = 1\ndef f():\n    """Doc."""\n    return """\ntext"""\n')

    assert code_lines(module) == 4


def test_floors_are_the_longest_way_down_and_none_in_a_circle() -> None:
    assert floors_of({"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": set()}) == 3
    assert floors_of({"a": {"b"}, "b": {"a"}}) == 0


def test_every_package_has_its_rooms() -> None:
    arrows = {package: arrows_of(package) for package in OWN}

    assert {"contract", "turn"} <= arrows["bot"].keys() and "contract" in arrows["bot"]["turn"]
    assert not arrows["bot"]["sentences"]
    assert all((ROOT / package).is_dir() for package in OWN)


async def test_a_call_counts_once_however_often_it_waits_and_only_ours() -> None:
    calls = Calls()
    with calls.watching():
        with calls:
            await SystemClock().sleep(0)
            [ChatId.parse("telegram:42/7").place for _ in range(2)]
        ChatId.parse("telegram:42/7")

    named = {code.co_name: times for code, times in calls.made.items()}
    assert (named["sleep"], named["parse"], named["place"]) == (1, 2, 2)
    assert not [code for code in calls.made if "/bot/" not in code.co_filename]
    assert "messages.py: ChatId.parse" in describe("one", calls.made, 9)


async def test_a_question_stays_as_light_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one in a chat. Whoever must raise a limit says in the commit what the calls are for."""
    monkeypatch.setattr(os, "environ", os.environ.copy())

    plain, search = await count(Calls(), (PLAIN, SEARCH), times=1)

    assert 1_500 < plain.total() <= 1_800
    assert 2_300 < search.total() <= 2_850
