"""Read text, tables of values and HTML: what needs no library but those that read web pages."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator

from tools.documents.findings import Findings, Found
from tools.documents.kinds import DocumentUnreadable, Reason, without_mark
from tools.documents.trees import cell_text, table_lines
from tools.fetch.encodings import guess_encoding
from tools.fetch.reader import MOST_CHARS, read_html, tidy

_DELIMITERS = ",;\t|"
_TRIED = 50
"""Rows by which the delimiter is found."""
MOST_ROWS = 20_000
MOST_COLUMNS = 200


def decode_text(body: bytes, most: int = 4 * MOST_CHARS) -> str:
    """The first bytes of a text in the encoding that all its bytes show. What it says of itself is not asked: a text
    may be about encodings."""
    begins = body[:most]
    if body.startswith(codecs.BOM_UTF8):
        return begins.decode("utf-8-sig", "replace")
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return begins.decode("utf-16", "replace")
    return begins.decode(without_mark(body) or guess_encoding(body), "replace")


def read_text(body: bytes, findings: Findings) -> Iterator[Found]:
    """The text as it is."""
    # One character may take four bytes.
    text = tidy(decode_text(body))
    yield "", text
    if len(body) > 4 * MOST_CHARS:
        findings.note = "Only the beginning was read."


def read_csv(body: bytes, findings: Findings) -> Iterator[Found]:
    """A table of values in Markdown."""
    text = decode_text(body).replace("\0", "")
    csv.field_size_limit(MOST_CHARS)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=find_delimiter(text)):
            if len(rows) == MOST_ROWS:
                findings.note = f"Only the first {MOST_ROWS:,} rows were read."
                break
            if any(row):
                rows.append([cell_text(value) for value in row[:MOST_COLUMNS]])
    except csv.Error:
        rows = []
    if len(rows) < 2 or len(rows[0]) < 2:
        yield from read_text(body, findings)
    else:
        yield "", "\n".join(table_lines(rows))


def find_delimiter(text: str) -> str:
    """The delimiter of the first rows: it gives each of them the same number of values."""
    lines = [line for line in text[: MOST_COLUMNS * 1000].split("\n", _TRIED)[:_TRIED] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            return 0, 0
        usual = max(set(widths), key=widths.count, default=1)
        return (widths.count(usual), usual) if usual > 1 else (0, 0)

    return max(_DELIMITERS, key=evenness)


def read_page(body: bytes, findings: Findings) -> Iterator[Found]:
    """The text of an HTML file, as that of a page of the web."""
    found = read_html(body, "", "", findings.until)
    if "error" in found:
        raise DocumentUnreadable(Reason.NOTHING_TO_READ)
    findings.title, findings.note = found["title"], found["note"]
    yield "", found["text"]
