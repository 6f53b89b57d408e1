"""Models' own marks for sources: numbers in brackets, or nothing; on no screen as they are, not even for one edit."""

from __future__ import annotations

import pytest

from bot.safety.citations import CitationFilter, rewrite_citations

MARKS = {
    "ChatGPT": ("It rains. \ue200cite\ue202turn0search0\ue202turn1view2\ue201", "It rains. "),
    "ChatGPT, a file": ("Page two\ue200filecite\ue202turn0file0\ue201.", "Page two."),
    "ChatGPT, a name": ('By \ue200entity\ue202["band","Wham!","duo"]\ue201.', "By Wham!."),
    "ChatGPT, an odd name": ("By \ue200entity\ue202[]\ue201\ue200entity\ue202{\ue201.", "By ."),
    "ChatGPT, a link": ("See \ue200url\ue202the page\ue202turn0search1\ue201.", "See the page."),
    "ChatGPT, unfinished": ("It rains. \ue200cite\ue202turn0sea", "It rains. "),
    "ChatGPT, a stray sign": ("It \ue203rains\ue204.", "It rains."),
    "ChatGPT, old": ("It rains :contentReference[oaicite:3]{index=3}, and [oaicite:1] snows", "It rains, and snows"),
    "gpt-oss": ("It rains【1†source】, snows【 2, 3 †L4-L9】 and【turn0search0†x】 hails【4:0†a.pdf】.",
                "It rains[1], snows[2, 3] and hails."),
    "gpt-oss, unfinished": ("It rains【1†sou", "It rains"),
    "DeepSeek": ("It rains[citation:1][[citation:2]] and [citation: 3,4].", "It rains[1][2] and [3,4]."),
    "Qwen": ("It rains[ref_1] and snows【ref_2】.", "It rains[1] and snows[2]."),
    "Command": ("<co>It rains</co: 0:[1,2]>, <co: 3>no snow</co: 3>, <code>x.", "It rains, no snow, <code>x."),
    "Kimi": ("It rains[^1^] and snows[^2^].", "It rains[1] and snows[2]."),
    "Gemini": ("[cite_start]It rains[cite: 1, 2] and snows [cite: 3-5].", "It rains and snows."),
    "Grok": ('It rains <grok:render card_id="6" type="render_inline_citation"><argument name="citation_id">0</argument>'
             "\n</grok:render>.", "It rains."),
    "a comment of HTML": ("<!-- a\n\n- `b` -->It<!----> rains\n <!-- c - -- d\n-->\n", "It rains\n \n"),
    "a comment of HTML, unfinished": ("It rains\n\n<!-- a\n\nb --", "It rains"),
    "Claude": ('<cite index="1-2,3">It rains</cite>, <cite>it snows</cite>', "It rains, it snows"),
}  # fmt: skip
WORDS = [
    "[1] and [2](https://a.example), 【注意】 and 【3】",
    "a[^1] and\n\n[^1]: https://a.example",
    "[cited] [cite] [citations: none] <citec> <city> a < b, x[^2, <grok>",
    "`[citation:1]` and ``a ` [cite: 1]`` \n\n```\n【1†source】\n\n`[^1^]`\n```",
    "one ` stray\n\n`two`",
    "~~~py\n[citation:1] `\n\n[cite: 1]\n~~~\nend",
    "```\nx ```` [cite: 1]\n~~~\n[^1^]\n```",
    "> ```\n> x ``` [cite: 1]\n>\n> [^1^]\n> ```",
    "a ` b\n```\n[^1^]\n```",
    "- ```\n  [^1^]\n\n  [^2^]\n  ```",
    "a[1], b[0][1], \\[x\\], [^1]: [x], 【重要】, 【第1章†注】, 【重要†注】, 《三国》【1】, 【a†b】",
    "end in [cite",
    "`<!-- a -->` and\n```html\n<!-- b\n\n-->\n```\n~~~\n<!-- c -->\n~~~",
    "It begins with <!-- here",
    "```html\n<!-- a\n```\nand `-->` ends it",
    "a <! b, <!- c, <!DOCTYPE html>, --> d",
    "It is <!-- never closed " + "x" * 700 + " -->",
    "end in :content",
]


@pytest.mark.parametrize("model", MARKS)
def test_each_models_marks_are_numbers_or_nothing_wherever_the_stream_breaks(model: str) -> None:
    text, expected = MARKS[model]

    for size in (1, 2, 3, 7, 1000):
        marks, shown = CitationFilter(), ""
        for at in range(0, len(text), size):
            shown += marks.feed(text[at : at + size])
            assert expected.startswith(shown)
        assert shown + marks.finish() == expected


@pytest.mark.parametrize("text", WORDS)
def test_what_is_no_mark_stays_as_it_is(text: str) -> None:
    for size in (1, 2, 1000):
        marks = CitationFilter()
        assert "".join(marks.feed(text[at : at + size]) for at in range(0, len(text), size)) + marks.finish() == text


def test_after_code_marks_are_read_again() -> None:
    assert rewrite_citations("`x`[^1^] ```\na\n``` [^2^] a ` b\n\n[^3^]") == "`x`[1] ```\na\n``` [2] a ` b\n\n[3]"


@pytest.mark.parametrize(
    "before", ["a ` b\n\n", "```\na\n```\n", "~~~\n``\n~~~~\n", "a ` b\n~~~\n`\n~~~\n", "\n```\n```"]
)
def test_marks_are_read_again_where_code_ends_wherever_the_stream_breaks(before: str) -> None:
    text = before + "It rains[^1^]"
    for size in (1, 2, 3, 1000):
        marks = CitationFilter()
        shown = "".join(marks.feed(text[at : at + size]) for at in range(0, len(text), size)) + marks.finish()
        assert shown == before + "It rains[1]"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("【重要なお知らせ", ""),
        ("【API reference", ""),
        ("【第1章", ""),
        ("【1", "【1"),
        ("【turn0search", "【turn0search"),
        ("a[1", ""),
        ("x <ci", " <ci"),
        ("x <cit y", ""),
        ("~", "~"),
        ("a\n~~", "\n~~"),
        ("```\n<!-- a", ""),
        ("a `【1", ""),
    ],
)
def test_only_the_beginning_of_a_mark_is_held_back(text: str, held: str) -> None:
    for size in (1, 1000):
        marks = CitationFilter()
        shown = "".join(marks.feed(text[at : at + size]) for at in range(0, len(text), size))
        assert (shown + held, marks.finish()) == (text, held)


def test_words_are_held_back_only_where_they_may_become_a_mark() -> None:
    marks = CitationFilter()

    assert marks.feed("It rains [") == "It rains"
    assert marks.feed("1]") == " [1]"
    assert marks.feed(" now") == " now"
