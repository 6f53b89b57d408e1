"""What is opened when it is first needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class Resource(Protocol):
    """Something that a tool keeps open between its calls."""

    async def close(self) -> None: ...


_R = TypeVar("_R")
_ALONE: Final = threading.Lock()
"""Libraries look at each other while they are imported, and must not find one half-loaded by another thread."""


class Late(Generic[_R]):
    """Something that is opened at its first use, in a thread: its library may be slow to import."""

    def __init__(self, open_resource: Callable[[], _R], opened: _R | None = None) -> None:
        self._open = open_resource
        self._opening = asyncio.Lock()
        self._opened = opened

    async def get(self) -> _R:
        """Return it, opening it if necessary; a closed one is reopened."""
        async with self._opening:
            if self._opened is None:
                self._opened = await asyncio.to_thread(self._open_alone)
            return self._opened

    def _open_alone(self) -> _R:
        with _ALONE:
            return self._open()

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if isinstance(opened, Resource):
            await opened.close()
