"""Show a reply to whoever reads its run: Markdown as written, sent as it grows.

Nothing is kept but for readers: the answer is stored by the core, and a run that nobody reads shows nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from adapters.web.runs import Run, Runs
from bot.contract import (
    CallCost,
    Drawn,
    File,
    MessageRef,
    Pace,
    Page,
    RecalledCall,
    ReplyTarget,
    Surface,
    SurfaceLimits,
    TooLong,
    Unrenderable,
)

LIMITS: Final = SurfaceLimits(
    page_length=100_000,
    hard_length=200_000,
    measure=len,
    attachment_bytes=1024 * 1024,
    typing_seconds=0.0,
    pace=Pace(apart=0.1, fresh=0.1, ahead=0.1),
)
"""No program sets a limit; an answer is one page."""


@dataclass(frozen=True, slots=True)
class DrawnText(Drawn):
    """A page as it is sent."""

    body: str
    lines: tuple[str, ...]
    final: bool


Keep: TypeAlias = Callable[[str, str, str], Awaitable[None]]
"""Keeps what a page of a chat's run says, for programs that ask another process or ask again."""

LookAtCalls: TypeAlias = Callable[[str, str, Run], Awaitable[tuple[RecalledCall, ...]]]
"""Returns the calls of a chat's run of which it has not told all; none if they cannot be read now."""


class WebSurface(Surface):
    """Where the reply of one run is shown. A post may be repeated: its name is its id."""

    def __init__(self, runs: Runs, target: ReplyTarget, look: LookAtCalls, keep: Keep) -> None:
        self._runs = runs
        self._look = look
        self._keep = keep
        self._chat, self._run = str(target.data.get("chat", "")), str(target.data.get("run", ""))

    @property
    def limits(self) -> SurfaceLimits:
        return LIMITS

    def draw(self, page: Page) -> DrawnText:
        lines = tuple(" ".join(line.text.split()) for line in page.status)
        body = page.body.strip("\n")
        if not body.strip() and not lines:
            raise Unrenderable("the page is empty")
        if (over := len(body) - LIMITS.hard_length) > 0:
            raise TooLong(f"a page has {len(body)} characters", by=over)
        return DrawnText(body, lines, page.final)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return CallCost()

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnText)
        ref = at or MessageRef(nonce or uuid.uuid4().hex)
        if (run := self._reader()) is not None:
            looks = drawn.final or run.works(drawn.lines)
            calls = await self._look(self._chat, self._run, run) if looks else ()
            run.show(ref.id, drawn.body, drawn.lines, calls, final=drawn.final)
        if drawn.final:
            await self._keep(self._chat, self._run, drawn.body)
        return ref

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if (over := len(file.content) - LIMITS.attachment_bytes) > 0:
            raise TooLong(f"{file.name!r} is too large", by=over)
        if (run := self._reader()) is not None:
            run.attach(file)
        return MessageRef(nonce or uuid.uuid4().hex, "file")

    async def remove(self, at: MessageRef) -> None:
        return None  # what was sent stays

    def _reader(self) -> Run | None:
        return self._runs.find(self._chat, self._run)
