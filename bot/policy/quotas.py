"""How much may be spent: quotas reserved before a model call and settled after it.

A quota belongs to a person, a workspace or everybody, for a minute or a day (UTC), in messages, tokens or money. Every
model call goes through a `MeteredModel`: its usual usage is reserved first, more while its answer grows, and it is
stopped if there is no more, so that a hundred calls at once cannot spend the same remainder. Its real usage then
replaces the reservation, also if it failed or was stopped. If the remainder is only reserved and not spent, a call
waits for others to end. Of a killed process's reservations, the prompts count as spent, and of the answers the part on
their pages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from bot.contract import (
    LIMITS,
    Backoff,
    Clock,
    Limits,
    MessageSent,
    Metrics,
    StoreError,
    Unaffordable,
    Usage,
    time_limit,
)
from bot.model import Estimator
from bot.policy.answersizes import AnswerSize
from bot.policy.budgets import DAY, EVERYBODY, MINUTE, OTHERS, Day, Payer, Report, payer_of
from bot.policy.holdings import Holdings
from bot.policy.once import OncePer
from bot.policy.prices import Prices
from bot.settings import QuotaSettings
from bot.store import Allowances, Amount, Limit, Refused, Reserved, Spending
from tools.programs.cancelling import begin_in

log = logging.getLogger(__name__)

GONE_SECONDS = 5.0
"""How often dead processes with reservations are searched without a hint."""
WAIT_SECONDS = 60.0
"""How long a call waits for others to return what they do not need."""
LOOK_SECONDS = 1.0
"""How often it checks what other processes returned; its own calls announce it."""
CROWD = 100
"""People who may ask at the same moment: a call of unknown size leaves each of them as much as it takes."""
_ROUNDING = 1e-9
"""The rounding error of sums, in dollars."""
_MANY = 10_000_000
"""More tokens than any answer has."""
MOST_TOLD = 5
"""People that the whole day's report names."""


_PAYER: ContextVar[Payer | None] = ContextVar("payer", default=None)


def once_per_window(whose: str, until: float, payer: Payer) -> OncePer:
    """Return how often a person (for a workspace's quota: a chat) is told that a quota is used up: once until it
    resets."""
    who = payer.keys[1] if whose == "workspace" else payer.keys[0]
    # The day is part of the key: a time that shrinks during the day would never be the same twice.
    return OncePer(f"spent {whose} {who} {until:.0f}", DAY, lasting=True)


@contextmanager
def charge(payer: Payer) -> Iterator[None]:
    """Charge every metered model call within the block, and in tasks started within it, to `payer`'s quotas."""
    token = _PAYER.set(payer)
    try:
        yield
    finally:
        _PAYER.reset(token)


@dataclass(eq=False, repr=False, kw_only=True)
class Quotas:
    """All quotas of the process, counted in the store."""

    spending: Spending
    clock: Clock
    settings: QuotaSettings
    limits: Limits = LIMITS
    prices: Prices = field(default_factory=Prices)
    admin: Callable[[str], Awaitable[bool]] | None = None
    """Whether a person may spend what is kept for admins; None: nobody may."""
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self._settling: set[asyncio.Task[None]] = set()
        self._holdings = Holdings(self.clock)
        self._sizes: dict[str, AnswerSize] = {}
        self._owed: list[tuple[Reserved, Amount]] = []
        """Usage that could not be settled yet."""

    async def settle_killed(self) -> None:
        """Return what a killed former process of this name had reserved.

        Raises:
            StoreError: the store cannot be written now.
        """
        _tell_cut_off(await self.spending.settle_killed(weigh=Estimator().tokens))

    async def settle_gone(
        self,
        allowances: Allowances,
        living: Callable[[], Awaitable[Collection[str] | None]],
        gone: Callable[[], Awaitable[None]],
    ) -> None:
        """Return the reservations of dead processes, as soon as they are known to be dead; until cancelled.

        Args:
            allowances: their parts of rate limits, which others wait for.
            living: the names of the living processes; None: there was never another one.
            gone: returns when a process has ended.
        """
        backoff = Backoff(self.clock)
        while True:
            try:
                # In this order: a holder was alive then, or is not any more.
                holding = await self.spending.list_workers() | await allowances.list_workers()
                alive = await living()
                if alive is None:
                    return
                for name in holding.difference(alive):
                    await allowances.bury(name)
                    _tell_cut_off(await self.spending.settle_killed(name, Estimator().tokens))
            except StoreError as error:
                log.warning("the reservations of dead processes are returned later: %s", error)
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
        """Return the payer for a message, with admin rights if they have them."""
        return replace(payer_of(message), admin=await self._is_admin(message.sender.id))

    async def _is_admin(self, person: str) -> bool:
        return self.admin is not None and await self.admin(person)

    async def count_command(self, payer: Payer) -> bool:
        """Count a command that asks no model; return False if it is one too many in this minute.

        A person has as many commands as questions, counted separately: after too many questions `/usage` still works.
        """
        limit = Limit(f"commands {payer.person}", MINUTE, Amount(messages=self.settings.messages_per_minute))
        return self._allowed("commands_per_minute", await self.spending.count([limit], Amount(messages=1)))

    async def count_question(self, payer: Payer) -> bool:
        """Count a question; return False if it is one too many in this minute."""
        person, chat, everybody = payer.keys
        limits = [
            Limit(person, MINUTE, Amount(messages=self.settings.messages_per_minute)),
            *(Limit(key, DAY, Amount()) for key in (person, chat, everybody, *self._workspace_keys(payer))),
        ]
        return self._allowed("messages_per_minute", await self.spending.count(limits, Amount(messages=1)))

    async def count_scheduled(self, payer: Payer) -> int:
        """Count a question of a reminder; return a person's daily limit if it is one too many, else 0."""
        most = self.limits.scheduled_per_day
        limits = [
            Limit(f"scheduled {payer.person}", DAY, Amount(messages=most)),
            *(Limit(key, DAY, Amount()) for key in (*payer.keys, *self._workspace_keys(payer))),
        ]
        return 0 if self._allowed("scheduled", await self.spending.count(limits, Amount(messages=1))) else most

    def _allowed(self, quota: str, result: Reserved | Refused) -> bool:
        """Return whether a quota allowed it, and count a refusal."""
        if isinstance(result, Refused):
            self.metrics.quota_refusals.add(quota)
        return isinstance(result, Reserved)

    async def find_exhausted(self, payer: Payer) -> Unaffordable | None:
        """Return the quota that leaves this payer no model call now; None if every quota has something left."""
        for limit, spent in await self._list_spent(self._daily_limits(payer)):
            # Reservations are partly returned.
            if 0 < limit.most.tokens <= spent.tokens or 0 < limit.most.dollars <= spent.dollars + _ROUNDING:
                if limit.key == OTHERS and await self._is_admin(payer.person):
                    continue
                return self.refused(limit, self.clock.wall() // DAY * DAY + DAY)
        return None

    async def report(self, payer: Payer, *, everybody: bool = False) -> Report:
        """Return today's usage; with `everybody`, also the people with the highest usage."""
        limits = [*self._daily_limits(replace(payer, admin=True)), self._others]
        days = {limit.key: Day(spent, limit.most) for limit, spent in await self._list_spent(limits)}
        person, chat, all_ = payer.keys
        tools = await self.spending.list_top(_tools_of(payer.person), DAY, MOST_TOLD)
        top = await self.spending.list_top("person ", DAY, MOST_TOLD) if everybody else []
        return Report(
            days[person],
            days[chat],
            days[all_],
            days[OTHERS],
            resets_in=DAY - self.clock.wall() % DAY,
            workspace=days.get(payer.workspace),
            tools=tuple((key.removeprefix(_tools_of(payer.person)), amount) for key, amount in tools),
            top=tuple((key.removeprefix("person "), amount) for key, amount in top),
        )

    async def size_of(self, model: str) -> AnswerSize:
        """Return the usual size of a model's answers; in a new process, that of its newest ones."""
        size = self._sizes.get(model)
        if size is None:
            size, weigh = AnswerSize(), Estimator()
            with suppress(StoreError):
                for tokens, seen in await self.spending.list_answers(model):
                    size.learn(tokens, weigh.tokens_once(seen), 0.0)
            size = self._sizes.setdefault(model, size)
        return size

    async def reserve(
        self,
        model: str,
        least: Usage,
        most: Usage | None = None,
        sure: Usage | None = None,
        fair: Usage | None = None,
    ) -> Reserved:
        """Reserve what a call can use: `most`, or as much of it as there is, but at least `least`.

        Args:
            sure: its certain usage; None: `least`.
            fair: beyond this it leaves as much to a crowd that may ask at the same moment; None: its size is known.

        Raises:
            Unaffordable: it would exceed a quota, whatever the running calls return.
        """
        amounts = (self._amount_of(model, usage) for usage in (least, most or least, sure or least))
        return await self.hold(*amounts, fair=None if fair is None else self._amount_of(model, fair))

    async def extend(self, reserved: Reserved, model: str, least: int, most: int) -> Reserved | Refused:
        """Raise a call's reservation for a growing answer; return its whole reservation then, or why it cannot be.

        A failing store is no reason to cut an answer off: its usage is settled anyway.
        """
        limits = self._daily_limits(_PAYER.get())
        some, all_ = (self._amount_of(model, Usage(0, tokens)) for tokens in (least, most))
        others = self._holdings.count_others([limit.key for limit in limits])
        try:
            extended = await self.spending.extend(reserved, limits, some, all_, others)
        except StoreError as error:
            log.warning("the tokens of an answer beyond its reservation are counted when it ends: %s", error)
            return replace(reserved, amount=reserved.amount + Amount(least))
        if isinstance(extended, Reserved):
            self._holdings.update(extended)
        return extended

    def most_for(self, reserved: Reserved, model: str) -> int:
        """Return the most tokens that a call's answer can have if the other calls return their whole reservations."""
        dearest = self._amount_of(model, Usage(0, _MANY)).dollars / _MANY
        most = float("inf")
        for limit, spent in reserved.before:
            used = spent - self._holdings.sum_others(limit.key, reserved.call)
            if limit.most.tokens:
                most = min(most, limit.most.tokens - used.tokens - reserved.amount.tokens)
            if limit.most.dollars and dearest:
                most = min(most, (limit.most.dollars - used.dollars - reserved.amount.dollars) / dearest)
        return reserved.amount.tokens + int(min(most, _MANY))

    @property
    def given_back(self) -> int:
        """Increases when a call of this process returns something."""
        return self._holdings.ended

    async def hold(
        self, least: Amount, most: Amount | None = None, sure: Amount | None = None, *, fair: Amount | None = None
    ) -> Reserved:
        """Reserve any amount, for the payer named by `charge`; `release` ends it."""
        payer, until = _PAYER.get(), self.clock.monotonic() + WAIT_SECONDS
        limits, turn = self._daily_limits(payer), payer.turn if payer else 0
        keys = [limit.key for limit in limits]
        with self._holdings.ask(keys):
            while True:
                ended, now = self._holdings.ended, self.clock.monotonic()
                others = self._holdings.count_others(keys)
                if fair is not None:
                    own = payer.keys[:2] if payer else ()
                    others = [many if key in own else max(many, CROWD) for key, many in zip(keys, others, strict=True)]
                reserving = self.spending.reserve(limits, fair or least, most, others, sure=sure, turn=turn)
                result = await self._cancellable(reserving)
                if isinstance(result, Reserved):
                    self._holdings.take(result)
                    return result
                if fair is not None:
                    fair = None
                    continue
                used = result.spent - result.held
                hopeless = not result.calls or _exceeds(used + least, result.limit.most)
                if self._holdings.ended != ended:
                    continue
                if hopeless or now >= until:
                    raise self.refused(result.limit, result.until, untouched=used.tokens <= 0 and used.dollars <= 0)
                look = now + LOOK_SECONDS if result.elsewhere else until
                await self._holdings.wait_for_end(min(look, until))

    async def _cancellable(self, reserve: Coroutine[None, None, Reserved | Refused]) -> Reserved | Refused:
        reserving = asyncio.create_task(reserve, name="reserve")
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            # It may be on its way into the database; what nobody will use is returned.
            begin_in(self._settling, self._give_back(reserving), "settle")
            raise

    def refused(self, limit: Limit, until: float, *, untouched: bool = False) -> Unaffordable:
        """Count a quota's refusal, and return the error about it."""
        if untouched:
            error = Unaffordable(f"one question exceeds the whole quota of {limit.key}", whose="nobody", until=until)
        else:
            whose = "all" if limit.key in (EVERYBODY, OTHERS) else limit.key.partition(" ")[0]
            error = Unaffordable(f"the quota of {limit.key} is spent for today", whose=whose, until=until)
        self.metrics.quota_refusals.add(f"day_{error.whose}")
        return error

    async def settle(
        self, reserved: Reserved | None, model: str, used: Usage, *, dollars: float | None = None, wait: bool = True
    ) -> None:
        """Replace a reservation, if there is one, by the real usage; see `release`.

        Args:
            dollars: what it cost, where that was reported; None: by the model's price.
        """
        amount = self._amount_of(model, used)
        amount = amount if dollars is None else replace(amount, dollars=dollars)
        if amount.dollars:
            self.metrics.dollars.add("model", model, amount=amount.dollars)
        if reserved is not None:
            await self.release(reserved, amount, wait=wait)
            return
        try:
            limits = [replace(limit, most=Amount()) for limit in self._daily_limits(_PAYER.get())]
            await self.spending.count(limits, amount)
        except StoreError as error:
            log.error("a usage for which nothing was reserved could not be counted: %s", error)

    async def release(self, reserved: Reserved, used: Amount, *, tool: str = "", wait: bool = True) -> None:
        """Replace a reservation by `used`. Continues if its caller is cancelled, and never raises otherwise.

        Args:
            tool: the tool that used it, if it was not a model; listed separately in the report.
            wait: until it is written; a caller that must stop has no time for a locked database.
        """
        if tool and used.dollars:
            self.metrics.dollars.add("tool", tool, amount=used.dollars)
        settling = begin_in(self._settling, self._settle_held(reserved, used, tool), "settle")
        if wait:
            await asyncio.shield(settling)

    async def _settle_held(self, reserved: Reserved, used: Amount, tool: str) -> None:
        await self._settle(reserved, used, tool)
        self._holdings.end(reserved)

    async def _settle(self, reserved: Reserved, used: Amount, tool: str = "") -> None:
        payer = _PAYER.get()
        owed, self._owed = [*self._owed, (reserved, used)], []
        try:
            await self.spending.settle(*owed)
            if tool and payer is not None and used.dollars:
                own = Limit(f"{_tools_of(payer.person)}{tool}", DAY, Amount())
                await self.spending.count([own], Amount(messages=1, dollars=used.dollars))
        except StoreError as error:
            self._owed += owed
            log.error("a call's usage could not be counted; it is counted with the next call: %s", error)

    async def _give_back(self, reserving: asyncio.Task[Reserved | Refused]) -> None:
        try:
            result = await reserving
        except StoreError:
            return
        if isinstance(result, Reserved):
            await self._settle(result, Amount())

    async def _list_spent(self, limits: Sequence[Limit]) -> list[tuple[Limit, Amount]]:
        """Return the usage of each quota, without the reservations of running calls."""
        used = await self.spending.list_used([limit.key for limit in limits], DAY)
        return list(zip(limits, used, strict=True))

    @property
    def _others(self) -> Limit:
        most, part = self.settings, 1 - self.limits.admin_share
        return Limit(OTHERS, DAY, Amount(int(most.tokens_per_day * part), dollars=most.money_per_day * part))

    def _daily_limits(self, payer: Payer | None) -> list[Limit]:
        """Return the daily quotas of a payer; side tasks without a payer use the quota of everybody but admins."""
        most = self.settings
        daily = [Limit(EVERYBODY, DAY, Amount(tokens=most.tokens_per_day, dollars=most.money_per_day))]
        if payer is None or not payer.admin:
            daily.insert(0, self._others)
        if payer is None:
            return daily
        person, chat, _ = payer.keys
        shared = Amount(dollars=most.money_per_day_workspace)
        return [
            Limit(person, DAY, Amount(tokens=most.tokens_per_day_person, dollars=most.money_per_day_person)),
            Limit(chat, DAY, Amount()),
            *(Limit(key, DAY, shared) for key in self._workspace_keys(payer)),
            *daily,
        ]

    def _workspace_keys(self, payer: Payer) -> tuple[str, ...]:
        """Return the key of the payer's workspace; none if no workspace has a quota, so that nothing more is
        counted."""
        return (payer.workspace,) if self.settings.money_per_day_workspace and payer.workspace else ()

    def _amount_of(self, model: str, usage: Usage) -> Amount:
        return Amount(usage.prompt + usage.completion, dollars=self.prices.dollars_of(model, usage) or 0.0)


def _tell_cut_off(calls: int) -> None:
    if calls:
        log.info(
            "calls cut off by a kill: %d; their prompts count as spent, and the shown part of the answers",
            calls,
        )


def _tools_of(person: str) -> str:
    """Return the prefix of the keys under which a person's tool costs are counted."""
    return f"tool {person} "


def _exceeds(spent: Amount, most: Amount) -> bool:
    return 0 < most.tokens < spent.tokens or 0 < most.dollars < spent.dollars
