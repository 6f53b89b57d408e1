"""Commands: recognised with a slash, and bare where a platform has none; never in the middle of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.answers import _as_code
from bot.contract.words import BY_WORD, COMMANDS, bare, help_text, named_in, parse
from bot.sentences import say
from tools.contract.languages import LANGUAGES


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/new", ("new", "")),
        (" /NEW ", ("new", "")),
        ("/new@parley_bot", ("new", "")),
        ("/model openai:gpt-5-mini", ("model", "openai:gpt-5-mini")),
        ("/tool calculator 1+2\n+3", ("tool", "calculator 1+2\n+3")),
        ("/modle openai:gpt-5-mini", ("modle", "openai:gpt-5-mini")),
        ("/remind me of the tea", None),
        ("/translate 你好世界", None),
        ("/ask what is tea?", ("", "what is tea?")),
        ("/ASK@parley_bot what is tea?", ("", "what is tea?")),
        ("/ask", ("help", "")),
        ("/etc/hosts", None),
        ("/etc/hosts is a file", None),
        ("/ new", None),
        ("//new", None),
        ("/9lives", None),
        ("what does /new do?", None),
        ("", None),
    ],
)
def test_a_slash_and_a_word_are_a_command(text: str, command: tuple[str, str] | None) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("new", ("new", "")),
        ("New", ("new", "")),
        ("model openai:gpt-5-mini", ("model", "openai:gpt-5-mini")),
        ("model", ("model", "")),
        ("pair 1234-56", ("pair", "1234-56")),
        ("memory forget 3", ("memory", "forget 3")),
        ("new york in spring", None),
        ("stop the presses", None),
        ("help me with my homework", None),
        ("start over please", None),
        ("model trains are expensive", None),
        ("memory lanes", None),
        ("tool calculator 1+2", None),
        ("/tool calculator 1+2", ("tool", "calculator 1+2")),
        ("/tool", ("tool", "")),
        ("persona", ("persona", "")),
        ("persona: answer in rhymes", ("persona", "answer in rhymes")),
        ("Persona：押韻", ("persona", "押韻")),
        ("persona off", ("persona", "off")),
        ("persona answer in rhymes", ("persona", "answer in rhymes")),
        ("persona non grata means what?", None),
        ("Persona 是什么意思？", None),
        ("persona: who am I?", ("persona", "who am I?")),
        ("busy collect", ("busy", "collect")),
        ("busy: collect", ("busy", "collect")),
        ("busy: bees", None),
        ("busy off", ("busy", "off")),
        ("busy bees collect", None),
        ("model trains", None),
        ("pair programming", None),
        ("allow telegram:7 admin", ("allow", "telegram:7 admin")),
        ("allow here", ("allow", "here")),
        ("allow me", None),
        ("reminders delete 3", ("reminders", "delete 3")),
        ("reminders 2", ("reminders", "2")),
        ("reminders about tea", None),
        ("/ask what is tea?", ("", "what is tea?")),
        ("new: york in spring", None),
        ("help：", None),
        ("", None),
        ("export", ("export", "")),
        ("export json", ("export", "json")),
        ("export JSON all", ("export", "JSON all")),
        ("export everything to Excel", None),
    ],
)
def test_a_bare_word_is_a_command_only_as_the_whole_message(text: str, command: tuple[str, str] | None) -> None:
    assert bare(text) == command


@given(st.text(max_size=40))
def test_any_text_is_read_without_harm(text: str) -> None:
    for found in (parse(text), bare(text)):
        assert found is None or (found[0] == found[0].lower() and found[1] == found[1].strip())


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_names_every_command_in_the_platforms_form(language: str) -> None:
    told = help_text(language, "/parley {word}", admin=True)

    for command in COMMANDS:
        assert f"`/parley {command.word}" in told
        assert say(f"command_{command.word}", language) in told


def test_help_names_what_only_admins_may_do_to_admins_only() -> None:
    told = help_text("en", "/{word}")

    assert all((f"`/{command.word}" in told) is not command.admin for command in COMMANDS)


def test_strangers_may_only_start_pair_and_ask_who_they_are() -> None:
    assert {command.word for command in COMMANDS if command.open} == {"start", "whoami", "pair"}


def test_what_changes_the_next_turn_waits_for_the_running_one_and_stop_does_not() -> None:
    assert BY_WORD["new"].queued and BY_WORD["retry"].queued
    assert not BY_WORD["stop"].queued


def test_a_name_beside_an_id_makes_no_markup_and_no_second_line() -> None:
    """It holds free text."""
    assert (
        _as_code("[free](https://x.example)\n- `telegram:6`: owner")
        == " `[free](https://x.example) - 'telegram:6': owner`"
    )
    assert len(_as_code("x" * 1000)) < 70
    assert _as_code("\u200b") == ""


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ("／new", ("new", "")),
        ("／ｎｅｗ", ("new", "")),
        ("/ｎｅｗ", ("new", "")),
        ("／persona　答え：短く", ("persona", "答え：短く")),
        ("／etc／hosts", None),
        ("？", None),
    ],
)
def test_a_command_of_an_east_asian_keyboard_is_one(written: str, command: tuple[str, str] | None) -> None:
    assert parse(written) == command


def test_a_command_without_a_slash_may_be_of_full_width_too() -> None:
    assert bare("ｎｅｗ") == ("new", "") and bare("ｎｅｗ問題？") is None
    assert bare("persona：海賊") == ("persona", "海賊")


@pytest.mark.parametrize(
    ("text", "named"),
    [("/new@parley_bot", "parley_bot"), ("／ｎｅｗ＠parley_bot now", "parley_bot"), ("/new", ""), ("a /new@b", "")],
)
def test_whom_a_command_names_is_read(text: str, named: str) -> None:
    assert named_in(text) == named
