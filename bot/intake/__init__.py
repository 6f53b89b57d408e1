"""From a message's arrival to the beginning of its turn: order, admission, platforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.intake.admission import Admission
from bot.intake.alarm import Alarm
from bot.intake.background import serve_places, work_beside
from bot.intake.dispatcher import Dispatcher
from bot.intake.ownership import Alone, Locks, Ownership, Role, Sessions
from bot.intake.platforms import Platforms
from bot.intake.roles import Members, Roles, find_lack
from bot.intake.waiting import WaitingSigns
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.intake.agreement import (
        CLOCK_SECONDS,
        digest,
        digest_of_bot,
        find_differences,
        find_other_bots,
        refuse_differences,
        refuse_other_bots,
    )
    from bot.intake.fleet import Fleet
    from bot.intake.membership import Membership
else:
    __getattr__ = load_late(
        __name__,
        {
            "agreement": "CLOCK_SECONDS digest digest_of_bot find_differences find_other_bots refuse_differences "
            "refuse_other_bots",
            "fleet": "Fleet",
            "membership": "Membership",
        },
    )
