"""What is read out of pages: the text in Markdown, title, date and links; hostile pages cost their limits."""

from __future__ import annotations

import io
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools.pdfs import LOCKED, lines, pdf
from tools.contract.base import ToolError
from tools.fetch import extraction, reader, readers
from tools.fetch.client import Fetched
from tools.fetch.extraction import extract

ARTICLE = """<html lang="en"><head><title>Bridges and cables</title><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2026-03-04T10:00:00Z"></head><body>
<nav><a href="/">Home</a> <a href="/login">Log in</a></nav><article><h1>Bridges and cables</h1>
<p>A suspension bridge hangs its deck from <a href="/cables">cables</a> that run over two towers into anchors.</p>
<h2>Wind</h2><p>Wind is the worst enemy: <a href="https://other.example/x?y=1">see here</a>,
<a href="javascript:alert(1)">not there</a> and <a href="#top">up</a>. Decks are shaped like wings.</p>
<ul><li>one tower</li><li>two towers</li></ul>
<table><tr><th>Bridge</th><th>Metres</th></tr><tr><td>North</td><td>2000</td></tr></table>
<pre><code>call[0](span) = 1</code></pre></article><footer>Cookies and terms</footer></body></html>"""


def page(body: str | bytes, kind: str = "text/html", charset: str = "", cut: bool = False) -> Fetched:
    content = body.encode() if isinstance(body, str) else body
    return Fetched("https://bridges.example/a/", kind, charset, content, cut)


needs_pdfium = pytest.mark.skipif(find_spec("pypdfium2") is None, reason="pypdfium2 is not installed")


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader's own program without a process around it, where that process is not what is looked at.

    To start one and load the libraries in it takes most of a second.
    """

    async def run(about: bytes, body: bytes, seconds: float, start: object) -> bytes:
        out = io.BytesIO()
        writing = io.TextIOWrapper(out)
        with monkeypatch.context() as here:
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(about + body)))
            here.setattr(sys, "stdout", writing)
            here.setattr(sys, "setrecursionlimit", lambda deep: None)
            here.setattr(reader, "set_limits", lambda seconds: None)
            assert reader.main() == 0
            writing.detach()  # else it would close what was written
        return out.getvalue()

    monkeypatch.setattr(extraction, "_run", run)


async def test_an_article_becomes_markdown_without_its_menus() -> None:
    found = await extract(page(ARTICLE))

    assert (found.title, found.date, found.author) == ("Bridges and cables", "2026-03-04", "Ann Lee")
    assert "# Bridges and cables" in found.text
    assert "## Wind" in found.text
    assert "[cables](https://bridges.example/cables)" in found.text
    assert "[see here](https://other.example/x?y=1)" in found.text
    assert "- one tower" in found.text
    assert "| North | 2000 |" in found.text
    assert "call[0](span) = 1" in found.text
    assert "Log in" not in found.text
    assert "Cookies" not in found.text


@pytest.mark.usefixtures("in_process")
async def test_links_that_are_no_pages_become_words() -> None:
    found = await extract(page(ARTICLE))

    assert "not there" in found.text
    assert "javascript" not in found.text


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("encoding", ["utf-8", "gbk", "big5", "shift_jis", "utf-16"])
@pytest.mark.parametrize("told", ["header", "page"])
async def test_a_page_is_read_in_its_own_encoding(encoding: str, told: str) -> None:
    text = "日本的大橋很長" * 20
    meta = f'<meta charset="{encoding}">' if told == "page" and encoding != "utf-16" else ""
    html = f"<html><head>{meta}<title>大橋</title></head><body><p>{text}</p></body></html>"

    found = await extract(page(html.encode(encoding), charset=encoding if told == "header" else ""))

    assert found.title == "大橋"
    assert text in found.text


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("charset", ["no-such-charset", "hex", "zlib", "rot13", "idna", "../x"])
async def test_an_encoding_that_is_none_is_guessed(charset: str) -> None:
    found = await extract(page("naïve café, 桥", "text/plain", charset))

    assert found.text == "naïve café, 桥"


@pytest.mark.usefixtures("in_process")
async def test_plain_text_and_json_stay_as_they_are() -> None:
    text = await extract(page("a\r\n\r\n\r\n\r\nb  \n\x07c", "text/plain"))
    json = await extract(page('{"a": [1, 2]}', "application/json"))
    feed = await extract(page("<rss><item>new</item></rss>", "application/rss+xml"))

    assert text.text == "a\n\nb\nc"
    assert json.text == '{"a": [1, 2]}'
    assert feed.text == "<rss><item>new</item></rss>"


@pytest.mark.usefixtures("in_process")
async def test_a_web_page_that_calls_itself_plain_is_read_as_a_page() -> None:
    found = await extract(page(ARTICLE, "text/plain"))

    assert found.title == "Bridges and cables"


@needs_pdfium
async def test_a_pdf_is_read_page_by_page() -> None:
    body = pdf(
        lines("The first page."), lines("The second page."),
        Title="Spans", Author="Ann", CreationDate="D:20260102030405Z",
    )  # fmt: skip

    found = await extract(page(body, "application/pdf"))

    assert (found.title, found.author, found.date) == ("Spans", "Ann", "2026-01-02")
    assert found.text == "[page 1]\n\nThe first page.\n\n[page 2]\n\nThe second page."


@needs_pdfium
@pytest.mark.usefixtures("in_process")
async def test_words_that_only_their_places_set_apart_are_not_joined() -> None:
    """So do typesetters: there is no blank in the file."""
    words = "".join(
        f"BT /F1 12 Tf 1 0 0 1 {20 + 60 * place} 700 Tm ({word}) Tj ET\n"
        for place, word in enumerate(["Bridges", "hang", "from", "cables"])
    )

    found = await extract(page(pdf(words), "application/pdf"))

    assert found.text == "[page 1]\n\nBridges hang from cables"


@needs_pdfium
@pytest.mark.usefixtures("in_process")
async def test_a_word_that_a_line_broke_is_whole_where_it_is_known() -> None:
    """A hyphen at the end of a line may be the word's own, as in the name of an option."""
    broken = lines("The suspen-", "sion bridge has --no-", "wind. Suspension, suspension, no wind.")

    found = await extract(page(pdf(broken), "application/pdf"))

    assert "The suspension bridge has --no-wind." in " ".join(found.text.split())


@needs_pdfium
@pytest.mark.usefixtures("in_process")
async def test_a_long_pdf_is_read_as_far_as_the_time_goes() -> None:
    found = await extract(
        page(pdf(*[lines(*["Bridges hang from cables."] * 39)] * 300), "application/pdf"), seconds=0.02
    )

    assert found.text.startswith("[page 1]\n\nBridges hang")
    assert re.fullmatch(r"Only the first \d+ of 300 pages were read.", found.note)


@needs_pdfium
@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (LOCKED, "password"),
        (pdf(), "damaged"),
        (pdf(""), "no text"),
        (b"%PDF-1.7 nothing more", "damaged"),
        (pdf(lines("cut"))[:200], "damaged"),
    ],
)
async def test_a_pdf_that_cannot_be_read_says_why(body: bytes, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await extract(page(body, "application/pdf"))


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (b"<html><body><script>render()</script></body></html>", "text/html", "scripts"),
        (b"<html></html>", "text/html", "no text"),
        (b"", "text/html", "no text"),
        (b"  \n ", "text/plain", "empty"),
    ],
)
async def test_what_cannot_be_read_says_why(body: bytes, kind: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await extract(page(body, kind))


@pytest.mark.usefixtures("in_process")
async def test_a_cut_page_says_so() -> None:
    found = await extract(page(ARTICLE, cut=True))

    assert "first 2 MiB" in found.note


@pytest.mark.usefixtures("in_process")
async def test_a_page_heavy_with_scripts_is_read_to_its_end() -> None:
    found = await extract(page(ARTICLE.replace("<nav>", "<script>" + "x" * 1_500_000 + "</script><nav>")))

    assert "North" in found.text
    assert not found.note


LINKS = {
    "next.html": "https://bridges.example/a/b/next.html",
    "./near?x=1&amp;y=2": "https://bridges.example/a/b/near?x=1&y=2",
    "../up.html": "https://bridges.example/a/up.html",
    "../../../../far": "https://bridges.example/far",
    "/root": "https://bridges.example/root",
    "//other.example/x": "https://other.example/x",
    "?page=2": "https://bridges.example/a/b/page.html?page=2",
    "HTTP://Third.example/X": "http://Third.example/X",
    "next.html#part": "https://bridges.example/a/b/next.html#part",
    " spaced name.html\n": "https://bridges.example/a/b/spaced%20name.html",
    "橋.html": "https://bridges.example/a/b/橋.html",
}
NO_LINKS = (
    "#part",
    "",
    "page.html?q=1#top",
    "javascript:alert(1)",
    "mailto:ann@bridges.example",
    "https://[::1",
    "x" * 3000,
)


def linked(*hrefs: str, head: str = "") -> Fetched:
    """A page with a paragraph for each link, which is called after its place."""
    body = "".join(
        f'<p>In paragraph {number} of this text there is <a href="{href}">link {number}</a>, and more words.</p>'
        for number, href in enumerate(hrefs)
    )
    html = f"<html><head><title>Links</title>{head}</head><body><article>{body}</article></body></html>"
    return Fetched("https://bridges.example/a/b/page.html?q=1", "text/html", "utf-8", html.encode(), False)


@pytest.mark.usefixtures("in_process")
async def test_links_lead_where_a_browser_would_go() -> None:
    found = await extract(linked(*LINKS))

    for number, target in enumerate(LINKS.values()):
        assert f"[link {number}]({target})" in found.text


@pytest.mark.usefixtures("in_process")
async def test_links_begin_where_the_page_says_that_they_do() -> None:
    found = await extract(linked("next.html", "/root", "?x", head='<base target="_top"><base href="/docs/v2/">'))

    assert "[link 0](https://bridges.example/docs/v2/next.html)" in found.text
    assert "[link 1](https://bridges.example/root)" in found.text
    assert "[link 2](https://bridges.example/docs/v2/?x)" in found.text


@pytest.mark.usefixtures("in_process")
async def test_links_that_lead_to_no_page_become_words() -> None:
    found = await extract(linked(*NO_LINKS))

    assert "](" not in found.text and "javascript" not in found.text
    for number in range(len(NO_LINKS)):
        assert f"link {number}, and more words." in found.text


@pytest.mark.usefixtures("in_process")
async def test_code_keeps_all_its_text_and_its_lines() -> None:
    prose = "<p>A suspension bridge hangs its deck from cables, and this is how it is made in a program.</p>" * 3
    html = (
        f"<html><body><article><h1>Decks</h1>{prose}"
        "<pre><code>from <a href='/m'>towers</a> import <b>cable</b> as c<br>    c.<a href='/h'>hang</a>(<i>deck</i>)"
        "</code></pre><p>Call <code>hang(<a href='/d'>Deck</a>) -&gt; None</code> once for each deck.</p></article>"
    )

    found = await extract(page(html))

    assert "```\nfrom towers import cable as c\n    c.hang(deck)\n```" in found.text
    assert "Call `hang(Deck) -> None` once for each deck." in found.text


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("head", "body", "date"),
    [
        ('<meta property="article:published_time" content="2026-03-04T10:00:00Z">', "", "2026-03-04"),
        ('<meta name="citation_publication_date" content="2019/05/01">', "", "2019-05-01"),
        ('<meta name="DC.Date" content="20190501">', "", "2019-05-01"),
        ('<script type="application/ld+json">{"@graph": [{"datePublished": "2020-02-03"}]}</script>', "", "2020-02-03"),
        ("", '<span itemprop="datePublished" content="2021-04-05">5 April</span>', "2021-04-05"),
        ("", '<article><time datetime="2022-06-07T08:00">yesterday</time></article>', "2022-06-07"),
        ('<meta name="date" content="2026-13-45">', "", ""),
        ('<script type="application/ld+json">[[[[{"datePublished": 5}</script>', "", ""),
        ("", "<p>Written on 3 March 2021. Copyright 2019-2024. Updated: 2023-01-02.</p>", ""),
    ],
)
async def test_a_date_is_what_the_page_says_of_itself_and_is_never_guessed(head: str, body: str, date: str) -> None:
    words = "<p>Bridges hang from cables, high above the water and below the clouds.</p>"

    found = await extract(page(f"<html><head><title>x</title>{head}</head><body>{words}{body}</body></html>"))

    assert found.date == date


@pytest.mark.usefixtures("in_process")
async def test_a_page_says_what_it_is_called_and_who_made_it() -> None:
    data = '{"@type": "Article", "headline": "Spans", "author": [{"name": "Ann Lee"}, {"name": "Bo"}]}'
    one = await extract(
        page(f"<title>Spans | News</title><script type='application/ld+json'>{data}</script><p>They hang.")
    )
    two = await extract(
        page(
            "<head><meta property='og:title' content=' A\n title '><meta property='og:site_name' content='News'>"
            "<meta name=author content='https://profiles.example/ann'><meta name='DC.creator' content='Ann'></head>"
            "<h1>x</h1>"
        )
    )
    three = await extract(page("<h1>It works!</h1>"))

    assert (one.title, one.author) == ("Spans", "Ann Lee")
    assert (two.title, two.author, two.site) == ("A title", "Ann", "News")
    assert (three.title, three.text) == ("It works!", "# It works!")


@pytest.mark.usefixtures("in_process")
async def test_a_table_of_contents_keeps_its_links() -> None:
    chapters = "".join(
        f"<dt>{number}. <a href='c{number}.html'>Chapter {number}</a></dt><dd><ul>"
        f"<li><a href='c{number}.html#a'>Cables</a><li><p><a href='c{number}.html#d'><img src=x>Decks</a></p></ul></dd>"
        for number in range(20)
    )
    html = f"<html><body><nav><a href='/'>Home</a></nav><h1>Contents</h1><dl>{chapters}</dl><footer>Terms</footer>"

    found = await extract(page(html))

    assert "# Contents" in found.text
    for number in range(20):
        address = f"https://bridges.example/a/c{number}.html"
        assert f"{number}. [Chapter {number}]({address})" in found.text
        assert f"- [Cables]({address}#a)\n- [Decks]({address}#d)" in found.text
    assert "Home" not in found.text and "Terms" not in found.text


@pytest.mark.usefixtures("in_process")
async def test_a_page_that_takes_too_long_is_given_whole() -> None:
    """Its text is never lost for its menus."""
    html = "<article>" + "".join(f"<p>word {n} <a href='x/{n}'>link</a> word</p>" for n in range(20_000))

    found = await extract(page(html), seconds=0.2)

    assert "word 0 [link](https://bridges.example/a/x/0) word" in found.text
    assert "word 19999 [link](https://bridges.example/a/x/19999) word" in found.text
    assert "menus may be among it" in found.note


@pytest.mark.usefixtures("in_process")
async def test_what_is_whole_has_paragraphs_headings_rows_and_code() -> None:
    html = (
        "<body><style>p {}</style><h2> A\n heading </h2>one<br>two <b>three</b>\n four"
        "<table><tr><th>a<th>b<tr><td>c<td>d</table><pre>x\n  y</pre>"
        "<ol><li>first<li><div>second</div></ol><a href='/p'><img></a><script>no</script>end"
    )
    tree = reader.parse_html(html)
    reader.flatten_code(tree)

    text = reader.extract_all_text(tree, frozenset({"script", "style"}))

    assert text == (
        "## A heading\n\none\ntwo three four\n\n| a | b |\n| c | d |\n\n```\nx\n  y\n```\n\n- first\n- second\n\nend"
    )


async def test_a_reader_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.py"
    marker = tmp_path / "pid"
    stuck.write_text(f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    monkeypatch.setattr(readers, "READER", stuck)

    with pytest.raises(ToolError, match="within 1 s"):
        await extract(page("x"), seconds=1)

    assert marker.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


async def test_the_reader_knows_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nosy = tmp_path / "nosy.py"
    nosy.write_text("import os, sys\nsys.stdin.read()\nprint('{}')\nprint(' '.join(os.environ))\n")
    monkeypatch.setattr(readers, "READER", nosy)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

    found = await extract(page("x"))

    assert "OPENAI_API_KEY" not in found.text
    assert "PATH" in found.text


@pytest.mark.parametrize("ends", [True, False], ids=["ends", "goes on"])
async def test_a_reader_that_answers_without_end_is_ended_and_little_of_it_kept(
    ends: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A page that has taken over its reader may write what it likes, and is not read for long."""
    endless = tmp_path / "endless.py"
    words = "b'x' * 65536" if not ends else f"b'x' * {readers.MOST_BYTES + 1}"
    endless.write_text(f"import os\nwhile True:\n    os.write(1, {words})\n    {'break' if ends else 'pass'}\n")
    monkeypatch.setattr(readers, "READER", endless)

    with pytest.raises(ToolError, match="too complex"):
        await extract(page("x" * 1_000_000), seconds=30)


@pytest.mark.parametrize("said", ["", "{", "[]", '{"title": 5}', '{"error": {}}', "\xff", "[" * 100_000])
async def test_an_answer_that_is_none_is_an_error_in_a_sentence(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    liar = tmp_path / "liar.py"
    liar.write_text(f"import os\nos.write(1, {said.encode('latin-1')!r})\n")
    monkeypatch.setattr(readers, "READER", liar)

    with pytest.raises(ToolError, match=r"complex|empty"):
        await extract(page("x"))
