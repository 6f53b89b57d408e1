"""From a fetched page to readable Markdown, in a process that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.base import ToolError
from tools.fetch.client import Fetched

READ_SECONDS = 8.0
_READER = Path(__file__).with_name("reader.py")
# What a Python needs to find its libraries; no key of the operator's.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT", "TZ")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    url: str
    text: str
    """Markdown."""
    title: str = ""
    date: str = ""
    author: str = ""
    site: str = ""
    note: str = ""
    """What is missing, in a sentence."""


async def extract(page: Fetched, *, seconds: float = READ_SECONDS) -> Page:
    """The readable text of `page`.

    Raises:
        ToolError: there is none, or it took too long.
    """
    kind = _kind(page)
    about = {"kind": kind, "url": page.url, "charset": page.charset, "seconds": seconds}
    found = await _run(json.dumps(about).encode() + b"\n" + page.body, seconds)
    if "error" in found:
        raise ToolError(f"{found['error']} Try another source.")
    text = _tidy(found.get("text", ""))
    if not text:
        raise ToolError("The page is empty. Try another source.")
    note = found.get("note", "") or ("The page is long: only its first 2 MiB were read." if page.cut else "")
    return Page(
        page.url,
        text,
        title=_line(found.get("title", "")),
        date=_line(found.get("date", "")),
        author=_line(found.get("author", "")),
        site=_line(found.get("site", "")),
        note=note,
    )


async def _run(given: bytes, seconds: float) -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder of the script holds modules whose names must not shadow others
        str(_READER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    try:
        async with asyncio.timeout(seconds):
            out, _ = await process.communicate(given)
    except TimeoutError as error:
        raise ToolError(f"The page could not be read within {seconds:g} s. Try another source.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ToolError("The page is damaged or too complex to be read. Try another source.")
    found: dict[str, str] = json.loads(out)
    return found


def _kind(page: Fetched) -> str:
    if page.media_type == "application/pdf":
        return "pdf"
    start = page.body[:1024].lstrip().lower()
    markup = start.startswith((b"<!doctype html", b"<html")) or b"<html" in start
    if page.media_type in ("text/html", "application/xhtml+xml") or (markup and page.media_type in ("", "text/plain")):
        return "html"
    return "text"


def _tidy(text: str) -> str:
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text.replace("\r\n", "\n"))
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _line(text: str) -> str:
    return " ".join(str(text).split())[:200]
