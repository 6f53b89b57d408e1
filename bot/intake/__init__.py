"""From a message's arrival to the beginning of its turn: order, admission, platforms."""

from __future__ import annotations

from bot.intake.admission import Admission
from bot.intake.agreement import (
    CLOCK_SECONDS,
    digest,
    digest_of_bot,
    find_differences,
    find_other_bots,
    refuse_differences,
    refuse_other_bots,
)
from bot.intake.alarm import Alarm
from bot.intake.background import serve_places, work_beside
from bot.intake.dispatcher import Dispatcher
from bot.intake.fleet import Fleet
from bot.intake.ownership import Alone, Locks, Ownership, Role, Sessions
from bot.intake.platforms import Platforms
from bot.intake.roles import Members, Roles, find_lack
from bot.intake.waiting import WaitingSigns
