"""What is read out of pages: the text in Markdown, title, date and links; hostile pages cost their limits."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from tools.base import ToolError
from tools.fetch import extraction, reader
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


def pdf(*texts: str, password: str = "", **about: str) -> bytes:
    """A PDF with a page for each text."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1")})
    font[NameObject("/BaseFont")] = NameObject("/Helvetica")
    for text in texts:
        sheet = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        sheet[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        sheet[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    writer.add_metadata({f"/{name}": value for name, value in about.items()})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader's own program without a process around it, where that process is not what is looked at.

    To start one and load the libraries in it takes most of a second.
    """

    async def run(about: bytes, body: bytes, seconds: float) -> bytes:
        out = io.BytesIO()
        with monkeypatch.context() as here:
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(about + body)))
            here.setattr(sys, "stdout", io.TextIOWrapper(out))
            here.setattr(sys, "setrecursionlimit", lambda deep: None)
            here.setattr(reader, "limit", lambda seconds: None)
            assert reader.main() == 0
            sys.stdout.detach()  # type: ignore[attr-defined]  # ours, which would close what was written
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


async def test_a_pdf_is_read_page_by_page() -> None:
    body = pdf("The first page.", "The second page.", Title="Spans", Author="Ann", CreationDate="D:20260102030405Z")

    found = await extract(page(body, "application/pdf"))

    assert (found.title, found.author, found.date) == ("Spans", "Ann", "2026-01-02")
    assert found.text == "[page 1]\n\nThe first page.\n\n[page 2]\n\nThe second page."


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (pdf("secret", password="hidden"), "application/pdf", "password"),
        (pdf(), "application/pdf", "no text"),
        (b"%PDF-1.7 nothing more", "application/pdf", "damaged"),
        (pdf("cut")[:200], "application/pdf", "damaged"),
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
async def test_a_page_heavy_with_scripts_is_read_to_its_end_and_a_heavy_text_is_not() -> None:
    filler = "<script>" + "x" * reader.MOST_MARKUP + "</script>"
    heavy = ARTICLE.replace("<nav>", filler + "<nav>")
    long = ARTICLE.replace("<ul>", "<p>A bridge has two towers, and a deck between them.</p>" * 20_000 + "<ul>")

    whole = await extract(page(heavy))
    beginning = await extract(page(long))

    assert "North" in whole.text
    assert not whole.note
    assert "two towers" in beginning.text
    assert "only its beginning was read" in beginning.note


async def test_a_reader_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.py"
    marker = tmp_path / "pid"
    stuck.write_text(f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    monkeypatch.setattr(extraction, "_READER", stuck)

    with pytest.raises(ToolError, match="within 1 s"):
        await extract(page("x"), seconds=1)

    assert marker.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


async def test_the_reader_knows_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nosy = tmp_path / "nosy.py"
    nosy.write_text("import os, sys\nsys.stdin.read()\nprint('{}')\nprint(' '.join(os.environ))\n")
    monkeypatch.setattr(extraction, "_READER", nosy)
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
    words = "b'x' * 65536" if not ends else f"b'x' * {extraction.MOST_BYTES + 1}"
    endless.write_text(f"import os\nwhile True:\n    os.write(1, {words})\n    {'break' if ends else 'pass'}\n")
    monkeypatch.setattr(extraction, "_READER", endless)

    with pytest.raises(ToolError, match="too complex"):
        await extract(page("x" * 1_000_000), seconds=30)


@pytest.mark.parametrize("said", ["", "{", "[]", '{"title": 5}', '{"error": {}}', "\xff", "[" * 100_000])
async def test_an_answer_that_is_none_is_an_error_in_a_sentence(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    liar = tmp_path / "liar.py"
    liar.write_text(f"import os\nos.write(1, {said.encode('latin-1')!r})\n")
    monkeypatch.setattr(extraction, "_READER", liar)

    with pytest.raises(ToolError, match=r"complex|empty"):
        await extract(page("x"))
