"""What kind of document some bytes are, decided by the bytes themselves."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from enum import StrEnum

MOST_ENTRIES = 10_000
MOST_UNPACKED = 256 << 20
"""Bytes of all entries of an archive together."""
MOST_ENTRY = 64 << 20
"""Bytes of one entry that is read."""
_SAMPLE = 64 * 1024
_CONTENT_TYPES = "[Content_Types].xml"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How Office documents of before 2007 begin, and newer ones with a password."""
_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_BEFORE_2007 = tuple(name.encode("utf-16-le") for name in ("WordDocument", "Workbook", "PowerPoint Document"))
"""The parts in which those of before 2007 hold what they say."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_RTF = b"{\\rtf"
_SEPARATED = (".csv", ".tsv")


class Kind(StrEnum):
    """A kind of document that can be read."""

    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    EPUB = "epub"
    HTML = "html"
    CSV = "csv"
    TEXT = "text"


class Reason(StrEnum):
    """Why a document cannot be read."""

    ENCRYPTED = "encrypted"
    """It asks for a password."""
    DAMAGED = "damaged"
    UNKNOWN_KIND = "unknown_kind"
    OLD_FORMAT = "old_format"
    """It is of a kind that newer programs save in a form that can be read: RTF, and Office before 2007."""
    TOO_LARGE = "too_large"
    """Itself, unpacked, or in the memory that reading it takes."""
    TOO_LONG_TO_READ = "too_long_to_read"
    """The time was up before anything was read."""
    NOTHING_TO_READ = "nothing_to_read"
    """It holds no text, as a PDF of scanned pages."""
    EXTRA_MISSING = "extra_missing"
    """The libraries for its kind are not installed."""


class DocumentUnreadable(Exception):
    """A document cannot be read."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Archive:
    """A ZIP file of a stranger: everything read from it has an end."""

    def __init__(self, body: bytes) -> None:
        """Raises `DocumentUnreadable` where it is a bomb, locked or damaged."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise DocumentUnreadable(Reason.DAMAGED) from error
        entries = self._zip.infolist()
        # zipfile unpacks no more of an entry than is declared, so a lie here is an error there.
        if len(entries) > MOST_ENTRIES or sum(entry.file_size for entry in entries) > MOST_UNPACKED:
            raise DocumentUnreadable(Reason.TOO_LARGE)
        if any(entry.flag_bits & 1 for entry in entries):
            raise DocumentUnreadable(Reason.ENCRYPTED)
        self.names = frozenset(entry.filename for entry in entries)

    def read(self, name: str) -> bytes:
        """Return an entry, or an empty text if there is none of this name.

        Raises:
            DocumentUnreadable: it is too large, or damaged.
        """
        if name not in self.names:
            return b""
        if self._zip.getinfo(name).file_size > MOST_ENTRY:
            raise DocumentUnreadable(Reason.TOO_LARGE)
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
            raise DocumentUnreadable(Reason.DAMAGED) from error


def find_kind(body: bytes, name: str = "", media_type: str = "") -> Kind:
    """The kind of a document. Its name and media type only tell tables of values from other text.

    Raises:
        DocumentUnreadable: it is of no kind that can be read, or locked, or a damaged or dangerous archive.
    """
    if b"%PDF-" in body[:1024]:
        return Kind.PDF
    if body.startswith(b"PK\x03\x04"):
        return _archived_kind(Archive(body))
    if body.startswith(_OLE):
        old = Reason.OLD_FORMAT if any(name in body for name in _BEFORE_2007) else Reason.UNKNOWN_KIND
        raise DocumentUnreadable(Reason.ENCRYPTED if _PACKAGE in body else old)
    if body.startswith(_RTF):
        raise DocumentUnreadable(Reason.OLD_FORMAT)
    sample = body[:_SAMPLE]
    if not _is_text(sample):
        raise DocumentUnreadable(Reason.UNKNOWN_KIND)
    if sample.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and _TAG.search(sample[:2048]):
        return Kind.HTML
    separated = name.lower().endswith(_SEPARATED) or media_type in ("text/csv", "text/tab-separated-values")
    return Kind.CSV if separated else Kind.TEXT


def _archived_kind(archive: Archive) -> Kind:
    media_type = archive.read("mimetype").strip()[:100]
    kinds = {
        b"application/epub+zip": Kind.EPUB,
        b"application/vnd.oasis.opendocument.text": Kind.ODT,
        b"application/vnd.oasis.opendocument.spreadsheet": Kind.ODS,
        b"application/vnd.oasis.opendocument.presentation": Kind.ODP,
    }
    if media_type in kinds:
        return kinds[media_type]
    # Templates and documents with macros are the same inside; macros are a part that nothing opens.
    types = archive.read(_CONTENT_TYPES)
    for mark, kind in (
        (b"wordprocessingml.document.main", Kind.DOCX),
        (b"ms-word.document.macroEnabled.main", Kind.DOCX),
        (b"wordprocessingml.template.main", Kind.DOCX),
        (b"spreadsheetml.sheet.main", Kind.XLSX),
        (b"ms-excel.sheet.macroEnabled.main", Kind.XLSX),
        (b"spreadsheetml.template.main", Kind.XLSX),
        (b"presentationml.presentation.main", Kind.PPTX),
        (b"presentationml.slideshow.main", Kind.PPTX),
        (b"ms-powerpoint.presentation.macroEnabled.main", Kind.PPTX),
    ):
        if mark in types:
            return kind
    raise DocumentUnreadable(Reason.UNKNOWN_KIND)


def _is_text(sample: bytes) -> bool:
    """True where the beginning of a file is text in any usual encoding; UTF-16 has zeros, but on one side only."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")) or without_mark(sample):
        return True
    # Programs that are stopped while they write leave zeros in their logs.
    without_zeros = sample.replace(b"\0", b"")
    if _BINARY.search(without_zeros):
        return False
    return len(without_zeros) == len(sample) or _is_in(without_zeros, "utf-8") or _is_in(without_zeros, "gb18030")


def _is_in(sample: bytes, codec: str) -> bool:
    """True where bytes that are not all are text in this encoding; of the last character a part may be missing."""
    try:
        return bool(codecs.getincrementaldecoder(codec)().decode(sample).strip())
    except UnicodeDecodeError:
        return False


def without_mark(sample: bytes) -> str:
    """The encoding of UTF-16 text whose beginning does not say so; empty where it is something else."""
    sample = sample[:2048]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    most, least = max(even, odd), min(even, odd)
    # Of Latin letters every second byte is zero; text that is UTF-8 without its zeros may be UTF-8 with a few stray
    # zeros.
    needed = 0.9 if _is_in(sample.replace(b"\0", b""), "utf-8") else 0.25
    if half < 2 or most < needed * half or 4 * least > most:
        return ""
    codec = "utf-16-be" if even > odd else "utf-16-le"
    try:
        text = sample[: 2 * half].decode(codec, "strict" if len(sample) < 2048 else "ignore")
    except UnicodeDecodeError:
        return ""
    return "" if _BINARY.search(text.encode("utf-8", "replace")) else codec
