"""A post whose outcome is unknown: look for its message before anything is posted again."""

from __future__ import annotations

import logging

from bot.contract import QUICK, CallCost, DeliveryError, Surface, Unreachable, pause_after
from bot.reply.pages import Delivery, PageNow, Stage, Standing
from bot.store import PageState

log = logging.getLogger(__name__)

_LOOKS = 12
"""How often a post of unknown outcome is looked for, where that is possible, before it is made again all the same."""


async def look_up(
    surface: Surface, delivery: Delivery, number: int, shown: PageNow, cost: CallCost, *, ended: bool
) -> float:
    """Take the message of page `number` if the platform can find it, else let it be posted at the end.

    Where the platform recognises a repeated post, it is simply made again. Where a look says for certain whether
    it is there, nothing is posted before one succeeded: the seconds until the next are returned.

    Args:
        ended: the text is whole.

    Raises:
        Unreachable: nothing can be looked up there any more.
    """
    shown.become(Stage.LOOKED)
    try:
        ref = await surface.find(shown.nonce)
    except Unreachable:
        raise
    except DeliveryError as error:
        log.info("%s could not be looked for: %s", shown.name, error)
        shown.tries.failed += 1
        if cost.found_again and shown.tries.failed <= _LOOKS:
            return pause_after(shown.tries.failed, QUICK)
        ref = None
    if ref is not None:
        shown.become(Stage.SHOWN, Standing(ref))
        await delivery.save_page(number, body="", ref=ref, state=PageState.SHOWN, nonce=shown.nonce)
    elif ended or cost.repeats_safely:
        shown.become(Stage.UNPOSTED)
    return 0.0
