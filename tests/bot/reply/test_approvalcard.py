"""What a person is shown of a call: exact, and nothing in it deceives."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contract import ChatId
from bot.reply.approvalcard import FILE, exact, text_with_outcome, write_card
from bot.store import Approval, ApprovalState
from tools.base import Json, ToolCall

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def read(shown: str) -> object:
    """Read what is shown as a careful person does: what stands between the brackets is ours."""
    sign = r"(\\u[0-9a-f]{4}|\\.|[^\\])"
    whole = re.sub(rf"{sign}⟪×([\d,]+)⟫", lambda run: run[1] * int(run[2].replace(",", "")), shown)
    return json.loads(whole)


@given(st.dictionaries(st.text(), values, max_size=3))
def test_what_is_shown_is_exactly_what_is_given(arguments: dict[str, Json]) -> None:
    shown = exact(arguments)
    assert read(shown) == arguments
    seen = set(shown) - {"\n", " "}
    assert not [sign for sign in seen if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")]
    assert "`" not in seen


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a" + " " * 100_000 + "b", '"a ⟪×100,000⟫b"'),
        ("\u202e" * 50, r'"\u202e⟪×50⟫"'),
        ("\n" * 41 + "nnn", r'"\n⟪×41⟫nnn"'),
        ("⟪×100⟫", r'"\u27ea×100\u27eb"'),
        ("e" + "\u0301" * 6, '"e\u0301\u0301\u0301' + r'\u0301\u0301\u0301"'),
        ("🙂 日本 مرحبا", '"🙂 日本 مرحبا"'),
        ("\U000e0041\u3164\ud800", r'"\udb40\udc41\u3164\ud800"'),
        ("```\nx", r'"\u0060\u0060\u0060\nx"'),
    ],
)
def test_signs_that_deceive_are_escaped_and_runs_are_counted(given: str, shown: str) -> None:
    assert exact({"x": given}) == '{\n  "x": ' + shown + "\n}"
    assert read(exact({"x": given})) == {"x": given}


def test_long_arguments_show_their_head_and_tail_and_say_so() -> None:
    card = write_card("t", {"x": "".join(f"{number} " for number in range(2000))}, "en", seconds=60.0)
    assert "1,100 of 8,90" in card.text and FILE in card.text and "characters left out⟫" in card.text
    assert '"0 1 2' in card.text and ' 1999 "\n}' in card.text and len(card.text) < 1_600
    assert json.loads(card.file)["x"].endswith(" 1999 ")
    assert write_card("t", {"x": "short"}, "en", seconds=60.0).file == ""


def test_who_decides_and_why_it_asks_is_said() -> None:
    card = write_card("a`b\u202e", {}, "en", seconds=7200.0, admins=True, outside=True)
    assert "text from outside" in card.text and "`a'b`" in card.text
    assert card.line.startswith("⏳ Only an admin") and "2 h" in card.line


def test_what_has_changed_or_is_opened_is_said() -> None:
    card = write_card("read_page", {}, "en", seconds=60.0, host="xn--exmple-4nf.com", changed=True)
    assert (
        card.text.startswith("⚠️ The tool `read_page` has changed since")
        and "\n```\n\n🌐 `xn--exmple-4nf.com`" in card.text
    )


def test_the_last_line_of_what_was_asked_says_what_was_decided_and_no_other_text_changes() -> None:
    asked = Approval(
        turn=1,
        chat=ChatId("telegram", "42", "7"),
        person="telegram:7",
        call=ToolCall("c1", "send", {}),
        digest="",
        tool="",
        origin="",
        language="en",
        line="Waits.",
        expires_at=0.0,
        state=ApprovalState.EXPIRED,
    )
    assert text_with_outcome("May I?\n\nWaits.", asked) == "May I?\n\n⌛ Nobody decided in time: it was not done."
    assert text_with_outcome("May I?\n\nWaits. (stopped)", asked) == "May I?\n\nWaits. (stopped)"
