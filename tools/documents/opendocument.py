"""Read OpenDocument texts, spreadsheets and presentations: their XML becomes HTML, which becomes Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive, DocumentUnreadable, Reason
from tools.documents.plain import MOST_COLUMNS, MOST_ROWS
from tools.documents.trees import find_title, parse_xml, split_sections, to_markdown

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
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
    *(f"{_TEXT}tracked-changes", f"{_TEXT}sequence-decls", f"{_OFFICE}annotation", f"{_OFFICE}annotation-end"),
    *(f"{_OFFICE}forms", f"{_TABLE}content-validations", f"{_DRAW}object", f"{_OFFICE}binary-data"),
    *(f"{_TEXT}bibliography-configuration", f"{_OFFICE}scripts", f"{_TEXT}page-number"),
)


def read_odt(body: bytes, findings: Findings) -> Iterator[Found]:
    """The sections of a text."""
    yield from split_sections(to_markdown(_to_html(_content(body, findings))))


def read_ods(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each sheet as a table."""
    sheets = _content(body, findings).findall(f".//{_OFFICE}spreadsheet/{_TABLE}table")
    findings.unit, findings.total = "sheets", len(sheets)
    for sheet in sheets:
        label = f"sheet {sheet.get(f'{_TABLE}name', '')}"
        if _trim(sheet):
            findings.note = f"Of large sheets only the first {MOST_ROWS:,} rows and {MOST_COLUMNS} columns were read."
        yield label, to_markdown(_to_html(sheet))


def read_odp(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each slide with its notes."""
    slides = _content(body, findings).findall(f".//{_OFFICE}presentation/{_DRAW}page")
    findings.unit, findings.total = "slides", len(slides)
    for number, slide in enumerate(slides, 1):
        yield f"slide {number}", to_markdown(_to_html(slide))


def _content(body: bytes, findings: Findings) -> Any:
    """The body of a document.

    Raises:
        DocumentUnreadable: it has none, or it is locked.
    """
    archive = Archive(body)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise DocumentUnreadable(Reason.ENCRYPTED)
    findings.title = find_title(archive.read("meta.xml"))
    found = parse_xml(archive.read("content.xml")).find(f"{_OFFICE}body")
    if found is None:
        raise DocumentUnreadable(Reason.DAMAGED)
    return found


def _trim(sheet: Any) -> bool:
    """Remove rows and columns without text, and those past the limits; return True if there were any past them."""
    rows, cut = 0, False
    for row in list(sheet.iter(f"{_TABLE}table-row")):
        cells = [cell for cell in row if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")]
        while cells and not "".join(cells[-1].itertext()).strip():
            row.remove(cells.pop())
        rows += bool(cells)
        past = rows > MOST_ROWS
        cut = cut or past or len(cells) > MOST_COLUMNS
        if past or not cells:
            row.getparent().remove(row)
        for cell in cells[MOST_COLUMNS:]:
            row.remove(cell)
    return cut


def _to_html(tree: Any) -> Any:
    """The tree with the tags of HTML."""
    from lxml.etree import SubElement, strip_elements

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
        elif tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            _repeat(node, SubElement)
        node.tag = _TAGS.get(node.tag, node.tag)
    return tree


def _repeat(cell: Any, element: Any) -> None:
    """Put as many empty cells behind a cell as it stands for; its text is not repeated."""
    count = cell.get(f"{_TABLE}number-columns-repeated", "1")
    row = cell.getparent()
    more = min(MOST_COLUMNS, int(count)) - 1 if count.isdecimal() else 0
    for _ in range(max(0, more)):
        empty = element(row, "td")
        if "".join(cell.itertext()).strip():
            empty.text = "".join(cell.itertext())
        cell.addnext(empty)
