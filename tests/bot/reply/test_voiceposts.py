"""What a former process sent of a voice, or may have sent, is not sent again."""

from __future__ import annotations

import pytest

from bot.contract.messages import MessageRef
from bot.pacing import Pacer
from bot.reply.attachments import Attachments
from bot.reply.record import Unrecorded
from bot.reply.voiceposts import NUMBERS, VoicePosts
from bot.store import AttachmentRecord, PageState
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock


@pytest.mark.parametrize(
    ("state", "ref", "begun"),
    [
        (PageState.FINAL, MessageRef("9"), True),
        (PageState.SENDING, None, True),
        (PageState.GONE, None, False),
    ],
)
async def test_only_what_was_surely_refused_is_sent_again(
    clock: FakeClock, state: PageState, ref: MessageRef | None, begun: bool
) -> None:
    async def standing() -> None:
        return None

    record = AttachmentRecord(NUMBERS, 1, "answer.ogg", "audio/ogg", ref, state, "t1-f1000")
    posts = Attachments(BareSurface(), Pacer(clock), Unrecorded(), clock, turn="t1")  # type: ignore[arg-type]
    before = (AttachmentRecord(0, 2, "plot.png", "image/png", None, PageState.SENDING, "t1-f0"), record)

    assert VoicePosts(posts, before, standing).begun(0) is begun
    assert not VoicePosts(posts, before, standing).begun(1)
