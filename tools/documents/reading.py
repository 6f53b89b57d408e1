"""Read a document that somebody sent, in a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tools.contract.json_values import read_json
from tools.contract.late import Late
from tools.documents.kinds import DocumentUnreadable, Kind, Reason
from tools.fetch.readers import MODULES as PAGE_MODULES
from tools.fetch.readers import PACKAGES as PAGE_PACKAGES
from tools.fetch.readers import READER, Program, Readers, Start, as_modules, talk

_FOLDER = Path(__file__).resolve().parent
_MODULES = (
    *(
        "__init__",
        "books",
        "dateformats",
        "findings",
        "formulas",
        "kinds",
        "numberformats",
        "numbering",
        "office",
        "opendocument",
        "pdf",
        "plain",
    ),
    *("sheets", "slides", "tables", "trees", "word"),
)
_PACKAGES = ("mammoth", "openpyxl", "python-pptx")
"""Distributions that documents need beside those for pages."""
_AT_ONCE = 2
"""Documents that are read at once; each takes a processor."""
_LATEST = 2.0
"""Seconds after its own limit until a reader that does not keep it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """What reading one document may take."""

    size: int = 32 << 20
    """Bytes of the document."""
    seconds: float = 20.0
    memory: int = 1 << 30
    """Bytes of address space."""


@dataclass(frozen=True, slots=True)
class Part:
    """A page, sheet, slide, chapter or section of a document."""

    label: str
    """What it is, as `page 3`; empty where a document has no parts."""
    text: str
    """Markdown."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document."""

    kind: Kind
    title: str
    """What the document says of itself; often empty."""
    parts: tuple[Part, ...]
    note: str = ""
    """A sentence about the missing part."""

    @property
    def markdown(self) -> str:
        """All of it: the title, the note (a long text is cut at its end), and each part under its label."""
        parts = [f"## {part.label}\n\n{part.text}" if part.label else part.text for part in self.parts]
        return "\n\n".join(part for part in (self.title, self.note and f"({self.note})", *parts) if part)


def program() -> Program:
    """The program that reads documents, and what it can import in its sandbox."""
    modules = as_modules(*(_FOLDER / f"{name}.py" for name in _MODULES), READER)
    return Program(
        _FOLDER / "worker.py",
        (*PAGE_PACKAGES, *_PACKAGES),
        PAGE_MODULES | modules,
        reads="documents",
        # Where the libraries are missing there is text, which needs none.
        trial="html" if find_spec("trafilatura") is not None else "text",
    )


class DocumentReader:
    """Reads documents, a few at once, each in a process of its own."""

    def __init__(self, limits: ReadingLimits | None = None, start: Start | None = None) -> None:
        """`start` starts a process that reads; None: in a sandbox where this machine has one."""
        self.limits = limits or ReadingLimits()
        self._start = start
        self._readers = Late(lambda: Readers(program()))
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def read(self, path: Path, name: str = "", media_type: str = "") -> Document:
        """The text of the file at `path`, whatever its `name` and `media_type` say it is.

        Raises:
            DocumentUnreadable: it cannot be read; says why.
            OSError: there is no such file.
            SandboxFailed: no process can be started now.
        """
        body = await asyncio.to_thread(self._load, path)
        seconds = self.limits.seconds
        about = {"name": name, "media_type": media_type, "seconds": seconds, "memory": self.limits.memory}
        came = bytearray()
        async with self._turns:
            try:
                await talk(await self._started(), json.dumps(about).encode() + b"\n", body, seconds + _LATEST, came)
            except TimeoutError:
                return await asyncio.to_thread(_document, came, Reason.TOO_LONG_TO_READ)
        return await asyncio.to_thread(_document, came, Reason.DAMAGED)

    def _load(self, path: Path) -> bytes:
        with path.open("rb") as file:
            body = file.read(self.limits.size + 1)
        if len(body) > self.limits.size:
            raise DocumentUnreadable(Reason.TOO_LARGE)
        return body

    async def prove(self, *, whole: bool = False) -> str:
        """Where documents are read, for the operator; `whole`: also whether the libraries are found there."""
        return await (await self._readers.get()).proven("html" if whole else "text")

    async def _started(self) -> asyncio.subprocess.Process:
        return await (self._start or (await self._readers.get()).start)()


def _document(came: bytearray, failed: Reason) -> Document:
    """What a reader answered, as far as it came; a document that took it over may have written anything.

    Raises:
        DocumentUnreadable: nothing was read; for the reason it gave, else for the reason `failed`.
    """
    kind, parts = Kind.TEXT, list[Part]()
    for line in bytes(came).split(b"\n")[:-1]:
        match _fields(line):
            case {"kind": named} if named in list(Kind):
                kind = Kind(named)
            case {"label": label, "text": text}:
                parts.append(Part(label, text))
            case {"title": title, "note": note} if parts:
                return Document(kind, title, tuple(parts), note)
            case {"unreadable": reason} if reason in list(Reason):
                raise DocumentUnreadable(Reason(reason))
            case _:
                raise DocumentUnreadable(Reason.DAMAGED)
    if not parts:
        raise DocumentUnreadable(failed)
    why = "the time was up" if failed is Reason.TOO_LONG_TO_READ else "what follows cannot be read"
    return Document(kind, "", tuple(parts), f"Only the first {len(parts):,} parts were read: {why}.")


def _fields(line: bytes) -> Mapping[str, str]:
    """A line of a reader's answer; empty where it is not in the agreed form."""
    try:
        found = read_json(line)
    except ValueError:
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        return {}
    return found
