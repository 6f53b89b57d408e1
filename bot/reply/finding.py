"""A post with an unknown outcome: look for its message before posting again."""

from __future__ import annotations

import logging

from bot.contract import QUICK, CallCost, DeliveryError, RateLimited, Surface, Unclear, Unreachable, pause_after
from bot.reply.pages import Delivery, PageNow, Stage, Standing
from bot.store import PageState

log = logging.getLogger(__name__)

_LOOKS = 12
"""How often such a post is looked for, where possible, before it is made again anyway."""


async def look_up(
    surface: Surface, delivery: Delivery, number: int, shown: PageNow, cost: CallCost, *, ended: bool
) -> float:
    """Adopt the message of page `number` if the platform finds it, else allow it to be posted at the end.

    If the platform recognises repeated posts, the post is simply repeated. If a look is conclusive, nothing is posted
    before one has succeeded: the seconds until the next are returned.

    Args:
        ended: the text is complete.

    Raises:
        Unreachable: nothing can be looked up there any more.
    """
    shown.become(Stage.LOOKED)
    try:
        ref = await surface.find(shown.nonce)
    except Unreachable:
        raise
    except DeliveryError as error:
        log.info("could not check whether %s was posted: %s", shown.name, error)
        shown.tries.failed += 1
        passes = cost.found_again or isinstance(error, RateLimited | Unclear)
        if passes and shown.tries.failed <= _LOOKS:
            return pause_after(shown.tries.failed, QUICK)
        ref = None
    if ref is not None:
        shown.become(Stage.SHOWN, Standing(ref))
        await delivery.save_page(number, body="", ref=ref, state=PageState.SHOWN, nonce=shown.nonce)
    elif ended or cost.repeats_safely:
        shown.become(Stage.UNPOSTED)
    return 0.0
