"""Read OpenDocument texts, spreadsheets and presentations: their XML becomes HTML, which becomes Markdown."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive, DocumentUnreadable, Reason
from tools.documents.plain import MOST_COLUMNS
from tools.documents.tables import Row, column_name, describe, gather_rows, too_large
from tools.documents.trees import find_title, parse_xml, split_sections, to_markdown, tree_at

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_MOST_COPIES = 50_000
"""Elements that are added to a text for rows and cells that are written once with a count."""
_HIDES = ("collapse", "filter")
_MOST_OBJECTS = 200
"""Formulas of a document, each in files of its own."""
_HREF = "{http://www.w3.org/1999/xlink}href"
_TAGS = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list": "ul",
    f"{_TEXT}list-item": "li",
    f"{_TEXT}list-header": "li",
    f"{_TEXT}line-break": "br",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
    f"{_TABLE}covered-table-cell": "td",
    f"{_DRAW}page": "section",
    f"{_DRAW}frame": "div",
    f"{_PRESENTATION}notes": "aside",
}
_DROPPED = (
    *(f"{_TEXT}tracked-changes", f"{_TEXT}sequence-decls", f"{_OFFICE}annotation-end"),
    *(f"{_OFFICE}forms", f"{_TABLE}content-validations", f"{_DRAW}object", f"{_OFFICE}binary-data"),
    *(f"{_TEXT}bibliography-configuration", f"{_OFFICE}scripts", f"{_TEXT}page-number"),
)


def read_odt(body: bytes, findings: Findings) -> Iterator[Found]:
    """The sections of a text; the heads and feet of its pages as sections of their own."""
    content = _content(body, findings)
    heads, feet = _margins(Archive(body))
    yield from heads
    _count_left(content, findings)
    yield from split_sections(to_markdown(_to_html(_write_out(content.find(f"{_OFFICE}body")))))
    yield from feet


def _margins(archive: Archive) -> tuple[list[Found], list[Found]]:
    """The texts at the heads and feet of the pages, each once."""
    styles = tree_at(archive, "styles.xml")
    masters = None if styles is None else styles.find(f"{_OFFICE}master-styles")
    found: tuple[list[Found], list[Found]] = ([], [])
    if masters is None:
        return found
    for place, label in enumerate(("page header", "page footer")):
        tag = f"{_STYLE}{label.removeprefix('page ')}"
        nodes = [node for name in (tag, f"{tag}-left", f"{tag}-first") for node in masters.iter(name)]
        texts = (to_markdown(_to_html(node)) for node in nodes if node.get(f"{_STYLE}display") != "false")
        found[place].extend((label, text) for text in dict.fromkeys(texts) if text)
    return found


def read_ods(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each sheet as a table, as its cells are shown."""
    content = _content(body, findings)
    unseen = _undisplayed(content)
    sheets = content.findall(f"{_OFFICE}body/{_OFFICE}spreadsheet/{_TABLE}table")
    findings.unit, findings.total = "sheets", len(sheets)
    for sheet in sheets:
        hidden = " (hidden)" if sheet.get(f"{_TABLE}style-name") in unseen else ""
        columns = list(_hidden_columns(sheet))
        notes = list(_take_notes(sheet))
        _count_left(sheet, findings)
        gathered = gather_rows(_rows(_to_html(sheet)))
        if gathered.cut:
            findings.note = too_large()
        lines = describe(gathered, columns, notes)
        yield f"sheet {sheet.get(f'{_TABLE}name', '')}{hidden}", "\n".join(lines)


def _undisplayed(content: Any) -> set[str]:
    """The names of the styles of sheets that are hidden."""
    return {
        style.get(f"{_STYLE}name", "")
        for style in content.iter(f"{_STYLE}style")
        if any(one.get(f"{_TABLE}display") == "false" for one in style.iter(f"{_STYLE}table-properties"))
    }


def _hidden_columns(sheet: Any) -> Iterator[tuple[int, int]]:
    """The hidden columns of a sheet, each range by its first and last, counted from 1."""
    place = 1
    for column in sheet.iter(f"{_TABLE}table-column"):
        count = _count(column, f"{_TABLE}number-columns-repeated")
        if column.get(f"{_TABLE}visibility") in _HIDES:
            yield place, place + count - 1
        place += count


def _take_notes(sheet: Any) -> Iterator[tuple[str, str]]:
    """Remove the notes from the cells of a sheet and return them with their places."""
    line = 1
    for row in sheet.iter(f"{_TABLE}table-row"):
        place = 1
        for cell in row:
            for note in cell.findall(f"{_OFFICE}annotation"):
                yield f"{column_name(place)}{line}", _said(note)
                note.getparent().remove(note)
            place += _count(cell, f"{_TABLE}number-columns-repeated")
        line += _count(row, f"{_TABLE}number-rows-repeated")


def _rows(sheet: Any) -> Iterator[Row]:
    """The rows of a sheet in HTML. A row or cell that is written once with a count is there as often."""
    for row in sheet.iter("tr"):
        values: list[str] = []
        for cell in row.iter("td"):
            text = " ".join(part for part in cell.itertext() if part).strip()
            values += [text] * min(_count(cell, f"{_TABLE}number-columns-repeated"), MOST_COLUMNS + 1 - len(values))
        hidden = row.get(f"{_TABLE}visibility") in _HIDES
        yield Row(values, _count(row, f"{_TABLE}number-rows-repeated"), hidden)


def _count(node: Any, name: str) -> int:
    """How many times an element counts."""
    written = node.get(name, "1")
    return max(1, int(written)) if written.isdecimal() and len(written) < 10 else 1


def read_odp(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each slide with its notes."""
    slides = _content(body, findings).findall(f"{_OFFICE}body/{_OFFICE}presentation/{_DRAW}page")
    findings.unit, findings.total = "slides", len(slides)
    for number, slide in enumerate(slides, 1):
        _count_left(slide, findings)
        yield f"slide {number}", to_markdown(_to_html(_write_out(slide)))


def _content(body: bytes, findings: Findings) -> Any:
    """The content of a document, with its body.

    Raises:
        DocumentUnreadable: it has none, or it is locked.
    """
    archive = Archive(body)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise DocumentUnreadable(Reason.ENCRYPTED)
    findings.title = find_title(archive.read("meta.xml"))
    content = parse_xml(archive.read("content.xml"))
    if content.find(f"{_OFFICE}body") is None:
        raise DocumentUnreadable(Reason.DAMAGED)
    _write_formulas(archive, content, findings)
    return content


def _write_formulas(archive: Archive, content: Any, findings: Findings) -> None:
    """Put the formulas, which are files of their own, into the text as they were typed, and count other objects."""
    for place, node in enumerate(list(content.iter(f"{_DRAW}object", f"{_DRAW}object-ole"))):
        path = posixpath.normpath(f"{node.get(_HREF) or ''}/content.xml")
        tree = tree_at(archive, path) if place < _MOST_OBJECTS else None
        typed = None if tree is None else tree.find("{*}semantics/{*}annotation")
        frame = node.getparent()
        if typed is not None and typed.text:
            tail = frame.tail
            frame.clear()
            frame.tag, frame.text, frame.tail = f"{_TEXT}span", f" ${' '.join(typed.text.split())}$ ", tail
            continue
        findings.left["embedded object" if tree is None or tree.find(".//{*}chart") is None else "chart"] += 1
        for picture in frame.findall(f"{_DRAW}image"):  # what it looks like
            frame.remove(picture)


def _count_left(tree: Any, findings: Findings) -> None:
    """Count what a person sees of a document and its text does not hold."""
    findings.left["tracked deletion"] += sum(1 for _ in tree.iter(f"{_TEXT}deletion"))
    findings.left["picture"] += sum(1 for _ in tree.iter(f"{_DRAW}image"))
    fields = (f"{_FORM}{name}" for name in ("text", "textarea", "checkbox", "radio", "listbox", "combobox", "button"))
    findings.left["form field"] += sum(1 for _ in tree.iter(*fields))


def _said(note: Any) -> str:
    """A note with the name of who wrote it."""
    author = " ".join(note.findtext(f"{_DC}creator", "").split())
    text = " ".join(" ".join("".join(one.itertext()) for one in note.iter(f"{_TEXT}p")).split())
    return f"{author}: {text}" if author else text


def _to_html(tree: Any) -> Any:
    """The tree with the tags of HTML."""
    from lxml.etree import strip_elements

    strip_elements(tree, *_DROPPED, with_tail=False)
    for node in list(tree.iter()):
        tag = node.tag
        if tag == f"{_TEXT}h":
            level = node.get(f"{_TEXT}outline-level", "1")
            node.tag = f"h{min(6, max(1, int(level)))}" if level.isdecimal() else "h1"
        elif tag == f"{_TEXT}s":
            count = node.get(f"{_TEXT}c", "1")
            node.text = " " * (min(80, int(count)) if count.isdecimal() else 1)
        elif tag == f"{_TEXT}tab":
            node.text = " "
        elif tag == f"{_TEXT}note":
            node.text = " ("
            node.tail = f"){node.tail or ''}"
        elif tag == f"{_TEXT}note-citation":
            node.text = ""
        elif tag == f"{_TEXT}a" and (node.get(_HREF) or "").startswith(("http://", "https://", "mailto:")):
            node.tag = "a"
            node.set("href", node.get(_HREF))
        elif tag == f"{_TEXT}ruby-text":
            node.text = f"（{''.join(node.itertext()).strip()}）"
            del node[:]
        elif tag == f"{_OFFICE}annotation":
            said, tail = _said(node), node.tail
            node.clear()
            node.text, node.tail = f" (comment by {said}) " if ": " in said else f" (comment: {said}) ", tail
        node.tag = _TAGS.get(node.tag, node.tag)
    return tree


def _write_out(tree: Any) -> Any:
    """The tree with each row and cell of its tables as often as it is repeated; a file may hold it once with a
    count."""
    from copy import deepcopy

    room = _MOST_COPIES
    for name in ("columns", "rows"):
        counted = f"{_TABLE}number-{name}-repeated"
        for node in [one for one in tree.iter() if one.get(counted)]:
            size = sum(1 for _ in node.iter())
            more = min(_count(node, counted) - 1, MOST_COLUMNS if name == "columns" else room, room // size)
            for _ in range(more):
                node.addnext(deepcopy(node))
            room -= more * size
    return tree
