"""Write all that a person sees of a Word document as text that the library for Word documents reads.

The library leaves out everything it does not know: the numbers of lists and headings as they are shown, formulas,
simple fields, chosen entries, small readings, boxes of text, comments, heads and feet of pages. All of it becomes
ordinary runs and paragraphs before.
"""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from tools.documents.findings import Findings, Found
from tools.documents.formulas import to_latex
from tools.documents.kinds import Archive
from tools.documents.numbering import Numbering
from tools.documents.trees import (
    attribute_of,
    diagram_words,
    is_on,
    kind_of,
    nodes_at,
    parse_xml,
    related,
    relations_of,
    tree_at,
)

_DEEPEST_FIELD: Final = 20
"""Fields within each other: the library looks through all of them at each run."""
_LONGEST_NOTE: Final = 5000
_WRAPPERS: Final = ("fldSimple", "dir", "bdo")
"""Elements around runs that the library does not know."""
_LOOKED_FOR: Final = frozenset((
    *("AlternateContent", "txbxContent", "oMath", "ruby", "fldChar", "commentReference", "vanish", "delText", "pic"),
    *("imagedata", "graphicData", "object", "altChunk"), *_WRAPPERS,
))  # fmt: skip
_NEEDED: Final = ("styles", "numbering", "footnotes", "endnotes")
"""Parts beside the main one that the library reads."""
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"


def write_plainly(body: bytes, findings: Findings) -> tuple[bytes, list[Found]]:
    """The document with everything visible as ordinary text, and the texts at the heads and feet of its pages."""
    archive = Archive(body)
    main = next((path for kind, _, path in related(archive, "") if kind == "officeDocument"), "word/document.xml")
    beside = {key: (kind, path) for kind, key, path in related(archive, main)}
    comments = next((_comments(archive, path) for kind, path in beside.values() if kind == "comments"), {})
    tree = parse_xml(archive.read(main))
    sections = list(tree.iter("{*}headerReference", "{*}footerReference"))
    margins = _margins(archive, beside, sections, findings)
    at = dict(reversed(beside.values()))
    numbering = Numbering(*(tree_at(archive, at.get(kind, "")) for kind in ("numbering", "styles")))
    paths = [main, *(path for kind, path in beside.values() if kind in _NEEDED)]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as written:
        for path in ("[Content_Types].xml", "_rels/.rels", *paths, *map(relations_of, paths)):
            if path not in archive.names or path in written.NameToInfo:
                continue
            content = archive.read(path)
            if path == main:
                content = _write(tree, archive, beside, comments, findings, numbering)
            elif _kind_at(beside, path) in ("footnotes", "endnotes"):
                content = _write(parse_xml(content), archive, {}, comments, findings)
            written.writestr(path, content)
    return made.getvalue(), margins


def _kind_at(beside: Mapping[str, tuple[str, str]], path: str) -> str:
    """What kind of part is at a path."""
    return next((kind for kind, target in beside.values() if target == path), "")


def _write(
    tree: Any,
    archive: Archive,
    beside: Mapping[str, tuple[str, str]],
    comments: dict[str, str],
    findings: Findings,
    numbering: Numbering | None = None,
) -> bytes:
    from lxml.etree import tostring

    flatten(tree, archive, beside, comments, findings)
    if numbering is not None:
        _write_numbers(tree, numbering)
    written: bytes = tostring(tree, encoding="utf-8")
    return written


def _write_numbers(tree: Any, numbering: Numbering) -> None:
    """Write the numbers of lists and headings as text: the library counts each list anew, and headings not at all."""
    make = _Maker(tree)
    for paragraph in tree.iter("{*}p"):
        if (told := numbering.take(paragraph)) is not None:
            properties = paragraph.find("{*}pPr")
            properties.addnext(make.run("".join(told)))
            make.take_number(properties)


def _margins(
    archive: Archive, beside: Mapping[str, tuple[str, str]], sections: list[Any], findings: Findings
) -> list[Found]:
    """The texts at the heads and feet of pages, each once."""
    found: dict[Found, None] = {}
    seen = set[str]()
    for node in sections:
        kind, path = beside.get(attribute_of(node, "id"), ("", ""))
        if kind not in ("header", "footer") or path in seen:
            continue
        seen.add(path)
        if (tree := tree_at(archive, path)) is None:
            continue
        flatten(tree, archive, {}, {}, findings)
        text = "\n\n".join(line for one in tree.iter("{*}p") if (line := _line(one)))
        if text:
            found[f"page {kind}", text] = None
    return list(found)


def _comments(archive: Archive, path: str) -> dict[str, str]:
    """The comments by their numbers, each with the name of who wrote it."""
    found: dict[str, str] = {}
    for one in nodes_at(archive, path, "comment"):
        text = " ".join(line for node in one.iter("{*}p") if (line := _line(node)))[:_LONGEST_NOTE]
        author = " ".join(attribute_of(one, "author").split())[:100]
        if text:
            found[attribute_of(one, "id")] = f"comment by {author}: {text}" if author else f"comment: {text}"
    return found


def flatten(
    tree: Any,
    archive: Archive,
    beside: Mapping[str, tuple[str, str]],
    comments: dict[str, str],
    findings: Findings,
) -> None:
    """Rewrite elements that the library for Word documents does not know as runs and paragraphs that it does, and count
    the parts that are no text. Each comment is written once, and is then removed from `comments`."""
    for node in list(tree.iter("{*}AlternateContent")):
        _choose(node)
    nodes: dict[str, list[Any]] = defaultdict(list)
    for node in tree.iter():
        if isinstance(node.tag, str) and (kind := kind_of(node)) in _LOOKED_FOR:
            nodes[kind].append(node)
    make = _Maker(tree)
    for node in nodes["vanish"]:
        run = node.getparent().getparent()
        if is_on(node) and run is not None and kind_of(run) == "r" and run.getparent() is not None:
            findings.left["hidden passage"] += any(True for _ in run.iter("{*}t"))
            _remove(run)
    _count(nodes, findings)
    for node in nodes["graphicData"]:
        _tell_diagram(node, archive, beside, make, findings)
    _limit_fields(nodes, make)
    for node in nodes["oMath"]:
        _replace_formula(node, make)
    for node in nodes["ruby"]:
        read, base = (
            _line(one) if (one := node.find(f"{{*}}{name}")) is not None else "" for name in ("rt", "rubyBase")
        )
        _replace(node, make.text(f"{base}（{read}）" if read else base))
    for node in nodes["commentReference"]:
        if told := comments.pop(attribute_of(node, "id"), ""):
            _replace(node, make.text(f" ({told}) "))
    for kind in _WRAPPERS:
        for node in nodes[kind]:
            _unwrap(node)
    for node in reversed(nodes["txbxContent"]):
        _move_box(node)


def _choose(node: Any) -> None:
    """Keep one of the forms in which something is written for newer and older programs: the newer one where it holds a
    box of text, else the older one, which the library knows."""
    choice, older = node.find("{*}Choice"), node.find("{*}Fallback")
    boxed = choice is not None and next(choice.iter("{*}txbxContent", "{*}graphicData", "{*}oMath"), None) is not None
    kept = choice if boxed or older is None else older
    for one in list(node):
        if one is not kept:
            _remove(one)
    if kept is not None:
        _unwrap(kept)
    _unwrap(node)


def _count(nodes: Mapping[str, list[Any]], findings: Findings) -> None:
    """Count the visible parts that are no text."""
    findings.left["embedded object"] += len(nodes["object"])
    findings.left["embedded document"] += len(nodes["altChunk"])
    findings.left["tracked deletion"] += len({node.getparent().getparent() for node in nodes["delText"]})
    pictures = [*nodes["pic"], *(one for one in nodes["imagedata"] if not _is_within(one, "object"))]
    findings.left["picture"] += len(pictures)
    findings.left["chart"] += sum("/chart" in node.get("uri", "") for node in nodes["graphicData"])


def _tell_diagram(
    node: Any, archive: Archive, beside: Mapping[str, tuple[str, str]], make: _Maker, findings: Findings
) -> None:
    """Put the words of a diagram, which are in a part of its own, where it is shown."""
    if "/diagram" not in node.get("uri", ""):
        return
    ids = node.find("{*}relIds")
    _, path = beside.get("" if ids is None else attribute_of(ids, "dm"), ("", ""))
    words = diagram_words(archive, path)
    paragraph = next(node.iterancestors("{*}p"), None)
    if not words or paragraph is None:
        findings.left["diagram"] += 1
        return
    findings.left["diagram's drawing"] += 1
    paragraph.append(make.run(f" (diagram: {words}) "))


def _limit_fields(nodes: Mapping[str, list[Any]], make: _Maker) -> None:
    """Write the entry that is chosen in a form, and make fields that are nested deeper than anybody's plain text."""
    open_fields = 0
    for node in nodes["fldChar"]:
        kind = attribute_of(node, "fldCharType")
        open_fields += kind == "begin"
        if (chosen := _chosen_entry(node)) and (run := node.getparent()) is not None:
            run.addnext(make.run(chosen))
        if open_fields > _DEEPEST_FIELD:
            _remove(node)
        open_fields = max(0, open_fields - (kind == "end"))


def _chosen_entry(node: Any) -> str:
    """What a list of a form shows; empty for anything else."""
    found = node.find("{*}ffData/{*}ddList")
    if found is None:
        return ""
    entries = [attribute_of(one, "val") for one in found.findall("{*}listEntry")]
    places = (attribute_of(one, "val") for name in ("result", "default") for one in found.findall(f"{{*}}{name}"))
    place = next((int(one) for one in places if one.isdecimal() and len(one) < 6), 0)
    return entries[place] if place < len(entries) else ""


def _replace_formula(node: Any, make: _Maker) -> None:
    if _is_within(node, "oMath"):
        return
    above = node.getparent()
    if above is None:
        return
    shown = above if kind_of(above) == "oMathPara" else None
    marks = "$" if shown is None else "$$"
    latex = to_latex(node)
    _replace(node, make.run(f"{marks}{latex}{marks}" if latex else ""))
    if shown is not None and not any(kind_of(one) == "oMath" for one in shown):
        _unwrap(shown)


def _move_box(node: Any) -> None:
    """Put the paragraphs of a box of text behind the paragraph that it belongs to."""
    paragraph = next(node.iterancestors("{*}p"), None)
    if paragraph is None:
        return
    for one in reversed(list(node)):
        paragraph.addnext(one)
    _remove(node)


class _Maker:
    """Makes elements of a document's own dialect."""

    def __init__(self, tree: Any) -> None:
        self._space = tree.tag.partition("}")[0] + "}" if "}" in tree.tag else ""

    def text(self, text: str) -> Any:
        """Text of a run."""
        from lxml.etree import Element

        made = Element(f"{self._space}t")
        made.text = text
        made.set(_SPACE, "preserve")
        return made

    def run(self, text: str) -> Any:
        """A run with this text."""
        from lxml.etree import Element

        made = Element(f"{self._space}r")
        made.append(self.text(text))
        return made

    def take_number(self, properties: Any) -> None:
        """Have a paragraph be of no list, whatever its style says."""
        from lxml.etree import SubElement

        for one in properties.findall("{*}numPr"):
            properties.remove(one)
        none = SubElement(properties, f"{self._space}numPr")
        for name in ("ilvl", "numId"):
            SubElement(none, f"{self._space}{name}").set(f"{self._space}val", "0")


def _line(node: Any) -> str:
    """The text of a paragraph on one line."""
    parts = (one.text or "" if kind_of(one) == "t" else " " for one in node.iter("{*}t", "{*}tab", "{*}br"))
    return " ".join("".join(parts).split())


def _is_within(node: Any, kind: str) -> bool:
    return next(node.iterancestors(f"{{*}}{kind}"), None) is not None


def _replace(node: Any, other: Any) -> None:
    above = node.getparent()
    if above is not None:
        other.tail = None
        above.replace(node, other)


def _remove(node: Any) -> None:
    above = node.getparent()
    if above is not None:
        above.remove(node)


def _unwrap(node: Any) -> None:
    """Put the children of an element in its place."""
    if node.getparent() is None:
        return
    for one in reversed(list(node)):
        node.addnext(one)
    _remove(node)
