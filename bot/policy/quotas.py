"""How much may be spent: quotas reserved before a model call and settled after it.

A quota is somebody's (a person's, a chat's, everybody's), for a minute or a day (UTC), in messages, tokens or money.
Every model call goes through a `MeteredModel`: the most that it can use is set aside first and the model is allowed no
more, so that a hundred calls at once cannot spend the same rest; what it really used replaces that afterwards, also
when it failed or was stopped. Where what is left is only set aside and not spent, a call waits for others to end. Of
what a killed process had set aside, the prompts and short answers count as spent: they may have been.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

from bot.contract import Backoff, ChatId, Clock, MessageSent, StoreError, Unaffordable, Usage, time_limit
from bot.operations import Metrics
from bot.policy.holdings import Holdings
from bot.policy.once import OncePer
from bot.policy.prices import Prices
from bot.settings import CoreSettings
from bot.store import Allowances, Amount, Limit, Refused, Reserved, Spending

log = logging.getLogger(__name__)

MINUTE, DAY = 60, 86_400
ANSWER_TOKENS = 1_000
"""The shortest limit on an answer that is worth a call."""
WISHED_TOKENS = 4_000
"""An answer is allowed this much, however few characters are wanted: models think before they write."""
PROMPT_MARGIN = 1.25
"""How far an estimate of a prompt may be from the server's count."""
GONE_SECONDS = 5.0
"""How often it is looked untold for processes that died and held something."""
WAIT_SECONDS = 20.0
"""How long a call waits for others to give back what they do not need."""
LOOK_SECONDS = 1.0
"""How often it looks whether those of other processes have; those of its own tell it."""
EVERYBODY = "*"
OTHERS = "* but admins"
MOST_TOLD = 5
"""People that the whole day's report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLimits:
    """The quotas; 0 is no limit. From the settings."""

    messages_per_minute: int = 20
    scheduled_per_day: int = 20
    tokens_person: int = 200_000
    tokens_chat: int = 0
    tokens_all: int = 2_000_000
    money_person: float = 0.0
    money_all: float = 0.0
    admin_share: float = 0.0
    """The part of what everybody may spend that only admins can."""

    @classmethod
    def from_settings(cls, core: CoreSettings) -> QuotaLimits:
        return cls(
            messages_per_minute=core.messages_per_minute,
            scheduled_per_day=core.scheduled_questions_per_day,
            tokens_person=core.tokens_per_day_person,
            tokens_chat=core.tokens_per_day_chat,
            tokens_all=core.tokens_per_day,
            money_person=core.money_per_day_person,
            money_all=core.money_per_day,
            admin_share=core.admin_share,
        )


@dataclass(frozen=True, slots=True)
class Payer:
    """On whose quotas something is done."""

    person: str
    chat: ChatId
    admin: bool = False
    """May spend what is kept for admins."""

    @property
    def keys(self) -> tuple[str, str, str]:
        """The person's, the chat's and everybody's; a chat's threads share one quota."""
        place = ChatId(self.chat.platform, self.chat.account, self.chat.chat)
        return f"person {self.person}", f"chat {place}", EVERYBODY


@dataclass(frozen=True, slots=True)
class Day:
    """What somebody spent today, and may spend at most."""

    spent: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class Report:
    """Today, as a person or an admin is shown it."""

    person: Day
    chat: Day
    everybody: Day
    others: Day
    """Everybody but the admins."""
    resets_in: float
    """Seconds until the quotas start afresh."""
    tools: tuple[tuple[str, Amount], ...] = ()
    """What the person's part was paid for tools, as (tool, how often and how much)."""
    top: tuple[tuple[str, Amount], ...] = ()
    """Who spent most, as (person, amount); only for admins."""


_PAYER: ContextVar[Payer | None] = ContextVar("payer", default=None)


def payer_of(message: MessageSent) -> Payer:
    """Who pays for what a message asks for, as somebody who is no admin; `Quotas.payer_for` knows better."""
    return Payer(message.sender.id, message.chat)


def once_per_window(whose: str, until: float, payer: Payer) -> OncePer:
    """How often a person (of a chat's quota: a chat) is told that nothing is left of a quota: once until then."""
    who = payer.keys[1] if whose == "chat" else payer.keys[0]
    # The day is part of the key: a time that shrinks as the day passes would never be the same twice.
    return OncePer(f"spent {whose} {who} {until:.0f}", DAY, lasting=True)


@contextmanager
def charge(payer: Payer) -> Iterator[None]:
    """Within it, and in the tasks begun within it, every metered model call is on `payer`'s quotas."""
    token = _PAYER.set(payer)
    try:
        yield
    finally:
        _PAYER.reset(token)


class Quotas:
    """All quotas of the process, counted in the store."""

    def __init__(
        self,
        spending: Spending,
        clock: Clock,
        limits: QuotaLimits | None = None,
        prices: Prices | None = None,
        admin: Callable[[str], Awaitable[bool]] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """
        Args:
            admin: whether a person may spend what is kept for admins; None: nobody may.
        """
        self._spending = spending
        self.clock = clock
        self.metrics = metrics or Metrics()
        self._limits = limits or QuotaLimits()
        self.prices = prices or Prices()
        self._admin = admin
        self._settling: set[asyncio.Task[None]] = set()
        self._holdings = Holdings(clock)
        self._owed: list[tuple[Reserved, Amount]] = []
        """What could not be settled yet."""

    async def settle_killed(self) -> None:
        """Give back what a former process of this one's name held when it was killed.

        Raises:
            StoreError: the store cannot be written to now.
        """
        _tell_cut_off(await self._spending.settle_killed())

    async def settle_gone(
        self,
        allowances: Allowances,
        living: Callable[[], Awaitable[Collection[str] | None]],
        gone: Callable[[], Awaitable[None]],
    ) -> None:
        """Give back what processes held that have died, as soon as that is known; until it is cancelled.

        Args:
            allowances: their parts of rate limits, which others wait for.
            living: the names of those that are alive; None: nobody else was ever there.
            gone: returns when a process has ended.
        """
        backoff = Backoff(self.clock)
        while True:
            try:
                # In this order: who held something then was alive, or is not any more.
                holding = await self._spending.list_workers() | await allowances.list_workers()
                alive = await living()
                if alive is None:
                    return
                for name in holding.difference(alive):
                    await allowances.bury(name)
                    _tell_cut_off(await self._spending.settle_killed(name))
            except StoreError as error:
                log.warning("what processes that died had set aside is given back later: %s", error)
                await backoff.wait()
                continue
            backoff.reset()
            with suppress(TimeoutError):
                async with time_limit(self.clock, GONE_SECONDS):
                    await gone()

    async def close(self) -> None:
        """Wait until everything is settled."""
        await asyncio.gather(*self._settling, return_exceptions=True)

    async def payer_for(self, message: MessageSent) -> Payer:
        """Who pays for what a message asks for, with what an admin may."""
        return replace(payer_of(message), admin=await self._is_admin(message.sender.id))

    async def _is_admin(self, person: str) -> bool:
        return self._admin is not None and await self._admin(person)

    async def count_command(self, payer: Payer) -> bool:
        """Count a command that asks no model; False when it is one too many of this minute.

        A person has as many of them as of questions, and apart: who has asked too much is still shown `/usage`.
        """
        limit = Limit(f"commands {payer.person}", MINUTE, Amount(messages=self._limits.messages_per_minute))
        return self._allowed("commands_per_minute", await self._spending.count([limit], Amount(messages=1)))

    async def count_question(self, payer: Payer) -> bool:
        """Count a question; False when it is one too many of this minute."""
        person, chat, everybody = payer.keys
        limits = [
            Limit(person, MINUTE, Amount(messages=self._limits.messages_per_minute)),
            *(Limit(key, DAY, Amount()) for key in (person, chat, everybody)),
        ]
        return self._allowed("messages_per_minute", await self._spending.count(limits, Amount(messages=1)))

    async def count_scheduled(self, payer: Payer) -> int:
        """Count a question that a reminder asks; return how many a person may have in a day where it is one too many,
        else 0."""
        most = self._limits.scheduled_per_day
        limits = [
            Limit(f"scheduled {payer.person}", DAY, Amount(messages=most)),
            *(Limit(key, DAY, Amount()) for key in payer.keys),
        ]
        return 0 if self._allowed("scheduled", await self._spending.count(limits, Amount(messages=1))) else most

    def _allowed(self, quota: str, result: Reserved | Refused) -> bool:
        """Return whether a quota allowed it, and count that it did not."""
        if isinstance(result, Refused):
            self.metrics.quota_refusals.add(quota)
        return isinstance(result, Reserved)

    async def find_exhausted(self, payer: Payer) -> Unaffordable | None:
        """Return the quota that leaves this payer no model call now; None while something is left of every quota."""
        for limit, spent in await self._list_spent(self._daily_limits(payer)):
            # What is only set aside comes back in part.
            if 0 < limit.most.tokens <= spent.tokens or 0 < limit.most.dollars <= spent.dollars:
                if limit.key == OTHERS and await self._is_admin(payer.person):
                    continue
                return self._refused(limit, self.clock.wall() // DAY * DAY + DAY)
        return None

    async def report(self, payer: Payer, *, everybody: bool = False) -> Report:
        """What was spent today; with the people who spent most when `everybody` is asked for."""
        limits = [*self._daily_limits(replace(payer, admin=True)), self._others]
        days = {limit.key: Day(spent, limit.most) for limit, spent in await self._list_spent(limits)}
        person, chat, all_ = payer.keys
        tools = await self._spending.list_top(_tools_of(payer.person), DAY, MOST_TOLD)
        top = await self._spending.list_top("person ", DAY, MOST_TOLD) if everybody else []
        return Report(
            days[person],
            days[chat],
            days[all_],
            days[OTHERS],
            resets_in=DAY - self.clock.wall() % DAY,
            tools=tuple((key.removeprefix(_tools_of(payer.person)), amount) for key, amount in tools),
            top=tuple((key.removeprefix("person "), amount) for key, amount in top),
        )

    async def reserve(self, model: str, least: Usage, most: Usage | None = None) -> Reserved:
        """Set aside what a call can use: `most`, or as much of it as there is, but no less than `least`.

        Raises:
            Unaffordable: it would exceed a quota, whatever the calls under way give back.
        """
        return await self.hold(self._amount_of(model, least), self._amount_of(model, most or least))

    async def hold(self, least: Amount, most: Amount | None = None) -> Reserved:
        """The same of any amount, for who is named by `charge`; `release` ends it."""
        limits, until = self._daily_limits(_PAYER.get()), self.clock.monotonic() + WAIT_SECONDS
        keys = [limit.key for limit in limits]
        with self._holdings.ask(keys):
            while True:
                ended, now = self._holdings.ended, self.clock.monotonic()
                others = self._holdings.count_others(keys)
                result = await self._cancellable(self._spending.reserve(limits, least, most, others))
                if isinstance(result, Reserved):
                    self._holdings.take(result)
                    return result
                used = result.spent - result.held
                hopeless = not result.calls or _exceeds(used + least, result.limit.most)
                if self._holdings.ended != ended:
                    continue
                if hopeless or now >= until:
                    raise self._refused(result.limit, result.until, untouched=used.tokens <= 0 and used.dollars <= 0)
                look = now + LOOK_SECONDS if result.elsewhere else until
                await self._holdings.wait_for_end(min(look, until))

    async def _cancellable(self, reserve: Coroutine[None, None, Reserved | Refused]) -> Reserved | Refused:
        reserving = asyncio.create_task(reserve, name="reserve")
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            # It may be on its way into the database; what nobody will use is given back.
            self._in_background(self._give_back(reserving))
            raise

    def _refused(self, limit: Limit, until: float, *, untouched: bool = False) -> Unaffordable:
        """Count that a quota refused something, and return the error that says so."""
        if untouched:
            error = Unaffordable(f"one question exceeds the whole quota of {limit.key}", whose="nobody", until=until)
        else:
            whose = "all" if limit.key in (EVERYBODY, OTHERS) else limit.key.partition(" ")[0]
            error = Unaffordable(f"the quota of {limit.key} is spent for today", whose=whose, until=until)
        self.metrics.quota_refusals.add(f"day_{error.whose}")
        return error

    async def settle(self, reserved: Reserved, model: str, used: Usage, *, wait: bool = True) -> None:
        """Replace what was set aside by what was used; see `release`."""
        amount = self._amount_of(model, used)
        if amount.dollars:
            self.metrics.dollars.add("model", model, amount=amount.dollars)
        await self.release(reserved, amount, wait=wait)

    async def release(self, reserved: Reserved, used: Amount, *, tool: str = "", wait: bool = True) -> None:
        """Replace what was set aside by `used`. Goes on when its caller is cancelled, and never raises else.

        Args:
            tool: what used it, where that was no model; told apart in the report.
            wait: until it is written; who was told to stop has no time for a locked database.
        """
        if tool and used.dollars:
            self.metrics.dollars.add("tool", tool, amount=used.dollars)
        settling = self._in_background(self._settle_held(reserved, used, tool))
        if wait:
            await asyncio.shield(settling)

    def _in_background(self, work: Awaitable[None]) -> asyncio.Task[None]:
        async def settling() -> None:
            await work

        task = asyncio.create_task(settling(), name="settle")
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        return task

    async def _settle_held(self, reserved: Reserved, used: Amount, tool: str) -> None:
        await self._settle(reserved, used, tool)
        self._holdings.end(reserved)

    async def _settle(self, reserved: Reserved, used: Amount, tool: str = "") -> None:
        payer = _PAYER.get()
        owed, self._owed = [*self._owed, (reserved, used)], []
        try:
            await self._spending.settle(*owed)
            if tool and payer is not None and used.dollars:
                own = Limit(f"{_tools_of(payer.person)}{tool}", DAY, Amount())
                await self._spending.count([own], Amount(messages=1, dollars=used.dollars))
        except StoreError as error:
            self._owed += owed
            log.error("what a call used could not be counted; that is done with the next one: %s", error)

    async def _give_back(self, reserving: asyncio.Task[Reserved | Refused]) -> None:
        try:
            result = await reserving
        except StoreError:
            return
        if isinstance(result, Reserved):
            await self._settle(result, Amount())

    async def _list_spent(self, limits: Sequence[Limit]) -> list[tuple[Limit, Amount]]:
        """Return what was spent of each quota, without the reservations of running calls."""
        used = await self._spending.list_used([limit.key for limit in limits], DAY)
        return list(zip(limits, used, strict=True))

    @property
    def _others(self) -> Limit:
        limits, part = self._limits, 1 - self._limits.admin_share
        return Limit(OTHERS, DAY, Amount(int(limits.tokens_all * part), dollars=limits.money_all * part))

    def _daily_limits(self, payer: Payer | None) -> list[Limit]:
        """The quotas of a day on which somebody spends; side tasks of nobody are on those of all but admins."""
        limits = self._limits
        daily = [Limit(EVERYBODY, DAY, Amount(tokens=limits.tokens_all, dollars=limits.money_all))]
        if payer is None or not payer.admin:
            daily.insert(0, self._others)
        if payer is None:
            return daily
        person, chat, _ = payer.keys
        return [
            Limit(person, DAY, Amount(tokens=limits.tokens_person, dollars=limits.money_person)),
            Limit(chat, DAY, Amount(tokens=limits.tokens_chat)),
            *daily,
        ]

    def _amount_of(self, model: str, usage: Usage) -> Amount:
        return Amount(usage.prompt + usage.completion, dollars=self.prices.dollars_of(model, usage) or 0.0)


def _tell_cut_off(calls: int) -> None:
    if calls:
        log.info(
            "calls that were cut off by a kill: %d; their prompts and short answers count as spent",
            calls,
        )


def _tools_of(person: str) -> str:
    """How the keys begin under which is counted what a person's tools cost."""
    return f"tool {person} "


def _exceeds(spent: Amount, most: Amount) -> bool:
    return 0 < most.tokens < spent.tokens or 0 < most.dollars < spent.dollars
