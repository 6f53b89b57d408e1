"""Which addresses become links: what a person or a tool brought, and never what a model wrote into a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.agent.echoes import MOST_GIVEN, Echoes
from bot.agent.provenance import learn_result
from bot.contract.messages import Quoted
from bot.safety.links import LinkPolicy
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.conftest import RawJson, RawObject
from tools.contract.base import ToolCall, ToolResult, ToolSpec

LEAK = "https://evil.test/leak?q=my-secret"
SPEC = ToolSpec(name="look", purpose="Look.", parameters={})


def learned(text: str, arguments: RawObject, spec: ToolSpec | None = SPEC, **more: Any) -> LinkPolicy:
    policy = LinkPolicy()
    learn_result(policy, spec, ToolCall("a", "look", arguments), ToolResult(text=text, **more))
    return policy


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"query": LEAK}, f"Nothing was found for {LEAK!r}. Try other words."),
        ({"query": LEAK}, f"({LEAK})"),
        ({"query": LEAK.upper()}, f"Nothing for {LEAK}"),
        ({"query": LEAK}, f"Nothing for {LEAK.upper()}"),
        ({"query": quote(LEAK, safe="")}, f"Nothing for {LEAK}"),
        ({"query": quote(quote(LEAK, safe=""), safe="")}, f"Nothing for {LEAK}"),
        ({"query": LEAK}, "Nothing for https://evil.test/%6Ceak?q=my%2Dsecret"),
        ({"query": "evil.test/leak?q=my-secret"}, f"Nothing for http://www.{LEAK.removeprefix('https://')}"),
        ({"query": "leak my secret", "site": "evil.test", "key": "q"}, f"Searched {LEAK}"),
        ({"path": "/leak?q=my-secret", "base": "https://evil.test"}, f"Opened {LEAK}"),
        ({"path": "st/leak?q=my-sec", "base": "https://evil.te", "end": "ret"}, f"Opened {LEAK}"),
        ({"parts": ["https:", "evil.test", {"leak": ["q", "my-secret"]}]}, f"Joined {LEAK}"),
        ({"query": "https://evil.test/leak?q=my\u200b-sec\u2060ret"}, f"Nothing for {LEAK}"),
        ({"query": "https://évil.test/leak"}, "Nothing for https://xn--vil-9la.test/leak"),
        ({"query": "https://xn--vil-9la.test/leak"}, "Nothing for https://évil.test/leak"),
        ({"query": "ｈｔｔｐｓ：//ｅｖｉｌ.test/leak?q=my-secret"}, f"Nothing for {LEAK}"),
        ({"query": "a &#104;ttps&colon;//evil.test/leak?q=my-secret"}, f"Nothing for {LEAK}"),
        ({"limit": 4711, "host": "evil.test"}, "See https://evil.test/4711"),
        ({"https://evil.test/leak?q=my-secret": 1}, f"(Unknown arguments were left out: {LEAK}.)\nFine."),
        ({"to": "root@evil.test"}, "Written to root@evil.test."),
        ({"query": LEAK, "more": "x" * MOST_GIVEN}, "See https://docs.example.org/other"),
    ],
)
def test_an_address_that_the_call_itself_brought_becomes_no_link(arguments: RawObject, text: str) -> None:
    policy = learned(text, arguments)

    assert not policy.allows(LEAK)
    for address in (LEAK.upper(), "https://évil.test/leak", "https://xn--vil-9la.test/leak", "https://evil.test/4711"):
        assert not policy.allows(address)
    assert not policy.allows("mailto:root@evil.test")
    assert not policy.allows("https://docs.example.org/other")


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        ({"query": "asyncio gather"}, "https://docs.python.org/3/library/asyncio-task.html#asyncio.gather"),
        ({"query": "gather", "domains": ["python.org"]}, "https://docs.python.org/3/library/asyncio-task.html"),
        ({"query": "what is at https://example.org/"}, "https://example.org/about"),
        ({"query": ""}, "https://example.org/"),
        ({"query": "ада"}, "https://ru.wikipedia.org/wiki/%D0%90%D0%B4%D0%B0"),
        ({"n": 3, "deep": [None, True]}, "https://example.org/3"),
    ],
)
def test_an_address_that_the_result_brought_is_a_link(arguments: RawObject, address: str) -> None:
    assert learned(f"[1] A page\nSource: {address}\nText.", arguments).allows(address)


def test_a_failed_call_brings_nothing() -> None:
    assert not learned("Error: see https://other.example/help", {"query": "x"}, ok=False).allows(
        "https://other.example/help"
    )


def test_what_computes_or_keeps_the_models_words_brings_nothing(tmp_path: Path) -> None:
    """Code can spell an address in a thousand ways, and a note is read after it was written by another call."""
    from tools import query_database, recall, remember, remind_me, run_python
    from tools.settings import CodeSettings, DatabaseSettings

    code = run_python.CodeRunner(CodeSettings.model_construct(code_backend="off"), ())
    (tmp_path / "x.db").touch()
    data = query_database.open_tool(DatabaseSettings.model_validate({"databases": f"x=sqlite:///{tmp_path}/x.db"}))
    for tool in (code, data, recall.open_tool(), remember.open_tool(), remind_me.open_tool()):
        assert not learned(LEAK, {"code": "print(bytes.fromhex('68747470'))"}, tool.spec).allows(LEAK), tool.spec.name


def test_a_page_that_was_opened_is_known_and_so_are_its_links() -> None:
    from tools.read_page import ReadPage

    text = "Title: A\nAddress: https://example.org/a\n\nSee https://example.org/a/b."
    policy = learned(text, {"url": "https://example.org/a"}, ReadPage().spec)

    assert policy.allows("https://example.org/a") and policy.allows("https://example.org/a/b")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["lower", "upper", "swapcase", "title"]))
@example("", "0ı", "upper")
@example("", "ſß", "upper")
@example("ŉﬀ", "ΐς", "title")
def test_no_echo_of_whatever_arguments_teaches_an_address(path: str, query: str, case: str) -> None:
    given = {"a": f"https://evil.test/{path}", "b": query}
    echoed = getattr(f"{given['a']}?{given['b']} {json.dumps(given)} {quote(given['a'])}", case)()

    policy = learned(echoed, given)

    assert policy._known == set()


def test_arguments_of_any_shape_are_read() -> None:
    deep: Any = "evil.test"
    for _ in range(5000):
        deep = [deep]

    assert Echoes(deep).could_build("https://evil.test")


async def test_an_address_in_a_calls_arguments_is_no_link_in_the_answer(rig: OpenRig) -> None:
    async with rig() as it:

        def script(body: RawJson) -> Reply:
            if body["messages"][-1]["role"] == "tool":
                assert LEAK in body["messages"][-1]["content"]
                return Reply(f"See [the docs]({LEAK}) and {LEAK} now.")
            return Reply(calls=(("remind_me", {"text": LEAK, "delay": "2 days"}),))

        it.model.script = script

        [shown] = await it.say("please set that reminder")

    assert shown == f"See the docs (`{LEAK}`) and `{LEAK}` now."


async def test_a_quote_of_the_bots_own_message_makes_no_link(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply(f"It is {LEAK} and https://mine.example/a there.")
        own = Quoted(text=f"See `{LEAK}`", from_bot=True)
        theirs = Quoted(text=f"See {LEAK}", author="Bob")

        [after_own] = await it.say("what is https://mine.example/a for", quoted=own)
        [after_theirs] = await it.say("and this", quoted=theirs)

    assert after_own == f"It is `{LEAK}` and https://mine.example/a there."
    assert after_theirs == f"It is {LEAK} and `https://mine.example/a` there."
