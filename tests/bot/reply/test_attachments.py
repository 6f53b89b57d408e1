"""A file that the platform refuses: asked for again where the answer may be odd, and given up where it lasts."""

from __future__ import annotations

import asyncio

import pytest

from bot.contract import DeliveryError, Drawn, File, MessageRef, Refused, RightMissing, SurfaceLimits
from bot.pacing import Pacer
from bot.reply.attachments import Attachments
from bot.reply.record import Unrecorded
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock

ODD = Refused("Discord: 401: Unauthorized (0)", lasting=RightMissing("DISCORD_BOT_TOKEN is refused"))


class Refusing(BareSurface):
    """Answers each file with the next of these, then takes it."""

    def __init__(self, *answers: DeliveryError) -> None:
        self.answers = list(answers)
        self.asked = 0

    @property
    def limits(self) -> SurfaceLimits:
        return SurfaceLimits(400, 800, len, typing_seconds=0.0)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        raise AssertionError

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        self.asked += 1
        if self.answers:
            raise self.answers.pop(0)
        return MessageRef("f1")


@pytest.mark.parametrize(
    ("answers", "asked", "error"),
    [
        ([ODD], 2, ""),
        ([ODD, DeliveryError("no connection"), ODD], 4, ""),
        ([ODD, ODD], 2, "DISCORD_BOT_TOKEN is refused"),
        ([RightMissing("the bot lacks a right there (Attach Files)")], 1, "lacks a right there (Attach Files)"),
    ],
)
async def test_one_odd_refusal_of_a_file_is_asked_again_and_two_are_meant(
    clock: FakeClock, caplog: pytest.LogCaptureFixture, answers: list[DeliveryError], asked: int, error: str
) -> None:
    surface = Refusing(*answers)
    posts = Attachments(surface, Pacer(clock), Unrecorded(), clock, turn="t1")
    posts.add(File("plot.png", "image/png", b"x"))
    posting = asyncio.create_task(posts.post(None))
    while not posting.done():
        await clock.advance(0.5)

    assert surface.asked == asked
    assert [why for _, why in posts.undelivered] == (["file_failed"] if error else [])
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == bool(error) and all(error in line for line in told)
