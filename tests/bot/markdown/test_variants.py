"""What models write for a mark that CommonMark does not know, and tags and formulas among words."""

from __future__ import annotations

import pytest

from bot.markdown import (
    Block,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Listing,
    Paragraph,
    Styled,
    Table,
    Text,
    escape,
    parse,
)
from bot.markdown.unfinished import close_open


def drawn(nodes: tuple[Inline, ...]) -> str:
    """Words with a letter around what is styled: b for bold, i, s, and c for code."""
    said = ""
    for node in nodes:
        match node:
            case Text(text):
                said += text
            case Code(text):
                said += f"c({text})"
            case Styled(style, children):
                said += f"{ {'strong': 'b', 'emphasis': 'i', 'strike': 's'}.get(style, style) }({drawn(children)})"
            case _:
                said += f"link({drawn(node.children)})"
    return said


def of(block: Block) -> str:
    match block:
        case Paragraph(children):
            return drawn(children)
        case Heading(level, children):
            return f"h{level}({drawn(children)})"
        case Table(rows, _):
            return "\n".join(" | ".join(map(drawn, row)) for row in rows)
        case Listing(items):
            return "\n".join(f"- {of(inner)}" for item in items for inner in item.blocks)
    raise AssertionError(block)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("看＊＊粗体＊＊字", "看b(粗体)字"),
        ("＊＊＊粗斜＊＊＊", "i(b(粗斜))"),
        ("＊ 注", "＊ 注"),
        ("a＊b＊c", "a＊b＊c"),
        ("＊＊没有完", "＊＊没有完"),
        ("`＊＊x＊＊`", "c(＊＊x＊＊)"),
        ("看 ** 粗体 ** 字", "看 b(粗体) 字"),
        ("**粗体 **字", "b(粗体)字"),
        ("** 粗体**字", "b(粗体)字"),
        ("＊＊ 粗体 ＊＊", "b(粗体)"),
        ("**甲** 和 **乙**", "b(甲) 和 b(乙)"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
        ("a ** 粗 b", "a ** 粗 b"),
        ("甲 ** `乙` ** 丙", "甲 ** c(乙) ** 丙"),
        ("###标题", "h3(标题)"),
        ("#标题", "h1(标题)"),
        ("##1. 背景", "h2(1. 背景)"),
        ("##**背景**", "h2(b(背景))"),
        ("#hashtag", "#hashtag"),
        ("##two", "##two"),
        ("#1 is first", "#1 is first"),
        ("#旅行 #美食", "#旅行 #美食"),
        ("#话题#", "#话题#"),
        ("#######七", "#######七"),
        ("###🎉 庆祝", "h3(🎉 庆祝)"),
    ],
)
def test_marks_as_chinese_tuned_models_write_them(written: str, shown: str) -> None:
    (block,) = parse(written)

    assert of(block) == shown


@pytest.mark.parametrize(
    "written",
    [
        "｜名｜价｜\n｜---｜:--｜\n｜苹果｜3｜",
        "|名｜价|\n|---|---|\n|苹果｜3|",
        "｜名｜价｜\n|---|---|\n| 苹果 | 3 |",
        "名｜价\n---｜---\n苹果｜3",
    ],
)
def test_a_table_may_have_full_width_borders(written: str) -> None:
    (table,) = parse(written)

    assert of(table) == "名 | 价\n苹果 | 3"


def test_a_full_width_border_in_a_whole_row_is_text() -> None:
    (table,) = parse("| a | b |\n|---|---|\n| 甲｜乙 | c |")

    assert of(table) == "a | b\n甲｜乙 | c"


@pytest.mark.parametrize("written", ["｜名｜价", "｜名｜价｜\n", "｜名｜价｜\n｜--", "｜名｜价｜\n｜---｜---｜\n"])
def test_a_table_with_full_width_borders_is_one_while_it_is_written(written: str) -> None:
    (table,) = parse(written, final=False)

    assert of(table) == "名 | 价"


def test_a_full_width_mark_that_is_half_written_is_closed_or_held_back() -> None:
    assert [of(parse(text, final=False)[0]) for text in ("看＊＊粗", "看＊＊粗＊", "看＊＊粗＊＊", "看＊")] == [
        "看b(粗)",
        "看b(粗)",
        "看b(粗)",
        "看",
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("- a<br>b", "- a\nb"),
        ("| x | y |\n|---|---|\n| a <br/> b | c |", "x | y\na \nb | c"),
        ("line<br>\nnext", "line\nnext"),
        ("write <br>, not", "write <br>, not"),
        ("`<br>`", "c(<br>)"),
        ("press <kbd>Ctrl</kbd>+<kbd>C</kbd>", "press c(Ctrl)+c(C)"),
        ("call <code>f(*x)</code> or <samp>a_b</samp>, the <code> tag", "call c(f(*x)) or c(a_b), the <code> tag"),
        ("H<sub>2</sub>O, x<sup>n+1</sup>", "H₂O, xⁿ⁺¹"),
        ("x<sub>long words</sub>", "x<sub>long words</sub>"),
        ("<b>bold</b> and <i>it</i>, <del>no</del>", "b(bold) and i(it), s(no)"),
        ("<details><summary>More</summary>", "b(More)"),
        ("a < b > c <nothing> <b>", "a < b > c <nothing> <b>"),
        ("<b>`</b> x `", "<b>c(</b> x )"),
        ("<u>under</u> <mark>**this**</mark>, <small>or</small>", "under b(this), or"),
        ('<font color="red">red</font><span style="x">dish</span> <P align=center>Hi</P>', "reddish Hi"),
        ("the tags <p> and </p>, <span>x</span>", "the tags <p> and </p>, <span>x</span>"),
        ("see <a href='https://a.example/x?a=1'>the **page**</a>", "see link(the b(page))"),
        ('<a name="top">x</a> <a href="javascript:x">y</a>', "x y (c(javascript:x))"),
        ('<a href="`https://a.example`">it</a>', "it (c(https://a.example))"),
    ],
)
def test_a_tag_is_what_it_means_or_stays_as_it_is_written(written: str, shown: str) -> None:
    (block,) = parse(written)

    assert of(block) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a**2 + b**2 = c**2", "a**2 + b**2 = c**2"),
        ("10**6 to 10**-9, 2**n < 3**n, x**n or (a+b)**n", "10**6 to 10**-9, 2**n < 3**n, x**n or (a+b)**n"),
        ("**Area**: width**2 + height**2", "b(Area): width**2 + height**2"),
        ("**GPT-5**2025年 and **Q3**2024", "b(GPT-5)2025年 and b(Q3)2024"),
        ("x**2 is **big**\nand **bold**", "x**2 is b(big)\nand b(bold)"),
        ("**x**2 and ***both***", "b(x)2 and i(b(both))"),
        ("use __init__, __name__ == '__main__' in __init__.py", "use __init__, __name__ == '__main__' in __init__.py"),
        ("__bold__ and __so bold__", "b(bold) and b(so bold)"),
        ("**__all__** of a__init__", "b(__all__) of a__init__"),
    ],
)
def test_powers_and_names_of_languages_are_no_marks(written: str, shown: str) -> None:
    (block,) = parse(written)

    assert of(block) == shown
    for end in range(len(written)):
        assert "****" not in close_open(written[:end])


def test_a_power_is_not_closed_while_it_is_written() -> None:
    assert [close_open(text) for text in ("so a**2 + b", "so **a**2 + b", "so **a")] == [
        "so a**2 + b",
        "so **a**2 + b",
        "so **a**",
    ]


def test_what_is_folded_away_in_html_is_shown_with_its_summary() -> None:
    shown = [of(block) for block in parse("<details>\n<summary>More</summary>\n\nhidden\n\n</details>\n\nafter")]

    assert [line.strip() for line in shown] == ["b(More)", "hidden", "after"]


@pytest.mark.parametrize(
    "written",
    [
        r"so \(a\,b\) is",
        r"\( x^2 \_ \)",
        r"\(x\)",
        "\\[\nx^2 \\\\ y*z*w\n\\]",
        r"$$\frac{a}{b}\,\begin{matrix}1\\2\end{matrix}$$",
        "with $x_1$ and $y_1$ both",
        "costs $5 and $10_000, or $10*2$ in all",
    ],
)
def test_a_formula_stays_as_it_is_written(written: str) -> None:
    (block,) = parse(written)

    assert of(block) == written


def test_brackets_that_were_escaped_are_brackets() -> None:
    (block,) = parse(r"\[1\], \(see below\) and \[x\](y)")

    assert of(block) == "[1], (see below) and [x](y)"


@pytest.mark.parametrize(
    "text", ["f(x_1) = [a](b)", "$x_1$", r"\(a_1\)", "＊＊a＊＊", "<b>x</b>", "<kbd>x</kbd>", "###标题", "a ** 粗 ** b"]
)
def test_what_others_chose_is_shown_as_it_is(text: str) -> None:
    (block,) = parse(escape(text))

    assert isinstance(block, Paragraph) and drawn(block.children) == text


def test_a_fence_and_its_words_are_apart() -> None:
    blocks = parse("- 代码：\n```python\n＊＊x＊＊ <br> $a_1$\n```")

    assert isinstance(blocks[-1], CodeBlock) and blocks[-1].text == "＊＊x＊＊ <br> $a_1$"
