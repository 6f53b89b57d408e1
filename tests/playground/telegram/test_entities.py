"""Markup as the service reads it: which tags there are, what is refused, and in which words."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.telegram.call import ApiError
from playground.telegram.entities import Entity, fix, units
from playground.telegram.markup_html import parse_html
from playground.telegram.render import safe_html


def html(text: str) -> str:
    """What the page shows for a text in HTML parse mode."""
    return safe_html(fix(*parse_html(text)))


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("<b>a <i>b</i></b>", "<b>a <i>b</i></b>"),
        ("<STRONG>a</STRONG>", None),
        ("<strong>a</strong><em>b</em><ins>c</ins><del>d</del>", "<b>a</b><i>b</i><u>c</u><s>d</s>"),
        ('<span class="tg-spoiler">a</span>', '<span class="spoiler">a</span>'),
        ("<tg-spoiler>a</tg-spoiler>", '<span class="spoiler">a</span>'),
        ("<blockquote expandable>a</blockquote>", '<blockquote class="expandable">a</blockquote>'),
        (
            '<pre><code class="language-py">x &lt; 1</code></pre>',
            '<pre><code class="language-py">x &lt; 1</code></pre>',
        ),
        ("<pre><code>x</code></pre>", "<pre><code>x</code></pre>"),
        ("<b>a <code>b</code> c</b>", "<b>a </b><code>b</code><b> c</b>"),
        ("a &amp; b &nbsp; &#x41;&#66; & c", "a &amp; b &amp;nbsp; AB &amp; c"),
        ('<a href="https://a.example/?x=1&amp;y=2">t</a>', 'href="https://a.example/?x=1&amp;y=2"'),
        ('<a href="javascript:alert(1)">t</a>', "t"),
        ("<b>a</>", "<b>a</b>"),
        ("a > b", "a &gt; b"),
    ],
)
def test_html_tags_become_entities(sent: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(ApiError, match='expected "</strong>", found "</STRONG>"'):
            html(sent)
    else:
        assert shown in html(sent)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ("a <p>b</p>", 'Unsupported start tag "p" at byte offset 2'),
        ("é <br/>", 'Unsupported start tag "br/" at byte offset 3'),
        ("<b>a", 'Can\'t find end tag corresponding to start tag "b"'),
        ("a</b>", "Unexpected end tag at byte offset 1"),
        ("<b><i>a</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("<b", "Unclosed start tag at byte offset 0"),
        ("<b>a</b", "Unclosed end tag at byte offset 4"),
        ("<span>a</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ('<a href="x', "Unclosed start tag at byte offset 0"),
        ("<a href=x/y>t</a>", "Unexpected end of name token at byte offset 8"),
        ('<a ="x">t</a>', 'Empty attribute name in the tag "a" at byte offset 0'),
    ],
)
def test_wrong_html_is_refused_in_the_words_of_the_service(sent: str, error: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_html(sent)

    assert caught.value.status == 400
    assert caught.value.description == f"Bad Request: can't parse entities: {error}"


def test_commands_mentions_and_addresses_are_found_by_themselves() -> None:
    text = "/ask@some_bot hi @ada, see https://a.example/b(c). #tag me@mail.example a/b"

    found = {entity.type: text[entity.offset : entity.end] for entity in fix(text, []).entities}

    assert found == {
        "bot_command": "/ask@some_bot",
        "mention": "@ada",
        "url": "https://a.example/b(c",
        "hashtag": "#tag",
        "email": "me@mail.example",
    }


class Balance(HTMLParser):
    """Fails on HTML that is not balanced; gathers the text and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.attributes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=20)
SPANS = st.tuples(
    st.sampled_from(["bold", "italic", "code", "pre", "text_link", "blockquote", "spoiler"]),
    st.integers(0, 20),
    st.integers(1, 20),
)


@given(WORDS, st.lists(SPANS, max_size=6))
def test_any_entities_over_any_text_are_balanced_harmless_html(text: str, spans: list[tuple[str, int, int]]) -> None:
    length = units(text)
    entities = [
        Entity(
            kind,
            start,
            min(size, length - start),
            {"url": 'https://x.example/"><script>'} if kind == "text_link" else {},
        )
        for kind, start, size in spans
        if start < length
    ]

    page = Balance()
    page.feed(safe_html(fix(text, entities)))
    page.close()

    assert page.open == []
    assert set(page.attributes) <= {"class", "href", "rel", "target"}


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused_and_never_crashes(text: str) -> None:
    try:
        fix(*parse_html(text))
    except ApiError as error:
        assert "can't parse entities" in error.description
