"""Documents made while the tests run, and a reader of them."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.patience import slowed
from tools.documents import worker
from tools.documents.kinds import DocumentUnreadable, Reason
from tools.documents.reading import Document, DocumentReader, ReadingLimits, _document, program
from tools.fetch.readers import Start, start_plain

Read: TypeAlias = Callable[..., Awaitable[Document]]


def plain_start() -> Start:
    """Starts readers without a sandbox, which takes less time."""
    return lambda: start_plain(program())


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`await read(b"bytes", "name.txt")`: the document, read in a process without a sandbox."""

    async def read(
        body: bytes,
        name: str = "",
        media_type: str = "",
        limits: ReadingLimits | None = None,
        start: Start | None = None,
    ) -> Document:
        path = tmp_path / "document"
        path.write_bytes(body)
        limits = limits or ReadingLimits(seconds=slowed(ReadingLimits().seconds))
        return await DocumentReader(limits, start or plain_start()).read(path, name, media_type)

    return read


@pytest.fixture
def refusal(read: Read) -> Callable[..., Awaitable[Reason]]:
    """`await refusal(b"bytes")`: why they cannot be read."""

    async def refusal(*arguments: object, **options: object) -> Reason:
        with pytest.raises(DocumentUnreadable) as caught:
            await read(*arguments, **options)
        return caught.value.reason

    return refusal


@pytest.fixture
def read_here() -> Callable[..., Document]:
    """`read_here(b"bytes", "name.txt")`: the document, read without a process around it, in a tenth of the time."""

    def read_here(body: bytes, name: str = "", media_type: str = "", seconds: float = 0.0) -> Document:
        came = bytearray()
        worker.answer(
            {"name": name, "media_type": media_type},
            body,
            time.monotonic() + (seconds or slowed(20.0)),
            lambda line: came.extend(json.dumps(line).encode() + b"\n"),
        )
        return _document(came, Reason.DAMAGED)

    return read_here


@pytest.fixture
def refusal_here(read_here: Callable[..., Document]) -> Callable[..., Reason]:
    """`refusal_here(b"bytes")`: why they cannot be read, without a process."""

    def refusal_here(*arguments: object) -> Reason:
        with pytest.raises(DocumentUnreadable) as caught:
            read_here(*arguments)
        return caught.value.reason

    return refusal_here
