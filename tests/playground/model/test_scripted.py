"""What a newcomer meets: the scripted model greets, calls tools, cites, counts, remembers, and says what it is."""

from typing import Any

import pytest

from playground.model import Reply, texts
from playground.model.scripted import ScriptedModel
from playground.model.textcalls import FORMATS
from playground.model.wire import tokens

PROTOCOL = 'Tools: search_web, calculator, current_time. Write <tool_call>{"name": …, "arguments": {…}}</tool_call>.'
SEARCH_RESULT = """1. Solar power grows
Source: https://energy.example/solar
Solar farms added more capacity this year than in any year before, the agency reports.

2. Storage follows
Source: https://energy.example/storage
Batteries are built beside the new farms so that the evening has power as well."""


def tool(name: str, *properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in properties}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [tool("search_web", "query"), tool("calculator", "expression"), tool("current_time", "zone")]


def ask(*said: str, tools: list[dict[str, Any]] | None = TOOLS, **more: Any) -> Reply:
    """The model's reply to the last of `said`; between them it answered "ok"."""
    messages: list[dict[str, Any]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]
    body = {"model": "scripted", "messages": messages[:-1], **({"tools": tools} if tools else {}), **more}
    return ScriptedModel()(body)


@pytest.mark.parametrize(
    "question",
    [
        "hi",
        "你好",
        "help",
        "帮助",
        "code",
        "tell me a story",
        "讲个故事",
        "my name is Ada",
        "think about it",
        "想一想桥梁",
    ],
)
def test_every_short_answer_says_that_it_is_scripted(question: str) -> None:
    reply = ask(question)

    assert "cript" in reply.text or "脚本" in reply.text
    assert not reply.calls
    assert reply.words_per_second == 50


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("search the latest news about solar power", [("search_web", "the latest news about solar power")]),
        ("搜索太阳能的最新新闻", [("search_web", "太阳能的最新新闻")]),
        ("What is the weather in Paris today?", [("search_web", "What is the weather in Paris today?")]),
        ("what is 17 * 23 + 4?", [("calculator", "17 * 23 + 4")]),
        ("(1,200 − 200) × 3 等于多少", [("calculator", "(1200 - 200) * 3")]),
        ("what time is it in Tokyo?", [("current_time", "Asia/Tokyo")]),
        ("现在几点？", [("current_time", "")]),
        ("search the weather in Paris and calculate 37.5 * 1.2", [("search_web", None), ("calculator", "37.5 * 1.2")]),
        ("it happened on 2024-05-01 at 10:30", []),
        ("call me at 5", []),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_questions_that_need_a_tool_ask_for_it(question: str, calls: list[Any], native: bool) -> None:
    if native:
        reply = ask(question)
    else:
        messages = [{"role": "system", "content": PROTOCOL}, {"role": "user", "content": question}]
        reply = ScriptedModel()({"model": "scripted", "messages": messages})

    assert [name for name, _ in reply.calls] == [name for name, _ in calls]
    for (_, given), (_, expected) in zip(reply.calls, calls, strict=True):
        if expected is not None:
            assert isinstance(given, dict)
            assert list(given.values()) == ([expected] if expected else [])
    if calls:
        assert reply.text_calls == ("" if native else "hermes")


def test_no_tool_is_asked_for_when_none_may_be_called() -> None:
    assert not ask("search the news", tool_choice="none").calls
    assert not ask("search the news", tools=None).calls


def test_the_answer_cites_what_the_search_found() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search_web", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "search solar power"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": SEARCH_RESULT},
    ]

    reply = ScriptedModel()({"model": "scripted", "messages": messages, "tools": TOOLS})

    assert not reply.calls
    assert "Solar farms added more capacity" in reply.text
    assert "1. [Solar power grows](https://energy.example/solar)" in reply.text
    assert "2. [Storage follows](https://energy.example/storage)" in reply.text


def test_text_results_are_answered_from_too() -> None:
    results = (
        '<tool_result name="calculator" id="1" status="ok">\n395\n</tool_result>\n'
        '<tool_result name="search_web" id="2" status="error">\nTimed out after 30 s.\n</tool_result>\n'
        "These are the results."
    )
    messages = [
        {"role": "system", "content": PROTOCOL},
        {"role": "user", "content": "17*23+4 等于多少？再搜索新闻"},
        {"role": "assistant", "content": "<tool_call>…</tool_call>"},
        {"role": "user", "content": results},
    ]

    reply = ScriptedModel()({"model": "scripted", "messages": messages})

    assert "计算结果：**395**" in reply.text
    assert "`search_web` 没有成功：Timed out after 30 s." in reply.text


def test_it_remembers_from_the_history_in_the_request() -> None:
    said = ("I like bridges", "my name is Ada")

    assert "1. I like bridges\n2. my name is Ada" in ask(*said, "what did I say before?").text
    assert "**Ada**" in ask(*said, "what is my name?").text
    assert "第一句话" in ask("我刚才说了什么？").text
    assert "**小明**" in ask("我叫小明", "我叫什么？").text


def test_a_speakers_name_before_the_question_changes_nothing() -> None:
    assert ask("Ada: hello").text == ask("hello").text


def test_thinking_adds_reasoning_and_breaking_drops_the_stream() -> None:
    assert ask("think about bridges").reasoning
    broken = ask("break")
    assert broken.drop_after is not None and 0 < broken.drop_after < len(broken.text)


def test_the_long_answer_holds_what_may_break_and_never_changes() -> None:
    text = texts.long_answer()

    assert ask("write something long").text == text == ask("写一篇长文").text
    assert 2500 <= tokens(text) <= 3800
    assert text.startswith("# ")
    assert text.splitlines()[-1].startswith("**The end.**")
    fences = ("```python", "```javascript", "```sql", "```bash", "```rust", "````markdown", "~~~json", "```css")
    for wanted in (*fences, "| --: |", "👩‍👩‍👧‍👦", "流式"):
        assert wanted in text


def test_every_text_format_names_its_calls() -> None:
    for name, write in FORMATS.items():
        written = write([("roll_dice", {"sides": 6}), ("translate", {"text": "早安"})])
        assert written.index("roll_dice") < written.index("translate"), name
        assert "早安" in written, name
