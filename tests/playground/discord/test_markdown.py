"""What a person sees of Discord's Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.discord.markdown import render


def name(kind: str, id: str) -> str:
    return {"user": "@", "role": "@", "channel": "#"}[kind] + id


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**bold** *em* _em_ __under__ ~~gone~~ ||hidden||", "bold em em under gone hidden"),
        ("***both***", "both"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("half **open and `code", "half **open and `code"),
        (r"\*plain\* \_x\_", "*plain* _x_"),
        ("`**code**`", "**code**"),
        ("``a ` b``", "a ` b"),
        ("```py\nx = 1\n```", "x = 1"),
        ("before\n```\nx\n```\nafter", "before\nx\nafter"),
        ("```\nnever closed", "```\nnever closed"),
        ("# Title\n-# small\nrest", "Title\nsmall\nrest"),
        ("#no title", "#no title"),
        ("> one\n> two\nthree", "one\ntwo\nthree"),
        (">>> one\ntwo", "one\ntwo"),
        ("> > twice", "> twice"),
        ("- a\n  - b\n1. c", "• a\n  • b\n1. c"),
        ("[label](https://a.example/x(1)) <https://b.example>", "label https://b.example"),
        (
            "[16⭐](https://a.example) [:tada: x](<https://b.example>)",
            "[16⭐](https://a.example) [🎉 x](https://b.example)",
        ),
        ("[<:wave:4> x](https://a.example)", "[:wave: x](https://a.example)"),
        ("[label](javascript:alert(1))", "[label](javascript:alert(1))"),
        ("<@1> <@&2> <#3> <:wave:4> <t:0>", "@1 @2 #3 :wave: 1970-01-01 00:00 UTC"),
        ("two\n\nparagraphs", "two\n\nparagraphs"),
    ],
)
def test_markup_is_taken_away_and_what_is_open_stays(source: str, text: str) -> None:
    assert render(source, name).text == text


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("**a** <b>", "<strong>a</strong> &lt;b&gt;"),
        ("```py\n<x>\n```", '<pre><code class="language-py">&lt;x&gt;</code></pre>'),
        ("# T", "<h1>T</h1>"),
        (
            '[a](https://a.example/")',
            '<a href="https://a.example/&quot;" rel="noopener noreferrer nofollow" target="_blank">a</a>',
        ),
    ],
)
def test_the_page_gets_safe_html(source: str, html: str) -> None:
    assert render(source, name).html == html


@given(st.text(alphabet="ab *_`~|>#-<@1:/[]()\\\n\"'&", max_size=60))
def test_whatever_is_written_the_html_is_balanced_and_nothing_of_it_is_a_tag(source: str) -> None:
    opened: list[str] = []
    for closing, tag in re.findall(r"<(/?)([a-z0-9]+)[^<>]*>", render(source, name).html):
        if tag == "br":
            continue
        if not closing:
            opened.append(tag)
        else:
            assert opened.pop() == tag
    assert opened == []


@pytest.mark.parametrize("piece", ["*", "> ", ">", "||", "**a", "_a ", "[", "[a](", "`", "> \n", "- \n", "https://("])
def test_hostile_nesting_is_shown_as_text(piece: str) -> None:
    """Two thousand characters of nothing but signs neither fail nor nest without end."""
    look = render((piece * 2000)[:2000], name)

    depth = deepest = 0
    for closing in re.findall(r"<(/?)(?!br)[a-z0-9]+[^<>]*>", look.html):
        depth += -1 if closing else 1
        deepest = max(depth, deepest)
    assert depth == 0 and deepest <= 12


@given(st.text(alphabet="abc XYZ.,!?é漢😀\n", max_size=80))
def test_plain_text_is_shown_as_it_is(source: str) -> None:
    assert render(source, name).text == source
