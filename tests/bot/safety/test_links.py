"""Only known addresses are links, and no label deceives."""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.markdown import tree
from bot.markdown.addresses import hides_host, trim_url
from bot.safety.linkpolicy import Code, Link, Text, Unknown, carries_data
from bot.safety.links import LinkFilter, LinkPolicy
from bot.safety.spans import as_words

KNOWN = "https://known.org/a?b=1"


def policy(unknown: Unknown = "code") -> LinkPolicy:
    made = LinkPolicy(unknown=unknown)
    made.learn(f"see {KNOWN}, and https://zh.wikipedia.org/wiki/中文 or write to me@known.org.")
    return made


def filtered(text: str, size: int = 10_000, unknown: Unknown = "code") -> str:
    links = LinkFilter(policy(unknown))
    return "".join(links.feed(text[at : at + size]) for at in range(0, len(text), size)) + links.finish()


CASES = [
    (f"a [x]({KNOWN}) b {KNOWN}.", f"a [x]({KNOWN}) b {KNOWN}."),
    ("a [x](https://evil.com/) b", "a x (`https://evil.com/`) b"),
    ("at https://evil.com/x, and", "at `https://evil.com/x`, and"),
    ("[evil.com](https://evil.com)", "`https://evil.com`"),
    ("![alt](https://evil.com/i.png?d=1) z", "alt (`https://evil.com/i.png?d=1`) z"),
    (f"![alt]({KNOWN})", f"alt (`{KNOWN}`)"),
    (f"<https://evil.com> <{KNOWN}> <b>", f"`https://evil.com` <{KNOWN}> <b>"),
    ('<a href="https://evil.com">x</a>', '<a href="`https://evil.com`">x</a>'),
    ("`https://evil.com` ``a`https://b.c``", "`https://evil.com` ``a`https://b.c``"),
    ("```\nhttps://evil.com\n```\nhttps://evil.com", "```\nhttps://evil.com\n```\n`https://evil.com`"),
    ("- ~~~\n  http://e.vil\n  ~~~\nhttp://e.vil", "- ~~~\n  http://e.vil\n  ~~~\n`http://e.vil`"),
    (f"[google.com]({KNOWN})", f"[google.com (known.org)]({KNOWN})"),
    (f'[r]: https://evil.com "t"\n[q]: {KNOWN}\n[x][r]', f'[r]: `https://evil.com` "t"\n[q]: {KNOWN}\n[x][r]'),
    (
        "看https://evil.com谢谢，https://zh.wikipedia.org/wiki/中文。",
        "看`https://evil.com`谢谢，https://zh.wikipedia.org/wiki/中文。",
    ),
    ("[![alt](http://img)](https://evil.com)", "alt (`http://img`) (`https://evil.com`)"),
    ("[j](javascript:alert(1))", "j (`javascript:alert(1)`)"),
    ("www.evil.com mailto:me@known.org mailto:a@b.cc", "`www.evil.com` mailto:me@known.org `mailto:a@b.cc`"),
    ("[a](https&#58;//evil.com)", "a (`https://evil.com`)"),
    ("码：```py\nhttps://evil.com\n```\nhttps://evil.com", "码：\n```py\nhttps://evil.com\n```\n`https://evil.com`"),
    ("- see ```py\nx", "- see \n```py\nx"),
    ("码：```\nhttps://evil.com\n```", "码：\n```\nhttps://evil.com\n```"),
    ("a ```\nb``` c", "a ```\nb``` c"),
    ("｜ `a ｜ https://evil.com` ｜", "｜ `a ｜ ``https://evil.com`` ` ｜"),
    ("**https://evil.com/a_(b)** (https://evil.com)", "**`https://evil.com/a_(b)`** (`https://evil.com`)"),
    ("\\[x](http://evil.com)", "\\[x]\\(`http://evil.com`)"),
    ("`open\n\nhttp://evil.com x", "`open\n\n`http://evil.com` x"),
    ("a[0] = [1, 2]; b < 3 ! [x] whttps://no", "a[0] = [1, 2]; b < 3 ! [x] w`https://no`"),
    ("a ` b https://evil.com ` c", "a ` b https://evil.com ` c"),
    ("`a\n# b https://evil.com", "`a\n# b ``https://evil.com``"),
    ("| `a | https://evil.com` |", "| `a | ``https://evil.com`` ` |"),
    ("[a `]` b](https&#58;//evil.com)", "[a `]` b]\\(https&#58;//evil.com)"),
    ("http://1. <http:evil.com> <`root@evil.com>", "`http://1`. `http:evil.com` <`root\\@evil.com>"),
    ("write to a.b@evil.com, me@known.org.", "write to a.b\\@evil.com, me@known.org."),
    ("x@y @everyone a@b me@known.organ you+me@known.org", "x@y @everyone a@b me\\@known.organ you+me\\@known.org"),
    (f"{KNOWN}[&c](https://evil.com)", f"{KNOWN} &c (`https://evil.com`)"),
    ("me@known.or[g](https://evil.com)", "me\\@known.org (`https://evil.com`)"),
    ("http://[evil.com](https://e.vil)", "http:// evil.com (`https://e.vil`)"),
    ("htt[ps]()://evil.com", "htt[ps]()://evil.com"),
    (f"[a\n1. b]({KNOWN})&c", f"[a\n1. b]\\(`{KNOWN})&c`"),
    (f"| [a|b]({KNOWN})&c |", f"| [a|b]({KNOWN}) &c |"),
    ("<.b@evil.com and <1a@evil.com", "\\<.b\\@evil.com and \\<1a\\@evil.com"),
    ("<mailto:me@known.org<a@evil.ex>", "\\<mailto:me@known.org`a@evil.ex`"),
    ("x```\n|---|\n``**b```> `` https://evil.com", "x```\n|---|\n``**b```> `` ````https://evil.com````"),
    ("``_~~>|[x]: >\\``](](<https://evil.com>`", "``_~~>|[x]: >\\``]\\(]\\(```https://evil.com``` `"),
    ("> ```\n> a\n```](`- https://evil.com", "> ```\n> a\n```]\\(`- ``https://evil.com``"),
    ("see http://... and https://.", "see http://... and https://."),
    ("`a`[`b`](https://evil.com)", "`a` `b` (`https://evil.com`)"),
    (f"_{KNOWN}_ __{KNOWN}__ (_{KNOWN}_)", f"_{KNOWN}_ __{KNOWN}__ (_{KNOWN}_)"),
    (f"_https://evil.com_ a_{KNOWN}", f"_`https://evil.com`_ a_{KNOWN}"),
    ("_www.evil.com_ _me@known.org_", "_`www.evil.com`_ _me@known.org_"),
    ("- > ~~~\n> https://evil.com", "- > ~~~\n> `https://evil.com`"),
    ("~~~\n~~~\ta\n ~~~~\nhttps://evil.com", "~~~\n~~~\ta\n ~~~~\n`https://evil.com`"),
    ("- > ~~~\n  > a\n  > ~~~\nhttps://evil.com", "- > ~~~\n  > a\n  > ~~~\n`https://evil.com`"),
]


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_links_are_decided_however_the_stream_is_cut(text: str, shown: str) -> None:
    for size in (10_000, 1, 2, 3, 7):
        assert filtered(text, size) == shown


def test_an_address_is_known_however_it_is_written() -> None:
    made = LinkPolicy(known=["www.tea.example/kyoto"])

    assert made.knows("https://www.tea.example/kyoto/") and not made.knows("https://www.tea.example/")


def test_of_a_text_only_the_addresses_that_may_be_are_learnt() -> None:
    made = LinkPolicy()

    made.learn("https://a.example, https://b.example, me@a.example, me@b.example, @", unless=lambda one: "b." in one)

    assert made.knows("https://a.example") and made.knows("mailto:me@a.example")
    assert not made.knows("https://b.example") and not made.knows("mailto:me@b.example")


LONG = "https://evil.com/" + "a-b-" * 40
KEY = "https://evil.com/?k=QWxpY2UncyBwYXNz"
UNKNOWN = [
    ("a [x](https://evil.com/p) b", "a x (evil\\.com/p) b", "a [x (evil.com)](https://evil.com/p) b"),
    ("at https://evil.com/x, and", "at evil\\.com/x, and", "at https://evil.com/x, and"),
    ("[the evil.com page](https://evil.com/p)", "the evil.com page (evil\\.com/p)", None),
    ("[good.org](https://evil.com/p)", "good.org (evil\\.com/p)", "[good.org (evil.com)](https://evil.com/p)"),
    ("[evil.com](https://evil.com)", "evil\\.com", None),
    ("<https://evil.com> www.evil.com", "evil\\.com www\\.evil\\.com", None),
    ("看https://evil.com谢谢", "看evil\\.com谢谢", None),
    ("![alt](https://evil.com/i.png) z", "alt (evil\\.com/i\\.png) z", "alt (`https://evil.com/i.png`) z"),
    ("[x](javascript:alert(1))", "x (javascript\\:alert&#40;1\\))", "x (`javascript:alert(1)`)"),
    ("write to a@evil.com", "write to a\\@evil.com", "write to a@evil.com"),
    ("[r]: https://evil.com\n[x][r]", "[r]: evil\\.com\n[x][r]", "[r]: `https://evil.com`\n[x][r]"),
    (f"see [x]({LONG})", f"see x ({as_words(LONG)})", f"see x (`{LONG}`)"),
    (f"see {KEY} now", f"see {as_words(KEY)} now", f"see `{KEY}` now"),
    (
        "[x](https://bank.com@evil.com/)",
        "x (evil.com) (bank\\.com\\@evil\\.com/)",
        "x (evil.com) (`https://bank.com@evil.com/`)",
    ),
    ("http://<https://evil.com>", "http:// evil\\.com", "http://<https://evil.com>"),
    ("<https://evil.com>.x@known.org", "evil\\.com.x\\@known.org", None),
]


@pytest.mark.parametrize(("text", "words", "live"), UNKNOWN)
def test_the_operator_says_how_an_address_is_shown_that_nobody_brought(text: str, words: str, live: str | None) -> None:
    for size in (10_000, 1, 3):
        assert filtered(text, size, "text") == words
        assert filtered(text, size, "live") == (text if live is None else live)


def test_what_somebody_brought_is_a_link_whatever_the_operator_says() -> None:
    for unknown in get_args(Unknown):
        assert filtered(f"a [x]({KNOWN}) b {KNOWN}.", unknown=unknown) == f"a [x]({KNOWN}) b {KNOWN}."


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org/3/library/asyncio-task.html#asyncio.TaskGroup",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "https://en.wikipedia.org/wiki/Green_tea",
        "https://zh.wikipedia.org/wiki/%E7%BB%BF%E8%8C%B6",
        "https://github.com/python/cpython/blob/main/Lib/asyncio/taskgroups.py",
        "https://www.rfc-editor.org/rfc/rfc9110.html#section-9.3",
        "mailto:info@example.org",
    ],
)
def test_an_address_that_people_would_write_carries_no_data(url: str) -> None:
    assert not carries_data(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/QWxpY2UncyBwYXNzd29yZCBpcyAxMjM0",
        "https://evil.com/?q=my+name+is+alice+and+i+live+in+the+city+of+york",
        "https://evil.com/#" + "a-" * 30,
        "https://evil.com/" + "word-" * 30,
        "https://evil.com/%2541%256c%2569%2563%2565",
        "https://evil.com/4d7920636174206973206e616d6564",
        "https://mzxw6ytboi4dcmrt.evil.com/",
        "https://" + "a.b." * 30 + "evil.com",
        "https://alice:pass@evil.com/",
        "https://evil.com:8443/",
        "https://evil.com:x/",
        "https://еvil.com/",
        "mailto:info@evil.com?body=everything-that-was-said-in-this-chat-until-now",
        "https://evil.com/" + "中" * 30,
        "https://evil.com/" + "a/" * 100_000,
    ],
)
def test_an_address_that_could_carry_the_conversation_away_is_never_live(url: str) -> None:
    links = policy("live")

    assert carries_data(url)
    assert not links.allows(url)
    links.learn(url)
    assert links.allows("https://known.org/a?b=1")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([case for case, _ in CASES]), max_size=4).map("\n\n".join), st.integers(1, 9))
def test_any_cut_of_any_text_gives_the_same(text: str, size: int) -> None:
    assert filtered(text, size) == filtered(text)


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="ab `~[]()!<>\\*_\n中|#-1.", max_size=80), st.integers(1, 9))
def test_text_without_an_address_is_not_touched(text: str, size: int) -> None:
    shown = filtered(text, size)

    if "](" not in text:
        assert shown == text


def test_only_what_may_be_a_link_is_held_back() -> None:
    links = LinkFilter(policy())

    assert links.feed("some words, ") == "some words, "
    assert links.feed("see [the pa") == "see "
    assert links.feed(f"ge]({KNOWN}") == ""
    assert links.feed(") now") == f"[the page]({KNOWN}) now"


def test_what_never_becomes_a_link_is_not_held_for_ever() -> None:
    links = LinkFilter(policy())

    shown = links.feed("[" + "word " * 1000)

    assert len(shown) > 4000


def test_the_policy_compares_addresses_and_not_spellings() -> None:
    links = policy()

    assert links.allows("HTTPS://KNOWN.org:443/a?b=1#part")
    assert not links.allows("https://known.org/a?b=2")
    assert not links.allows("https://known.org.evil.com/a?b=1")
    assert not links.allows("ftp://known.org/a?b=1")


def test_a_link_an_image_and_nothing() -> None:
    links = policy()

    assert links.decide("x", KNOWN) == Link("x", KNOWN)
    assert links.decide("x", "https://evil.com") == Code("x", "https://evil.com")
    assert links.decide("x", KNOWN, image=True) == Code("x", KNOWN)
    assert links.decide("x", "") == Text("x")


@pytest.mark.parametrize(
    ("written", "url"), [("https://a.b/c).", "https://a.b/c"), ("https://a.b/c_(d)", "https://a.b/c_(d)")]
)
def test_the_punctuation_of_the_sentence_is_not_the_address(written: str, url: str) -> None:
    assert trim_url(written) == url


PIECES = (
    *("http://e", "<http:evil.ex>", "a@evil.ex", "[a](https://evil.ex)", KNOWN, "me@known.org", f"[k]({KNOWN})", "~~"),
    *("\n```", "\n~~~", "\n> ", "\n- ", "\n2) ", "\\`", "[x]()", "\\\n"),
    *("https://evil.ex/a", "https&#58;//evil.ex/b", "www.evil.ex", "<https://evil.ex/c>", "mailto:a@evil.ex"),
    *("[", "]", "(", ")", "](", "![", "[x]: ", "[x]", "`", "``", "```", "~~~", "\n", "\n\n", "|", "\n|---|\n", "> "),
    *("- ", "# ", "1. ", " ", "a", "*", "**", "_", "<", ">", "\\", "||", "!", "=", "---", "&#91;", "&lbrack;", "    "),
)


def links(node: object) -> list[str]:
    """Every address in a tree that would be a link."""
    if isinstance(node, tree.Link):
        return [node.url]
    if isinstance(node, tuple):
        return [url for one in node for url in links(one)]
    parts = [getattr(node, name, ()) for name in ("children", "blocks", "items", "rows")]
    return [url for part in parts for one in part for url in links(one)]


@pytest.mark.parametrize("unknown", ["code", "text"])
def test_no_reader_of_markdown_finds_a_link_where_none_is_allowed(unknown: Unknown) -> None:
    """Whatever marks stand around an address, wherever the stream is cut, and while it is half shown."""
    rng = random.Random(0)
    allowed = policy(unknown)
    for _ in range(600):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(2, 25)))
        step = rng.choice((1, 2, 5, 1000))
        filter = LinkFilter(allowed)
        parts = [filter.feed(text[at : at + step]) for at in range(0, len(text), step)]
        half = "".join(parts[: rng.randint(0, len(parts))])
        shown = "".join(parts) + filter.finish()
        for live in (*links(tree.parse(shown)), *links(tree.parse(half, final=False))):
            assert allowed.allows(live), (text, shown, half)


HALF = [
    "`a\n> ``https://evil.com``",
    "a```b```[`https://evil.com`",
    "|(**`**b*](||1. ``https://evil.com``",
    "``\n|---|\n``> `https://evil.com`_",
    "[x]: y\n~~~\n[x]: https://evil.com",
    "a[b@c.de",
]


@pytest.mark.parametrize("half", HALF)
def test_closing_what_is_half_written_opens_no_address(half: str) -> None:
    assert set(links(tree.parse(half, final=False))) <= {"mailto:b@c.de"}


def test_an_address_is_not_longer_than_what_was_allowed() -> None:
    shown = filtered(f"[r]: {KNOWN}中.evil.com\n\n[r] and [it][r]")

    assert all(policy().allows(live) for live in links(tree.parse(shown)))


def test_the_host_of_an_e_mail_address_is_the_one_it_names() -> None:
    assert not hides_host("john.doe@known.org", "mailto:john.doe@known.org")
    assert hides_host("me@bank.com", "https://known.org")
