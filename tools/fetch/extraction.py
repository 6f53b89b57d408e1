"""Convert a fetched page to readable Markdown in a process that can be killed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tools.contract.base import ToolError
from tools.contract.json_values import read_json
from tools.fetch.client import Fetched
from tools.fetch.readers import MOST_BYTES, Start, start_plain, talk

READ_SECONDS = 8.0
_DAMAGED = "The page is damaged or too complex to be read. Try another source."


MOST_HEAD_BYTES = 64_000
"""Bytes of a reader's description of a page: longer JSON would take too long to parse."""


@dataclass(frozen=True, slots=True)
class Page:
    """The text and metadata of a page."""

    url: str
    text: str
    """Markdown."""
    title: str = ""
    date: str = ""
    author: str = ""
    site: str = ""
    note: str = ""
    """What is missing, in a sentence."""


async def extract(page: Fetched, *, seconds: float = READ_SECONDS, start: Start = start_plain) -> Page:
    """Return the readable text of `page`, read by the process that `start` starts.

    Raises:
        ToolError: there is no text, or it took too long.
    """
    about = {"kind": _kind(page), "url": page.url, "charset": page.charset, "seconds": seconds}
    answer = await _run(json.dumps(about).encode() + b"\n", page.body, seconds, start)
    head, _, text = answer.partition(b"\n")
    found = _fields(head)
    if "error" in found:
        raise ToolError(f"{found['error']} Try another source.")
    if not text:
        raise ToolError("The page is empty. Try another source.")
    note = found.get("note", "") or ("The page is long: only its first 2 MiB were read." if page.cut else "")
    return Page(
        page.url,
        text.decode("utf-8", "replace"),
        title=_line(found.get("title", "")),
        date=_line(found.get("date", "")),
        author=_line(found.get("author", "")),
        site=_line(found.get("site", "")),
        note=note,
    )


async def _run(about: bytes, body: bytes | bytearray, seconds: float, start: Start) -> bytes:
    """Return a reader's answer to `about` and `body`."""
    try:
        answer, _ = await talk(await start(), about, body, seconds)
    except TimeoutError as error:
        raise ToolError(f"The page could not be read within {seconds:g} s. Try another source.") from error
    if not answer or len(answer) > MOST_BYTES:
        raise ToolError(_DAMAGED)
    return answer


def _kind(page: Fetched) -> str:
    if page.media_type == "application/pdf":
        return "pdf"
    start = page.body[:1024].lstrip().lower()
    markup = start.startswith((b"<!doctype html", b"<html")) or b"<html" in start
    if page.media_type in ("text/html", "application/xhtml+xml") or (markup and page.media_type in ("", "text/plain")):
        return "html"
    return "text"


def _fields(head: bytes) -> dict[str, str]:
    """Validate a reader's answer: a hostile page may have taken over its reader.

    Raises:
        ToolError: it is not in the agreed form.
    """
    try:
        found = read_json(head) if len(head) <= MOST_HEAD_BYTES else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ToolError(_DAMAGED)
    return found


def _line(text: str) -> str:
    return " ".join(text[:2000].split())[:200]
