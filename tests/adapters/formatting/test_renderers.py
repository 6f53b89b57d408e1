"""What people read on each platform is the document, letter for letter."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adapters.discord import markdown as discord_markdown
from adapters.formatting.layout import width
from adapters.formatting.rendered import Rendered
from adapters.slack import mrkdwn as slack_mrkdwn
from adapters.telegram import html as telegram_html
from bot.contract.surface import utf16_length
from playground.discord.markdown import render as as_discord_shows
from tests.adapters import plain

RENDERERS = [telegram_html.render, slack_mrkdwn.render, discord_markdown.render, plain.render]

DOCUMENT = """# Title **bold**
#### Deep **x** and `c`

这是**粗体：**文字 and **bold *it* `code` z** ~~no~~ ||spoil||, 2*3*4, \\*lit\\* @everyone a_b_c & <b>.
[label](https://a.b/c?x=1&y=2) https://x.yz/q <https://q.r>

- one
  more
  - [x] nested

  ```py
  a = "```"
  ```
3. three

| name | 值 |
|:--|--:|
| a | 中文 | extra |
| long cell | 1 |

> quote **b**
> > inner
>
> ~~~sh
> ls
> ~~~

~~~~
```
x
```
~~~~
---
1\\. no list 👩‍👩‍👧 שלום
"""

PIECES = st.sampled_from(
    [
        "**bold**",
        "*it*",
        "`code`",
        "``a`b``",
        "~~s~~",
        "||sp||",
        "[l](https://a.b)",
        "https://x.yz/a",
        "![i](https://i.j/k)",
        "word",
        "中文",
        "：",
        "**",
        "*",
        "_",
        "`",
        "[",
        "](",
        ")",
        "|",
        "||",
        "~~",
        "\\",
        "<",
        "&amp;",
        "&",
        "👩\u200d👩\u200d👧",
        " ",
        "\n",
    ]
)
BLOCKS = st.one_of(
    st.lists(PIECES, min_size=1, max_size=10).map("".join),
    st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: "- " + "".join(parts)),
    st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: "> " + "".join(parts)),
    st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: "## " + "".join(parts)),
    st.sampled_from(
        [
            "```py\nx = [1] # <a>\n```",
            "~~~\n```\n~~~",
            "1. a\n   - b\n     > c\n",
            "| a | b |\n|---|---|\n| **x** | `y` | z |",
            "---",
            "- [ ] todo\n- [x] done",
        ]
    ),
)
DOCUMENTS = st.lists(BLOCKS, max_size=6).map("\n\n".join)


MASKED = re.compile(r"(?<!\\)((?:\\\\)*)\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\(<[^>]*>\)", re.DOTALL)


class TelegramScreen(HTMLParser):
    """Reads HTML as strictly as Telegram does."""

    allowed = frozenset({"b", "i", "s", "u", "a", "code", "pre", "blockquote", "tg-spoiler"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.shown = ""
        self.entities = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.allowed
        assert "code" not in self.open
        assert "pre" not in self.open or (tag == "code" and self.open[-1] == "pre")
        assert tag not in self.open
        if tag in ("pre", "blockquote"):
            assert not self.open
        self.entities += not (tag == "code" and "pre" in self.open)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown += data


def on_telegram(done: Rendered) -> str:
    screen = TelegramScreen()
    screen.feed(done.text)
    screen.close()
    assert not screen.open
    assert "<" not in re.sub(r"</?[a-z-]+(?: [a-z]+=\"[^\"<>]*\")?>", "", done.text)
    assert done.length == utf16_length(screen.shown)
    assert done.entities == screen.entities <= 100
    return screen.shown


def on_slack(done: Rendered) -> str:
    text = re.sub(r"<((?:https?|mailto):[^|>]*)(?:\|([^>]*))?>", lambda found: found[2] or found[1], done.text)
    assert "<" not in text
    return html.unescape(text)


def on_discord(done: Rendered) -> str:
    text = re.sub(r"^(> )?```[\w+#.-]*$", "", done.text, flags=re.MULTILINE)
    return MASKED.sub(r"\1\2", text)


def letters(text: str) -> str:
    """What people read, without the marks that each platform needs."""
    return "".join(sign for sign in text if sign.isalnum())


def on_plain(done: Rendered) -> str:
    return re.sub(r" <(?:https?|mailto):[^<>\s]*>", "", done.text)


def all_screens(text: str, *, final: bool) -> list[str]:
    return [
        letters(on_telegram(telegram_html.render(text, final=final))),
        letters(on_slack(slack_mrkdwn.render(text, final=final))),
        letters(on_discord(discord_markdown.render(text, final=final))),
        letters(on_plain(plain.render(text, final=final))),
    ]


def test_all_platforms_show_the_same_words() -> None:
    for unclosed in ("- <https://x.yz/a[l](https://a.b)", "- <https://x.yz/a\n\n> **bold**"):
        broken, *others = all_screens(unclosed, final=True)
        assert others == [broken] * 3

    telegram, *others = all_screens(DOCUMENT, final=True)

    assert others == [telegram] * 3
    for words in ("粗体", "文字", "extra", "nested", "inner", "longcell", "234", "שלום", "abc"):
        assert words in telegram


@settings(max_examples=50, deadline=None)
@given(DOCUMENTS)
def test_any_document_shows_the_same_words_everywhere(text: str) -> None:
    telegram, *others = all_screens(text, final=True)

    assert others == [telegram] * 3


@settings(max_examples=35, deadline=None)
@given(DOCUMENTS)
def test_no_word_of_a_document_is_lost(text: str) -> None:
    assume(not re.search(r"^[ >\-]*(```+|~~~+)(?!py$|$)", text, re.MULTILINE))  # a fence's info is not shown
    words = re.findall(r"word|中文|bold|code|todo|done", text)

    shown = all_screens(text, final=True)[0]

    for word in set(words):
        assert shown.count(word) >= words.count(word) - text.count("```" + word)


@settings(max_examples=20, deadline=None)
@given(DOCUMENTS)
def test_every_unfinished_text_is_drawn_balanced(text: str) -> None:
    for end in range(0, len(text) + 1, 2):
        all_screens(text[:end], final=False)


def test_every_prefix_of_a_long_answer_is_drawn_balanced() -> None:
    for end in range(len(DOCUMENT) + 1):
        on_telegram(telegram_html.render(DOCUMENT[:end], final=False))
        assert discord_markdown.render(DOCUMENT[:end], final=False).text.count("```") % 2 == 0
        assert slack_mrkdwn.render(DOCUMENT[:end], final=False).text.count("```") % 2 == 0


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200), st.booleans(), st.sampled_from(RENDERERS))
def test_no_text_breaks_a_renderer(text: str, final: bool, render: Callable[..., Rendered]) -> None:
    render(text, final=final)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~ `d` ||e||", "<b>a</b> <i>b</i> <s>c</s> <code>d</code> <tg-spoiler>e</tg-spoiler>"),
        ("# Head", "<b>Head</b>"),
        ("```c++\na<b\n```", '<pre><code class="language-c++">a&lt;b</code></pre>'),
        ("> a\n> b", "<blockquote>a\nb</blockquote>"),
        ("> [!more]\n> a\n> **b**\n> > c", "<blockquote expandable>a\n<b>b</b>\n\nc</blockquote>"),
        ("> a\n>\n> > [!more]\n> > b", "<blockquote>a\n\nb</blockquote>"),
        ("> [!more]", "<blockquote>[!more]</blockquote>"),
        ("[x](https://a.b/?q=1&r=2)", '<a href="https://a.b/?q=1&amp;r=2">x</a>'),
        ("[x](javascript:alert)", "[x](javascript:alert)"),
        ("[x]() []()", "x []()"),
        ("**b `c` d**", "<b>b </b><code>c</code><b> d</b>"),
        ("- [x] done\n- [ ] open", "☑ done\n☐ open"),
        ("2. a\n   - b", "2. a\n   • b"),
        ("![alt](https://a.b/c.png)", "alt (<code>https://a.b/c.png</code>)"),
        ("a\\@b.cd **x**@e.fg", "<code>a@b.cd</code> <code>x</code><code>@e.fg</code>"),
        ("me@a.bc, <me@a.bc>", '<a href="mailto:me@a.bc">me@a.bc</a>, <a href="mailto:me@a.bc">me@a.bc</a>'),
        ("//-evil.com", "//-<code>evil.com</code>"),
        ("> ```\n> x\n> ```\n>\n> ```\n> y\n> ```", "<pre>x</pre>\n<pre>y</pre>"),
        ("|a|b|\n|:-:|--:|\n|x|y|\n|long|1|", "<pre> a   | b\n-----+--\n x   | y\nlong | 1</pre>"),
    ],
)
def test_telegram_html(markdown: str, expected: str) -> None:
    assert telegram_html.render(markdown).text == expected


def test_telegram_gets_at_most_100_entities_and_every_word() -> None:
    done = telegram_html.render(" ".join(f"**w{number}**" for number in range(150)))

    assert done.entities == 100
    assert on_telegram(done).split() == [f"w{number}" for number in range(150)]


def test_telegram_makes_no_link_of_a_block_that_comes_after_100_entities() -> None:
    done = telegram_html.render(" ".join("**w**" for _ in range(100)) + "\n\n```\nsee evil.example @ada\n```")

    assert done.entities == 100
    assert done.text.endswith("\n\nsee evil․example ＠ada")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~ `d`", "*a* _b_ ~c~ `d`"),
        ("这是**粗**字", "这是\u200b*粗*\u200b字"),
        ("<!channel> <@U1> & >", "&lt;!channel&gt; &lt;@U1&gt; &amp; &gt;"),
        ("[x|y](https://a.b/?q=1&r=2)", "<https://a.b/?q=1&amp;r=2|x|y>"),
        ("https://a.b", "<https://a.b>"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("~~~py\na ``` b\n~~~", "```\na `\u200b`\u200b` b\n```"),
        (r"\*not bold\*", "`*not bold*`"),
        (r"\*a\* and a\_b\_c, 2 * 3, \`x\`", "`*a*` and a_b_c, 2 * 3, ‵x‵"),
        (r"**a \* b** \*c\* `x\`", "*a ∗ b* ∗c∗ `x\\`"),
        ("__bold__ \\_x\\_ *a_b_c*", "*bold* ＿x＿ _a＿b＿c_"),
        ("# A **b**", "*A b*"),
        ("**a *b __c__* __d__**", "*a _b c_ d*"),
        ("**a\n&nbsp;\nb**", "*a*\n\xa0\n*b*"),
        (r"\*a \_b\_ c\*", "`*a _b_ c*`"),
        (r"\~a `b` c\~", "∼a `b` c∼"),
        ("> a\n>\n> ```\n> c\n> ```", "> a\n>\n> `c`"),
        ("> [!more]\n> a\n> b", "> a\n> b"),
    ],
)
def test_slack_mrkdwn(markdown: str, expected: str) -> None:
    assert slack_mrkdwn.render(markdown).text == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~ `d` ||e||", "**a** *b* ~~c~~ `d` ||e||"),
        ("> [!more]\n> a \\| b\n> c", "> ||a | b\n> c||"),
        ("> [!more]\n> a ||b||", "> a ||b||"),
        ("> [!more]\n> a\n>\n> ```\n> b\n> ```", "> a\n> \n> ```\n> b\n> ```"),
        ("## Two\n\n#### Four", "## Two\n\n**Four**"),
        ("see https://a.b/c.", "see <https://a.b/c>."),
        ("[x](https://a.b)", "[x](<https://a.b>)"),
        ("https://a.b/wiki/中文", "<https://a.b/wiki/中文>"),
        ("````md\n```\nx\n```\n````", "```md\n`\u200b`\u200b`\nx\n`\u200b`\u200b`\n```"),
        ("~~~\nx\n~~~", "```\nx\n```"),
        ("@everyone snake_case_name", "@everyone snake_case_name"),
        (r"\# no head", r"\# no head"),
        (r"\[x](https://a.b)", r"[x\](<https://a.b>)"),
        ("| a |\n|---|\n| 中 |", "```\na\n--\n中\n```"),
        ("[github.com](https://evil.example)", "[github.com (evil.example)](<https://evil.example>)"),
        ("``a```b``", "`` a`\u200b`\u200b`b ``"),
        ("~~~~\n`````\n~~~~", "```\n`\u200b`\u200b`\u200b`\u200b`\n```"),
        ("```\n```", "```\n \n```"),
        ("**a `**b` c** ~~`~~x`~~ *`*`*", "a `**b` c `~~x` _`*`_"),
        ("- **a\n  b** `**`", "- **a**\n  **b** `**`"),
        ("a\\`b `https://evil.example` `c", "a\u2035b `https://evil.example` \u2035c"),
        ("\\\\[l](https://a.b)", "\\\\[l](<https://a.b>)"),
        ("a ~~~~x~~~~ ~~`y`~~", "a ~~x~~ ~~`y`~~"),
        ("a\\\\`b`", "a\\\\`b`"),
        ("a ` ` b", "a   b"),
        ("**&nbsp;** x", "\xa0 x"),
        ("[Ann](mailto:a@b.example)", "Ann (a@b.example)"),
        ("**[x](https://a.b)** *[y](https://a.b/c*d)*", "**[x](<https://a.b>)** _[y](<https://a.b/c*d>)_"),
        ("- > > ```\n  > > x\n  > > ```", "-\n```\nx\n```"),
        ("- > - ```\n  >   x\n  >   ```", "- -\n```\nx\n```"),
        ("https:[//a.b]()", "https\\://a.b"),
        ("[see https://a_b.c/d_e now](https://a_b.c/)", "see `https://a_b.c/d_e` now <https://a_b.c/>"),
        ("[https://a_b.c/x](https://a_b.c/)", "`https://a_b.c/x` <https://a_b.c/>"),
        ("E = mc<sup>2</sup>, <kbd>Esc</kbd>, x<sub>ab</sub></div>", "E = mc², `Esc`, x<sub>ab</sub></div>"),
        ("</weather:1>", "\\</weather:1>"),
        ("- > ```\n  > x\n  > ```\n- > y", "-\n```\nx\n```\n- > y"),
    ],
)
def test_discord_markdown(markdown: str, expected: str) -> None:
    assert discord_markdown.render(markdown).text == expected


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("📖 Docs", "📖 [Docs](<https://a.b>)"),
        ("👩‍💻🇩🇪 ❤️ *Docs* 1️⃣", "👩‍💻🇩🇪 ❤️ [*Docs*](<https://a.b>) 1️⃣"),
        (":rocket: Docs", ":rocket: [Docs](<https://a.b>)"),
        ("16⭐ of 20", "16⭐ of 20 <https://a.b>"),
        ("**📖 Docs**", "**📖 Docs** <https://a.b>"),
        ("🔗", "🔗 <https://a.b>"),
        ("中文 → é ™", "[中文 → é ™](<https://a.b>)"),
    ],
)
def test_discord_makes_no_link_of_a_label_with_an_emoji(label: str, shown: str) -> None:
    """It shows the marks: discord/discord-api-docs#6088, #6810, #7510."""
    page = discord_markdown.render(f"see [{label}](https://a.b).").text

    assert page == f"see {shown}."
    assert "](" not in as_discord_shows(page, lambda kind, id: id).text


def test_a_github_alert_is_a_quote_with_its_name() -> None:
    written = "> [!NOTE]\n> Tea is **hot**.\n\n> [!warning]\n\n> [!NOTES] x\n> [!TIP]"

    assert telegram_html.render(written).text == (
        "<blockquote><b>Note</b>\nTea is <b>hot</b>.</blockquote>\n\n<blockquote><b>Warning</b></blockquote>\n\n"
        "<blockquote>[!NOTES] x\n[!TIP]</blockquote>"
    )
    assert slack_mrkdwn.render(written).text.startswith("> *Note*\n> Tea is *hot*.\n\n> *Warning*\n")
    assert discord_markdown.render(written).text.startswith("> **Note**\n> Tea is **hot**.\n\n> **Warning**\n")


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("1. Fixed\n3. Explained\n4. Done", [1, 3, 4]),
        ("10. tea\n9. milk\n8. water", [10, 9, 8]),
        ("3) tea\n\n7) milk", [3, 7]),
        ("1. tea\n1. milk\n1. water", [1, 2, 3]),
        ("0. tea\n0. milk", [0, 1]),
    ],
)
def test_the_numbers_of_a_list_are_those_of_the_answer(written: str, numbers: list[int]) -> None:
    """Also where a platform's client counts on by itself."""
    for render in (telegram_html.render, slack_mrkdwn.render, plain.render):
        lines = [line for line in render(written).text.split("\n") if line]
        assert [line.split(" ")[0] for line in lines] == [f"{number}." for number in numbers]
    lines = [line for line in discord_markdown.render(written).text.split("\n") if line]
    follows = [at == 0 or number == numbers[at - 1] + 1 for at, number in enumerate(numbers)]
    assert [line.split(" ")[0] for line in lines] == [
        f"{number}." if counted else f"{number}\\." for number, counted in zip(numbers, follows, strict=True)
    ]


def test_a_cell_with_line_breaks_takes_several_lines_of_its_row() -> None:
    shown = plain.render("| a | b |\n|---|--:|\n| x<br>yy<br/>z | 1 |\n| 2 | 3 |").text

    assert [line.rstrip() for line in shown.splitlines()] == ["a  | b", "---+--", "x  | 1", "yy |", "z  |", "2  | 3"]


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    assert [width(text) for text in ("ab", "中文", "e\u0301", "👩\u200d👧", "🇩🇪")] == [2, 4, 1, 2, 2]
