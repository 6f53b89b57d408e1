"""The result of a cell, and the interface of every backend."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from tools.contract.base import ProducedFile

NAME_CHARS = 80
_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}


class SandboxFailed(Exception):
    """A sandbox could not be started or does not confine the code; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The result of a cell. The code made all of it: text to read, never to trust."""

    output: str = ""
    """What it printed."""
    value: str = ""
    """The last expression's value, as a notebook shows it."""
    error: str = ""
    """Why it ended early: a traceback's last lines, or a limit."""
    files: tuple[ProducedFile, ...] = ()
    notes: tuple[str, ...] = ()
    """Further notes for the model, a sentence each."""
    lost: bool = False
    """The sandbox is gone and with it the variables of this chat."""
    paid_seconds: float = 0.0
    """How many more seconds of a paid machine the cell used."""


class Backend(Protocol):
    """Runs cells, keeping state between the cells of one tool scope and sharing nothing between scopes."""

    name: str

    @property
    def summary(self) -> str:
        """One line for the operator: what runs code, and what code can import."""
        ...

    async def check(self) -> None:
        """Prove that code is confined.

        Raises:
            SandboxFailed: it is not, or cannot be run at all.
        """
        ...

    def paid_seconds(self, scope: str, seconds: float) -> float:
        """Return the most `Cell.paid_seconds` of a cell that may take `seconds`; 0 if time is free."""
        ...

    async def run(self, scope: str, code: str, seconds: float) -> Cell:
        """Run `code` after the earlier cells of `scope`; cells of one scope wait for each other.

        Cancelling ends the scope's sandbox.

        Raises:
            SandboxFailed: no sandbox could be started.
        """
        ...

    def held_scopes(self) -> Iterable[str]:
        """Return the scopes whose state is kept now."""
        ...

    async def close(self) -> None:
        """End every sandbox."""
        ...


def safe_name(name: str, taken: set[str]) -> str:
    """Make `name` safe to show and save: one plain, short component not in `taken`, which then contains it."""
    plain = unicodedata.normalize("NFC", name[:1000].encode("utf-8", "replace").decode("utf-8"))
    plain = "".join("_" if unicodedata.category(char)[0] in "CZ" and char != " " else char for char in plain)
    plain = re.sub(r'[/\\:*?"<>|@#`]', "_", plain).strip(" .") or "file"
    stem, suffix = PurePosixPath(plain).stem, PurePosixPath(plain).suffix[:12]
    stem = stem[: NAME_CHARS - len(suffix)].strip(" .") or "file"
    number, found = 1, stem + suffix
    while found.casefold() in taken:
        number += 1
        found = f"{stem[: NAME_CHARS - len(suffix) - 6]}-{number}{suffix}"
    taken.add(found.casefold())
    return found


def produced(name: str, content: bytes, taken: set[str]) -> ProducedFile:
    """Return a file for the chat, with an image type only if its content begins like one."""
    safe = safe_name(name, taken)
    media_type = mimetypes.guess_type(safe, strict=True)[0] or "application/octet-stream"
    begins = _SIGNATURES.get(media_type)
    if begins is not None and not content.startswith(begins):
        media_type = "application/octet-stream"
    return ProducedFile(safe, media_type, content)


def size(count: int) -> str:
    """Return `count` bytes in readable form."""
    return f"{count / 1048576:.1f} MiB" if count >= 1048576 else f"{max(1, round(count / 1024))} KiB"
