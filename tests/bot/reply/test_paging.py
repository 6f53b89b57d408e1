"""Cutting a growing reply into pages."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.contract import Page, utf16_length
from bot.markdown.lines import LineScanner
from bot.markdown.tree import CodeBlock, parse
from bot.reply.paging import PageText, Paginator, beginning, whole_words

MEASURES = [len, utf16_length]

WORDS = [
    "word",
    "中文",
    "你好。",
    "日本語、",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷",
    "e\u0301",
    "שלום",
    "مرحبا",
    "a.",
    "**bold**",
    "`code`",
]
BLOCKS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map("".join),
    st.lists(st.sampled_from(["x = 1", "", "  y", "```", "~~~", "你好", "z" * 30]), max_size=20).map(
        lambda lines: "````python\n" + "\n".join(lines) + "\n````"
    ),
    st.lists(st.sampled_from(["x = 1", "", "```js", "你好"]), max_size=20).map(
        lambda lines: "~~~\n" + "\n".join(lines) + "\n~~~"
    ),
    st.lists(st.sampled_from(["1", "两", "three words here"]), min_size=1, max_size=20).map(
        lambda cells: "| a | b |\n|---|:-:|\n" + "\n".join(f"| {cell} | x |" for cell in cells)
    ),
    st.lists(st.sampled_from(["- item", "  - nested", "1. one", "> quote", "# head"]), max_size=20).map("\n".join),
    st.text(alphabet="`~|>-*#[]() \nab你\u0301\u200d👍🏽🇩", max_size=120),
    st.just("> ```py\n> a\n> b\n> ```\n"),
    st.just("1. step\n   ```sh\n   ls\n   ```\n"),
)
DOCUMENTS = st.lists(BLOCKS, max_size=8).map("\n\n".join)


def paginated(text: str, length: int, measure: Callable[[str], int], pieces: int = 1) -> Paginator:
    pages = Paginator(length, measure)
    for start in range(0, len(text), pieces):
        pages.extend(text[start : start + pieces])
    return pages


def open_fence(body: str) -> bool:
    scanner = LineScanner()
    for line in body.splitlines(keepends=True) if "\r" in body else re.findall(r"[^\n]*\n|[^\n]+", body):
        scanner.feed(line)
    return scanner.fence is not None


@settings(max_examples=50, deadline=None)
@given(DOCUMENTS, st.integers(64, 300), st.sampled_from(MEASURES), st.sampled_from([1, 3, 17, 10_000]))
def test_any_reply_is_whole_after_paging(text: str, length: int, measure: Callable[[str], int], pieces: int) -> None:
    """Without what paging added, the pages are the source, letter for letter; each fits; each fence is closed."""
    pages = paginated(text, length, measure, pieces)
    pages.finish()

    shown = pages.pages

    assert "".join(page.source for page in shown) == text
    assert [page.start for page in shown] == [0, *(page.end for page in shown[:-1])][: len(shown)]
    for page in shown:
        assert measure(page.body) <= length
        assert not open_fence(page.body)


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, st.integers(64, 300), st.integers(1, 40))
def test_a_sealed_page_never_changes_and_was_shown_before(text: str, length: int, pieces: int) -> None:
    pages = Paginator(length, utf16_length)
    before: tuple[PageText, ...] = ()
    for start in range(0, len(text), pieces):
        pages.extend(text[start : start + pieces])
        now = tuple(pages.pages)
        kept = max(len(before) - 1, 0)
        assert now[:kept] == before[:kept]
        if before and len(now) == len(before):
            assert now[-1].body.startswith(before[-1].body)
        before = now


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, st.integers(64, 300), st.sampled_from(MEASURES), st.data())
def test_stored_cuts_bring_the_same_pages_back(
    text: str, length: int, measure: Callable[[str], int], data: st.DataObject
) -> None:
    pages = paginated(text, length, measure, 7)

    again = Paginator.resume(length, measure, text, pages.sealed_ends)
    at_a_cut = data.draw(st.sampled_from([0, *pages.sealed_ends]))
    later = Paginator.resume(length, measure, text[:at_a_cut], [end for end in pages.sealed_ends if end <= at_a_cut])
    later.extend(text[at_a_cut:])

    assert list(again.pages) == list(pages.pages)
    kept = sum(end <= at_a_cut for end in pages.sealed_ends) if at_a_cut else 0
    assert later.pages[:kept] == pages.pages[:kept]
    assert "".join(page.source for page in later.pages) == text


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab 👩‍🇩🇪e\u0301\u0302각क्षि\u200d👍🏽", min_size=60, max_size=400), st.integers(64, 120))
def test_no_grapheme_is_torn(text: str, length: int) -> None:
    pages = paginated(text, length, utf16_length, 5)

    borders = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    longest = max(utf16_length(found.group()) for found in regex.finditer(r"\X", text))
    if longest < length // 2:
        assert {page.end for page in pages.pages} <= borders


@settings(max_examples=25, deadline=None)
@given(
    DOCUMENTS.filter(bool), st.integers(64, 300), st.lists(st.integers(1, 90), min_size=1, max_size=5), st.booleans()
)
def test_a_page_too_long_once_rendered_is_cut_shorter(text: str, length: int, steps: list[int], done: bool) -> None:
    pages = paginated(text, length, len, 50)
    if done:
        pages.finish()

    for by in steps:
        before = pages.pages
        last = before[-1]
        if pages.shrink(by):
            after = pages.pages[len(before) - 1]
            assert len(after.source) < len(last.source)
            assert pages.pages[: len(before) - 1] == before[:-1]

    assert "".join(page.source for page in pages.pages) == text
    assert all(len(page.body) <= length for page in pages.pages)


def test_a_sealed_page_that_was_not_shown_yet_can_be_cut_shorter() -> None:
    pages = paginated("word " * 100, 120, len, 500)

    assert pages.shrink(50, page=1)

    assert len(pages.pages[1].source) <= 70
    assert "".join(page.source for page in pages.pages) == "word " * 100


def test_paragraphs_are_preferred_to_lines_and_sentences() -> None:
    text = "First one. " * 6 + "\n\n" + "Second.\nLine. " * 6

    first = paginated(text, 100, len).pages[0]

    assert first.body == "First one. " * 6 + "\n\n"


def test_a_chinese_paragraph_is_cut_at_its_full_stop() -> None:
    first = paginated("这是一个很长的句子它没有空格。" * 10, 50, len).pages[0]

    assert first.body.endswith("。")


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = "".join(f"line {number}\n" for number in range(30))

    first, second, *_ = paginated(f"````python title=x\n{code}````\n", 100, len).pages

    assert first.body.endswith("\n````")
    assert second.body.startswith("````python title=x\nline")


def test_a_fence_inside_a_longer_fence_does_not_close_it() -> None:
    inner = "```js\nx\n```\n" * 12

    pages = paginated(f"````md\n{inner}````\n", 100, len).pages

    assert len(pages) > 1
    assert all(page.body.startswith("````md\n") for page in pages)


def test_a_table_that_fits_on_a_page_is_kept_whole() -> None:
    table = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 4

    pages = paginated("Intro words.\n\n" + "x" * 40 + "\n\n" + table, 120, len).pages

    assert [page.source for page in pages][-1] == table


def test_a_table_longer_than_a_page_repeats_its_header() -> None:
    header = "| a | b |\n|---|---|\n"

    pages = paginated(header + "| cell | cell |\n" * 20, 120, len).pages

    assert len(pages) > 2
    assert all(page.body.startswith(header) for page in pages)


@pytest.mark.parametrize(
    "unit", ["[a label](https://example.com/a_b)", "`some code here`", "https://example.com/abc/def"]
)
def test_a_link_or_code_is_not_torn(unit: str) -> None:
    text = "word " * 14 + unit + " word" * 20

    pages = paginated(text, 80, len, 1).pages

    assert any(unit in page.body for page in pages)


def test_a_long_word_is_cut_only_because_nothing_else_fits() -> None:
    pages = paginated("short\n" + "x" * 200, 80, len).pages

    assert pages[0].body == "short\n"
    assert [len(page.source) for page in pages[1:]] == [80, 80, 40]


def test_the_fences_of_each_page_are_those_the_parser_sees() -> None:
    """The scanner and a Markdown parser agree on where code ends."""
    text = "text\n\n" + "~~~~text\n```\na\n```\n~~~~\n\nnext **x**\n\n" * 6
    pages = paginated(text, 90, len)
    pages.finish()

    for page in pages.pages:
        tokens = MarkdownIt("commonmark").parse(page.body)
        assert sum(token.type == "fence" for token in tokens) == page.body.count("~~~~text")


@pytest.mark.parametrize("begin", ["`" * 9_000, "~" * 9_000, ">" * 3_000 + "```\n", "- " * 2_000 + "~~~\n"])
def test_marks_that_fill_a_page_are_no_fence(begin: str) -> None:
    """Closed and opened again on each page, they would leave room for one character of the text."""
    text = f"{begin}\n" + "word\n" * 2_000

    pages = paginated(text, 3_600, utf16_length)
    pages.finish()

    assert len(pages.pages) <= 8
    assert not any(isinstance(block, CodeBlock) for page in pages.pages for block in parse(page.body))


def test_an_unfinished_fence_is_closed_when_the_reply_ends() -> None:
    pages = paginated("```py\nx = 1", 80, len)

    pages.finish()

    assert pages.pages[0].body == "```py\nx = 1\n```"
    assert pages.pages[0].source == "```py\nx = 1"


def test_a_quote_goes_on_as_a_quote() -> None:
    pages = paginated("> " + "word " * 40, 80, len).pages

    assert all(page.body.startswith("> ") for page in pages)


@pytest.mark.parametrize("length", [40, 80])
def test_a_header_that_would_fill_a_page_is_not_repeated(length: int) -> None:
    header = "| a column with a long name | b |\n|---|---|\n"
    rows = "".join(f"| {number:2} | x |\n" for number in range(20))

    pages = paginated(header + rows, length, len).pages

    assert sum("column" in page.body for page in pages) == 1
    assert "".join(page.source for page in pages) == header + rows


def test_what_may_be_a_header_and_its_rule_is_not_cut_between_them() -> None:
    pages = paginated("| one row | of words\n" * 20, 100, len).pages

    assert "".join(page.body for page in pages) == "| one row | of words\n" * 20
    assert not any(page.body.endswith("\n") for page in pages[:-1])


@pytest.mark.parametrize("depth", [38, 60, 200])
def test_a_quote_too_deep_to_go_on_leaves_the_page_to_its_words(depth: int) -> None:
    text = ">" * depth + "word " * 40

    pages = paginated(text, 80, len).pages

    assert all(len(page.body) <= 80 for page in pages) and len(pages) <= 6
    assert "".join(page.source for page in pages) == text


@pytest.mark.parametrize("text", ["`" * 39 + "\nab", "`" * 100 + "\nab", ">" * 13 + "```\n" + ">" * 13 + "word " * 20])
def test_a_fence_as_long_as_a_page_loses_nothing(text: str) -> None:
    assert "".join(page.source for page in paginated(text, 40, len).pages) == text


def test_a_heading_goes_with_what_it_is_over() -> None:
    text = "Words before it. " * 4 + "\n\n# Tea\n\nIt grows in Kyoto. " + "More words. " * 10

    first, second, *_ = paginated(text, 85, len).pages

    assert first.body == "Words before it. " * 4 + "\n\n" and second.body.startswith("# Tea\n\nIt grows")


def test_a_page_of_emoji_is_measured_as_the_platform_does() -> None:
    pages = paginated("🍵" * 100, 64, utf16_length).pages

    assert [len(page.body) for page in pages] == [32, 32, 32, 4]


def test_a_page_is_cut_down_to_its_last_character() -> None:
    """One that takes more room once rendered than a platform gives it."""
    pages = paginated("🍵🍵🍵", 64, utf16_length)
    while pages.shrink(1000, 0):
        pass

    assert len(pages.pages[0].source) == 1
    assert "".join(page.source for page in pages.pages) == "🍵🍵🍵"


def test_a_quote_of_nothing_but_signs_is_cut_as_text() -> None:
    pages = paginated(">" * 100, 40, len).pages

    assert [page.body for page in pages] == [">" * 40, ">" * 40, ">" * 20]


def test_what_looks_like_a_fence_only_as_far_as_it_is_cut_still_fits() -> None:
    text = "```" + "a" * 100 + "`"

    pages = paginated(text, 50, len).pages

    assert all(len(page.body) <= 50 for page in pages)
    assert "".join(page.source for page in pages) == text


def test_where_every_word_stands_in_code_a_word_is_where_it_is_cut() -> None:
    code = "`" + "one " * 10 + "\u0301two`"

    first = paginated("x" * 55 + code + "y" * 60, 100, len).pages[0]

    assert first.body.endswith("one ") or first.body.endswith("x"), first.body
    assert len(first.body) > 50


def test_a_table_that_ends_before_a_paragraph_moves_to_the_next_page_whole() -> None:
    table = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 4

    pages = paginated("x" * 70 + "\n\n" + table + "\nWords after it. " * 4, 120, len).pages

    assert table in pages[1].body and pages[0].body == "x" * 70 + "\n\n"


def test_a_reply_without_text_has_one_empty_page() -> None:
    pages = Paginator(80)
    pages.finish()

    assert [(page.body, page.blank) for page in pages.pages] == [("", True)]
    assert not pages.shrink(10)


def test_a_finished_reply_takes_nothing_more() -> None:
    pages = paginated("All of it.", 80, len)
    pages.finish()

    with pytest.raises(ValueError, match="is finished"):
        pages.extend("And more.")


def test_pages_that_ended_at_a_cut_go_on_as_they_would_have() -> None:
    """How a page opens depends on its first character, which came after a restart."""
    header = "| a | b |\n|---|---|\n"
    text = header + "| cell | cell |\n" * 20
    whole = paginated(text, 120, len).pages
    pages = Paginator.resume(120, len, text[: whole[0].end], [whole[0].end])

    pages.extend(text[whole[0].end :])

    assert pages.pages == whole


def test_one_character_cannot_be_cut_shorter() -> None:
    assert not paginated("\U0001f469\u200d\U0001f467", 80, len).shrink(10)


def test_a_fence_that_leaves_no_room_for_its_end_is_cut_once_more() -> None:
    pages = paginated("```py\n" + "x = 1\n" * 12 + "y", 80, len)
    assert len(pages.pages) == 1
    pages.finish()

    assert len(pages.pages) == 2
    assert all(len(page.body) <= 80 and page.body.count("```") == 2 for page in pages.pages)


def test_a_page_of_nothing_but_space_is_blank() -> None:
    pages = paginated("\n" * 200, 80, len).pages

    assert all(page.blank for page in pages)


def test_time_grows_with_the_text_and_not_with_its_square() -> None:
    """Counted in characters measured, not in seconds."""

    def work(text: str, pieces: int) -> int:
        measured = 0

        def measure(part: str) -> int:
            nonlocal measured
            measured += len(part)
            return len(part)

        paginated(text, 500, measure, pieces)
        return measured

    text = "Some words and a line.\n```\ncode\n```\n" * 300
    assert work(text * 4, 4) < 5 * work(text, 4)
    assert work(text * 4, 10**9) < 5 * work(text, 10**9)


def test_a_page_length_without_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        Paginator(3)


def test_a_megabyte_is_cut_only_as_far_as_it_is_read() -> None:
    looked = 0

    def measure(text: str) -> int:
        nonlocal looked
        looked += len(text)
        return len(text)

    pages = Paginator(3_600, measure)
    pages.extend("a word and another one; " * 40_000)
    [first, *_] = pages.upto(0)
    once = looked
    pages.shrink(100, 0)
    again = looked - once

    # The text itself is measured when it comes, and once more when a page is cut again; the rest is a few pages.
    assert once < 960_000 + 100_000
    assert again < 960_000 + 100_000
    assert pages.upto(0)[0].end < first.end
    assert "".join(page.source for page in pages.pages) == "a word and another one; " * 40_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Green te", "Green "),
        ("Green tea ", "Green tea "),
        ("Green tea.", "Green tea."),
        ("Green tea\nin Kyo", "Green tea\nin "),
        ("Kyoto", ""),
        ("京都今天下雨", "京都今天下雨"),
        ("京都 Kyoto 今天", "京都 Kyoto 今天"),
        ("京都 Kyo", "京都 "),
        ("오늘 교토", "오늘 교토"),
        ("```python\nfor line in lin", "```python\nfor line in "),
        ("It costs **800 ye", "It costs **800 "),
        ("z" * 39, ""),
        ("See " + "z" * 40, "See " + "z" * 40),
        ("z" * 100_000, "z" * 100_000),
    ],
    ids=lambda text: text[:12],
)
def test_a_page_that_grows_ends_with_a_whole_word(text: str, shown: str) -> None:
    """A run longer than any word is not held back as one: it is shown as it grows."""
    assert whole_words(text) == shown


@pytest.mark.parametrize("piece", ["word ", "中文。", "z" * 50, "`code` ", "\n"])
def test_whole_words_only_grow_while_a_text_does(piece: str) -> None:
    text, before = piece * 20, ""
    for end in range(len(text) + 1):
        shown = whole_words(text[:end])
        assert text.startswith(shown)
        assert len(shown) >= len(before) or text[len(shown) : end].isalnum()
        before = shown


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two. Thr", "One. Two. "),
        ("One. Two.", "One. "),
        ("Pi is 3.14 and", ""),
        ("茶叶。还有一", "茶叶。"),
        ("no end " * 50, "no end " * 49 + "no "),
        ("- one\n- two\n" * 30 + "- thr", "- one\n- two\n" * 30),
        ("", ""),
    ],
)
def test_a_page_that_grows_can_be_cut_after_its_last_sentence(text: str, sentences: str) -> None:
    pages = Paginator(2_000)
    pages.extend(text)
    assert pages.sentences(0).rstrip() == sentences.rstrip()

    pages.cut(0)
    pages.extend("And so on.")
    pages.finish()

    assert "".join(page.source for page in pages.pages) == f"{text}And so on."
    assert len(pages.pages) == 1 + bool(sentences)


def test_a_block_of_code_that_is_cut_is_closed_and_opened_again() -> None:
    pages = Paginator(2_000)
    pages.extend("Look at this. And run:\n```py\n" + "print('tea')\n" * 40)
    pages.cut(0)
    pages.extend("print()\n```")
    pages.finish()

    first, second = pages.pages
    assert first.body.endswith("```") or first.body.endswith("this. ")
    assert "".join(page.source for page in (first, second)).count("```") == 2


@given(DOCUMENTS, st.integers(32, 120), st.integers(0, 3), st.floats(0, 1), st.booleans())
def test_a_page_ends_where_it_is_told_to_and_nothing_is_lost(
    text: str, length: int, number: int, share: float, finished: bool
) -> None:
    pages = paginated(text, length, len)
    if finished:
        pages.finish()
    before = pages.upto(number)
    if number >= len(before):
        return
    target = before[number]
    at = target.opened + int(len(target.source) * share)

    pages.end(number, at)

    after = pages.pages
    assert after[:number] == before[:number]
    assert after[number].source == target.source[: at - target.opened]
    assert "".join(page.source for page in after) == text


def test_a_page_that_ended_goes_on_as_a_new_one_when_text_comes() -> None:
    pages = paginated("One. Two.", 100, len)
    pages.end(0, len("One. Two."))
    assert [page.body for page in pages.pages] == ["One. Two."]

    pages.extend(" Three.")

    assert [page.body for page in pages.pages] == ["One. Two.", " Three."]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Two things.\n\n1. Tea", "Two things.\n\n"),
        ("Tea.\n   12. Milk", "Tea.\n   "),
        ("1. Tea", ""),
        ("1. Tea! And", "1. Tea! "),
        ("It was in 2024. And", "It was in 2024. "),
    ],
)
def test_the_number_of_an_item_is_no_sentence(text: str, sentences: str) -> None:
    pages = Paginator(200, len)
    pages.extend(text)
    assert pages.sentences(0) == sentences


@pytest.mark.parametrize("marker", ["7. ", "- ", "> 1) ", "## "])
def test_no_page_ends_with_the_marker_of_a_line(marker: str) -> None:
    text = "word" * 8 + f"\n{marker}" + "word" * 40
    pages = Paginator(45, len)
    pages.extend(text)
    pages.finish()
    assert not [page.body for page in pages.pages if page.body.rstrip().endswith(marker.rstrip())]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("One two three.", "One two"),
        ("```\nprint(1)\nprint(2)\n```", "```\nprint(1)"),
        ("~~~ sh\nls -l\n~~~\n", "~~~ sh\nls"),
        ("One **two** **three**", "One **two**"),
        ("One two\n\n---", "One"),
        ("| a | b |\n|---|---|\n| 7 | tea |", "| a | b |\n|---|---|\n| 7 |"),
        ("One two 😀", "One two"),
    ],
)
def test_a_beginning_lacks_a_word_that_is_seen(text: str, begins: str) -> None:
    """Else what is posted blindly, and may stand twice, would be the whole answer."""
    assert beginning(Page(text, final=True)).body == begins
