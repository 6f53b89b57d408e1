"""When a call to a platform can be made."""

from __future__ import annotations

from bot.pacing.asked import platform_of
from bot.pacing.pacer import PATIENCE, Pacer
from bot.pacing.reader import seconds_to_read
from bot.pacing.sharing import begin_sharing
from bot.pacing.waiting import Grant, Purpose
