"""The program that reads one document: takes it from standard input and writes its parts, a line of JSON each.

A hostile document can keep the parsing libraries busy for ever or make them take all memory. This process has limits,
knows no secret, has no network in its sandbox, and can be killed; the lines it wrote until then are kept. It imports
nothing of ours but the modules of this package and the reader of web pages.

In: a line of JSON (`name`, `media_type`, `seconds`, `memory`; `kind` for a trial), then the document's bytes.
Out: `{"kind"}`, then `{"label", "text"}` for each part, then `{"title", "note"}`, or `{"unreadable"}`, a `Reason`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from tools.documents.findings import Findings, Found
from tools.documents.kinds import DocumentUnreadable, Kind, Reason, find_kind
from tools.fetch.reader import MOST_CHARS, MOST_FIELD, PasswordNeeded, TooSlow, has_no_room, set_limits, time_limit

MOST_PARTS = 10_000
MOST_LABEL = 200
_READERS = {
    Kind.PDF: ("tools.documents.pdf", "read_pdf"),
    Kind.DOCX: ("tools.documents.office", "read_docx"),
    Kind.XLSX: ("tools.documents.sheets", "read_xlsx"),
    Kind.PPTX: ("tools.documents.office", "read_pptx"),
    Kind.ODT: ("tools.documents.opendocument", "read_odt"),
    Kind.ODS: ("tools.documents.opendocument", "read_ods"),
    Kind.ODP: ("tools.documents.opendocument", "read_odp"),
    Kind.EPUB: ("tools.documents.books", "read_epub"),
    Kind.HTML: ("tools.documents.plain", "read_page"),
    Kind.CSV: ("tools.documents.plain", "read_csv"),
    Kind.TEXT: ("tools.documents.plain", "read_text"),
}
"""For each kind the module and the function that reads it; loaded only when it is needed."""

Read: TypeAlias = Callable[[bytes, Findings], Iterator[Found]]


def _write(line: Mapping[str, str]) -> None:
    sys.stdout.buffer.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def read(kind: Kind, body: bytes, findings: Findings) -> Iterator[Found]:
    """The parts of a document that have text, until the time or the room is up; `findings` says so."""
    module, name = _READERS[kind]
    function: Read = getattr(importlib.import_module(module), name)
    parts = iter(function(body, findings))
    done = shown = length = 0
    while True:
        try:
            found = _next(kind, parts, findings.until)
        except (TooSlow, Exception) as error:
            if not shown:
                raise
            if has_no_room(error):
                ended = "the rest takes too much memory"
            # A library may make another error of the one that says that the time is up.
            elif isinstance(error, TooSlow) or time.monotonic() >= findings.until:
                ended = "the time was up"
            else:
                ended = "what follows is damaged"
            findings.note = _rest(findings, done, ended)
            return
        if found is None:
            return
        done += 1
        label, text = found
        if text.strip():
            yield label, text[: MOST_CHARS - length]
            shown += 1
            length += len(text)
        if length > MOST_CHARS or shown == MOST_PARTS:
            findings.note = _rest(findings, done, "it is too long")
            return


def _next(kind: Kind, parts: Iterator[Found], until: float) -> Found | None:
    """The next part, or None after the last.

    Raises:
        TooSlow: the time is up.
    """
    if kind is Kind.HTML:  # it keeps to the time itself, and finds less where that is up
        return next(parts, None)
    if time.monotonic() >= until:
        raise TooSlow
    with time_limit(until):
        return next(parts, None)


def _rest(findings: Findings, done: int, ended: str) -> str:
    """A sentence about the missing rest."""
    whole = f" of {findings.total:,}" if findings.total else ""
    return f"Only the first {done:,}{whole} {findings.unit} were read: {ended}."


def answer(about: Mapping[str, Any], body: bytes, until: float, write: Callable[[Mapping[str, str]], None]) -> None:
    """Read one document until its time is up, and write the findings as lines."""
    findings = Findings(until)
    reason, shown = Reason.NOTHING_TO_READ, 0
    try:
        kind = Kind(about["kind"]) if "kind" in about else find_kind(body, about["name"], about["media_type"])
        write({"kind": kind})
        for label, text in read(kind, body, findings):
            write({"label": " ".join(label.split())[:MOST_LABEL], "text": text})
            shown += 1
    except DocumentUnreadable as error:
        reason = error.reason
    except PasswordNeeded:
        reason = Reason.ENCRYPTED
    except ModuleNotFoundError:
        reason = Reason.EXTRA_MISSING
    except TooSlow:
        reason = Reason.TOO_LONG_TO_READ
    except Exception as error:  # noqa: BLE001  # the edge of this process; the libraries raise what they like
        reason = Reason.TOO_LARGE if has_no_room(error) else Reason.DAMAGED
    if shown:
        write({"title": " ".join(findings.title[:MOST_FIELD].split()), "note": findings.sentences()})
    else:
        write({"unreadable": reason})


def main() -> int:
    """Read one document from standard input and write the findings; the exit code is 0."""
    started = time.monotonic()
    about: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    seconds = float(about["seconds"])
    set_limits(seconds, int(about.get("memory", 1 << 30)))
    answer(about, body, started + 0.8 * seconds, _write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
