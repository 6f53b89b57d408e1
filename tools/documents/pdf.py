"""Read PDFs page by page, with the notes on their pages and what their forms were filled in with."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from typing import Any

from pypdfium2 import PdfiumError, raw

from tools.documents.findings import Findings, Found
from tools.fetch.reader import join_broken_words, open_pdf, tidy

MOST_WORDS = 200_000
"""Words that are remembered to tell a hyphen of a word from one of a line."""
_MOST_NOTES = 1000
"""Of a page."""
_LONGEST_NOTE = 5000
_MOST_OBJECTS = 2000
"""Objects of a page among which pictures are looked for."""


def read_pdf(body: bytes, findings: Findings) -> Iterator[Found]:
    """The text of each page, and below it the notes on it.

    Raises:
        PasswordNeeded: it asks for one.
    """
    document = open_pdf(body)
    with contextlib.suppress(PdfiumError):  # a damaged form; the pages are read all the same
        document.init_forms()
    findings.unit, findings.total = "pages", len(document)
    findings.title = str(document.get_metadata_dict()["Title"])
    findings.left["attached file"] += max(0, raw.FPDFDoc_GetAttachmentCount(document))
    words: set[str] = set()
    for number in range(len(document)):
        with contextlib.closing(document[number]) as page:
            text = tidy(page.get_textpage().get_text_range())
            notes = "\n".join(dict.fromkeys(_notes(page, document.formenv, findings)))
            findings.left["picture"] += _count_pictures(page)
        if len(words) < MOST_WORDS:
            words.update(re.findall(r"\w+", text))
        yield f"page {number + 1}", "\n\n".join(part for part in (join_broken_words(text, words), notes) if part)


def _notes(page: Any, form: Any, findings: Findings) -> Iterator[str]:
    """The visible notes on a page; parts that are no text are counted."""
    drawn = (raw.FPDF_ANNOT_INK, raw.FPDF_ANNOT_STAMP)
    played = (raw.FPDF_ANNOT_MOVIE, raw.FPDF_ANNOT_SOUND, raw.FPDF_ANNOT_RICHMEDIA, raw.FPDF_ANNOT_THREED)
    for place in range(min(_MOST_NOTES, raw.FPDFPage_GetAnnotCount(page))):
        note = raw.FPDFPage_GetAnnot(page, place)
        if not note:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(note)
            if raw.FPDFAnnot_GetFlags(note) & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW):
                continue
            if kind == raw.FPDF_ANNOT_WIDGET:
                yield from _field(note, form)
                continue
            text = "" if kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP) else _string(note, b"Contents")
            if text:
                author = _string(note, b"T")
                yield f"Note by {author}: {text}" if author else f"Note: {text}"
            findings.left["drawing"] += kind in drawn and not text
            findings.left["recording"] += kind in played
            findings.left["attached file"] += kind == raw.FPDF_ANNOT_FILEATTACHMENT
        finally:
            raw.FPDFPage_CloseAnnot(note)


def _field(note: Any, form: Any) -> Iterator[str]:
    """What a field of a form was filled in with, and its name."""
    if form is None:
        return
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        value = "☑" if raw.FPDFAnnot_IsChecked(form, note) else "☐"
    elif kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        value = _filled(raw.FPDFAnnot_GetFormFieldValue, form, note)
    else:
        return
    name = _filled(raw.FPDFAnnot_GetFormFieldAlternateName, form, note) or _filled(
        raw.FPDFAnnot_GetFormFieldName, form, note
    )
    if value:
        yield f"Field {name}: {value}" if name else f"Field: {value}"


def _string(note: Any, key: bytes) -> str:
    return _filled(raw.FPDFAnnot_GetStringValue, note, key)


def _filled(function: Any, *arguments: Any) -> str:
    """The text that a function of PDFium writes into a buffer, on one line."""
    length = function(*arguments, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return " ".join(buffer.raw[: length - 2].decode("utf-16-le", "replace")[:_LONGEST_NOTE].split())


def _count_pictures(page: Any) -> int:
    count = min(_MOST_OBJECTS, raw.FPDFPage_CountObjects(page))
    kinds = (raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, place)) for place in range(count))
    return sum(kind == raw.FPDF_PAGEOBJ_IMAGE for kind in kinds)
