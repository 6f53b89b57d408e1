"""How long readers wait for words under each platform's limits: real replies and the real pacer in virtual time.

Beside the limits of the adapters stand those of the services, counted when a call arrives.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import pytest

from adapters.discord import limits as discord
from adapters.slack import limits as slack
from adapters.telegram import limits as telegram
from bot.contract.clock import Timer
from bot.contract.errors import RateLimited
from bot.contract.messages import GROWS, MessageRef
from bot.contract.surface import CallCost, Drawn, RateBudget, SurfaceLimits, Window
from bot.pacing.pacer import Pacer
from bot.pacing.reader import seconds_to_read
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from tests.bot.conftest import BareSurface
from tests.surfaces import page_of

WAY: Final = 0.02
"""Seconds that a call takes to a platform, and its answer back."""
WORDS, WORDS_A_SECOND = 200, 50.0
PIECE: Final = 2
"""Words that a model sends at once."""
PLATFORM: Final = "bot"
"""The platform's name, and its only budget that replies share."""
PRIVATE_CHAT: Final = Window(4, 1.0)
"""What Telegram lets through in a chat; in truth it names no number."""


class Skipping(selectors.DefaultSelector):
    """Waits for nothing: it moves the time on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Look for what comes from elsewhere only where nothing is due: every look is a call of the system."""
        if timeout == 0:
            return []
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in which time passes only while all tasks wait, and then at once."""

    def __init__(self) -> None:
        self._skipping = Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


class LoopClock:
    """The time of the loop that runs."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), action)


class Service:
    """Counts calls when they arrive, and refuses those that are too many."""

    def __init__(self) -> None:
        self.refused = 0
        self._calls: defaultdict[str, deque[float]] = defaultdict(deque)

    def take(self, limits: Mapping[str, Window], now: float) -> None:
        for name, window in limits.items():
            calls = self._calls[name]
            while calls and calls[0] <= now - window.seconds:
                calls.popleft()
            if len(calls) >= window.calls:
                self.refused += 1
                raise RateLimited("too many calls", retry_after=calls[0] + window.seconds - now)
        for name in limits:
            self._calls[name].append(now)


@dataclass(frozen=True)
class Rules:
    """What the calls of one reply draw on, and what the service itself allows."""

    post: CallCost
    edit: CallCost
    posts: Mapping[str, Window]
    edits: Mapping[str, Window]


def in_telegram(number: int, windows: tuple[Window, ...] = (), allowed: Window = PRIVATE_CHAT) -> Rules:
    chat = RateBudget(f"chat {number}", windows=windows, rate=telegram.CHAT_RATE, burst=telegram.CHAT_BURST)
    bot = RateBudget(PLATFORM, windows=(telegram.BOT_WINDOW,), shared=True)
    strict = {"bot": Window(30, 1.0), f"chat {number}": allowed}
    return Rules(CallCost((chat, bot), repeats_safely=False), CallCost((chat, bot)), strict, strict)


def in_telegram_group(number: int) -> Rules:
    return in_telegram(number, (telegram.GROUP_WINDOW,), Window(20, 60.0))


def after_discord_command(number: int) -> Rules:
    cost = CallCost((RateBudget(f"hook {number}", windows=(discord.HOOK_WINDOW,)),))
    strict = {f"hook {number}": Window(5, 2.0)}
    return Rules(cost, cost, strict, strict)


def in_discord(number: int) -> Rules:
    bot = RateBudget(PLATFORM, windows=(discord.BOT_WINDOW,), shared=True)
    posts, edits = (
        CallCost((RateBudget(f"{what} {number}", windows=(discord.CHANNEL_WINDOW,)), bot)) for what in ("post", "edit")
    )
    strict = [{"bot": Window(50, 1.0), f"{what} {number}": Window(5, 5.0)} for what in ("post", "edit")]
    return Rules(posts, edits, *strict)


def in_slack(number: int) -> Rules:
    channel = RateBudget(f"channel {number}", rate=slack.CHANNEL_RATE, burst=1)
    posts = RateBudget(f"{PLATFORM}:post", windows=(slack.POST_WINDOW,), shared=True)
    edits = RateBudget(f"{PLATFORM}:update", windows=(slack.UPDATE_WINDOW,), shared=True)
    return Rules(
        CallCost((channel, posts), repeats_safely=False, found_again=True),
        CallCost((edits,)),
        {"post": Window(300, 60.0), f"channel {number}": Window(3, 2.0)},
        {"update": Window(50, 60.0)},
    )


class Screen(BareSurface):
    """One chat: what stood in it, and since when."""

    limits = SurfaceLimits(3_800, 4_096, len, typing_seconds=0.0)

    def __init__(self, rules: Rules, service: Service, clock: LoopClock) -> None:
        self._rules, self._service, self._clock = rules, service, clock
        self.looks: list[tuple[float, str]] = []
        self.written = 0.0
        """When the last word was."""

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return self._rules.post if at is None else self._rules.edit

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        await self._clock.sleep(WAY)
        now = self._clock.monotonic()
        self._service.take(self._rules.posts if at is None else self._rules.edits, now)
        self.looks.append((now, page_of(drawn).body))
        await self._clock.sleep(WAY)
        return at or MessageRef("0")


class ShortPages(Screen):
    """A chat that takes short messages only."""

    limits = SurfaceLimits(1_850, 2_000, len, typing_seconds=0.0)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        await super().show(drawn, at, nonce)
        return at or MessageRef(str(len(self.looks)))


class Workspace:
    """Places for a hundred questions at once in Slack, which has few edits, few streams, and more posts."""

    def __init__(self, clock: LoopClock) -> None:
        self.clock = clock
        self.service = Service()
        self.streams = 0

    def place(self, number: int) -> SlackScreen:
        return SlackScreen(number, self)


class SlackScreen(Screen):
    """One thread: all of its messages one after the other."""

    def __init__(self, number: int, workspace: Workspace) -> None:
        super().__init__(in_slack(number), workspace.service, workspace.clock)
        self._workspace = workspace
        self._append = CallCost((RateBudget(f"{PLATFORM}:append", windows=(slack.APPEND_WINDOW,), shared=True),))
        self._bodies: list[str] = []

    @property
    def limits(self) -> SurfaceLimits:  # type: ignore[override]  # it changes
        grows = self._workspace.streams < slack.STREAM_WINDOW.calls
        return SurfaceLimits(3_600, 4_000, len, typing_seconds=0.0, pieces=True, grows=grows)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        return self._append if at is not None and at.form == GROWS else super().cost(drawn, at)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        starts = at is None and page.grows and not page.final and self.limits.grows
        self._workspace.streams += starts
        await self._clock.sleep(WAY)
        if starts:
            limits = {"start": Window(20, 60.0)}
        elif at is not None and at.form == GROWS:
            limits = {"stop": Window(20, 60.0)} if page.final else {"append": Window(100, 60.0)}
        else:
            limits = dict(self._rules.posts if at is None else self._rules.edits)
        self._service.take(limits, self._clock.monotonic())
        if at is None:
            self._bodies.append("")
            at = MessageRef(str(len(self._bodies) - 1), GROWS if starts else "message")
        self._bodies[int(at.id)] = page.body
        self.looks.append((self._clock.monotonic(), "".join(self._bodies)))
        await self._clock.sleep(WAY)
        return MessageRef(at.id) if page.final else at


def waited(looks: Sequence[tuple[float, str]], since: float) -> float:
    """Return the seconds in which a reader, who began to wait at `since`, had nothing new to read."""
    out_at, waits, before = since, 0.0, ""
    for at, text in looks:
        assert text.startswith(before.rstrip()), "what stands is not taken back"
        waits += max(0.0, at - out_at)
        out_at = max(out_at, at) + seconds_to_read(text[len(before) :])
        before = text
    return waits


async def answer(screen: Screen, pacer: Pacer, clock: LoopClock, number: int, begins: float, asked: float) -> float:
    """One reply, word by word, which begins when it was asked for or later; how long its reader waited."""
    words = [f"Answer {number}:", *(f"word{one}" for one in range(WORDS - 1))]
    await clock.sleep(asked)
    with pacer.expecting(PLATFORM):
        await clock.sleep(begins - asked)
        async with ReplyStream(screen, pacer, Unrecorded(), clock, turn=f"t{number}") as reply:
            await clock.sleep(0.1)
            since = clock.monotonic()
            for at in range(0, WORDS, PIECE):
                reply.append(" ".join(words[at : at + PIECE]) + " ")
                await clock.sleep(PIECE / WORDS_A_SECOND)
            reply.append("end.")
            screen.written = clock.monotonic()
            await reply.finish()
    assert screen.looks[-1][1] == reply.text
    return waited(screen.looks, since)


async def waits_of(
    rules: Sequence[Rules],
    begins: Sequence[float],
    service: Service,
    *,
    together: bool = False,
    lags: list[float] | None = None,
) -> list[float]:
    """How long each of the readers waited, the shortest first.

    Args:
        together: all were asked at the beginning, whenever they begin.
        lags: takes how long after its last word each answer was whole, the shortest first.
    """
    clock = LoopClock()
    pacer = Pacer(clock)
    screens = [Screen(one, service, clock) for one in rules]
    answers = (
        answer(screen, pacer, clock, number, at, 0.0 if together else at)
        for number, (screen, at) in enumerate(zip(screens, begins, strict=True))
    )
    waits = sorted(await asyncio.gather(*answers))
    await pacer.close()
    if lags is not None:
        lags += sorted(screen.looks[-1][0] - screen.written for screen in screens)
    return waits


def at_once(count: int) -> list[float]:
    return [0.05 * number / count for number in range(count)]


def steadily(a_second: float, seconds: float) -> list[float]:
    drawn, at, found = random.Random(1), 0.0, []
    while (at := at + drawn.expovariate(a_second)) < seconds:
        found.append(at)
    return found


@pytest.mark.parametrize(
    ("rules", "begins"),
    [
        pytest.param(in_telegram, at_once(1), id="telegram"),
        pytest.param(in_telegram, at_once(20), id="telegram, 20 at once"),
        pytest.param(in_telegram, steadily(8, 10.0), id="telegram, 8 a second"),
        pytest.param(in_telegram_group, at_once(20), id="telegram groups, 20 at once"),
        pytest.param(after_discord_command, at_once(100), id="discord commands, 100 at once"),
        pytest.param(in_discord, at_once(20), id="discord, 20 at once"),
        pytest.param(in_slack, at_once(20), id="slack, 20 at once"),
    ],
)
def test_a_reader_hardly_ever_waits_and_nothing_is_refused(
    rules: Callable[[int], Rules], begins: Sequence[float]
) -> None:
    service = Service()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        waits = runner.run(waits_of([rules(number) for number in range(len(begins))], begins, service))

    assert service.refused == 0
    assert waits[len(waits) // 2] <= 0.25
    assert waits[len(waits) * 95 // 100] <= 0.5


@pytest.mark.parametrize(
    ("rules", "seconds", "possible"),
    [
        pytest.param(in_telegram, 0.05, 1.57, id="telegram"),
        pytest.param(in_telegram, 1.2, 1.14, id="telegram, begun one after the other"),
        pytest.param(in_discord, 0.05, 0.71, id="discord"),
        pytest.param(in_discord, 1.2, 0.42, id="discord, begun one after the other"),
    ],
)
def test_a_hundred_at_once_wait_about_as_long_as_the_limit_makes_them(
    rules: Callable[[int], Rules], seconds: float, possible: float
) -> None:
    """A first and a last call each are 200 calls, and 30 or 50 a second are allowed.

    Args:
        seconds: from the first turn's beginning to the last one's: a process begins them one after the other.
        possible: the mean that a schedule leaves which knows every end, with 30 or 50 calls in any second.
    """
    service, begins = Service(), [seconds * number / 100 for number in range(100)]
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        waits = runner.run(waits_of([rules(number) for number in range(100)], begins, service, together=True))

    assert service.refused == 0
    assert sum(waits) / len(waits) <= max(1.15 * possible, possible + 0.15)


@pytest.mark.parametrize(
    ("rules", "a_second"),
    [pytest.param(in_telegram, 11.2, id="telegram"), pytest.param(in_discord, 18.7, id="discord")],
)
def test_in_a_stream_at_three_quarters_of_the_limit_readers_wait_half_a_second_and_ends_hardly_at_all(
    rules: Callable[[int], Rules], a_second: float
) -> None:
    service, lags, begins = Service(), list[float](), steadily(a_second, 12.0)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        waits = runner.run(waits_of([rules(number) for number in range(len(begins))], begins, service, lags=lags))

    assert service.refused == 0
    assert waits[len(waits) // 2] <= 0.55
    assert lags[len(lags) // 2] <= 0.25


@pytest.mark.parametrize(
    ("rules", "limits", "seconds"),
    [
        pytest.param(in_telegram, telegram.LIMITS, 1.1, id="telegram"),
        pytest.param(in_telegram_group, telegram.LIMITS, 1.1, id="telegram group"),
        pytest.param(after_discord_command, discord.LIMITS, 0.7, id="discord command"),
        pytest.param(in_discord, discord.LIMITS, 1.3, id="discord"),
        pytest.param(in_slack, slack.LIMITS, 0.6, id="slack"),
    ],
)
def test_whoever_looks_up_sees_an_answer_alone_grow_as_often_as_the_limit_carries(
    rules: Callable[[int], Rules], limits: SurfaceLimits, seconds: float
) -> None:
    """One call stays free for the end."""

    async def longest_stop() -> float:
        clock, service = LoopClock(), Service()
        screen, pacer = Screen(rules(0), service, clock), Pacer(clock)
        screen.limits = replace(limits, typing_seconds=0.0)
        await answer(screen, pacer, clock, 0, 0.0, 0.0)
        await pacer.close()
        assert service.refused == 0
        return max(later - earlier for (earlier, _), (later, _) in pairwise(screen.looks))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(longest_stop()) <= seconds


async def people_in_slack(
    begins: Sequence[float], asked: Sequence[float]
) -> tuple[list[float], list[float], Workspace]:
    """How long the readers waited and how long after its last word each answer was whole, the shortest first."""
    clock = LoopClock()
    workspace, pacer = Workspace(clock), Pacer(clock)
    places = [workspace.place(number) for number in range(len(begins))]

    async def one(number: int, asked: float, begins: float) -> tuple[float, float]:
        await clock.sleep(asked)
        with pacer.expecting(PLATFORM, anew=True):
            await clock.sleep(begins - asked + 0.1)
            since = clock.monotonic()
            async with ReplyStream(places[number], pacer, Unrecorded(), clock, turn=f"t{number}") as reply:
                for word in range(0, WORDS, PIECE):
                    reply.append(f"word{word} word{word + 1}{'.' if word % 10 == 8 else ''} ")
                    await clock.sleep(PIECE / WORDS_A_SECOND)
                written = clock.monotonic()
                await reply.finish()
        looks = places[number].looks
        assert looks[-1][1] == reply.text
        return waited(looks, since), looks[-1][0] - written

    found = await asyncio.gather(*map(one, range(len(begins)), asked, begins))
    await pacer.close()
    return sorted(waits for waits, _ in found), sorted(lag for _, lag in found), workspace


@pytest.mark.parametrize("seconds", [0.05, 4.5])
def test_a_hundred_at_once_in_slack_are_read_by_all_its_ways(seconds: float) -> None:
    """Edits, then streams, then further posts.

    Args:
        seconds: from the first turn's beginning to the last one's: a busy machine begins them one after the other.
    """
    begins = [seconds * number / 100 for number in range(100)]
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        waits, lags, workspace = runner.run(people_in_slack(begins, [0.0] * 100))

    assert workspace.service.refused == 0
    assert workspace.streams == slack.STREAM_WINDOW.calls
    assert waits[50] <= 0.3 and waits[95] <= 0.5
    assert lags[95] <= 0.1


@pytest.mark.parametrize(
    ("many", "within", "mean"),
    [pytest.param(20, 2.0, 0.25, id="20 within 2 s"), pytest.param(100, 5.0, 1.0, id="100 within 5 s")],
)
def test_who_comes_a_moment_later_in_slack_waits_hardly_longer(many: int, within: float, mean: float) -> None:
    chance = random.Random(1)
    comes = sorted(chance.uniform(0.0, within) for _ in range(many))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        waits, lags, workspace = runner.run(people_in_slack(comes, comes))

    assert workspace.service.refused == 0
    assert sum(waits) / many <= mean
    assert lags[many * 95 // 100] <= 0.1


async def lag_of_a_long_answer(rules: Rules) -> float:
    """Seconds from the last word of 12,000 letters, 300 words a second, until all of it stands."""
    clock, service = LoopClock(), Service()
    pacer, screen = Pacer(clock), ShortPages(rules, service, clock)
    async with ReplyStream(screen, pacer, Unrecorded(), clock, turn="t") as reply:
        for number in range(2_000):
            reply.append(f"w{number:04} ")
            await clock.sleep(1 / 300)
        end = clock.monotonic()
        await reply.finish()
    assert service.refused == 0
    await pacer.close()
    return screen.looks[-1][0] - end


def test_the_end_of_a_long_answer_does_not_wait_for_the_posts_of_its_messages() -> None:
    """A message begins early, so that not all posts are made in the last seconds; five in five seconds are allowed."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(lag_of_a_long_answer(in_discord(1))) <= 0.1
