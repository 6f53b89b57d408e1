"""Choose the backend that runs code: the first allowed one that passes its self-test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from tools.sandbox.cell import Backend, SandboxFailed

Maker = Callable[[], Backend]


class Choice:
    """Chooses the backend at its first use; one that fails its self-test never runs code."""

    def __init__(self, makers: Sequence[tuple[str, Maker]]) -> None:
        """`makers` in the order of preference; each may raise SandboxFailed."""
        self._makers = tuple(makers)
        self._chosen: Backend | None = None
        self.reasons: tuple[str, ...] = ()
        """Why the backends before the chosen one are not used."""
        self._choosing = asyncio.Lock()

    async def backend(self) -> Backend:
        """Return the chosen backend.

        Raises:
            SandboxFailed: none passes; the text says why each does not. The next call tries again.
        """
        async with self._choosing:
            if self._chosen is not None:
                return self._chosen
            reasons: list[str] = []
            for name, make in self._makers:
                made: Backend | None = None
                try:
                    made = make()
                    await made.check()
                except SandboxFailed as failure:
                    reasons.append(f"{name}: {failure}")
                    if made is not None:
                        await made.close()
                    continue
                except BaseException:
                    if made is not None:
                        await made.close()
                    raise
                self._chosen, self.reasons = made, tuple(reasons)
                return made
            self.reasons = tuple(reasons)
            raise SandboxFailed("; ".join(reasons))

    def held_scopes(self) -> Iterable[str]:
        """Return the scopes whose state is kept now."""
        return () if self._chosen is None else self._chosen.held_scopes()

    async def close(self) -> None:
        chosen, self._chosen = self._chosen, None
        if chosen is not None:
            await chosen.close()
