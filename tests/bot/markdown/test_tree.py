"""Markdown as models write it, also half-written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.markdown import Kind, LineScanner, Style, trim_url
from bot.markdown.tree import (
    CodeBlock,
    Heading,
    Link,
    Listing,
    Paragraph,
    Quote,
    Styled,
    Table,
    Text,
    close_open,
    escape,
    parse,
    quote,
    text_of,
)


def words(text: str) -> str:
    return "".join(text_of(block.children) for block in parse(text) if isinstance(block, Paragraph | Heading))


@pytest.mark.parametrize(
    ("written", "closed"),
    [
        ("a **bo", "a **bo**"),
        ("a **bo ", "a **bo** "),
        ("a **b*", "a **b**"),
        ("a *i `co", "a *i `co`*"),
        ("x ~~s", "x ~~s~~"),
        ("||sp", "||sp||"),
        ("a **b**", "a **b**"),
        ("x *", "x "),
        ("a &am", "a "),
        ("see [lab", "see lab"),
        ("see [label](http", "see label"),
        ("see [label](http://a.b)", "see [label](http://a.b)"),
        ("| a | b", "| a | b\n|---|---|"),
        ("| a | b |\n|-", "| a | b |\n|---|---|"),
        ("| a | b |\n|---|---|\n| 1 | *x", "| a | b |\n|---|---|\n| 1 | *x*"),
        ("text\n-", "text\n"),
        ("1.", ""),
        ("```py", ""),
        ("```py\nx\n``", "```py\nx\n"),
        ("```py\n**x", "```py\n**x"),
        ("2 * 3 * 4 and a_b", "2 * 3 * 4 and a_b"),
    ],
)
def test_what_a_stream_left_open_is_closed(written: str, closed: str) -> None:
    assert close_open(written) == closed


def test_a_finished_text_is_left_as_it_is() -> None:
    text = "# A\n\n**b** `c` [d](https://e.f)\n\n- x\n\n```\ny\n```\n"

    assert close_open(text) == text


def test_bold_beside_chinese_is_bold() -> None:
    (paragraph,) = parse("**粗体：**文字**“引”**字")

    assert isinstance(paragraph, Paragraph)
    assert [type(child) for child in paragraph.children] == [Styled, Text, Styled, Text]


def test_a_fence_in_a_list_goes_on_at_the_margin() -> None:
    (listing,) = parse("1. do\n   ```bash\npip install\n   ```\n")

    assert isinstance(listing, Listing)
    assert listing.items[0].blocks[1] == CodeBlock("pip install", "bash")


def test_a_row_with_too_many_cells_keeps_them() -> None:
    (table,) = parse("| a | b |\n|---|---|\n| 1 | 2 | 3 |")

    assert isinstance(table, Table)
    assert table.rows[1][2] == (Text("3"),)


def test_a_link_finds_its_definition_anywhere_and_the_definition_stays_visible() -> None:
    first, second = parse("see [a][1]\n\n[1]: https://q.r")

    assert isinstance(first, Paragraph)
    assert isinstance(second, Paragraph)
    assert first.children[1] == Link("https://q.r", (Text("a"),))
    assert text_of(second.children) == "1: https://q.r"


def test_text_nested_too_deep_is_shown_as_written() -> None:
    assert words(">" * 100 + " deep").endswith("deep")


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab*_~`[]()<>#|\\!&;:/\n.-+=1@", max_size=80))
def test_escaped_text_is_inert(text: str) -> None:
    """Whatever somebody calls himself, his name is shown and does nothing."""
    line = " ".join(text.split())

    assert words(f"x {escape(line)} x") == f"x {line} x"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab*_~`[]()<>#|\\!&;:/\n.- \t1", max_size=120), st.booleans())
def test_any_text_is_read(text: str, final: bool) -> None:
    parse(text, final=final)


def test_reading_a_page_in_parts_is_reading_the_whole() -> None:
    text = "# A\n\nb\n\n- c\n\n  d\n\ne\n\n1. f\n\n2. g\n\n```\n\nh\n\n```\n\ni"

    assert [type(block).__name__ for block in parse(text)] == [
        "Heading", "Paragraph", "Listing", "Paragraph", "Listing", "CodeBlock", "Paragraph",
    ]  # fmt: skip


def test_a_quote_stays_a_quote_over_empty_lines() -> None:
    assert quote("a\n\nb") == "> a\n>\n> b"


@pytest.mark.parametrize("text", [">  ```a\n> ", ">  ```a\n>", "a\n>  ```x> \n> \n> "])
def test_a_fence_that_ends_with_the_text_in_an_indented_quote_is_read(text: str) -> None:
    assert isinstance(parse(text)[-1], Quote)


def test_a_list_follows_a_line_of_text_whatever_its_number() -> None:
    """The page before it may have ended with the first item."""
    [text, listing] = parse("Then:\n2. mix")

    assert isinstance(text, Paragraph) and isinstance(listing, Listing) and listing.items[0].number == 2
    assert [type(block) for block in parse("It was in\n1986. ")] == [Paragraph]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[see <https://a.b/x]y> now](https://x.yz)", "see https://a.b/x]y now"),
        ("[a ||b]c|| d](https://x.yz)", "a b]c d"),
    ],
)
def test_a_bracket_inside_an_address_or_a_spoiler_does_not_end_a_label(written: str, shown: str) -> None:
    [block] = parse(written)

    assert isinstance(block, Paragraph)
    [link] = block.children
    assert isinstance(link, Link) and (link.url, text_of(link.children)) == ("https://x.yz", shown)


@pytest.mark.parametrize(
    ("mark", "style"), [("*", "emphasis"), ("_", "emphasis"), ("**", "strong"), ("__", "strong"), ("~~", "strike")]
)
def test_an_address_alone_in_a_style_is_a_link(mark: str, style: Style) -> None:
    [block] = parse(f"see {mark}https://a.example/x_y{mark}.")

    link = Link("https://a.example/x_y", (Text("https://a.example/x_y"),))
    assert block == Paragraph((Text("see "), Styled(style, (link,)), Text(".")))


def test_a_link_that_leads_nowhere_is_its_words_with_their_style() -> None:
    assert parse("[**a** c]() b") == (Paragraph((Styled("strong", (Text("a"),)), Text(" c b"))),)


def test_a_row_outside_of_the_quote_that_holds_the_table_is_none_of_it() -> None:
    scanner, kinds, at = LineScanner(), [], 0
    for line in ("> | a |\n", "> |---|\n", "> | 1 |\n", "| 2 |\n", "> | 3 |\n"):
        kinds.append(scanner.feed(line, at))
        at += len(line)

    assert kinds == [Kind.TEXT, Kind.TABLE_RULE, Kind.TABLE_ROW, Kind.TEXT, Kind.TEXT]


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://a.b/(x)).", "https://a.b/(x)"),
        ("https://a.b/x?!", "https://a.b/x"),
        ("(https://a.b)", "(https://a.b)"),
        ("?!.", ""),
    ],
)
def test_the_sentence_around_a_bare_address_is_none_of_it(url: str, bare: str) -> None:
    assert trim_url(url) == bare
