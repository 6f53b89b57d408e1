"""Texts as UTF-8 and PostgreSQL can hold them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.contract.plaintext import plain_values, read_stored, to_plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("", ""),
        ("聊 👋 é", "聊 👋 é"),
        ("\ud83d\udc4b", "👋"),
        ("\ud83d\0\udc4b", "👋"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00a\ud83d\ud83d\ude00", "\ufffda\ufffd😀"),
        ("a\0b\0", "ab"),
        ("\ufeff\ud83d", "\ufeff\ufffd"),
    ],
)
def test_halves_of_a_character_are_joined_or_replaced_and_nul_is_dropped(text: str, plain: str) -> None:
    assert to_plain(text) == plain


@given(st.text(alphabet="a\0聊\ud83d\ude00\udc4b😀\\u", max_size=30))
def test_what_is_plain_can_be_sent_and_stays_as_it_is(text: str) -> None:
    plain = to_plain(text)

    assert "\0" not in plain.encode().decode()
    assert to_plain(plain) is plain


def test_names_and_texts_at_any_depth_are_made_plain() -> None:
    assert plain_values({"a\0": ["\ud83d", 1, None, {"b": True, "\ude00": "\ud83d\udc4b"}]}) == {
        "a": ["\ufffd", 1, None, {"b": True, "\ufffd": "👋"}]
    }


@pytest.mark.parametrize("text", ["torn \ud83d\0", "a path: C:\\ud83d\\u0000", "whole 👋", "\\\ud83d"])
def test_what_an_earlier_version_stored_torn_is_read_plain(text: str) -> None:
    stored = json.dumps({"text": text}).replace("\\ud83d\\udc4b", "👋")

    assert read_stored(stored) == {"text": to_plain(text)}
