"""Read workbooks of Excel, sheet by sheet, without keeping them in memory."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive, DocumentUnreadable
from tools.documents.numberformats import LOCAL, show
from tools.documents.plain import MOST_COLUMNS
from tools.documents.tables import HIDDEN, MOST_NOTES, Row, describe, gather_rows, too_large
from tools.documents.trees import find_title, nodes_at, related, tree_at

_UNSAVED = re.compile(
    rb"<(?:\w+:)?c(?=[\s>])([^<>]*+)>\s*+<(?:\w+:)?f(?=[\s/>])(?:[^<>]*+(?<=/)>|[^<>]*+>[^<]*+</(?:\w+:)?f\s*+>)"
    rb"\s*+(?:<(?:\w+:)?v\s*+(?:/>|>\s*+</(?:\w+:)?v\s*+>)\s*+)?+</(?:\w+:)?c\s*+>"
)
"""A cell with a formula and without a value; its first group is the cell's attributes."""
_EMPTY_TEXT = re.compile(rb"\st\s*+=\s*+[\"']str[\"']")
"""What says that the value of a formula is text, which may be empty."""


def read_xlsx(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each sheet as a table of what its cells showed when it was last saved, with its notes and text boxes."""
    from openpyxl import load_workbook
    from openpyxl.utils.datetime import MAC_EPOCH
    from openpyxl.worksheet._reader import WorkSheetParser

    archive = Archive(body)
    findings.title = find_title(archive.read("docProps/core.xml"))
    unsaved = _unsaved_line(archive)
    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    findings.unit, findings.total = "sheets", len(book.worksheets)
    findings.left["chart sheet"] += len(book.chartsheets)
    formats = _formats(book)
    for sheet in book.worksheets:
        path = sheet._worksheet_path
        notes, boxes = _beside(archive, path, findings)
        with sheet._get_source() as source:
            parser = WorkSheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch)
            gathered = gather_rows(_rows(parser, formats, book.epoch == MAC_EPOCH, findings))
        if gathered.cut:
            findings.note = too_large()
        columns = [
            (int(one["min"]), int(one["max"])) for one in parser.column_dimensions.values() if _is_true(one, "hidden")
        ]
        lines = describe(gathered, columns, notes)
        lines += ["", *(f"Text box: {text}" for text in boxes)] if boxes else []
        hidden = "" if sheet.sheet_state == "visible" else f" {HIDDEN}"
        yield f"sheet {sheet.title}{hidden}", "\n".join([*unsaved, *lines] if lines else [])
        unsaved = [] if lines else unsaved


def _formats(book: Any) -> list[str]:
    """The number format of each style of a workbook."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    own, made = book._number_formats, []
    for style in book._cell_styles:
        number = style.numFmtId
        if number >= BUILTIN_FORMATS_MAX_SIZE:
            made.append(own[number - BUILTIN_FORMATS_MAX_SIZE])
        else:
            made.append(LOCAL.get(number) or BUILTIN_FORMATS.get(number, "General"))
    return made


def _rows(parser: Any, formats: list[str], from_1904: bool, findings: Findings) -> Iterator[Row]:
    """The rows of a sheet as they are shown."""
    for number, cells in parser.parse():
        hidden = _is_true(parser.row_dimensions.pop(str(number), {}), "hidden")
        values: list[str] = []
        for cell in cells:
            place, value = cell["column"], cell["value"]
            if value is None or place > MOST_COLUMNS + 1:
                continue
            style = cell["style_id"]
            shown = show(value, formats[style] if style < len(formats) else "General", from_1904=from_1904)
            if not shown and value != "":
                findings.left["cell whose format shows nothing"] += 1
            values += [""] * (place - len(values))
            values[place - 1] = shown
        yield Row(values, hidden=hidden)


def _is_true(attributes: Mapping[str, str], name: str) -> bool:
    return attributes.get(name, "0") in ("1", "true", "on")


def _beside(archive: Archive, path: str, findings: Findings) -> tuple[list[tuple[str, str]], list[str]]:
    """The notes on the cells of a sheet, each with its place, and the texts of its boxes; what else is drawn on it is
    counted."""
    path = path.lstrip("/")
    notes: dict[str, str] = {}
    boxes: list[str] = []
    for kind, _, target in related(archive, path):
        if kind == "threadedComment":
            notes |= dict(_threads(archive, target))
        elif kind == "comments":
            notes = dict(_notes(archive, target)) | notes
        elif kind == "drawing":
            drawn = tree_at(archive, target)
            if drawn is None:
                continue
            for body in drawn.iter("{*}txBody"):
                text = " ".join(" ".join("".join(line.itertext()) for line in body.iter("{*}p")).split())
                boxes += [text] if text else []
            findings.left["picture"] += sum(1 for _ in drawn.iter("{*}pic"))
            for one in drawn.iter("{*}graphicData"):
                uri = one.get("uri", "")
                findings.left["chart" if "chart" in uri else "diagram" if "diagram" in uri else "object"] += 1
    return list(notes.items()), boxes


def _notes(archive: Archive, path: str) -> Iterator[tuple[str, str]]:
    """The notes of a sheet in their older form, each with its place."""
    for note in nodes_at(archive, path, "comment")[:MOST_NOTES]:
        runs = (run.text or "" for run in note.iter("{*}t"))
        yield note.get("ref", ""), " ".join("".join(runs).split())


def _threads(archive: Archive, path: str) -> Iterator[tuple[str, str]]:
    """The conversations about cells of a sheet, each with its place."""
    said: dict[str, list[str]] = {}
    for one in nodes_at(archive, path, "threadedComment")[:MOST_NOTES]:
        said.setdefault(one.get("ref", ""), []).append(" ".join((one.findtext("{*}text") or "").split()))
    yield from ((place, " / ".join(texts)) for place, texts in said.items())


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
