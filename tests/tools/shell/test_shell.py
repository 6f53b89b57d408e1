"""`python -m tools`, as a person at a terminal uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Nursery, Told
from tools.contract.base import NewReminder, Reminder, Repeat, ToolError
from tools.shell.run import _kept, main, read_arguments
from tools.shell.shelf import Shelf

ROOT = Path(__file__).parents[3]


Run = Callable[..., Told]


@pytest.fixture
def run(nursery: Nursery) -> Run:
    """The command as a process in which none of our variables is set."""

    def run(*arguments: str, folder: Path = ROOT, **settings: str) -> Told:
        clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
        return nursery.run("tools", *arguments, folder=folder, environment={**clean, "TZ": "Asia/Tokyo", **settings})

    return run


def test_a_tool_prints_its_result(run: Run) -> None:
    done = run("calculator", '{"expression": "2+2"}')

    assert (done.code, done.out, done.err) == (0, "2 + 2 = 4\n", "")


def test_a_tool_without_arguments_runs_with_its_defaults_in_this_machines_zone(run: Run) -> None:
    done = run("current_time")

    assert done.code == 0
    assert done.out.startswith("Now in Asia/Tokyo: ")


def test_a_failure_goes_to_standard_error_with_exit_1(run: Run) -> None:
    done = run("calculator", '{"expression": "1/0"}')

    assert done.code == 1
    assert done.out == ""
    assert done.err == "Error: '1/0' cannot be computed: division by zero (at character 2, '/0').\n"


def test_a_tool_whose_file_cannot_be_used_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "countdown.py").write_text(
        "from datetime import date\n\n\nasync def countdown(day: date) -> str:\n    return str(day)\n"
    )
    done = run("countdown", "{}", TOOLS_DIR=str(tmp_path))

    assert done.code == 2
    assert "countdown cannot be used here: " in done.err
    assert "countdown.day: JSON knows no date; use str, int, float, bool, list, dict, Literal or a StrEnum" in done.err


def test_an_unknown_tool_is_exit_2_with_the_list(run: Run) -> None:
    done = run("calculater", "{}")

    assert done.code == 2
    assert "there is no tool 'calculater'; did you mean calculator? available: " in done.err
    assert "calculator, current_time" in done.err
    assert "Traceback" not in done.err


def test_a_tool_without_its_key_is_exit_2_and_says_what_it_needs(run: Run) -> None:
    done = run("search_web", '{"query": "x"}')

    assert done.code == 2
    assert done.err == (
        "tools: search_web cannot be used here: it needs TAVILY_API_KEY, a key from tavily.com, "
        "or SEARCH_FALLBACK=ddgs\n"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{bad", "no JSON at character 2"),
        ("", ""),
        ("[1]", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("2+2", "no JSON at character 2"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_arguments_that_are_no_json_object_are_one_sentence(arguments: str, reason: str) -> None:
    if not reason:
        assert read_arguments(arguments) == {}
        return
    with pytest.raises(ValueError, match=reason) as error:
        read_arguments(arguments)

    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_bad_json_on_the_command_line_is_exit_2(run: Run) -> None:
    done = run("calculator", "2+2")

    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "the arguments are no JSON" in done.err


def test_without_a_name_all_tools_are_listed_and_why_others_are_missing(run: Run) -> None:
    done = run()

    assert done.code == 0
    assert "🧮 calculator: Compute an expression exactly" in done.out
    assert "python -m tools current_time '{}'" in done.out
    assert "✗ search_web: not available, it needs TAVILY_API_KEY" in done.out


def test_settings_come_from_the_file_in_the_current_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAVILY_API_KEY=tvly-abc\nTAVILY_API_BASE_URL=http://127.0.0.1:9\n")

    done = run("search_web", '{"query": "x"}', folder=tmp_path)

    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("Error: The search service cannot be reached.")
    assert "tvly-abc" not in done.err + done.out


def test_a_file_that_cannot_be_read_is_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("[]")

    done = run("calculator", "--data", str(tmp_path / "data.json"), '{"expression": "1"}')

    assert done.code == 2
    assert "holds something else" in done.err
    assert "Traceback" not in done.err


def test_main_runs_a_tool_for_the_bots_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main({}, "calculator", '{"expression": "6*7"}') == 0
    assert main({}, "nothing", "{}") == 2
    assert main({}, None, "{}") == 0

    assert "6 × 7 = 42" in capsys.readouterr().out


def test_a_file_that_a_tool_made_takes_no_others_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    kept = [_kept(name, name.encode()) for name in ("plot.png", "a/plot.png", "../plot.png", "/")]

    assert [path.name for path in kept] == ["plot.png", "plot-2.png", "plot-3.png", "file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "plot-2.png", "plot-3.png", "plot.png"]
    assert (tmp_path / "plot-2.png").read_text() == "a/plot.png"


async def test_facts_are_kept_in_a_file_from_one_run_to_the_next(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    first = await Shelf(file).remember("me", "likes green tea")
    await Shelf(file).remember("me", "lives in Oslo")
    await Shelf(file).remember("you", "likes black tea")

    assert await Shelf(file).recall(("me",), "Tea please", 5) == [(first, "me", "likes green tea")]
    assert [text for _, _, text in await Shelf(file).recall(("me",), "", 5)] == ["lives in Oslo", "likes green tea"]
    assert not await Shelf(file).forget(("you",), first)
    assert await Shelf(file).forget(("me",), first)
    assert not await Shelf(file).forget(("me",), first)
    assert await Shelf(file).remember("me", "again") == 4
    assert json.loads(file.read_text())["last"] == 4
    assert file.stat().st_mode & 0o777 == 0o600


async def test_timers_are_kept_beside_them(tmp_path: Path) -> None:
    timers = Shelf(tmp_path / "data.json").timers
    late = await timers.set("chat", "me", NewReminder(200.0, "late"))
    often = Repeat("0 8 * * *", "UTC", "every day at 8")
    early = await timers.set("chat", "me", NewReminder(100.0, "early"))

    daily = await timers.set("chat", "me", NewReminder(300.0, "daily", repeat=often))

    assert not await timers.pause("chat", "me", late) and not await timers.pause("chat", "you", daily)
    assert await timers.pause("chat", "me", daily)
    assert await timers.pending("chat", "me") == [
        Reminder(early, 100.0, "early"),
        Reminder(late, 200.0, "late"),
        Reminder(daily, 300.0, "daily", often, paused=True),
    ]
    assert await timers.resume("chat", "me", daily) and await timers.cancel("chat", "me", daily)
    assert await timers.pending("chat", "you") == []
    assert not await timers.cancel("chat", "you", late)
    assert await timers.cancel("chat", "me", late)
    assert await timers.pending("chat", "me") == [Reminder(early, 100.0, "early")]


async def test_a_file_that_cannot_be_written_is_an_error_for_the_model(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "missing" / "data.json")

    with pytest.raises(ToolError, match="could not be written"):
        await shelf.remember("me", "x")
