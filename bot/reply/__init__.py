"""The reply while it is written: its stream, its pages, what of it surely stands."""

from __future__ import annotations

from bot.reply.pages import ShownBefore
from bot.reply.record import Recorded, Unrecorded, files_before
from bot.reply.settling import Settling
from bot.reply.stream import ReplyStream

__all__ = ["Recorded", "ReplyStream", "Settling", "ShownBefore", "Unrecorded", "files_before"]
