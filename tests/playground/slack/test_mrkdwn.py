from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.slack.markdown import draw_markdown
from playground.slack.mrkdwn import draw_mrkdwn

NAMES = {"U1": "ann", "C1": "general"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("*bold* _slanted_ ~gone~", "bold slanted gone"),
        ("*_both_*", "both"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("**not Slack's**", "**not Slack's**"),
        ("a &lt;b&gt; &amp;amp; &quot;", "a <b> &amp; &quot;"),
        ("<https://a.example/x|here>", "here"),
        ("<https://a.example/?a=1&amp;b=2>", "https://a.example/?a=1&b=2"),
        ("<mailto:a@b.example|write>", "write"),
        ("hello <@U1> in <#C1>", "hello @ann in #general"),
        ("<!date^1^{date}|yesterday>", "yesterday"),
        ("`*as is*` and ```\n_too_\n```", "*as is* and _too_"),
        ("&gt; quoted\n> too", "quoted\ntoo"),
        ("<not a link>", "<not a link>"),
        ("``` never closed", "``` never closed"),
    ],
)
def test_mrkdwn_shows_what_slack_shows(source: str, text: str) -> None:
    assert draw_mrkdwn(source, NAMES).text == text


def test_mrkdwn_becomes_safe_html_with_its_styles() -> None:
    drawn = draw_mrkdwn('*a* `<b>` &lt;script&gt; <javascript:x|no> <https://a.example|">yes>', NAMES)

    assert "<b>a</b>" in drawn.html
    assert "&lt;script&gt;" in drawn.html
    assert "<script" not in drawn.html
    assert 'href="javascript' not in drawn.html
    assert '<a href="https://a.example"' in drawn.html


def test_lines_of_a_quote_stand_in_one_and_nothing_empty_is_added_behind_it() -> None:
    assert draw_mrkdwn("> one\n> two\n\nthree", NAMES).html == "<blockquote>one<br>two</blockquote><br>three"


def test_links_and_mentions_are_noted_even_inside_code() -> None:
    drawn = draw_mrkdwn("`<!channel>` <@U1> <!subteam^S1|@ops> <https://a.example/1> https://b.example/2.", NAMES)

    assert sorted(drawn.mentions) == ["!channel", "!subteam^S1", "U1"]
    assert drawn.links == ["https://a.example/1", "https://b.example/2"]


def test_escaped_text_calls_nobody_and_links_nowhere() -> None:
    drawn = draw_mrkdwn("&lt;!channel&gt; &lt;@U1&gt; @channel https://a.example", NAMES, autolink=False)

    assert drawn.mentions == []
    assert drawn.links == []


def test_names_are_linked_only_when_asked() -> None:
    assert draw_mrkdwn("@channel @ann", NAMES).mentions == []
    assert draw_mrkdwn("@channel @ann", NAMES, link_names=True).mentions == ["!channel", "U1"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# Title", "Title"),
        ("**bold** and *slanted* and ~~gone~~ and __this__ _too_", "bold and slanted and gone and this too"),
        ("- one\n2. two", "• one\n2. two"),
        ("> quoted", "quoted"),
        ("[here](https://a.example/x_(y))", "here"),
        ("![picture](https://a.example/p.png)", "picture"),
        ("`**as is**`", "**as is**"),
        ("```py\n**x**\n```\nafter", "**x**\nafter"),
        ("~~~\nopen **still", "open **still"),
        ("| a | b |\n|---|---|\n| 1 | **2** |", "a | b\n1 | 2"),
        (r"\*plain\*", "*plain*"),
        ("a &lt; b", "a < b"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
    ],
)
def test_markdown_text_shows_what_slack_shows(source: str, text: str) -> None:
    assert draw_markdown(source, NAMES).text == text


def test_markdown_notes_links_pictures_and_mentions() -> None:
    drawn = draw_markdown(
        "[a](https://a.example) ![b](https://b.example/p.png) <!here> `<!channel>` https://c.example", {}
    )

    assert drawn.links == ["https://a.example", "https://b.example/p.png", "https://c.example"]
    assert drawn.mentions == ["!here", "!channel"], "in code, too"


_ALLOWED = re.compile(
    r"</?(?:b|i|s|code|pre|blockquote|br|hr)>|<span class=\"mention\">|</span>"
    r"|<a href=\"[^\"<>]*\" rel=\"[a-z ]+\">|</a>"
)


_PIECES = [*"ab1 \n*_~`<>|&;#!@\"'()[]\\-.:/U", "https://x.example", "<@U1>", "```"]


@given(st.lists(st.sampled_from(_PIECES), max_size=80).map("".join))
def test_no_text_gets_markup_of_its_own_onto_the_page(source: str) -> None:
    for drawn in (draw_mrkdwn(source, NAMES, link_names=True), draw_markdown(source, NAMES)):
        rest = _ALLOWED.sub("", drawn.html)
        assert "<" not in rest
        assert "\x00" not in drawn.text + drawn.html
