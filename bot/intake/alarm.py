"""Tell the owner once, in one line and with the cause, what keeps answers from people.

That is a platform from which nothing arrives or to which the bot may not write, a database that cannot be written to, a
model that does not answer, readers who wait for words within answers, and memory that runs out. The owner is told where
they last wrote to the bot in private, through a platform that works. The log has the same line.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from bot.contract import Clock, DeliveryError, MessageSent, Metrics, StoreError, time_limit
from bot.policy import Access
from bot.reply import Notices
from bot.sentences import language_of, say
from bot.store import Store
from tools.programs.cancelling import Contained

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
LASTS_SECONDS = 12.0
"""A trouble that passes within this time is no reason to write to anybody: connections are made anew all the time."""
AGAIN_SECONDS = 3600.0
"""The same trouble is reported at most this often."""
SPAN_SECONDS = 120.0
"""The time in which readers' waits are counted."""
LONG_WAIT = 5.0
"""Seconds without new words, within an answer, that a reader takes for an error."""
MANY, PART = 3, 0.2
"""So many such answers in the span, and so large a part of all, are a trouble of the bot, not of one question."""
_SIGNS = 2
"""One sign of another program may be a connection of our own that the platform has not forgotten yet."""
_LATE = 0.2
"""The share of the time by which the loop of an overloaded machine is late."""
_SLOW_MODEL = 8.0
"""Tokens a second of a model that writes more slowly than people read."""
_LONG_TOOLS = 5.0
"""Seconds of tools in an average answer that explain its pauses."""
_MODEL: Final[Mapping[str, str]] = {
    "away": "does not answer at its address",
    "busy": "is overloaded, or limits our requests",
    "slow": "does not begin to answer in time",
    "dropped": "breaks off its answers",
    "refused": "is refused: its key or its name is wrong",
    "no_money": "is refused: its account has no money left",
    "empty": "breaks off before its first word, or writes none",
}
"""What a model does, by the key of the sentence that people read then; other failures are about single questions."""
_COUNTED: Final = frozenset({"alarm_readers", "alarm_model", "alarm_mute"})
"""Troubles that are told as soon as enough people have met them."""
_LEAST_MEMORY, _LEAST_PART = 128 * 1024 * 1024, 0.05
"""Memory is nearly used up if less than both is left: bytes, and a part of all."""
_TELL_SECONDS = 10.0
_STATES = {
    "starting": "the log-in is not answered",
    "connecting": "the connection was lost, and is being made again",
}


async def always_resolved(platform: str) -> str:
    """Return an empty text: the name of every host can be resolved."""
    return ""


class Receiving(Protocol):
    """What is known of the platforms."""

    @property
    def state(self) -> Mapping[str, str]: ...
    @property
    def conflicts(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A trouble that lasts."""

    key: str
    """A key of `bot.sentences`."""
    cause: str
    """For the operator, in English."""
    platform: str = ""

    @property
    def name(self) -> str:
        return f"{self.key} {self.platform}".strip()

    def sentence(self, language: str) -> str:
        return say(self.key, language, platform=self.platform.capitalize(), cause=self.cause)


@dataclass(frozen=True, slots=True)
class _Counts:
    """What was counted until a moment."""

    at: float
    answers: int
    waited: int
    """Answers whose reader waited for long."""
    late: float
    refusals: Mapping[str, float]
    calls: Mapping[str, float]
    model_seconds: Mapping[str, float]
    tool_seconds: Mapping[str, float]
    tokens: float
    model_calls: Mapping[tuple[str, ...], float]
    rights_missing: Mapping[tuple[str, ...], float]
    done: float
    """Turns that ended with an answer."""


@dataclass(eq=False, repr=False, kw_only=True)
class Alarm:
    """Looks for troubles; one object for the process."""

    store: Store
    platforms: Receiving
    metrics: Metrics
    access: Access
    notices: Notices
    clock: Clock
    late: Callable[[], float]
    """Returns the seconds by which the event loop was late, all together."""
    memory: Callable[[], tuple[int, int]] = lambda: (1, 1)
    """Returns the bytes of memory that are left, and all."""
    unresolved: Callable[[str], Awaitable[str]] = always_resolved
    """Returns the host of a platform, or of the model for an empty name, if its name cannot be resolved."""
    _since: dict[str, float] = field(default_factory=dict)
    """When each present trouble was first seen."""
    _told: dict[str, float] = field(default_factory=dict)
    _counts: deque[_Counts] = field(default_factory=deque)
    _silent: bool = False
    """The store did not answer at the last look."""
    _owners: list[MessageSent] = field(default_factory=list)
    """The newest private message of each owner, the newest first: also while the store cannot be read."""

    def __post_init__(self) -> None:
        self._count(self.clock.monotonic())

    async def watch(self) -> None:
        """Look for troubles until cancelled."""
        while True:
            await self.clock.sleep(LOOK_SECONDS)
            # A fault of the alarm itself must not end it.
            try:
                with Contained():
                    await self.look()
            except Exception:
                log.exception("the alarm failed; looking again")

    async def look(self) -> None:
        """Report each trouble that has lasted, once."""
        await self._ask_store()
        now = self.clock.monotonic()
        self._count(now)
        found = list(self._find())
        names = {trouble.name for trouble in found}
        self._since = {name: self._since.get(name, now) for name in names}
        for trouble in found:
            lasts = trouble.key in _COUNTED or now - self._since[trouble.name] >= LASTS_SECONDS
            if lasts and now - self._told.get(trouble.name, float("-inf")) >= AGAIN_SECONDS:
                await self._tell(await self._without_names(trouble), now)

    async def _without_names(self, trouble: Trouble) -> Trouble:
        """Return the trouble with the cause behind its cause, if this machine resolves no names."""
        unreachable = trouble.key == "alarm_model" and trouble.cause.endswith(_MODEL["away"])
        if not (unreachable or trouble.key == "alarm_deaf"):
            return trouble
        host = await self.unresolved(trouble.platform)
        return replace(trouble, cause=f"this machine cannot resolve the name {host} (DNS)") if host else trouble

    async def _ask_store(self) -> None:
        """Learn who the owners are, and whether the store answers: a server that is away is waited for."""
        self._silent = False
        try:
            async with time_limit(self.clock, LOOK_SECONDS):
                self._owners = await self._list_owners()
        except StoreError:
            pass
        except TimeoutError:
            self._silent = True

    def _find(self) -> Iterator[Trouble]:
        for platform, state in self.platforms.state.items():
            if state not in ("listening", "standing by"):
                cause = state.partition(": ")[2] or _STATES.get(state, state)
                yield Trouble(key="alarm_deaf", cause=cause, platform=platform)
        for platform, signs in self.platforms.conflicts.items():
            if signs < _SIGNS:
                continue
            cause = "another program receives with the same token; end that one, or get a new token"
            yield Trouble(key="alarm_deaf", cause=cause, platform=platform)
        yield from self._find_mute()
        left, whole = self.memory()
        if left < min(_LEAST_MEMORY, _LEAST_PART * whole):
            cause = f"{left / 2**20:,.0f} of {whole / 2**20:,.0f} MB are left"
            yield Trouble(key="alarm_memory", cause=cause)
        if cause := self._why_no_model_answers():
            yield Trouble(key="alarm_model", cause=cause)
        if self.store.writer.trouble or self._silent:
            cause = self.store.writer.trouble or "The database does not answer."
            yield Trouble(key="alarm_store", cause=cause)
        elif cause := self._why_readers_wait():
            yield Trouble(key="alarm_readers", cause=cause)

    def _find_mute(self) -> Iterator[Trouble]:
        first, last = self._counts[0], self._counts[-1]
        for (platform, right), amount in last.rights_missing.items():
            if amount > first.rights_missing.get((platform, right), 0.0):
                yield Trouble(key="alarm_mute", cause=right, platform=platform)

    def _count(self, now: float) -> None:
        metrics = self.metrics
        self._counts.append(
            _Counts(
                now,
                metrics.reader_waits.count,
                metrics.reader_waits.above(LONG_WAIT),
                self.late(),
                metrics.refusals.by("platform"),
                metrics.platform_calls.by("platform"),
                metrics.model_seconds.by("model"),
                metrics.tool_seconds.by("tool"),
                metrics.tokens.by("kind").get("completion", 0.0),
                metrics.model_calls.series(),
                metrics.rights_missing.series(),
                metrics.turns_ended.value("done"),
            )
        )
        while now - self._counts[0].at > SPAN_SECONDS:
            self._counts.popleft()

    def _why_no_model_answers(self) -> str:
        """Return why most questions are not answered by a model; empty if they are."""
        first, last = self._counts[0], self._counts[-1]
        failed = {
            series: amount - first.model_calls.get(series, 0.0)
            for series, amount in last.model_calls.items()
            if series[1] in _MODEL
        }
        if sum(failed.values()) < max(MANY, last.done - first.done):
            return ""
        model, outcome = max(failed, key=lambda series: failed[series])
        return f"{model} {_MODEL[outcome]}"

    def _why_readers_wait(self) -> str:
        """Return why readers wait; empty if they do not."""
        first, last = self._counts[0], self._counts[-1]
        answers, waited = last.answers - first.answers, last.waited - first.waited
        if waited < MANY or waited < PART * answers:
            return ""
        if last.late - first.late > _LATE * (last.at - first.at):
            return "the machine is overloaded; the program does not get the processor in time"
        refusing, refused = _most(first.refusals, last.refusals)
        if refused:
            return f"{refusing.capitalize()} refuses calls as too many ({refused:.0f} in two minutes)"
        tool, seconds = _most(first.tool_seconds, last.tool_seconds)
        if seconds > _LONG_TOOLS * answers:
            return f"the tool {tool} takes long ({seconds / answers:.0f} s an answer)"
        model, _ = _most(first.model_seconds, last.model_seconds)
        wrote = sum(last.model_seconds.values()) - sum(first.model_seconds.values())
        speed = (last.tokens - first.tokens) / wrote if wrote else _SLOW_MODEL
        if speed < _SLOW_MODEL:
            return f"{model} writes slowly ({speed:.1f} tokens a second)"
        platform, _ = _most(first.calls, last.calls)
        return f"more answers at once than the limits of {platform.capitalize()} carry"

    async def _tell(self, trouble: Trouble, now: float) -> None:
        self._told[trouble.name] = now
        log.warning("%s", trouble.sentence("en"))
        # Of several processes one tells it; while nothing can be written, each does.
        if not (self.store.writer.trouble or self._silent):
            with suppress(StoreError, TimeoutError):
                async with time_limit(self.clock, _TELL_SECONDS):
                    if not await self.store.access.claim(f"alarm {trouble.name}", AGAIN_SECONDS):
                        return
        for message in self._owners:
            text = trouble.sentence(language_of(message.text, message.sender.language))
            try:
                async with time_limit(self.clock, _TELL_SECONDS):
                    if await self.notices.tell(message, text, turn=f"alarm {trouble.name} {self.clock.wall():.0f}"):
                        return
            except (DeliveryError, StoreError, TimeoutError) as error:
                log.info("%s could not be warned: %s", message.chat, error)

    async def _list_owners(self) -> list[MessageSent]:
        roles = await self.store.access.list_roles()
        people = {person for person, role in roles.items() if role == "owner"} or set(self.access.admins)
        newest = []
        for person in people:
            wrote = await self.store.intake.list_newest(person, 0.0)
            newest += [one for one in wrote if not one.group and not one.scheduled][:1]
        return sorted(newest, key=lambda one: -one.sent_at)


def _most(before: Mapping[str, float], now: Mapping[str, float]) -> tuple[str, float]:
    """Return the name that has grown most, and by how much."""
    grown = {name: amount - before.get(name, 0.0) for name, amount in now.items()}
    name = max(grown, key=lambda one: grown[one], default="")
    return name, grown.get(name, 0.0)
