"""What a person reads on each emulated screen is the document: the renderers against the platforms' own rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from adapters.discord import markdown as discord_markdown
from adapters.slack import mrkdwn as slack_mrkdwn
from adapters.telegram import html as telegram_html
from bot.markdown.tree import Block, CodeBlock, Heading, Listing, Paragraph, Quote, Rule, Table, parse, text_of
from bot.safety.linkpolicy import Unknown
from bot.safety.links import LinkFilter, LinkPolicy
from playground.discord import mentions
from playground.discord.markdown import render as discord_screen
from playground.slack.mrkdwn import Drawn, draw_mrkdwn
from playground.telegram.call import Arguments
from playground.telegram.messages import formatted

ALIKE = str.maketrans("∗＿∼‵＠․∶", "*_~`@.:")


def words(block: Block) -> str:
    """What a block says, whatever it looks like."""
    match block:
        case Paragraph(children) | Heading(_, children):
            return text_of(children)
        case CodeBlock(text):
            return text
        case Table(rows):
            return "\n".join(text_of(cell) for row in rows for cell in row)
        case Quote(blocks):
            return "\n".join(map(words, blocks))
        case Listing(items):
            return "\n".join(words(inner) for item in items for inner in item.blocks)
        case Rule():
            return ""
    raise AssertionError(block)


def seen(text: str) -> str:
    """Every visible sign that is not drawn around the words: lists, rules and tables have such."""
    text = text.replace("\u200b", "").translate(ALIKE)
    text = re.sub(r"^[ >]*(?:[•\-*☐☑]|\d+\.)(?= |$)|[─|+\-]|☐|☑", "", text, flags=re.MULTILINE)
    return "".join(text.split())


def on_telegram(markdown: str) -> tuple[str, list[str], list[str]]:
    """What is read, who is pinged, and what is fetched or linked without our doing."""
    done = telegram_html.render(markdown)
    shown = formatted(Arguments({"text": done.text, "parse_mode": "HTML"}))
    live = [str(one.type) for one in shown.entities if one.type in ("mention", "url", "email", "text_mention")]
    return shown.text, live, []


def on_slack(markdown: str) -> Drawn:
    return draw_mrkdwn(slack_mrkdwn.render(markdown).text, {"U1": "ada"}, autolink=False)


def on_discord(markdown: str) -> str:
    return discord_screen(discord_markdown.render(markdown).text, lambda kind, id: f"[{kind} {id}]").text


EXACT = [
    "plain words",
    r"\*not bold\* \_not italic\_ \~not struck\~",
    r"2 \* 3 \* 4 and a\_b\_c and \~/src and \~user",
    r"**bold \* star** and \*x\*",
    r"*it \_ x* and \_y\_ and snake_case_name",
    r"~~gone \~ x~~ \~z\~",
    "__init__ and \\_\\_init\\_\\_ and `__init__`",
    "`*code*` and \\`no code\\` and \\`one",
    "a < b > c & d &amp; &lt;e&gt;",
    "<!channel> <@U1> <#C1> <@7> <@&8> <#9> <:e:1> <t:1:R> </a:1>",
    "@everyone @here @channel @durov mail@a.example",
    "https\\://evil.example/x and evil.com and README.md",
    "> quote <b>\n> more",
    "> [!more]\n> quote \\*b\\* \\|\\|c\\|\\|\n> more",
    "\\> no quote\n\\# no heading\n\\- no list\n1\\. no list",
    "- a\n- b\n  - c",
    "| a | b |\n|---|---|\n| <x> | `y` |",
    "```\n*x* <!here> @durov https://evil.example\n```",
    "text \\`\\`\\` x \\`\\`\\` y",
    "\\*\\*a\\*\\* \\~\\~b\\~\\~ \\|\\|c\\|\\|",
    "*a*_b_ **c**d 这是**粗体：**文字",
    "# Head \\*x\\* **y**",
    "see [label \\*x\\*](https://a.example/_x_*y*)",
    "2a14:6f42:c::/48 and fe80::b:1 at parser.js:100:14 (server.ts:100:3), key user:id:42 or 1:100:50, 10:30:45",
    "**a:b:c** and _x:100:y_, x:v:: and std::key::find, 地址2a14:c:1在这里 and [a:b:c](https://a.example/x:b:c)",
    "# Key user:id:42\n> and 1:100:1\n\n- a:b:c `d:b:e`\n\n| a |\n|---|\n| k:id:1 |",
]


@pytest.mark.parametrize("markdown", EXACT)
def test_every_sign_of_a_document_is_read_on_every_screen(markdown: str) -> None:
    expected = seen("\n".join(map(words, parse(markdown))))

    telegram, live, _ = on_telegram(markdown)
    slack = on_slack(markdown)

    assert seen(telegram) == expected
    assert seen(slack.text) == expected
    assert seen(on_discord(markdown)) == expected
    assert live == []
    assert slack.mentions == []


def test_an_emoji_that_stands_alone_is_drawn_where_the_client_knows_its_name() -> None:
    markdown = "Done :tada::rocket: and (:100:). **:key: Keys**! Shipped!:rocket:"

    expected = "Done 🎉🚀 and (💯). 🔑 Keys! Shipped!🚀"
    assert on_slack(markdown).text == on_discord(markdown) == expected


def test_times_and_titles_are_no_names_of_emoji() -> None:
    markdown = "At 10:30am: bring 3:4:5, see 12:45:30. Note: this: a"

    assert slack_mrkdwn.render(markdown).text == discord_markdown.render(markdown).text == markdown


PIECES = st.sampled_from(
    [
        *("*", "_", "~", "`", "**", "~~", "||", "\\*", "\\_", "\\~", "\\`", "\\", "|"),
        *("a", "b1", "中", "：", " ", " ", "\n", ".", "(", ")", "[", "]", "<", ">", "&", "&lt;", "&amp;", "@", "#"),
        *(
            "@here",
            "@durov",
            "<!channel>",
            "<@U1>",
            "<@7>",
            "https\\://x.example",
            "evil.com",
            "http://e.example",
            "me@e.example",
            "x:100:",
            "e\u0301",
            "👩\u200d👧",
        ),
    ]
)
LETTERS = re.compile(r"[^\W_]+")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES, max_size=24).map("".join), st.sampled_from(["code", "text"]))
def test_no_word_is_lost_or_comes_to_life_on_any_screen(markdown: str, unknown: Unknown) -> None:
    assume(not re.search(r"^[ >\-]*(```|~~~)", markdown, re.MULTILINE))  # what stands behind a fence is not shown
    links = LinkFilter(LinkPolicy(unknown=unknown))
    markdown = links.feed(markdown) + links.finish()
    expected = LETTERS.findall("\n".join(map(words, parse(markdown))))

    telegram, live, _ = on_telegram(markdown) if telegram_html.render(markdown).text.strip() else ("", [], [])
    slack = on_slack(markdown)
    discord = discord_markdown.render(markdown).text

    assert "".join(LETTERS.findall(telegram.translate(ALIKE))) == "".join(expected)
    assert "".join(LETTERS.findall(slack.text)) == "".join(expected)
    assert "".join(LETTERS.findall(discord_screen(discord, lambda kind, id: "?").text)) == "".join(expected)
    assert live == []
    assert slack.mentions == [] and slack.links == []
    assert mentions.previewed(discord) == []
