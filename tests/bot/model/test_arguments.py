"""A call's arguments as models and servers send them: complete or not, valid or nearly."""

from __future__ import annotations

import pytest

from bot.model.arguments import ObjectEnd, read_arguments
from tests.conftest import RawObject


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ('{"a": [1, {"b": 2}]}', True),
        ('{"a": "}", "b": "\\"}"}', True),
        ('{"a": "\\\\"}', True),
        ('{"a": [1, {"b": 2}]', False),
        ('{"a": "}', False),
        ('{"a": "\\"}', False),
        ('{"a": 1} {"b"', False),
        ("", False),
    ],
)
def test_the_end_of_an_object_is_seen_however_it_is_cut(text: str, complete: bool, size: int) -> None:
    end = ObjectEnd()
    for start in range(0, len(text), size):
        end.feed(text[start : start + size])

    assert end.complete is complete


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("null", {}),
        ('{"n": [1, 2.5, null, true, {"a": "x"}]}', {"n": [1, 2.5, None, True, {"a": "x"}]}),
        ('"{\\"n\\": 1}"', {"n": 1}),
        ('"null"', {}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('Here: {"n": 1} as asked', {"n": 1}),
        ("{'n': 1, }", {"n": 1}),
        ('{"hand": "\\ud83d\\udc4b", "half": "\\ud83d!"}', {"hand": "👋", "half": "\ufffd!"}),
    ],
)
def test_arguments_are_read_where_they_can_be(text: str, arguments: RawObject) -> None:
    assert read_arguments(text) == (arguments, "")


@pytest.mark.parametrize(
    ("text", "cut", "says"),
    [
        ("", True, "cut off before its arguments"),
        ('{"n": ', True, "its arguments end in the middle"),
        ("[1, 2]", False, "must be a JSON object, not list"),
        ('"' + "words " * 50 + '"', False, "must be a JSON object, not str"),
        ("words " * 50, False, "are no JSON object"),
        ('{"n": NaN', False, "are no JSON object"),
        (f'{{"n": {"[" * 600}{"]" * 600}}}', False, "nested too deeply"),
        (f'{{"n": {"[" * 900}', False, "are no JSON object"),
        ('{"n": ' + "[" * 100_000, False, "nested too deeply"),
    ],
)
def test_of_arguments_that_are_none_it_is_said_why_in_one_short_sentence(text: str, cut: bool, says: str) -> None:
    arguments, problem = read_arguments(text, cut=cut)

    assert arguments == {}
    assert says in problem and len(problem) < 250


def test_a_number_beyond_all_numbers_is_none() -> None:
    assert read_arguments('{"n": 1e999}') == ({"n": "1e999"}, "")
