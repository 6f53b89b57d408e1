"""The command line as a person or a service manager meets it: sentences, exit codes, no traceback."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from bot.cli.main import parser
from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.reference import reference_of
from bot.contract.transcript import Usage
from bot.store import PageState, Store, TurnState
from tests.bot.cli.conftest import Inside
from tests.conftest import Nursery, Told
from tools.contract.base import ToolCall, ToolResult

ROOT = Path(__file__).parent.parent.parent.parent


Parley = Callable[..., Told]


@pytest.fixture
def parley(inside: Inside, tmp_path: Path) -> Parley:
    """Run a command with nothing but these settings, in a folder of its own."""

    def run(*arguments: str, typed: str = "", **settings: str) -> Told:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **settings}
        return inside.run(*arguments, folder=tmp_path, environment=environment, typed=typed)

    return run


@pytest.fixture
def program(nursery: Nursery, tmp_path: Path) -> Parley:
    """The same by `python -m bot`, a program of its own."""

    def run(*arguments: str, typed: str = "", **settings: str) -> Told:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **settings}
        return nursery.run("bot", *arguments, folder=tmp_path, environment=environment, typed=typed)

    return run


def _commands(of: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield every command and sub-command of a parser: the words that call it, and its own parser."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield (*words, name), command
                yield from _commands(command, *words, name)


COMMANDS = dict(_commands(parser()))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_says_what_the_command_does(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([*words, "--help"])

    described = capsys.readouterr().out.split("\n\n")[1]
    assert re.fullmatch(r"[A-Z].{15,}\.", " ".join(described.split()))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_options_of_a_command_may_stand_in_any_order(words: tuple[str, ...]) -> None:
    """Before, between and after what it is given, with `=` or a space before a value."""
    options: list[list[list[str]]] = []
    given: list[str] = []
    for action in COMMANDS[words]._actions:
        value = "9" if action.type is int else next(iter(action.choices or ()), f"a {action.dest}")
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        if not action.option_strings:
            given.append(value)
        elif action.nargs == 0:
            options.append([[action.option_strings[-1]]])
        else:
            options.append([[action.option_strings[-1], value], [f"{action.option_strings[-1]}={value}"]])

    read = [
        parser().parse_args([*words, *itertools.chain.from_iterable(order)])
        for written in itertools.product(*options)
        for order in _orders(list(written), [[word] for word in given])
    ]

    assert all(one == read[0] for one in read)
    taken = [str(value) for value in vars(read[0]).values()]
    assert not [word for word in given if word not in taken]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_a_command_does_not_take_is_refused_with_its_own_usage(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ["x" for action in COMMANDS[words]._actions if not action.option_strings and action.nargs is None]

    with pytest.raises(SystemExit) as ended:
        parser().parse_args([*words, *needed, "--nothing"])

    told = capsys.readouterr().err
    assert ended.value.code == 2 and told.startswith(f"usage: parley {' '.join(words)} [-h]")
    assert told.endswith("unrecognized arguments: --nothing\n")


def _orders(options: list[list[str]], given: list[list[str]]) -> Iterator[list[list[str]]]:
    """Yield every order of options and what is given, which itself keeps its order."""
    for order in itertools.permutations([*options, *given]):
        if [one for one in order if one in given] == given:
            yield list(order)


def test_help_names_every_command_and_loads_nothing_heavy(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bot", "--help"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    for command in ("run", "playground", "chat", "tools", "doctor", "chats", "backup", "restore"):
        assert f"\n    {command}" in told.stdout
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.stderr.splitlines()}
    assert not loaded & {"pydantic", "aiohttp", "telegram", "slack_bolt", "discord", "openai", "httpx"}


def test_run_without_a_platform_is_a_sentence_and_exit_code_2(program: Parley) -> None:
    told = program("run", MODEL="ollama:qwen3")

    assert told.code == 2
    assert "TELEGRAM_BOT_TOKEN" in told.err
    assert "Traceback" not in told.err


def test_a_token_without_a_model_is_a_sentence_and_exit_code_2(parley: Parley) -> None:
    told = parley("run", TELEGRAM_BOT_TOKEN="123:abcdefgh")

    assert told.code == 2
    assert told.err.count("\n") <= 2
    assert "MODEL" in told.err and "Traceback" not in told.err


@pytest.mark.parametrize("command", [["run"], ["chat"], ["chats"]])
def test_a_mistyped_database_url_is_exit_code_2_and_touches_nothing(
    parley: Parley, tmp_path: Path, command: list[str]
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ada, this is no database.")
    letter.chmod(0o644)
    os.utime(letter, (1_000, 1_000))

    told = parley(*command, TELEGRAM_BOT_TOKEN="123:abcdefgh", MODEL="ollama:qwen3", DATABASE_URL=f"sqlite:///{letter}")

    assert told.code == 2 and told.err.count("\n") == 1
    assert "letter.txt' of DATABASE_URL is not an SQLite database, and was left as it is" in told.err
    assert (letter.stat().st_mode & 0o777, letter.stat().st_mtime) == (0o644, 1_000)
    assert list(tmp_path.iterdir()) == [letter]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HTTP_PORT", "abc", "HTTP_PORT"),
        ("HTTP_PORT", "70000", "HTTP_PORT"),
        ("MAX_TOOL_ROUNDS", "1", "MAX_TOOL_ROUNDS"),
        ("TOOL_MODE", "sometimes", "auto, native or prompt"),
        ("ALLOWED_USERS", "12345", "telegram:12345"),
        ("ALLOWED_USERS", "@ada", "telegram:123, slack:T1/U1, discord:456"),
        ("ADMINS", "telegram:00123", "'telegram:00123' is written wrongly"),
        ("ALLOWED_CHATS", "telegram:１２３/-50", "write telegram:123/-50"),
        ("ALLOW_ALL", "perhaps", "ALLOW_ALL"),
        ("MODEL", "gpt-5", "MODEL"),
        ("MODEL", "nobody:gpt-5", "MODEL"),
        ("DATABASE_URL", "mysql://x", "DATABASE_URL"),
        ("TELEGRAM_BOT_TOKEN", "not-a-token", "BotFather"),
    ],
)
def test_a_malformed_setting_is_one_sentence_that_names_it(parley: Parley, name: str, value: str, words: str) -> None:
    settings = {"TELEGRAM_BOT_TOKEN": "123:abcdefgh", "MODEL": "ollama:qwen3", name: value}

    told = parley("run", **settings)

    assert told.code == 2
    assert words in told.err
    assert "Traceback" not in told.err


def test_an_unknown_name_in_env_is_refused_with_the_nearest_one(parley: Parley, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TELEGRAM_BOT_TOKE=123:abc\n")

    told = parley("run")

    assert told.code == 2
    assert "TELEGRAM_BOT_TOKE" in told.err and "did you mean TELEGRAM_BOT_TOKEN" in told.err


def test_the_environment_itself_is_not_searched_for_unknown_names(parley: Parley) -> None:
    told = parley("chats", SOME_OTHER_PROGRAMS_SETTING="1")

    assert told.code == 0, told.err


def test_a_secret_is_never_printed(parley: Parley) -> None:
    told = parley("run", TELEGRAM_BOT_TOKEN="very-secret-nonsense", MODEL="ollama:qwen3")

    assert "very-secret-nonsense" not in told.err + told.out


def test_tools_are_listed_and_run(parley: Parley) -> None:
    listed = parley("tools")
    run = parley("tools", "calculator", '{"expression": "17 * 23 + 4"}')

    assert "calculator" in listed.out and "TAVILY_API_KEY" in listed.out + listed.err
    assert run.code == 0 and "395" in run.out


def test_whoever_reads_only_the_beginning_hears_no_complaint(tmp_path: Path) -> None:
    """As with `parley tools | head`: the other end of the pipe is closed."""
    reading, writing = os.pipe()
    os.close(reading)

    told = subprocess.run(
        [sys.executable, "-m", "bot", "chats"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert told.returncode == 130
    assert told.stderr == ""


def test_an_unknown_chat_id_is_a_sentence(parley: Parley) -> None:
    told = parley("chats", "forget", "nonsense")

    assert told.code == 2
    assert "which chat" in told.err


@pytest.mark.parametrize("words", [(), ("--yes",), ("telegram:42/7", "--person", "telegram:7")])
def test_who_or_what_is_to_be_forgotten_has_to_be_said_once(parley: Parley, words: tuple[str, ...]) -> None:
    told = parley("chats", "forget", *words)

    assert told.code == 2 and "delete what? Either one chat (ID) or one person" in told.err


def test_to_look_for_chats_where_none_are_kept_makes_no_database(parley: Parley, tmp_path: Path) -> None:
    listed = parley("chats")
    others = [
        parley("chats", *more)
        for more in (("export", "telegram:42/7"), ("forget", "--person", "telegram:7"), ("trace", "a1b2c3"))
    ]

    absent = f"there is no {tmp_path / 'data' / 'parley.db'}"
    assert (listed.code, listed.out) == (0, f"no chats yet: {absent}\n")
    for one in others:
        assert one.code == 1 and not one.out and one.err.endswith(f": {absent}\n"), one.err
    assert not (tmp_path / "data").exists()


def test_no_chats_and_an_unknown_one_are_said(parley: Parley, program: Parley) -> None:
    program("chat", MODEL="ollama:a")
    listed = parley("chats")
    exported = parley("chats", "export", "telegram:42/7")
    forgotten = parley("chats", "forget", "--yes", "telegram:42/7")

    assert (listed.code, listed.out) == (0, "no chats yet\n")
    assert (exported.code, exported.out, forgotten.code) == (1, "", 1)
    assert "no chat 'telegram:42/7' is stored" in exported.err and "no chat 'telegram:42/7'" in forgotten.err


def test_a_chat_is_deleted_only_by_a_yes(parley: Parley, tmp_path: Path) -> None:
    asyncio.run(_keep_a_chat(tmp_path))

    for typed in ("", "n\n"):
        kept = parley("chats", "forget", "telegram:42/7", typed=typed)
        assert kept.code == 1 and "nothing was deleted" in kept.err, typed
    assert "telegram:42/7" in parley("chats").out
    assert "Delete 1 turn of telegram:42/7 for good?" in parley("chats", "forget", "telegram:42/7", typed="y\n").out
    assert parley("chats").out == parley("chats", "list").out == "no chats yet\n"


def test_what_another_program_keeps_of_a_deleted_chat_is_said(
    parley: Parley, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_keep_a_chat(tmp_path))
    monkeypatch.setattr("bot.store.forgetting._PATIENCE", 0.0)
    with closing(sqlite3.connect(tmp_path / "data" / "parley.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM history").fetchall()

        told = parley("chats", "forget", "--yes", "telegram:42/7")

    assert told.code == 0 and told.out.endswith(" forgotten\n")
    assert "another program is reading the database, so its files still contain the deleted data" in told.err


def test_a_person_is_forgotten_only_by_a_yes_and_by_a_right_id(parley: Parley, tmp_path: Path) -> None:
    asyncio.run(_keep_a_fact(tmp_path))
    forget = ("chats", "forget", "--person")

    wrong = parley(*forget, "@ada")
    kept = parley(*forget, "telegram:7", typed="n\n")
    gone = parley(*forget, "telegram:7", typed="y\n")

    assert wrong.code == 2 and "--person: '@ada' is not a person's id" in wrong.err
    assert "everything of a person: --person telegram:7" in parley("chats", "forget", "telegram:7", "--yes").err
    assert parley("chats", "--person", "telegram:7").code == 2
    assert kept.code == 1 and "nothing was deleted" in kept.err
    assert gone.code == 0 and "Delete everything of telegram:7 for good (0 turns, 1 fact, 0 reminders)?" in gone.out
    assert "nothing is stored of telegram:7" in parley(*forget, "telegram:7", "--yes").err


async def _keep_a_fact(folder: Path) -> None:
    (folder / "data").mkdir()
    async with Store.open(f"sqlite:///{folder}/data/parley.db", clock=SystemClock()) as store:
        await store.facts.remember("telegram:7", "likes tea")


async def _keep_a_chat(folder: Path) -> None:
    (folder / "data").mkdir()
    async with Store.open(f"sqlite:///{folder}/data/parley.db", clock=SystemClock()) as store:
        await store.writer.execute(
            "INSERT INTO chats (chat, title, turns, last_at, bytes) VALUES ('telegram:42/7', '', 1, 0, 9)"
        )


def test_an_export_and_a_trace_tell_what_is_stored(parley: Parley, tmp_path: Path) -> None:
    asyncio.run(_keep_a_turn(tmp_path))
    reference = reference_of(1)

    (exported,) = parley("chats", "export", "telegram:42/7").out.splitlines()
    read = parley("chats", "export", "--markdown", "telegram:42/7").out
    traced = parley("chats", "trace", reference.upper())

    assert json.loads(exported)["answer"] == "Tea is a leaf."
    assert read.startswith("## ") and read.endswith("\n\nTea is a leaf.\n\n") and "the model gave up" not in read
    told = traced.out.splitlines()
    assert traced.code == 0
    assert told[0].startswith(f"turn t1 [{reference}] in telegram:42/7, asked by telegram:7 at ")
    assert told[1].startswith("  failed after ") and told[2] == "  m: 3 tokens in (0 cached), 4 out, $0.0000"
    assert told[3:6] == ["  pass 1: search completed, 1.5 s", '    given {"q": "tea"}', f"    gave {'x' * 199}…"]
    assert told[6].startswith("  pass 1: search") and told[7] == "    given {}"
    assert told[8:] == ["  answer of 14 characters in 1 message", "  error: the model gave up"]
    other = parley("chats", "trace", reference_of(2))
    assert other.code == 1 and "no turn has the reference" in other.err
    assert parley("chats", "trace", "tea").code == 2


async def _keep_a_turn(folder: Path) -> None:
    (folder / "data").mkdir()
    chat, person = ChatId("telegram", "42", "7"), Sender(id="telegram:7")
    async with Store.open(f"sqlite:///{folder}/data/parley.db", clock=SystemClock()) as store:
        asked = MessageSent(delivery="1", chat=chat, sender=person, target=ReplyTarget("telegram"), text="What is tea?")
        turn = await store.intake.take_in(asked)
        assert turn == 1
        await store.turns.begin(turn, chat, person.id)
        for position, (call, result) in enumerate(
            (
                (ToolCall("c1", "search", {"q": "tea"}), ToolResult(text="x" * 300, seconds=1.5)),
                (ToolCall("c2", "search", {}), None),
            )
        ):
            await store.turns.start_call(turn, call, passnumber=1, position=position, effects=False)
            if result is not None:
                await store.turns.end_call(turn, call.id, result)
        await store.turns.save_page(turn, 0, body="", ref=MessageRef("9"), state=PageState.FINAL, nonce="")
        await store.turns.close(
            turn,
            TurnState.FAILED,
            [],
            visible="Tea is a leaf.",
            reasoning="",
            model="m",
            usage=Usage(3, 4),
            error="the model gave up",
        )


CHOSEN = ["--port", "9", "--no-browser", "--data", "kept"]


@pytest.mark.parametrize(
    ("arguments", "started"),
    [
        ((), []),
        (("playground",), []),
        (
            ("playground", "--port", "9", "--no-browser", "--data", "kept"),
            ["--port", "9", "--no-browser", "--data", "kept"],
        ),
    ],
)
def test_the_playground_takes_the_place_of_the_process(
    parley: Parley, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], started: list[str]
) -> None:
    """Also without a command, where no platform is configured."""

    def replace(program: str, command: list[str], environment: dict[str, str]) -> NoReturn:
        assert program == sys.executable and (environment.get("PYTHONPATH", str(ROOT)) == str(ROOT))
        print(*command[1:])
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", replace)

    assert parley(*arguments).out.split() == ["-P", "-m", "playground", *started]


def test_names_that_are_nearly_settings_are_told_of(parley: Parley) -> None:
    told = parley("tools", "calculator", '{"expression": "1+1"}', OPENAI_APIKEY="x")

    assert told.code == 0 and "OPENAI_APIKEY in the environment is not a setting" in told.err


def test_the_commands_that_the_list_of_tools_shows_run_in_a_shell(parley: Parley) -> None:
    """Apostrophes in an example ended the quotes around it."""
    shown = [line.strip() for line in parley("tools").out.splitlines() if line.startswith("    ")]

    assert len(shown) > 10 and any("'\"'\"'" in command for command in shown)
    for command in shown:
        *program, name, arguments = shlex.split(command)
        assert program == ["parley", "tools"] and name.isidentifier()
        assert isinstance(json.loads(arguments), dict)


def test_what_a_tool_remembers_is_kept_in_the_file_that_its_hint_names(parley: Parley, tmp_path: Path) -> None:
    fact = '{"fact": "Ada likes tea."}'
    hinted = parley("tools", "remember", fact)
    kept = parley("tools", "remember", fact, "--data", str(tmp_path / "kept.json"))
    recalled = parley("tools", "recall", "{}", "--data", str(tmp_path / "kept.json"))

    assert hinted.code == 1 and "--data FILE" in hinted.err
    assert kept.code == 0 and "Ada likes tea." in recalled.out


def test_only_an_mcp_json_that_is_named_or_stands_beside_env_starts_programs(parley: Parley, tmp_path: Path) -> None:
    """A folder may be somebody else's: what lies in it is not run, also by `tools` and `doctor`."""
    program = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    started = tmp_path / "started"
    server = {"command": sys.executable, "args": ["-c", program, str(started)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"found": server}}))

    unasked = parley("tools")
    assert unasked.code == 0 and "found" not in unasked.out and not started.exists()

    (tmp_path / ".env").write_text("LOG_LEVEL=INFO\n")
    beside = parley("tools")
    assert beside.code == 0 and "found" in beside.out and started.exists()
