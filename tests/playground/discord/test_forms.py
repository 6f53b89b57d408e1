"""Modals: what the emulator refuses, and what it sends when one is filled in."""

from __future__ import annotations

import pytest

from playground.discord.errors import Refusal
from playground.discord.forms import filled, read_form
from tests.conftest import RawObject


def field(**changes: object) -> RawObject:
    return {"type": 4, "custom_id": "a", "style": 2, "max_length": 5} | changes


def form(*rows: object, **changes: object) -> RawObject:
    rows = rows or ({"type": 18, "label": "Why?", "component": field()},)
    return {"custom_id": "form", "title": "Ask", "components": list(rows)} | changes


ROW = {"type": 1, "components": [field(custom_id="b")]}


@pytest.mark.parametrize(
    "broken",
    [
        form(custom_id=""),
        form(custom_id="a" * 101),
        form(title="a" * 46),
        form(components=[]),
        form(*[ROW] * 6),
        form(ROW, ROW),
        form({"type": 18, "label": "a" * 46, "component": field()}),
        form({"type": 18, "label": "a", "component": field(custom_id="")}),
        form({"type": 18, "label": "a", "component": field(placeholder="a" * 101)}),
        form({"type": 18, "label": "a", "component": field(max_length=4001)}),
        form({"type": 18, "label": "a", "component": {"type": 2, "custom_id": "a"}}),
        form(field()),
    ],
)
def test_what_discord_refuses_is_refused(broken: RawObject) -> None:
    with pytest.raises(Refusal):
        read_form(broken)


def test_a_form_comes_back_as_it_was_laid_out() -> None:
    read = read_form(form({"type": 18, "label": "Why?", "component": field()}, ROW))

    told = filled(read, {"a": "tea", "b": "pot"})

    assert told["custom_id"] == "form"
    assert told["components"][0]["component"]["value"] == "tea"
    assert told["components"][1]["components"][0]["value"] == "pot"


def test_a_person_cannot_send_what_a_field_does_not_take() -> None:
    for wrong in ({"a": "six or more"}, {}):
        with pytest.raises(ValueError, match="cannot hold"):
            filled(read_form(form()), wrong)
