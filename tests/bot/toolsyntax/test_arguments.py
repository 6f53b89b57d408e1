"""Arguments as people and models write them beside a tool's name, and values that are nearly JSON."""

from __future__ import annotations

import pytest

from bot.toolsyntax import PythonScan, Registry
from bot.toolsyntax.arguments import python_value, split, unwrap
from bot.toolsyntax.elements import typed
from bot.toolsyntax.python_calls import read_calls
from bot.toolsyntax.repair import Unreadable, literal, loads, unquote
from tests.conftest import RawJson, RawObject

REGISTRY = Registry(
    {
        "calculator": {"properties": {"expression": {"type": "string"}}},
        "roll": {"properties": {"sides": {"type": "integer"}, "count": {"type": "integer"}}},
        "now": {"properties": {}},
    }
)


@pytest.mark.parametrize(
    ("name", "line", "arguments"),
    [
        ("roll", "", {}),
        ("roll", '{"sides": 6, "count": 2}', {"sides": 6, "count": 2}),
        ("roll", '{"colour": "red"}', {"sides": '{"colour": "red"}'}),
        ("now", "please", {}),
        ("roll", "6，2", {"sides": 6, "count": 2}),
        ("roll", "count=2, 6", {"sides": 6, "count": 2}),
        ("roll", "6, 2, 3", {"sides": 6, "count": "2, 3"}),
        ("calculator", "1, 2, 3", {"expression": "1, 2, 3"}),
        ("calculator", '"1 + 2"', {"expression": "1 + 2"}),
    ],
)
def test_values_on_a_line_are_read_in_the_order_of_the_parameters(name: str, line: str, arguments: RawObject) -> None:
    assert REGISTRY.arguments_from_line(name, line) == arguments


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [("roll", "6 times", {"sides": "6 times"}), ("roll", " ", {}), ("now", "6", {}), ("roll", "'6'", {"sides": 6})],
)
def test_the_rest_of_a_line_is_the_first_parameter(name: str, text: str, arguments: RawObject) -> None:
    assert REGISTRY.first_parameter(name, text) == arguments


@pytest.mark.parametrize(
    ("name", "inside", "arguments"),
    [
        ("roll", " ", {}),
        ("calculator", "expression", None),
        ("calculator", "expression: str", None),
        ("calculator", "…", None),
        ("calculator", "expression=1+2", {"expression": "1+2"}),
        ("calculator", "{'expression': '1+2'}", {"expression": "1+2"}),
        ("calculator", "{1, 2}", {"expression": "{1, 2}"}),
        ("roll", "6, 2,", {"sides": 6, "count": 2}),
        ("roll", "6, count=2", {"sides": 6, "count": 2}),
        ("roll", "{'sides': 6}", {"sides": 6}),
        ("roll", "{'colour': 6}", {"sides": {"colour": 6}}),
        ("roll", "sides, count", None),
        ("roll", "6, 2, 3", None),
        ("unknown", "1, 'two', three=3", {"argument1": 1, "argument2": "two", "three": 3}),
        ("unknown", "{'a': 1}", {"a": 1}),
    ],
)
def test_values_in_parentheses_keep_their_kind_and_a_description_of_the_tool_is_no_call(
    name: str, inside: str, arguments: RawObject | None
) -> None:
    assert REGISTRY.arguments_from_parentheses(name, inside) == arguments


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12),
        ("-1.5e3", -1500.0),
        ("None", None),
        ("true", True),
        ("inf", "inf"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("'it''s'", "'it''s'"),
        ("'''a'b'''", "a'b"),
        ("'a\\n\\t\\'b\\''", "a\n\t'b'"),
        (r"'\x41\u0042\U00000043\q\d'", r"AB\U00000043\q\d"),
        (r"'\ud83d\udc4b'", "👋"),
        ("(1, 'a', )", [1, "a"]),
        ("[1, {'a': None}]", [1, {"a": None}]),
        ("[1, {", "[1, {"),
        ("", ""),
    ],
)
def test_a_value_is_read_as_json_or_python_and_else_stands_as_it_is(written: str, value: RawJson) -> None:
    assert python_value(written) == value


@pytest.mark.parametrize("text", ["12x", "", "nan", "-Infinity", "[1"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        literal(text)


def test_of_an_object_that_never_closes_nothing_is_read_unless_its_end_may_be_supplied() -> None:
    with pytest.raises(Unreadable):
        loads('{"a": [1]')

    assert loads('{"a": [1]', unclosed=True) == {"a": [1]}


def test_escapes_that_json_knows_are_read_and_others_stay() -> None:
    assert unquote(r"a\"b\\c\/d\n\u4e2d\x") == 'a"b\\c/d\n中\\x'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a, 'b, c', [d, e], {f, g}", ["a", " 'b, c'", " [d, e]", " {f, g}"]),
        ("it's, fine", ["it's", " fine"]),
        ("'never closed, x", ["'never closed, x"]),
        ("'a\\', b', c", ["'a\\', b'", " c"]),
        ('"""a", b""", c', ['"""a", b"""', " c"]),
        ('"""a, b', ['"""a, b']),
        ("", [""]),
    ],
)
def test_a_comma_in_quotes_or_brackets_separates_nothing(text: str, parts: list[str]) -> None:
    assert split(text, ",") == parts


@pytest.mark.parametrize(("text", "bare"), [("'a'", "a"), ("“a”", "a"), ("'a' or 'b'", "'a' or 'b'"), ("'", "'")])
def test_quotes_around_the_whole_are_taken_off(text: str, bare: str) -> None:
    assert unwrap(text) == bare


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "length", "broken"),
    [
        ("(1, 'a)b', [2]) rest", 15, False),
        (r"('a\')', 2) rest", 11, False),
        ('("", 1) rest', 7, False),
        ('("""a")b""", 1) rest', 15, False),
        ('("""a\\"""", 1) rest', 14, False),
        ("(it's) rest", 6, False),
        ("(1, [2) rest", 6, True),
        ("('a\nb') rest", 4, True),
        ("(1,\n2) rest", 4, True),
    ],
)
def test_the_end_of_a_call_is_found_however_its_text_arrives(text: str, length: int, broken: bool, size: int) -> None:
    scan, read = PythonScan(one_line=True), 0
    for start in range(0, len(text), size):
        if scan.done or scan.broken:
            break
        read = start + scan.advance(text[start : start + size], 0)

    assert (scan.done, scan.broken) == (not broken, broken)
    assert read == length


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[roll(6), now()]", [("roll", {"sides": 6}), ("now", {})]),
        ("roll(6, 2),", [("roll", {"sides": 6, "count": 2})]),
        ("[functions.roll.call(6)]", [("roll", {"sides": 6})]),
        ("roll(6) please", None),
        ("6 rolls", None),
        ("roll(sides, count)", None),
        ("[]", None),
    ],
)
def test_calls_written_as_python_are_read_whole_or_not_at_all(
    text: str, calls: list[tuple[str, RawObject]] | None
) -> None:
    found = read_calls(text, REGISTRY)

    assert (None if found is None else [(one.name, one.arguments) for one in found]) == calls


def test_what_stands_behind_thousands_of_values_on_a_line_is_part_of_the_last_one() -> None:
    properties: RawObject = {"a": {"type": "integer"}, "b": {"type": "string"}}
    registry = Registry({"roll": {"type": "object", "properties": properties}})

    read = registry.arguments_from_line("roll", "1, 2, " * 100_000)

    assert read["a"] == 1
    assert read["b"].replace(" ", "") == "2," + "1,2," * 99_999


NESTED = "<size><n>6</n><unit>mm</unit></size><sides><item>1</item><item>2</item></sides><a>x</a>"


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "object"}, NESTED, {"size": {"n": "6", "unit": "mm"}, "sides": ["1", "2"], "a": "x"}),
        (
            {"type": "object", "properties": {"size": {"properties": {"n": {"type": "integer"}}, "type": "object"}}},
            NESTED,
            {"size": {"n": 6, "unit": "mm"}, "sides": ["1", "2"], "a": "x"},
        ),
        ({"type": "array", "items": {"type": "integer"}}, "<item>1</item>\n<x>2</x>", [1, 2]),
        ({"type": "array", "items": {"type": "object"}}, "<item><a>1</a></item>", [{"a": "1"}]),
        ({"type": "object", "properties": {"html": {"type": "string"}}}, "<html><b>x</b></html>", {"html": "<b>x</b>"}),
        ({"type": "object"}, "<a>1 <b> 2</c></a>", {"a": "1 <b> 2</c>"}),
        ({"type": "string"}, "<a>1</a>", "<a>1</a>"),
        ({}, "<a>1</a>", "<a>1</a>"),
        ({"type": "object"}, "<a", "<a"),
        ({"type": "object"}, "<a>" * 100 + "</a>" * 100, "<a>" * 100 + "</a>" * 100),
        ({"type": "array"}, "<i>1</i>" * 6_000, "<i>1</i>" * 6_000),
    ],
)
def test_elements_in_each_other_are_what_the_schema_wants(schema: RawObject, text: str, value: RawJson) -> None:
    assert typed(text, schema) == value
