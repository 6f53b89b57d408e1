"""Single calls at the end of a reply: a message that it does not need goes away, and a long wait is said."""

from __future__ import annotations

import logging

from bot.contract import QUICK, Backoff, Clock, DeliveryError, MessageRef, Page, RateLimited, Surface, Unreachable
from bot.pacing import Pacer, Purpose
from bot.reply.pages import Delivery
from bot.reply.pageset import PageSet
from bot.store import PageState

log = logging.getLogger(__name__)


async def take_left_over(pages: PageSet, surface: Surface, pacer: Pacer, clock: Clock, delivery: Delivery) -> None:
    """Remove the messages of pages that the text does not reach any more.

    Raises:
        Closed, Unreachable: as `take_away`.
    """
    pages.rewritten = False
    for number, ref in pages.left_over():
        await take_away(surface, pacer, clock, ref, pages.now(number).name)
        pages.forget(number)
        await delivery.save_page(number, body="", ref=None, state=PageState.GONE, nonce="")


async def take_away(surface: Surface, pacer: Pacer, clock: Clock, ref: MessageRef, name: str) -> None:
    """Remove a message that the whole reply does not need; one that resists stays.

    Raises:
        Closed: the platform lets nothing through for a long time.
        Unreachable: nothing can be done there any more.
    """
    cost = surface.cost(surface.draw(Page("x", final=True)), ref)
    problem: DeliveryError | None = None
    backoff = Backoff(clock, QUICK, endless=False)
    while True:
        async with pacer.ask(cost, Purpose.FINAL):
            try:
                await surface.remove(ref)
                return
            except RateLimited as error:
                pacer.refused(cost, error.scope, error.retry_after)
                problem = error
            except Unreachable:
                raise
            except DeliveryError as error:
                problem = error
        if not await backoff.wait():
            log.warning("%s could not be taken away: %s", name, problem)
            return


async def announce(surface: Surface, pacer: Pacer, clock: Clock, page: Page, ref: MessageRef, name: str) -> None:
    """Show `page`, which says that the rest comes later, where the platform lets it be shown at once."""
    try:
        drawn = surface.draw(page)
        cost = surface.cost(drawn, ref)
        if pacer.opens_at(cost) <= clock.monotonic():
            async with pacer.ask(cost, Purpose.FINAL):
                await surface.show(drawn, ref, "")
    except DeliveryError as error:
        log.info("%s does not say that the rest comes later: %s", name, error)
