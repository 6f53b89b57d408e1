"""Read workbooks of Excel, sheet by sheet, without keeping them in memory."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable, Iterator

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive, DocumentUnreadable
from tools.documents.plain import MOST_COLUMNS, MOST_ROWS
from tools.documents.trees import cell_text, find_title, table_lines

_MOST_SCANNED = 200_000
"""Rows of a sheet that are looked at: most of a million may be empty."""
_UNSAVED = re.compile(
    rb"<(?:\w+:)?c(?=[\s>])([^<>]*+)>\s*+<(?:\w+:)?f(?=[\s/>])(?:[^<>]*+(?<=/)>|[^<>]*+>[^<]*+</(?:\w+:)?f\s*+>)"
    rb"\s*+(?:<(?:\w+:)?v\s*+(?:/>|>\s*+</(?:\w+:)?v\s*+>)\s*+)?+</(?:\w+:)?c\s*+>"
)
"""A cell with a formula and without a value; its first group is the cell's attributes."""
_EMPTY_TEXT = re.compile(rb"\st\s*+=\s*+[\"']str[\"']")
"""What says that the value of a formula is text, which may be empty."""


def read_xlsx(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each sheet as a table of the values that stood in it when it was last saved."""
    from openpyxl import load_workbook

    archive = Archive(body)
    findings.title = find_title(archive.read("docProps/core.xml"))
    unsaved = _unsaved_line(archive)
    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    findings.unit, findings.total = "sheets", len(book.worksheets)
    for sheet in book.worksheets:
        # What a sheet says of its own size may be a lie.
        sheet.reset_dimensions()
        rows, cut = gather_rows(sheet.iter_rows(max_row=_MOST_SCANNED, max_col=MOST_COLUMNS + 1, values_only=True))
        if cut:
            findings.note = f"Of large sheets only the first {MOST_ROWS:,} rows and {MOST_COLUMNS} columns were read."
        yield f"sheet {sheet.title}", "\n".join([*unsaved, *table_lines(rows)])
        unsaved = []


def _unsaved_line(archive: Archive) -> list[str]:
    """A line that says how many formulas of the workbook have no value, and an empty one; none where all have."""
    count = 0
    for name in archive.names:
        if not (name.startswith("xl/worksheets/") and name.endswith(".xml")):
            continue
        try:
            sheet = archive.read(name)
        except DocumentUnreadable:  # too large to count in; its rows are read without keeping them all
            continue
        count += sum(not _EMPTY_TEXT.search(cell[1]) for cell in _UNSAVED.finditer(sheet))
    if not count:
        return []
    return [f"Formulas saved without a value in this workbook: {count:,}. Their cells are empty here.", ""]


def gather_rows(found: Iterable[Iterable[object]]) -> tuple[list[list[str]], bool]:
    """The rows that hold anything, without empty columns at their ends, and whether there are more."""
    rows: list[list[str]] = []
    cut, scanned = False, 0
    for values in found:
        scanned += 1
        row = [_value(value) for value in values]
        while row and not row[-1]:
            row.pop()
        if not row:
            continue
        if len(rows) == MOST_ROWS:
            return rows, True
        cut = cut or len(row) > MOST_COLUMNS
        rows.append(row[:MOST_COLUMNS])
    return rows, cut or scanned >= _MOST_SCANNED


def _value(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(" ", "seconds")
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case _:
            return cell_text(str(value))
