"""Single calls at the end of a reply: delete an unneeded message, announce a long wait."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from bot.contract import (
    QUICK,
    Backoff,
    Clock,
    Closed,
    DeliveryError,
    MessageGone,
    MessageRef,
    Metrics,
    Page,
    RateBudget,
    RightMissing,
    Status,
    Surface,
    Unreachable,
    Unrenderable,
)
from bot.pacing import Pacer, Purpose, platform_of
from bot.reply.pages import Delivery, PageNow, Stage
from bot.reply.pageset import FORMER, PageSet
from bot.store import PageState
from tools.programs.cancelling import Contained

log = logging.getLogger(__name__)

DELETED = "somebody deleted the reply"


async def take_left_over(
    pages: PageSet, surface: Surface, pacer: Pacer, clock: Clock, delivery: Delivery, below: str = ""
) -> None:
    """Delete the messages of pages that the text no longer reaches.

    Args:
        below: the new text of a reposted page's former message if it cannot be deleted.

    Raises:
        Closed, Unreachable: as in `take_away`.
    """
    pages.rewritten = False
    for number, ref in pages.left_over():
        if not await take_away(surface, pacer, clock, ref, pages.now(number).name) and below and number >= FORMER:
            try:
                await _show_at_once(surface, pacer, clock, Page(below, final=True), ref)
            except DeliveryError as error:
                log.warning("%s stays as it is: %s", pages.now(number).name, error)
        pages.forget(number)
        await delivery.save_page(number, body="", ref=None, state=PageState.GONE, nonce="")


def note_unreachable(error: Unreachable, turn: str, metrics: Metrics, budgets: Sequence[RateBudget]) -> str:
    """Log why a reply cannot be shown any more, count it if the bot lacks a right, and return the reason."""
    log.log(error.level, "turn %s: the reply cannot be shown any more: %s", turn, error)
    if isinstance(error, RightMissing) and budgets:
        metrics.rights_missing.add(platform_of(budgets[0]), str(error))
    return str(error)


async def lose(
    delivery: Delivery,
    number: int,
    shown: PageNow,
    error: MessageGone | Unrenderable,
    *,
    visible: bool,
) -> float:
    """Handle a page whose message is gone or fixed, or that was refused; return the seconds before the next call.

    Args:
        visible: a person sees part of the reply.

    Raises:
        Unreachable: somebody deleted the reply while it was written, or nothing of it can be shown.
    """
    again = shown.vanished(error)
    if isinstance(error, MessageGone):
        state = PageState.DELETED if shown.stage is Stage.DELETED else PageState.GONE
        await delivery.save_page(number, body="", ref=None, state=state, nonce="")
    if shown.stage is Stage.DELETED:
        raise Unreachable(DELETED) from error
    if isinstance(error, Unrenderable) and shown.stage is Stage.LOST and not visible:
        await delivery.save_page(number, body="", ref=None, state=PageState.LOST, nonce="")
        raise Unreachable(str(error)) from error
    return again


async def take_away(surface: Surface, pacer: Pacer, clock: Clock, ref: MessageRef, name: str) -> bool:
    """Delete a message that the complete reply does not need; return False if that fails and it stays.

    Raises:
        Closed: the platform accepts nothing for a long time.
        Unreachable: nothing can be done there any more.
    """
    cost = surface.cost(surface.draw(Page("x", final=True)), ref)
    problem: DeliveryError | None = None
    backoff = Backoff(clock, QUICK, endless=False)
    while True:
        try:
            await pacer.call(cost, Purpose.FINAL, lambda: surface.remove(ref))
            return True
        except (Closed, Unreachable):
            raise
        except DeliveryError as error:
            problem = error
        if not await backoff.wait():
            log.warning("%s could not be deleted: %s", name, problem)
            return False


async def end_with(words: str, pages: PageSet, surface: Surface, pacer: Pacer, clock: Clock) -> None:
    """Say below the shown text, in place of tools' statuses, that the rest comes later, if the platform allows a call
    at once; without words, remove the statuses."""
    number = max(filter(pages.exists, pages.refs), default=None)
    if number is None or pages.now(number).stands.passes_at is not None:
        return
    now, page, ref = pages.now(number), pages.page(number), pages.refs[number]
    if words:
        page = replace(page, status=(Status(words),), final=False)
    else:  # the text since then may be the part that cannot be shown
        page = replace(now.stands.page or page, status=(), final=True)
    try:
        with Contained(DeliveryError):
            if not words and not page.body.strip():
                await take_away(surface, pacer, clock, ref, now.name)
                return
            await _show_at_once(surface, pacer, clock, page, ref)
    except DeliveryError as error:
        log.info("%s: the closing sentence could not be shown: %s", now.name, error)


async def _show_at_once(surface: Surface, pacer: Pacer, clock: Clock, page: Page, ref: MessageRef) -> None:
    """Show a page in a message, if the platform allows a call now. Raises as `Surface.show`."""
    drawn = surface.draw(page)
    cost = surface.cost(drawn, ref)
    if pacer.opens_at(cost) <= clock.monotonic():
        await pacer.call(cost, Purpose.FINAL, lambda: surface.show(drawn, ref, ""))
