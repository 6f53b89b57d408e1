"""From a fetched page to readable Markdown, in a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.base import ToolError
from tools.fetch.client import Fetched

READ_SECONDS = 8.0
MOST_BYTES = 8 * 1024 * 1024 + 64 * 1024
"""What a reader may answer: its longest text, four bytes a character, and what it says of it."""
_CHUNK = 64 * 1024
_READER = Path(__file__).with_name("reader.py")
_DAMAGED = "The page is damaged or too complex to be read. Try another source."
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
    about = {"kind": _kind(page), "url": page.url, "charset": page.charset, "seconds": seconds}
    answer = await _run(json.dumps(about).encode() + b"\n", page.body, seconds)
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


async def _run(about: bytes, body: bytes | bytearray, seconds: float) -> bytes:
    """What the reader answers to `about` and `body`; it has ended when this returns or raises."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder of the script holds modules whose names must not shadow others
        str(_READER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    assert process.stdin is not None and process.stdout is not None
    feeding = asyncio.create_task(_feed(process.stdin, about, body), name="page to its reader")
    try:
        async with asyncio.timeout(seconds):
            answer = await _read(process.stdout)
            if len(answer) <= MOST_BYTES:
                await process.wait()
    except TimeoutError as error:
        raise ToolError(f"The page could not be read within {seconds:g} s. Try another source.") from error
    finally:
        feeding.cancel()
        await _end(process)
        await asyncio.gather(feeding, return_exceptions=True)
    if process.returncode or len(answer) > MOST_BYTES:
        raise ToolError(_DAMAGED)
    return answer


async def _feed(stdin: asyncio.StreamWriter, *parts: bytes | bytearray) -> None:
    """Write `parts` as fast as they are read; a reader that ends early says why in its answer."""
    with contextlib.suppress(OSError):
        for part in parts:
            for start in range(0, len(part), _CHUNK):
                stdin.write(part[start : start + _CHUNK])
                await stdin.drain()
        stdin.close()


async def _read(stdout: asyncio.StreamReader) -> bytes:
    """All that comes, or somewhat more than `MOST_BYTES` of it."""
    answer = bytearray()
    while len(answer) <= MOST_BYTES and (chunk := await stdout.read(_CHUNK)):
        answer += chunk
    return bytes(answer)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the reader, if it has not, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    # What it still wrote has to be read: asyncio tells of the end of a process only after the end of its pipes.
    while process.stdout is not None and await process.stdout.read(_CHUNK):
        pass
    await process.wait()


def _kind(page: Fetched) -> str:
    if page.media_type == "application/pdf":
        return "pdf"
    start = page.body[:1024].lstrip().lower()
    markup = start.startswith((b"<!doctype html", b"<html")) or b"<html" in start
    if page.media_type in ("text/html", "application/xhtml+xml") or (markup and page.media_type in ("", "text/plain")):
        return "html"
    return "text"


def _fields(head: bytes) -> dict[str, str]:
    """What the reader says of the page; a page may have taken over its reader.

    Raises:
        ToolError: it is not in the agreed form.
    """
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ToolError(_DAMAGED)
    return found


def _line(text: str) -> str:
    return " ".join(text[:2000].split())[:200]
