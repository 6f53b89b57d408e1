"""What stood on the screen while an answer was written, and what stands there at its end: noted call by call."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.contract import Clock, Drawn, File, MessageRef, Page, Surface, SurfaceLimits
from tools.contract.base import Json

MOST_POINTS: Final = 60
"""The most moments that are kept of one answer."""
MOST_MESSAGES: Final = 200
"""The most messages of one answer whose content is kept."""
_DIGEST_CHARS: Final = 10


@dataclass(eq=False)
class Course:
    """The course of one answer, as far as it is worth a kilobyte or two."""

    clock: Clock
    written: Callable[[], int] = lambda: 0
    """Returns how many characters of the answer are written by now."""
    points: list[tuple[int, int, int]] = field(default_factory=list)
    """Milliseconds since the reply was opened, characters written, characters on the screen."""

    def __post_init__(self) -> None:
        self._since = self.clock.monotonic()
        self._messages: dict[str, tuple[int, str]] = {}

    def show(self, ref: MessageRef, length: int, drawn: Drawn) -> None:
        """A message shows a page of this many characters."""
        self._messages[ref.id] = length, digest(drawn.said)
        self._note()

    def post(self, ref: MessageRef, file: File) -> None:
        """A file was posted."""
        self._messages[f"file {ref.id}"] = 0, digest(f"{file.name}\n{file.media_type}")

    def remove(self, ref: MessageRef) -> None:
        """A message was deleted."""
        if self._messages.pop(ref.id, None) is not None:
            self._note()

    def to_json(self, failed: Mapping[str, Json] | None = None) -> str:
        """Return it for the store; empty if nothing was shown, and nothing failed.

        Args:
            failed: why there is no answer, for a repetition.
        """
        stands = [said for _, said in self._messages.values()][:MOST_MESSAGES]
        if not stands and failed is None:
            return ""
        told = {} if failed is None else {"failed": dict(failed)}
        return json.dumps({"points": self.points, "stands": stands, **told}, separators=(",", ":"))

    def _note(self) -> None:
        written = self.written()
        shown = min(written, sum(length for length, _ in self._messages.values()))
        if len(self.points) >= MOST_POINTS:
            self.points[:] = [*self.points[:-1:2], self.points[-1]]
        self.points.append((round((self.clock.monotonic() - self._since) * 1000), written, shown))


def digest(text: str) -> str:
    """Return a short name for a text, the same for equal ones."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


class Noting:
    """A surface whose calls are noted in a course once they have arrived."""

    def __init__(self, surface: Surface, course: Course) -> None:
        self._surface = surface
        self._course = course
        self._lengths = deque[tuple[Drawn, int]](maxlen=4)
        self.cost = surface.cost
        self.receipt_cost = surface.receipt_cost
        self.receipt = surface.receipt
        self.typing = surface.typing
        self.find = surface.find

    @property
    def limits(self) -> SurfaceLimits:
        return self._surface.limits

    def draw(self, page: Page) -> Drawn:
        drawn = self._surface.draw(page)
        self._lengths.append((drawn, len(page.body)))
        return drawn

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        ref = await self._surface.show(drawn, at, nonce)
        if at is not None and at.id != ref.id:
            self._course.remove(at)
        length = next((length for one, length in reversed(self._lengths) if one is drawn), 0)
        self._course.show(ref, length, drawn)
        return ref

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        ref = await self._surface.attach(file, after, nonce)
        self._course.post(ref, file)
        return ref

    async def remove(self, at: MessageRef) -> None:
        await self._surface.remove(at)
        self._course.remove(at)
