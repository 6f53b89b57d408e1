"""Read EPUB books chapter by chapter, in the order in which they are to be read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive, DocumentUnreadable, Reason
from tools.documents.trees import find_title, parse_xml, to_markdown
from tools.fetch.encodings import decode_body
from tools.fetch.reader import parse_html

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Fonts may be veiled in a book that anybody can read."""
_PAGES = ("application/xhtml+xml", "text/html")


def read_epub(body: bytes, findings: Findings) -> Iterator[Found]:
    """The chapters of a book.

    Raises:
        DocumentUnreadable: it is locked, or says of no file what it is made of.
    """
    archive = Archive(body)
    _look_for_locks(archive)
    root = parse_xml(archive.read(_CONTAINER)).find(".//{*}rootfile")
    package = "" if root is None else root.get("full-path", "")
    described = archive.read(package)
    findings.title = find_title(described)
    chapters = _spine(parse_xml(described), posixpath.dirname(package))
    findings.unit, findings.total = "chapters", len(chapters)
    for path in chapters:
        yield _chapter(archive.read(path), findings)


def _look_for_locks(archive: Archive) -> None:
    locks = archive.read(_LOCKS)
    if not locks:
        return
    for method in parse_xml(locks).iter("{*}EncryptionMethod"):
        if method.get("Algorithm") not in _FONTS:
            raise DocumentUnreadable(Reason.ENCRYPTED)


def _spine(package: Any, folder: str) -> list[str]:
    """The paths of the chapters, in order."""
    files = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        for item in package.iter("{*}item")
        if item.get("media-type") in _PAGES and "nav" not in item.get("properties", "").split()
    }
    order = (item.get("idref") for item in package.iter("{*}itemref"))
    return [files[name] for name in order if name in files]


def _chapter(body: bytes, findings: Findings) -> Found:
    """A chapter with its first heading as its label; its pictures are counted."""
    if not body.strip():
        return "", ""
    tree = parse_html(decode_body(body, ""))
    findings.left["picture"] += sum(1 for _ in tree.iter("img", "svg"))
    heading = next((node for node in tree.iter("h1", "h2", "h3", "title") if node.text_content().strip()), None)
    title = tree.find(".//title")
    named = next(iter(tree.iter("h1", "h2", "h3")), title if heading is None else heading)
    label = "" if named is None else " ".join(named.text_content().split())
    for link in list(tree.iter("a")):
        if not (link.get("href") or "").startswith(("http://", "https://", "mailto:")):
            link.tag = "span"
    return f"chapter {label}".strip(), to_markdown(tree)
