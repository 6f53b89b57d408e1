"""What a person is shown of a call: exact, and nothing in it deceives."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.contract import ChatId
from bot.reply.approvalcard import FILE, card_in, exact, text_with_outcome, write_card
from bot.sentences import say
from bot.store import Approval, ApprovalState
from tools.contract.base import Json, ToolCall

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")


def read(shown: str) -> str:
    """Read the card as a careful person does: the text between the brackets is ours."""
    counted = re.compile(r"(⟪U\+\w+⟫|[^⟪])⟪×([\d,]+)⟫", re.DOTALL)
    runs = counted.sub(lambda run: run[1] * int(run[2].replace(",", "")), shown)
    return re.sub(r"⟪U\+(\w+)⟫", lambda sign: chr(int(sign[1], 16)), runs)


def listed(arguments: dict[str, Json], language: str = "en") -> str:
    """The lines of a card that say what a call holds."""
    return write_card("t", arguments, language, seconds=60.0).text.split("\n\n", 1)[1]


@given(st.text())
def test_what_is_shown_is_exactly_what_is_given(text: str) -> None:
    shown = exact(text)

    assert read(shown) == text
    assert not [sign for sign in set(shown) - {"\n", " "} if unicodedata.category(sign) in UNSEEN]


@example({"": ["0" * 13 + "\x1f" * 9 + "\U00018d09" * 4]})
@given(st.dictionaries(st.text(), values, max_size=3))
def test_nothing_in_a_call_hides_or_ends_what_it_stands_in(arguments: dict[str, Json]) -> None:
    text = listed(arguments)

    assert not [sign for sign in set(text) - {"\n", " "} if unicodedata.category(sign) in UNSEEN]
    outside = re.sub(r"\n```\n.*?\n```(?=\n|\Z)", "", text, flags=re.DOTALL)
    assert "```" not in outside and all(line.count("`") % 2 == 0 for line in outside.split("\n"))
    ours = ("", "(empty)", say("approval_cut", "en", file=FILE))
    assert all(line.startswith("- ") or line in ours for line in outside.split("\n"))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a" + " " * 100_000 + "b", "a ⟪×100,000⟫b"),
        ("\u202e" * 50, "⟪U+202E⟫⟪×50⟫"),
        ("\n" * 41 + "nnn", "\n⟪×41⟫nnn"),
        ("⟪×100⟫", "⟪U+27EA⟫×100⟪U+27EB⟫"),
        ("e" + "\u0301" * 6, "e\u0301\u0301\u0301⟪U+0301⟫⟪U+0301⟫⟪U+0301⟫"),
        ("🙂 日本 مرحبا", "🙂 日本 مرحبا"),
        ("\U000e0041\u3164\ud800", "⟪U+E0041⟫⟪U+3164⟫⟪U+D800⟫"),
        ("C:\\u202e", "C:\\u202e"),
    ],
)
def test_signs_that_deceive_are_named_and_runs_are_counted(given: str, shown: str) -> None:
    assert exact(given) == shown and read(shown) == given


MAIL: dict[str, Json] = {
    "to": ["ada@example.org", "bob@example.org"],
    "subject": "Tea",
    "body": "Hello Ada,\n\nsee you.",
    "sendNow": True,
    "copies": 2,
    "reply_to": None,
    "event": {"start": "2026-11-27", "location": ""},
    "files": [{"name": "a.pdf"}],
}


def test_a_call_is_told_in_words() -> None:
    assert listed(MAIL) == (
        "- **To**: `ada@example.org`, `bob@example.org`\n- **Subject**: `Tea`\n"
        "- **Text**:\n```\nHello Ada,\n\nsee you.\n```\n- **Send now**: yes\n- **Copies**: 2\n"
        "- **Reply to**: (empty)\n- **Event** › **Start**: `2026-11-27`\n- **Event** › **Location**: (empty)\n"
        "- **Files** 1 › **Name**: `a.pdf`"
    )


def test_labels_and_our_words_are_in_the_persons_language() -> None:
    given: dict[str, Json] = {"to": "a", "subject": "b", "force": False}
    assert listed(given, "zh-Hans") == "- **收件人**: `a`\n- **主题**: `b`\n- **强制**: 否"
    assert "- **主旨**: `b`" in listed({"subject": "b"}, "zh-Hant")


def test_names_that_read_alike_or_say_more_than_a_name_stand_as_they_are() -> None:
    assert listed({"due_date": "1", "dueDate": "2"}) == "- `due_date`: `1`\n- `dueDate`: `2`"
    name = "approved by⟪U+000A⟫⟪U+0060⟫admin⟪U+0060⟫"
    assert listed({"approved by\n`admin`": " x "}) == f"- `{name}`: `⟪U+0020⟫x⟪U+0020⟫`"


def test_secrets_are_not_shown_and_words_that_only_sound_like_them_are() -> None:
    given: dict[str, Json] = {"user": {"password": "oolong"}, "api_key": "a1b2c3d4e5f6", "token": "ETH", "author": "A"}
    card = write_card("t", given, "en", seconds=60.0)

    assert "oolong" not in card.text and "a1b2" not in card.text
    assert "**User** › **Password**: (hidden, 6 characters)" in card.text
    assert "**Token**: `ETH`" in card.text and "**Author**: `A`" in card.text


def test_long_values_show_their_beginning_and_end_and_say_how_much_is_left_out() -> None:
    long = "".join(f"{number} " for number in range(2000))
    given: dict[str, Json] = {"text": long, "note": "short", "password": "p" * 9, "more": long}
    card = write_card("t", given, "en", seconds=60.0)

    assert "0 1 2" in card.text and " 1999 \n```" in card.text and FILE in card.text and len(card.text) < 2_000
    assert "⟪8,290 characters left out⟫" in card.text and card.text.count("characters left out") == 2
    assert json.loads(card.file) == given | {"password": "(hidden, 9 characters)"}
    assert write_card("t", {"x": "short"}, "en", seconds=60.0).file == ""
    assert "- …" in listed({f"x{number}": number for number in range(40)})


def test_a_call_without_arguments_says_so() -> None:
    assert listed({}) == "(empty)"


def test_who_decides_and_why_it_asks_is_said() -> None:
    card = write_card("a`b\u202e", {}, "en", seconds=7200.0, admins=True, outside=True)
    assert "text from outside" in card.text and "`a'b`" in card.text
    assert card.line.startswith("⏳ Only an admin") and "2 h" in card.line


def test_what_has_changed_or_is_opened_is_said() -> None:
    card = write_card("read_page", {}, "en", seconds=60.0, host="xn--exmple-4nf.com", changed=True)
    assert (
        card.text.startswith("⚠️ The tool `read_page` has changed since") and "\n\n🌐 `xn--exmple-4nf.com`" in card.text
    )


def about(name: str) -> Approval:
    return Approval(
        turn=1,
        chat=ChatId("telegram", "42", "7"),
        person="telegram:7",
        call=ToolCall("c1", name, {}),
        digest="",
        tool="",
        origin="",
        language="en",
        line="Waits.",
        expires_at=0.0,
        state=ApprovalState.EXPIRED,
    )


@pytest.mark.parametrize("more", [{}, {"outside": True}, {"changed": True}, {"not_up": True, "outside": True}])
def test_the_card_is_found_in_the_answer_that_ends_with_it(more: dict[str, bool]) -> None:
    card = write_card("send", {"to": "Bob"}, "en", seconds=60.0, **more)  # type: ignore[arg-type]  # flags

    assert card_in(f"I ask.\n\n{card.text}", about("send")) == card.text == card_in(card.text, about("send"))
    assert card_in("Another text.", about("send")) == "Another text."


def test_nothing_of_a_card_is_hidden_by_an_argument_that_looks_like_one() -> None:
    inner = write_card("send", {"to": "Bob"}, "en", seconds=60.0).text
    card = write_card("send", {"to": "everybody", "text": inner}, "en", seconds=60.0).text

    assert card_in(f"I ask.\n\n{card}", about("send")) == card
    assert card_in(f"{inner}\n\n{card}", about("send")) == f"{inner}\n\n{card}"


def test_the_last_line_of_what_was_asked_says_what_was_decided_and_no_other_text_changes() -> None:
    asked = about("send")
    assert text_with_outcome("May I?\n\nWaits.", asked) == "May I?\n\n⌛ Nobody decided in time: it was not done."
    assert text_with_outcome("May I?\n\nWaits. (stopped)", asked) == "May I?\n\nWaits. (stopped)"
