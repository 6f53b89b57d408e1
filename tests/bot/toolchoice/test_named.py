"""A person who names a tool gets that tool, at once and with the arguments written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.toolchoice.named import named_call
from bot.toolsyntax import parse
from tests.conftest import RawObject
from tools.contract.base import ToolSpec


def tool(name: str, required: list[str], **properties: RawObject) -> ToolSpec:
    schema: RawObject = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name=name, purpose=f"{name}.", parameters=schema)


TEXT: RawObject = {"type": "string"}
SPECS = (
    tool("calculator", ["expression"], expression=TEXT),
    tool("roll_dice", ["sides"], sides={"type": "integer"}, count={"type": "integer"}),
    tool("exchange", ["amount", "base", "target"], amount={"type": "number"}, base=TEXT, target=TEXT),
    tool("search_web", ["query"], query=TEXT, topic={"type": "string", "enum": ["general", "news"]}),
    tool("send_email", ["to"], to=TEXT, subject=TEXT, body=TEXT),
    tool("current_time", [], zone=TEXT),
)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/tool calculator 1+2", "calculator", {"expression": "1+2"}),
        ("/tool@parley_bot calculator 1+2", "calculator", {"expression": "1+2"}),
        ("/tool calculator: (1+2)*(3)", "calculator", {"expression": "(1+2)*(3)"}),
        ("/tool calculator(1+2)*(3)", "calculator", {"expression": "(1+2)*(3)"}),
        ("/tool roll_dice 6, 2", "roll_dice", {"sides": 6, "count": 2}),
        ("/tool roll_dice 6 2", "roll_dice", {"sides": 6, "count": 2}),
        ("/tool roll_dice(6, count=2)", "roll_dice", {"sides": 6, "count": 2}),
        ('/tool roll_dice {"sides": 6}', "roll_dice", {"sides": 6}),
        ("/tool exchange 100 USD EUR", "exchange", {"amount": 100, "base": "USD", "target": "EUR"}),
        ("/tool exchange target=EUR base=USD amount=1.5", "exchange", {"target": "EUR", "base": "USD", "amount": 1.5}),
        (
            '/tool send_email to=bob@example.org subject="hi there" body=see you, then',
            "send_email",
            {"to": "bob@example.org", "subject": "hi there", "body": "see you, then"},
        ),
        ("/tool search_web weather in Oslo, Norway", "search_web", {"query": "weather in Oslo, Norway"}),
        ("/tool search_web rates, news", "search_web", {"query": "rates", "topic": "news"}),
        ("/tool current_time", "current_time", {}),
        ("tool calculator 1+2", "calculator", {"expression": "1+2"}),
        ("使用工具：calculator: 1+2", "calculator", {"expression": "1+2"}),
        ("使用工具: roll_dice：6，2", "roll_dice", {"sides": 6, "count": 2}),
        ("我需要使用工具：search_web 北京 天气", "search_web", {"query": "北京 天气"}),
        ("roll_dice(6, 2)", "roll_dice", {"sides": 6, "count": 2}),
        ("search_web('tea')", "search_web", {"query": "tea"}),
        ("  current_time()\n", "current_time", {}),
        ('{"name": "roll_dice", "arguments": {"sides": 6}}', "roll_dice", {"sides": 6}),
        ('{"name": "search_web", "args": {"query": "tea"}}', "search_web", {"query": "tea"}),
        ('{"name": "current_time"}', "current_time", {}),
    ],
)
def test_a_named_tool_is_called_with_what_was_written(text: str, name: str, arguments: RawObject) -> None:
    named = named_call(text, SPECS)

    assert named is not None
    assert named.problem == ""
    assert named.call is not None
    assert (named.call.name, named.call.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "使用工具：roll_dice: 6, 2",
        "我需要使用工具：search_web 早安，世界",
        'exchange(100, "USD", target="EUR")',
        "roll_dice(sides=6)",
    ],
)
def test_a_person_and_a_model_who_write_the_same_mean_the_same(text: str) -> None:
    _, [call] = parse(text, {spec.name: spec.parameters for spec in SPECS})

    named = named_call(text, SPECS)

    assert named is not None
    assert named.call is not None
    assert (named.call.name, named.call.arguments) == (call.name, call.arguments)


@pytest.mark.parametrize(
    "text",
    [
        "tool recommendations for woodworking",
        "what does roll_dice(6) do?",
        "roll_dice(6) is a function",
        "roll_dice(6)\nroll_dice(8)",
        "calculator()",
        "calculator(1)*(2)",
        "roll_dice",
        "foo(1)",
        "print(calculator)",
        "使用工具：no_such: 1",
        "使用工具的时候要小心",
        "我需要使用工具：锤子",
        '{"name": "roll_dice", "arguments": {"sides": 6}, "note": "x"}',
        '{"name": "roll_dice", "arguments": [6]}',
        "roll_dice(6",
        "roll_dice(6, 7, 8)",
        "calculator(expression)",
        '{"name": "no_such", "arguments": {}}',
        '{"name": "roll_dice"}',
        '[{"name": "roll_dice", "arguments": {"sides": 6}}]',
        "which is better to use, calculator or abacus?",
        "how do I use roll_dicey?",
        '<tool_call>{"name": "roll_dice", "arguments": {"sides": 6}}</tool_call>',
        "please /tool calculator 1",
        "/tools",
        "/toolbox calculator 1",
        "",
    ],
)
def test_every_other_message_is_left_to_the_model(text: str) -> None:
    assert named_call(text, SPECS) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("使用工具：calculator", "calculator"),
        ("please use search_web to find out who won", "search_web"),
        ("Use the calculator tool for this: a dozen dozens", "calculator"),
        ("请用search_web查一下今天的新闻", "search_web"),
        ("用 calculator 工具算一下利息", "calculator"),
    ],
)
def test_a_tool_that_is_named_without_its_arguments_is_one_the_model_must_call(text: str, name: str) -> None:
    named = named_call(text, SPECS)

    assert named is not None
    assert (named.call, named.problem, named.tool) == (None, "", name)


@pytest.mark.parametrize(
    ("text", "language", "told"),
    [
        ("/tool", "en", ["Which tool", "`calculator`", "`search_web`"]),
        ("/tool", "zh", ["要用哪个工具", "`calculator`"]),
        ("/tool calcualtor 1", "en", ["no tool calcualtor", "Did you mean `calculator`"]),
        ("/tool dice 6", "en", ["Did you mean `roll_dice`"]),
        ("/tool xyzzy 1", "zh", ["没有名为 xyzzy 的工具", "`calculator`"]),
        ("/tool calculator", "en", ["expression is required", "/tool calculator expression=…"]),
        ("/tool roll_dice six", "en", ["sides must be integer", "/tool roll_dice sides=… [count=…]"]),
        (
            "/tool calculator",
            "zh-Hans",
            ["没有运行 calculator：缺少 expression。请写成", "/tool calculator expression=…"],
        ),
        ("/tool calculator", "zh-TW", ["沒有執行 calculator：缺少 expression。請寫成"]),
        ("/tool roll_dice six", "zh-Hans", ["sides 应为整数，而不是文本"]),
        ("/tool roll_dice six, x", "zh-Hant", ["sides 應為整數，而非文字；count 應為整數，而非文字"]),
        ("/tool xyzzy 1", "zh-HK", ["沒有名為 xyzzy 的工具。可用的工具：`calculator`、`"]),
    ],
)
def test_after_slash_tool_the_person_is_told_what_is_wrong(text: str, language: str, told: list[str]) -> None:
    named = named_call(text, SPECS, language)

    assert named is not None
    assert named.call is None
    for words in told:
        assert words in named.problem


@pytest.mark.parametrize(
    "text", ["/tool pay 5", "使用工具：pay: 5", "tool pay 5", "pay(5)", '{"name": "pay", "arguments": {"amount": 5}}']
)
def test_whoever_names_a_tool_that_is_closed_to_them_is_told_why_however_it_is_written(text: str) -> None:
    named = named_call(text, SPECS, closed={"pay": "Only admins may use pay."})

    assert named is not None
    assert (named.call, named.tool) == (None, "")
    assert "Only admins may use pay." in named.problem


def test_the_person_is_told_how_the_platform_writes_it() -> None:
    for text in ("/tool", "/tool calculator"):
        named = named_call(text, SPECS, form=lambda: "/parley {word}")
        assert named is not None
        assert "`/parley tool calculator " in named.problem


def test_without_tools_nothing_can_be_named() -> None:
    named = named_call("/tool calculator 1", ())

    assert named is not None
    assert named.call is None
    assert named_call("calculator(1)", ()) is None


@given(
    st.text(alphabet="ab1 ,=：:(){}[]\"'\\\n，工具", max_size=60),
    st.sampled_from(["", "/tool ", "使用工具：", "tool "]),
)
def test_no_message_breaks_it(rest: str, opening: str) -> None:
    for name in ("", "calculator", "roll_dice(", "send_email "):
        named_call(opening + name + rest, SPECS)
