"""Make pictures fit for models, in a process of its own."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

from tools.contract.json_values import read_json
from tools.contract.late import Late
from tools.documents.kinds import DocumentUnreadable, Reason
from tools.fetch.readers import MODULES, READER, Program, Readers, Start, as_modules, talk
from tools.pictures.kinds import kind_of

LONGEST_SIDE = 2048
"""Pixels: what models look at; longer ones are made smaller by their providers."""
MOST_PIXELS = 100_000_000
"""Of a picture that is decoded: its colours take four bytes each."""
_SECONDS = 20.0
_MEMORY = 1 << 30
_AT_ONCE = 2
_FOLDER = Path(__file__).resolve().parent


class PictureMaker:
    """Makes pictures fit for models, a few at once, each in a process of its own."""

    def __init__(self, start: Start | None = None) -> None:
        """`start` starts a process that does it; None: in a sandbox where this machine has one."""
        self._start = start
        self._readers = Late(lambda: Readers(program()))
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def make(self, content: bytes, most: int) -> tuple[str, bytes]:
        """Return the media type and the bytes, at most `most`, of the picture, its sides no longer than `LONGEST_SIDE`,
        the right way up. Of several frames it is the first.

        Raises:
            DocumentUnreadable: it is damaged, of no known kind, or a bomb; or the library is missing.
            SandboxFailed: no process can be started now.
        """
        if find_spec("PIL") is None:
            raise DocumentUnreadable(Reason.EXTRA_MISSING)
        about = {"most": most, "side": LONGEST_SIDE, "pixels": MOST_PIXELS, "seconds": _SECONDS, "memory": _MEMORY}
        async with self._turns:
            try:
                answered, _ = await talk(await self._started(), json.dumps(about).encode() + b"\n", content, _SECONDS)
            except TimeoutError as error:
                raise DocumentUnreadable(Reason.TOO_LONG_TO_READ) from error
        head, _, made = answered.partition(b"\n")
        try:
            told = read_json(head)
        except ValueError:
            told = None
        why = told.get("unreadable") if isinstance(told, dict) else None
        media_type, _ = kind_of(made[:16])
        # A picture that took its reader over may have written anything.
        if media_type not in ("image/png", "image/jpeg") or len(made) > most:
            raise DocumentUnreadable(Reason(why) if why in list(Reason) else Reason.DAMAGED)
        return media_type, made

    async def _started(self) -> asyncio.subprocess.Process:
        return await (self._start or (await self._readers.get()).start)()


def program() -> Program:
    """The program that makes pictures fit, and what it can import in its sandbox."""
    return Program(
        _FOLDER / "worker.py", ("pillow", "pi-heif"), MODULES | as_modules(READER), reads="pictures", trial="text"
    )
