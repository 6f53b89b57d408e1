"""The program that extracts the text of a fetched page: reads a page from standard input, writes JSON and Markdown.

A hostile page can keep the parsing libraries busy for ever or make them take all memory. A thread cannot be stopped;
this process has limits, knows no secret, and can be killed. Of our code it imports only the decoding of text.

In: a line of JSON (`kind`: html, pdf or text; `url`, `charset`, `seconds`), then the page's bytes.
Out: a line of JSON (`title`, `date`, `author`, `site`, `note`, or `error`, a sentence), then the text in Markdown.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from tools.fetch.encodings import decode_body

MOST_CHARS = 2_000_000
MOST_FIELD = 2000
"""Characters of a title or an author's name."""
MOST_ADDRESS = 2000
"""Characters of a link's address; a longer one is not a link."""
MOST_OBJECTS = 1000
"""Objects read of a page's JSON-LD."""
SHORT = 8000
"""Characters up to which a page is returned whole if its main text seems to be less than half of it."""
LONGEST_WORD = 60
"""Characters on either side of a hyphen."""
_MEMORY = 1 << 30
_PASSWORD_NEEDED = 4
"""PDFium's FPDF_ERR_PASSWORD."""
_BROKEN = "\ufffe"
"""PDFium's mark for a hyphen at the end of a line, whether it belongs to the word or not."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_BLANKS = re.compile(r"\s+")
_UNWRITTEN = re.compile(r"[\s<>\"`\\{}|^]")
"""Characters that an address must escape."""
_TITLES = ("og:title", "citation_title", "dc.title", "headline", "title")
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_date"),
    *("dc.date.issued", "dcterms.issued", "dc.date", "dcterms.date", "dcterms.created", "parsely-pub-date"),
    *("publication_date", "publish-date", "pubdate", "date", "marked date"),
)
_AUTHORS = ("author", "citation_author", "dc.creator", "parsely-author", "article:author", "author of data")
_SITES = ("og:site_name", "application-name", "citation_journal_title")
_UNSEEN = frozenset(
    ("head", "iframe", "noscript", "object", "script", "select", "style", "svg", "template", "textarea")
)
_BESIDE = frozenset(("aside", "footer", "nav"))
_BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset", "figcaption", "figure"),
    *("footer", "form", "header", "main", "nav", "ol", "p", "section", "summary", "table", "ul"),
)
_HEADINGS = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)}
_BEFORE = (
    dict.fromkeys(_BLOCKS, "\n\n")
    | _HEADINGS
    | {"a": "[", "br": "\n", "code": "`", "dd": "\n  ", "dt": "\n\n", "hr": "\n\n", "li": "\n- ", "pre": "\n\n```\n"}
    | {"tr": "\n| "}
)
_AFTER = (
    dict.fromkeys((*_BLOCKS, *_HEADINGS), "\n\n")
    | dict.fromkeys(("td", "th"), " | ")
    | {"code": "`", "pre": "\n```\n\n"}
)


def set_limits(seconds: float | None, memory: int = _MEMORY, *, threads: bool = False) -> None:
    """Limit this process to what parsing needs. If the system cannot, the caller's time limit remains.

    `seconds`: None for any time; `threads`: it may start threads, which systems count as processes.
    """
    try:
        import resource
    except ImportError:
        return
    for kind, most in (
        *(() if seconds is None else ((resource.RLIMIT_CPU, int(seconds) + 2),)),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        *(() if threads else ((resource.RLIMIT_NPROC, 0),)),
    ):
        resource.setrlimit(kind, (most, most))


def has_no_room(error: BaseException) -> bool:
    """Return True if an error says that memory has run out, including that of a library that exists but cannot be
    loaded."""
    return isinstance(error, MemoryError | RecursionError) or (
        isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError)
    )


def read_html(body: bytes, url: str, charset: str, until: float) -> dict[str, str]:
    """The main text of a web page in Markdown with its links, and the metadata of the page."""
    from lxml.etree import ParserError

    try:
        tree = parse_html(decode_body(body, charset))
    except ParserError:
        return {"error": "The page has no text that can be read."}
    about = read_metadata(tree)
    scripted = tree.find(".//script") is not None
    flatten_code(tree)
    resolve_links(tree, url)
    text, note = extract_main_text(tree, until), ""
    if len(text) < SHORT:
        # A table of contents consists of links, which the extraction mistakes for a menu.
        whole = extract_all_text(tree, _UNSEEN | _BESIDE) or extract_all_text(tree, _UNSEEN)
        if not text or 2 * len(text) < len(whole) < SHORT:
            text, note = whole, "The main text could not be told from the rest: menus may be among it."
    if not text:
        scripts = "; it seems to be made by scripts, which are not run" if scripted else ""
        return {"error": f"The page has no text that can be read{scripts}."}
    return {**about, "text": text, "note": note}


def parse_html(text: str) -> Any:
    """Parse an HTML document to a tree; raise ParserError if it is empty."""
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(
        collect_ids=False,
        default_doctype=False,
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
    )
    tree = document_fromstring(_CONTROLS.sub(" ", text).encode("utf-8", "replace"), parser=parser)
    write_ruby(tree)
    return tree


def write_ruby(tree: Any) -> None:
    """Put ruby text, the small reading above characters, in brackets after them: 漢（かん）."""
    for node in list(tree.iter("rp")):
        node.text = None
        node.tag = "span"
    for node in list(tree.iter("rt")):
        read, inner = (node.text or "").strip(), not any(True for _ in node.iter("rt", "rb") if _ is not node)
        read = "".join(node.itertext()).strip() if inner else read
        if inner:
            del node[:]
        node.text, node.tag = f"（{read}）" if read else None, "span"


def read_metadata(tree: Any) -> dict[str, str]:
    """Return title, date, author and site from the metadata of a page. Nothing is guessed from its text."""
    named: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        named.setdefault(name.lower(), meta.get("content") or "")
    for data in itertools.islice(_iterate_linked_data(tree), MOST_OBJECTS):
        author = data.get("author")
        author = author[0] if isinstance(author, list) and author else author
        for name, value in (
            ("headline", data.get("headline")),
            ("datepublished", data.get("datePublished")),
            ("author of data", author.get("name") if isinstance(author, dict) else author),
        ):
            if isinstance(value, str):
                named.setdefault(name, value)
    for where in (".//*[@itemprop='datePublished']", ".//article", ".//main"):
        if (place := tree.find(where)) is not None:
            day = place.get("content") or next(place.iter("time"), place).get("datetime")
            named["marked date"] = named.get("marked date") or day or ""
    for tag in ("title", "h1"):
        if (found := next(tree.iter(tag), None)) is not None:
            named["title"] = named.get("title") or found.text_content().strip()
    dates = (_parse_day(named.get(name, "")) for name in _DATES)
    return {
        "title": _choose_first(named.get(name, "") for name in _TITLES),
        "date": _choose_first(dates),
        # Some name a profile instead of a person.
        "author": _choose_first(one for name in _AUTHORS if "://" not in (one := named.get(name, ""))),
        "site": _choose_first(named.get(name, "") for name in _SITES),
    }


def _iterate_linked_data(tree: Any) -> Iterator[dict[str, Any]]:
    """Iterate over the objects of a page's JSON-LD, outer ones first."""
    for script in tree.iter("script"):
        if "ld+json" not in (script.get("type") or ""):
            continue
        try:
            waiting = [json.loads(script.text or "null")]
        except (ValueError, RecursionError):
            continue
        while waiting:
            match waiting.pop():
                case dict() as found:
                    yield found
                    waiting.extend(reversed(found.values()))
                case list() as several:
                    waiting.extend(reversed(several))


def _choose_first(values: Iterable[str]) -> str:
    """The first value that is not blank, on one line."""
    return next((line for value in values if (line := " ".join(value[:MOST_FIELD].split()))), "")


def _parse_day(text: str) -> str:
    """The date at the beginning of `text` as 2026-03-04; empty if there is none."""
    found = re.match(r"\s*(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)", text)
    try:
        return datetime.date(*map(int, found.groups())).isoformat() if found else ""
    except ValueError:
        return ""


def flatten_code(tree: Any) -> None:
    """Remove markup from code, because the extraction loses what follows a link or an emphasis there."""
    from lxml.etree import SubElement, strip_tags

    for code in list(tree.iter("pre", "code", "samp", "kbd", "tt")):
        for line in code.iter("br"):
            line.tail = "\n" + (line.tail or "")
        strip_tags(code, "*")
        if code.tag == "pre":
            # This tells the extraction a program from a quotation.
            inner = SubElement(code, "span")
            inner.text, code.text = code.text, None


def resolve_links(tree: Any, url: str) -> None:
    """Make the links of a page at `url` absolute. Links that lead to no other page become plain text."""
    from lxml.etree import strip_tags

    base = next((found for one in tree.iter("base") if (found := _resolve_link(url, one.get("href")))), url)
    here = urldefrag(url)[0]
    for link in list(tree.iter("a")):
        target = _resolve_link(base, link.get("href"))
        if target and ("#" not in target or urldefrag(target)[0] != here):
            link.set("href", target)
        else:
            link.tag = "words"
    strip_tags(tree, "words")


def _resolve_link(base: str, href: str | None) -> str:
    """The absolute address of `href` in a page at `base`; empty if it names no page."""
    if not href or len(href) > MOST_ADDRESS:
        return ""
    try:
        target = urljoin(base, href.strip())
        parts = urlsplit(target)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc or len(target) > MOST_ADDRESS:
        return ""
    return _UNWRITTEN.sub(lambda found: f"%{ord(found[0]):02X}", parts.geturl())


class TooSlow(BaseException):
    """The time limit of the extraction has passed. Not an Exception, so that no library swallows it."""


def extract_main_text(tree: Any, until: float) -> str:
    """The text of a page in Markdown without menus and advertisements; empty if it cannot be found in time."""
    import trafilatura

    try:
        with time_limit(until):
            found = trafilatura.extract(
                tree,
                output_format="markdown",
                include_links=True,
                include_comments=False,
                include_formatting=True,
                favor_recall=True,
            )
    except (TooSlow, MemoryError, RecursionError):
        return ""
    return tidy(found or "")


@contextlib.contextmanager
def time_limit(until: float) -> Iterator[None]:
    """Raise TooSlow in the block at `until`, if the system has timers."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(signum: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, until - time.monotonic()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def extract_all_text(tree: Any, without: frozenset[str]) -> str:
    """All text of a page in plain Markdown, except for the elements named in `without`."""
    from lxml.etree import iterwalk

    made, code = ["\n"], 0
    walk = iterwalk(tree, events=("start", "end"))
    for event, node in walk:
        if event == "start":
            if node.tag in without:
                walk.skip_subtree()
                continue
            mark, text = _BEFORE.get(node.tag, ""), node.text or ""
            code += node.tag == "pre"
        else:
            mark, text = _AFTER.get(node.tag, ""), node.tail or ""
            if node.tag == "a":
                mark = f"]({node.get('href')})"
                if made[-1] == "[":
                    made.pop()
                    mark = ""
            code -= node.tag == "pre"
        # A paragraph that begins an item is beside its dash.
        if mark and not (mark.isspace() and made[-1] == _BEFORE["li"]):
            made.append(mark)
        if not code:
            text = _BLANKS.sub(" ", text)
            text = text.lstrip() if made[-1][-1].isspace() or made[-1] == "[" else text
        if text:
            made.append(text)
    return tidy("".join(made))


def tidy(text: str) -> str:
    """Remove control characters, blanks at ends of lines, and repeated empty lines."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class PasswordNeeded(Exception):
    """The document cannot be opened without a password."""


def open_pdf(body: bytes) -> Any:
    """Open a PDF; raise PasswordNeeded if it asks for one."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        return PdfDocument(body)
    except PdfiumError as error:
        # PDFium reports this for a PDF without pages, too.
        raise PasswordNeeded if error.err_code == _PASSWORD_NEEDED and b"/Encrypt" in body else error from None


def read_pdf_page(document: Any, number: int) -> str:
    """The text of a page of an open PDF, counted from 0, with the marks of broken words still in it."""
    with contextlib.closing(document[number]) as page:
        return tidy(page.get_textpage().get_text_range())


def read_pdf(body: bytes, until: float) -> dict[str, str]:
    """Return the text of a PDF, page by page, until the time is up; of its first page in any case."""
    try:
        document = open_pdf(body)
    except PasswordNeeded:
        return {"error": "The PDF asks for a password."}
    count, read, length = len(document), 0, 0
    parts: list[str] = []
    while read < count and length <= MOST_CHARS and (not read or time.monotonic() < until):
        text = read_pdf_page(document, read)
        read += 1
        if text:
            parts.append(f"[page {read}]\n\n{text}")
            length += len(text)
    if not parts:
        return {"error": "The PDF has no text; its pages seem to be pictures."}
    about = document.get_metadata_dict()
    return {
        "text": join_broken_words("\n\n".join(parts)),
        "title": _choose_first([about["Title"]]),
        "author": _choose_first([about["Author"]]),
        "date": _parse_day(about["CreationDate"].removeprefix("D:")[:8]),
        "note": f"Only the first {read} of {count} pages were read." if read < count else "",
    }


def join_broken_words(text: str, before: frozenset[str] | set[str] = frozenset()) -> str:
    """Join words that a line break split if `text` or `before` also has them whole; other hyphens stay."""
    first, *rest = text.split(_BROKEN)
    known = before | set(re.findall(r"\w+", text)) if rest else set()
    made = [first]
    for part in rest:
        end = re.search(r"\w*\Z", made[-1][-LONGEST_WORD:])
        begin = re.match(r"\w*", part[:LONGEST_WORD])
        made.append(part if f"{end and end[0]}{begin and begin[0]}" in known else f"-{part}")
    return "".join(made)


def read(about: dict[str, Any], body: bytes, until: float) -> dict[str, str]:
    """The text and metadata of a page, or an error. Optional work stops at `until`."""
    match about["kind"]:
        case "html":
            return read_html(body, about["url"], about["charset"], until)
        case "pdf":
            return read_pdf(body, until)
        case _:
            return {"text": tidy(decode_body(body, about["charset"]))}


def main() -> int:
    """Read one page from standard input and write the result; the exit code is 0."""
    started = time.monotonic()
    about = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    seconds = float(about["seconds"])
    set_limits(seconds)
    sys.setrecursionlimit(2000)
    try:
        found = read(about, body, started + seconds / 2)
    except Exception as error:  # noqa: BLE001  # the edge of this process; the libraries raise what they like
        if has_no_room(error):
            found = {"error": "The page is too complex to be read."}
        else:
            found = {"error": "The page is damaged and cannot be read.", "reason": f"{type(error).__name__}"}
    text = found.pop("text", "")[:MOST_CHARS]
    head = {name: value[:MOST_FIELD] for name, value in found.items()}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
