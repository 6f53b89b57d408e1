"""The command line as a person or a service manager meets it: sentences, exit codes, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def parley(*arguments: str, at: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m bot` with nothing but these settings, in a folder of its own."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        cwd=at,
        env={"PATH": os.environ["PATH"], "HOME": str(at), "PYTHONPATH": str(ROOT), **kept, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_names_every_command_and_loads_nothing_heavy(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bot", "--help"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    for command in ("run", "playground", "chat", "tools", "doctor", "chats"):
        assert f"\n    {command}" in told.stdout
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.stderr.splitlines()}
    assert not loaded & {"pydantic", "aiohttp", "telegram", "slack_bolt", "discord", "openai", "httpx"}


def test_run_without_a_platform_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    told = parley("run", at=tmp_path, MODEL="ollama:qwen3")

    assert told.returncode == 2
    assert "TELEGRAM_BOT_TOKEN" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_token_without_a_model_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    told = parley("run", at=tmp_path, TELEGRAM_BOT_TOKEN="123:abcdefgh")

    assert told.returncode == 2
    assert told.stderr.count("\n") <= 2
    assert "MODEL" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HTTP_PORT", "abc", "HTTP_PORT"),
        ("HTTP_PORT", "70000", "HTTP_PORT"),
        ("MAX_TOOL_ROUNDS", "1", "MAX_TOOL_ROUNDS"),
        ("TOOL_MODE", "sometimes", "'auto', 'native' or 'prompt'"),
        ("ALLOWED_USERS", "12345", "telegram:12345"),
        ("ALLOWED_USERS", "@ada", "telegram:123, slack:T1/U1 or discord:456"),
        ("ALLOW_ALL", "perhaps", "ALLOW_ALL"),
        ("MODEL", "gpt-5", "MODEL"),
        ("MODEL", "nobody:gpt-5", "MODEL"),
        ("DATABASE_URL", "mysql://x", "DATABASE_URL"),
        ("TELEGRAM_BOT_TOKEN", "not-a-token", "BotFather"),
    ],
)
def test_a_malformed_setting_is_one_sentence_that_names_it(tmp_path: Path, name: str, value: str, words: str) -> None:
    settings = {"TELEGRAM_BOT_TOKEN": "123:abcdefgh", "MODEL": "ollama:qwen3", name: value}

    told = parley("run", at=tmp_path, **settings)

    assert told.returncode == 2
    assert words in told.stderr
    assert "Traceback" not in told.stderr


def test_an_unknown_name_in_env_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TELEGRAM_BOT_TOKE=123:abc\n")

    told = parley("run", at=tmp_path)

    assert told.returncode == 2
    assert "TELEGRAM_BOT_TOKE" in told.stderr and "did you mean TELEGRAM_BOT_TOKEN" in told.stderr


def test_the_environment_itself_is_not_searched_for_unknown_names(tmp_path: Path) -> None:
    told = parley("chats", at=tmp_path, SOME_OTHER_PROGRAMS_SETTING="1")

    assert told.returncode == 0, told.stderr


def test_a_secret_is_never_printed(tmp_path: Path) -> None:
    told = parley("run", at=tmp_path, TELEGRAM_BOT_TOKEN="very-secret-nonsense", MODEL="ollama:qwen3")

    assert "very-secret-nonsense" not in told.stderr + told.stdout


def test_tools_are_listed_and_run(tmp_path: Path) -> None:
    listed = parley("tools", at=tmp_path)
    run = parley("tools", "calculator", '{"expression": "17 * 23 + 4"}', at=tmp_path)

    assert "calculator" in listed.stdout and "TAVILY_API_KEY" in listed.stdout + listed.stderr
    assert run.returncode == 0 and "395" in run.stdout


def test_an_unknown_chat_id_is_a_sentence(tmp_path: Path) -> None:
    told = parley("chats", "forget", "nonsense", at=tmp_path)

    assert told.returncode == 2
    assert "which chat" in told.stderr
