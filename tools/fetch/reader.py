"""What a fetched page says: run as a process of its own, which reads a page from standard input and writes JSON.

A page from outside is parsed here, by libraries in C and Python that a hostile page may keep busy for ever or feed
until they take all memory. A thread cannot be stopped; this process has limits, knows no secret, and can be killed.
It is run by its path and imports nothing of ours.

In: a line of JSON (`kind`: html, pdf or text; `url`, `charset`, `seconds`), then the page's bytes.
Out: a line of JSON (`title`, `date`, `author`, `site`, `note`, or `error`, a sentence), then the text in Markdown.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import time
from typing import Any

MOST_CHARS = 2_000_000
MOST_MARKUP = 700_000
"""Characters of a web page that are read: what is beyond takes the extraction more than its time."""
MOST_FIELD = 2000
"""Characters of a title, an author's name, …."""
_MEMORY = 1 << 30
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_SCRIPTS = re.compile(r"<(script|style|svg)\b(?![^>]*ld\+json)[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""What Python decodes and no page is written in; some of it takes the square of the length."""
_WORDS = r"\[((?:[^\[\]\\\n]|\\.){0,2000})\]"
_TARGET = r"(?!https?:)(?:[a-z][a-z0-9+.-]*:|#|/)"
_OTHER_LINKS = (
    re.compile(_WORDS + r"\(<" + _TARGET + r"[^>\n]*>\)", re.IGNORECASE),
    re.compile(_WORDS + r"\(" + _TARGET + r"[^()\s]*\)", re.IGNORECASE),
)


def limit(seconds: float) -> None:
    """Take away what parsing does not need; where the system has no limits, the time limit outside remains."""
    try:
        import resource
    except ImportError:
        return
    cpu = int(seconds) + 2
    for kind, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def decoded(body: bytes, charset: str) -> str:
    """The text of `body`, by what the server, the page itself or the bytes say of their encoding."""
    names = [charset]
    for pattern in (_XML_CHARSET, _META_CHARSET):
        found = pattern.search(body[:4096])
        names.append(found[1].decode("ascii") if found else "")
    if body.startswith(b"\xef\xbb\xbf"):
        names.insert(0, "utf-8-sig")
    elif body.startswith((b"\xff\xfe", b"\xfe\xff")):
        names.insert(0, "utf-16")
    for name in names:
        # Browsers read these as what they are a part of.
        name = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252"}.get(
            name.lower(), name
        )
        try:
            if name and codecs.lookup(name).name in _NO_CHARSETS:
                continue
            return body.decode(name, "replace") if name else body.decode("utf-8")
        except (LookupError, UnicodeError, TypeError, AttributeError):
            continue
    try:
        # The last characters may be missing where the page was cut.
        return body[:-4].decode("utf-8") + body[-4:].decode("utf-8", "replace")
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes

    best = from_bytes(body[:65536]).best()
    return body.decode(best.encoding if best is not None else "cp1252", "replace")


def html(body: bytes, url: str, charset: str) -> dict[str, Any]:
    """The main text of a web page, without menus and advertisements."""
    import trafilatura

    text = decoded(body, charset)
    scripted = "<script" in text.lower()
    if len(text) > MOST_MARKUP:
        text = _SCRIPTS.sub("", text)
    note = "The page is long: only its beginning was read." if len(text) > MOST_MARKUP else ""
    text = text[:MOST_MARKUP]
    options: dict[str, Any] = {
        "url": url,
        "include_links": True,
        "include_comments": False,
        "include_formatting": True,
        "favor_recall": True,
    }
    main = trafilatura.extract(text, output_format="markdown", **options) or ""
    about = trafilatura.extract_metadata(text, default_url=url)
    if not main.strip():
        main = trafilatura.html2txt(text) or ""
    found = {name: getattr(about, name, None) or "" for name in ("title", "date", "author")}
    found["site"] = getattr(about, "sitename", None) or ""
    if not main.strip():
        scripts = "; it seems to be made by scripts, which are not run" if scripted else ""
        return {"error": f"The page has no text that can be read{scripts}."}
    return {**found, "text": without_other_links(main), "note": note}


def without_other_links(text: str) -> str:
    """Links to anything but pages (`javascript:`, mail, places within the page) become their words."""
    for pattern in _OTHER_LINKS:
        text = pattern.sub(r"\1", text)
    return text


def tidy(text: str) -> str:
    """`text` without control characters, blanks at the ends of lines, and more than one empty line in a row."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n"))
    text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def pdf(body: bytes, seconds: float) -> dict[str, Any]:
    """The text of a PDF, page by page, as far as the time goes."""
    import pypdf

    until = time.monotonic() + seconds * 0.8
    reader = pypdf.PdfReader(io.BytesIO(body), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "The PDF asks for a password."}
    count = len(reader.pages)
    parts: list[str] = []
    length, read = 0, 0
    for number in range(count):
        if time.monotonic() > until or length > MOST_CHARS:
            break
        text = reader.pages[number].extract_text().strip()
        read += 1
        if text:
            parts.append(f"[page {number + 1}]\n\n{text}")
            length += len(text)
    if not parts:
        return {"error": "The PDF has no text; its pages seem to be pictures."}
    about = reader.metadata
    made = about.creation_date if about else None
    return {
        "text": "\n\n".join(parts),
        "title": (about.title if about else None) or "",
        "author": (about.author if about else None) or "",
        "date": made.date().isoformat() if made else "",
        "note": f"Only the first {read} of {count} pages were read." if read < count else "",
    }


def read(about: dict[str, Any], body: bytes) -> dict[str, Any]:
    """The page's text, or an error."""
    match about["kind"]:
        case "html":
            return html(body, about["url"], about["charset"])
        case "pdf":
            return pdf(body, float(about["seconds"]))
        case _:
            return {"text": decoded(body, about["charset"])}


def main() -> int:
    """Read one page; the exit code is 0 when JSON was written."""
    about = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    limit(float(about["seconds"]))
    sys.setrecursionlimit(2000)
    try:
        found = read(about, body)
    except (MemoryError, RecursionError):
        found = {"error": "The page is too complex to be read."}
    except Exception as error:  # noqa: BLE001  # the edge of this process; the libraries raise what they like
        found = {"error": "The page is damaged and cannot be read.", "reason": f"{type(error).__name__}"}
    text = tidy(found.pop("text", ""))[:MOST_CHARS]
    head = {name: value[:MOST_FIELD] for name, value in found.items()}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
