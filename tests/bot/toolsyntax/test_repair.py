"""What is read of JSON that a model wrote carelessly, and what is not."""

from __future__ import annotations

import pytest

from bot.toolsyntax import repair


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("tea", "tea"),
        (r"a\nb\t\"c\" \\ \/", 'a\nb\t"c" \\ /'),
        (r"\u8336 \x41", "茶 A"),
        (r"\ud83c\udf75", "🍵"),
        (r"C:\work \d+", r"C:\work \d+"),
        (r"it\'s", "it's"),
    ],
)
def test_escapes_are_read_and_unknown_ones_stay(raw: str, text: str) -> None:
    assert repair.unquote(raw) == text


@pytest.mark.parametrize("text", ["1e999", "-1e999", "nan", "inf", "tea", ""])
def test_what_is_no_finite_number_is_none(text: str) -> None:
    with pytest.raises(repair.Unreadable):
        repair.number(text)


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("-7.5", -7.5), ("1e3", 1000.0), ("1_000", 1000)])
def test_numbers_are_read_as_json_and_python_write_them(text: str, number: float) -> None:
    assert repair.number(text) == number


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"city": "Kyo', {"city": "Kyo"}),
        ('{"city": "Kyoto", "cups": [1, 2', {"city": "Kyoto", "cups": [1, 2]}),
        ("{'city': 'Kyoto',", {"city": "Kyoto"}),
        ('{"city"]', None),
        ("[" * 5000, None),
    ],
)
def test_of_an_object_that_is_not_complete_the_beginning_is_told(text: str, told: object) -> None:
    assert repair.partial(text) == told
