"""Make Markdown of documents whose text is XML or HTML, by the functions that read web pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from tools.documents.kinds import Archive, DocumentUnreadable, Reason
from tools.fetch.reader import extract_all_text

MOST_SECTIONS = 500
_UNSEEN = frozenset({"head", "script", "style", "svg", "template", "iframe", "object"})
_HEADING = re.compile(r"^# +(\S.*)$", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def parse_xml(text: bytes) -> Any:
    """The tree of an XML file. No entity of its own is expanded, nothing outside is opened.

    Raises:
        DocumentUnreadable: it is no XML, or nested too deeply.
        MemoryError: it takes too much.
    """
    from lxml.etree import ErrorTypes, XMLParser, XMLSyntaxError, fromstring

    # Without `huge_tree` the parser itself refuses elements nested deeper than 256, or expands for ever.
    parser = XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True)
    try:
        tree = fromstring(text, parser)
    except (XMLSyntaxError, ValueError) as error:
        if getattr(error, "code", 0) == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise DocumentUnreadable(Reason.DAMAGED) from error
    return tree


def find_title(text: bytes) -> str:
    """The title in the metadata of a document, or an empty text."""
    try:
        found = parse_xml(text).find(".//{http://purl.org/dc/elements/1.1/}title")
    except DocumentUnreadable:
        return ""
    return "" if found is None else line_of(found)


def tree_at(archive: Archive, path: str) -> Any:
    """A part of a document as a tree; None for a missing or damaged one: the rest is read without it."""
    try:
        return parse_xml(archive.read(path))
    except DocumentUnreadable:
        return None


def nodes_at(archive: Archive, path: str, *names: str) -> list[Any]:
    """The elements of these names in a part of a document."""
    tree = tree_at(archive, path)
    return [] if tree is None else list(tree.iter(*(f"{{*}}{name}" for name in names)))


def diagram_words(archive: Archive, path: str) -> str:
    """The texts of a diagram of an Office document, whose part is at this path."""
    return "; ".join(text for node in nodes_at(archive, path, "t") if (text := line_of(node)))


def line_of(node: Any) -> str:
    """The text of an element on one line."""
    return " ".join("".join(node.itertext()).split())


def kind_of(node: Any) -> str:
    """The name of an element without its namespace; empty for what is no element."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def attribute_of(node: Any, name: str) -> str:
    """The attribute of this name, of whatever namespace; empty where there is none."""
    return next((value for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def is_on(node: Any) -> bool:
    """A property of an Office document that is written is on, unless its value says otherwise."""
    return attribute_of(node, "val") not in ("0", "false", "off")


def related(archive: Archive, path: str) -> Iterator[tuple[str, str, str]]:
    """What belongs to a part of an Office document: the last word of its kind, its key, and its path."""
    for one in nodes_at(archive, relations_of(path), "Relationship"):
        if one.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), one.get("Target", "")))
            yield one.get("Type", "").rpartition("/")[2], one.get("Id", ""), target.lstrip("/")


def relations_of(path: str) -> str:
    """Where it is written what belongs to a part of an Office document."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def to_markdown(tree: Any) -> str:
    """The text of an HTML tree in Markdown, its tables as tables. Changes the tree."""
    for table in list(tree.iter("table")):
        _flatten_table(table)
    return extract_all_text(tree, _UNSEEN)


def _flatten_table(table: Any) -> None:
    """Make each cell of a table one line, with a line of dashes below the first row; a single column becomes text."""
    from lxml.etree import Element

    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
    rows = [cells for cells in rows if cells]
    width = max((len(cells) for cells in rows), default=0)
    if width <= 1:
        for node in table.iter("table", "tr", "td", "th"):
            node.tag = "div"
        return
    for cells in rows:
        for cell in cells:
            text, tail = cell_text(" ".join(part for part in cell.itertext() if part)), cell.tail
            attributes = dict(cell.attrib)
            cell.clear()
            cell.attrib.update(attributes)
            cell.text, cell.tail = text, tail
    line = Element("tr")
    for _ in range(width):
        dashes = Element("td")
        dashes.text = "---"
        line.append(dashes)
    first = rows[0][0].getparent()
    if first is not None:
        first.addnext(line)


def cell_text(text: str) -> str:
    """Text in the form in which a cell of a table can hold it."""
    return " ".join(text.split()).replace("|", "\\|")


def table_lines(rows: list[list[str]]) -> list[str]:
    """The lines of a Markdown table whose first row is its head. All rows become as long as the longest."""
    width = max((len(row) for row in rows), default=0)
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    return [*lines[:1], f"|{' --- |' * width}", *lines[1:]] if lines else []


def split_sections(text: str) -> list[tuple[str, str]]:
    """Text in sections that begin with its first headings, each with its heading; one without a name where it has
    none."""
    covered = [found.span() for found in _FENCED.finditer(text)]
    starts = [
        found
        for found in _HEADING.finditer(text)
        if not any(begin <= found.start() < end for begin, end in covered[:MOST_SECTIONS])
    ]
    if len(starts) < 2 or len(starts) > MOST_SECTIONS:
        return [("", text)]
    ends = [*(found.start() for found in starts[1:]), len(text)]
    sections = [(found[1].strip(), text[found.start() : end].strip()) for found, end in zip(starts, ends, strict=True)]
    before = text[: starts[0].start()].strip()
    return [("", before), *sections] if before else sections
