"""The platforms side by side: each logged in, listened to and left on its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import BinaryIO

import pytest

from bot.contract.errors import Contested, DeliveryError, OtherBot, SettingsError, StoreError, Unreachable
from bot.contract.messages import MessageRef, MessageSent, ReplyTarget
from bot.contract.metrics import Metrics
from bot.contract.surface import Deliver, Drawn, SurfaceLimits
from bot.intake.ownership import Locks, Role, Sessions
from bot.intake.platforms import STEADY_SECONDS, Platforms
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.patience import PATIENCE


def shows(platforms: Platforms, name: str) -> bool:
    """Whether something can be shown on a platform, by its own adapter."""
    return platforms.surface(ReplyTarget(name)).limits.command_form == name


@dataclass
class SurfaceOf(BareSurface):
    """A surface of which only its platform is looked at."""

    platform: str

    @property
    def limits(self) -> SurfaceLimits:
        return SurfaceLimits(400, 800, len, command_form=self.platform)

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        raise AssertionError


class Fake:
    """A platform that fails as it is told; what is left over of its scripts goes well."""

    def __init__(
        self,
        platform: str,
        logins: list[asyncio.Event | Exception | None] | None = None,
        listens: list[Exception | None] | None = None,
    ) -> None:
        self.platform = platform
        self.logins = logins or []
        self.listens = listens or []
        self.log: list[str] = []
        self.listening = False
        self.conflicts = 0
        self.entrance = None
        self.broken = asyncio.Event()
        """Set: the connection that stands now ends."""

    async def __aenter__(self) -> Fake:
        self.log.append("login")
        step = self.logins.pop(0) if self.logins else None
        if isinstance(step, asyncio.Event):
            await step.wait()
        elif step is not None:
            raise step
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.log.append("left")

    async def listen(self, deliver: Deliver) -> None:
        self.log.append("listen")
        step = self.listens.pop(0) if self.listens else None
        if step is not None:
            raise step
        self.listening = True
        try:
            await self.broken.wait()
            raise Unreachable("gone")
        finally:
            self.listening = False

    async def fetch(self, source: str, into: BinaryIO, most: int) -> None:
        raise DeliveryError("there is no such file")

    def earlier(self, message: MessageSent) -> None:
        return None

    def surface(self, target: ReplyTarget) -> SurfaceOf:
        return SurfaceOf(self.platform)


@asynccontextmanager
async def running(
    clock: FakeClock,
    *fakes: Fake,
    resume: Callable[[str], Awaitable[None]] | None = None,
    off: Callable[[str], Awaitable[None]] | None = None,
    metrics: Metrics | None = None,
    locks: Locks | None = None,
    sessions: Sessions | None = None,
    role: Role = Role.ALL,
    note_heard: Callable[[str], Awaitable[None]] | None = None,
) -> AsyncIterator[tuple[Platforms, asyncio.Event, asyncio.Task[None]]]:
    async def nothing(_: object) -> None:
        return None

    platforms = Platforms(
        adapters={fake.platform: fake for fake in fakes},
        clock=clock,
        metrics=metrics or Metrics(),
        locks=locks,
        sessions=sessions,
        role=role,
        note_heard=note_heard,
    )
    leave = asyncio.Event()
    task = asyncio.create_task(platforms.run(nothing, resume or nothing, leave, off or nothing))
    await clock.settle()
    try:
        yield platforms, leave, task
    finally:
        await platforms.stop_receiving()
        leave.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(task, return_exceptions=True)


async def test_one_platform_in_trouble_never_holds_another(clock: FakeClock) -> None:
    down = Fake("slack", logins=[Unreachable("no network")] * 99)
    up = Fake("telegram")

    async with running(clock, down, up) as (platforms, _, _):
        assert platforms.state == {"slack": "unreachable: no network", "telegram": "listening"}
        assert platforms.listening
        assert shows(platforms, "telegram")
        with pytest.raises(Unreachable):
            platforms.surface(ReplyTarget("slack"))


async def test_it_is_known_when_each_platform_was_tried(clock: FakeClock) -> None:
    """Logged in, out of reach or refused: nobody who starts waits for more."""
    wrong, down = Fake("slack", logins=[SettingsError("refused")]), Fake("discord", logins=[Unreachable("no")] * 9)
    taken_up = asyncio.Event()

    async def resume(platform: str) -> None:
        await taken_up.wait()

    async with running(clock, Fake("telegram"), wrong, down, resume=resume) as (platforms, _, _):
        assert not platforms.tried.is_set()
        taken_up.set()
        await clock.settle()
        assert platforms.tried.is_set()


async def test_the_log_says_of_each_platform_when_it_is_logged_in(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bot.intake.platforms")
    down, up = Fake("slack", logins=[Unreachable("no network")]), Fake("telegram")

    async with running(clock, down, up):
        assert [line for line in caplog.messages if "logged in" in line] == ["telegram: logged in"]
        await clock.advance(1.0)
        assert [line for line in caplog.messages if "logged in" in line] == ["telegram: logged in", "slack: logged in"]


async def test_a_platform_is_tried_again_with_growing_pauses_until_it_answers(clock: FakeClock) -> None:
    late = Fake("slack", logins=[Unreachable("no network")] * 4)

    async with running(clock, late) as (platforms, _, _):
        for seconds, tries in ((1.0, 2), (2.0, 3), (5.0, 4), (10.0, 5)):
            await clock.advance(seconds - 0.1)
            assert late.log.count("login") == tries - 1
            await clock.advance(0.1)
            assert late.log.count("login") == tries
        assert platforms.state == {"slack": "listening"}


async def test_a_connection_that_is_lost_is_made_again_and_what_is_shown_goes_on(clock: FakeClock) -> None:
    flaky = Fake("telegram", listens=[Unreachable("gone")] * 2)

    async with running(clock, flaky) as (platforms, _, _):
        assert platforms.state == {"telegram": "unreachable: gone"}
        assert not platforms.listening
        assert shows(platforms, "telegram")
        await clock.advance(1)
        await clock.advance(2)
        assert platforms.state == {"telegram": "listening"}
        assert flaky.log == ["login", "listen", "listen", "listen"]


async def test_a_platform_that_refuses_its_settings_is_off_and_the_others_run(clock: FakeClock) -> None:
    wrong = Fake("slack", logins=[SettingsError("SLACK_BOT_TOKEN is refused")])
    up = Fake("telegram")
    off: list[str] = []

    async def note(platform: str) -> None:
        off.append(platform)

    async with running(clock, wrong, up, off=note) as (platforms, _, task):
        await clock.advance(100)
        assert off == ["slack"]
        assert platforms.state == {"slack": "off: SLACK_BOT_TOKEN is refused", "telegram": "listening"}
        assert wrong.log == ["login"]
        assert not task.done()


async def test_when_no_platform_can_be_used_the_program_says_why_and_nothing_twice(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = Fake("slack", logins=[SettingsError("SLACK_BOT_TOKEN is refused")])
    revoked = Fake("telegram", listens=[SettingsError("TELEGRAM_BOT_TOKEN was revoked")])

    async with running(clock, wrong, revoked) as (_, _, task):
        with pytest.raises(SettingsError, match="TELEGRAM_BOT_TOKEN was revoked"):
            await task

    assert "SLACK_BOT_TOKEN is refused" in caplog.text and "revoked" not in caplog.text


async def test_an_error_of_our_own_in_one_platform_is_logged_and_tried_again(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Fake("slack", listens=[RuntimeError("a bug")])
    up = Fake("telegram")

    async with running(clock, broken, up) as (platforms, _, _):
        assert platforms.state["slack"] == "unreachable: an error of our own"
        assert "slack failed, trying again: RuntimeError in test_platforms" in caplog.text
        assert "Traceback" not in caplog.text and "a bug" not in caplog.text, "it may be what a person wrote"
        assert shows(platforms, "slack")
        await clock.advance(1)
        assert platforms.state == {"slack": "listening", "telegram": "listening"}
        assert broken.log == ["login", "listen", "listen"], "turns under way write through what was entered"


async def test_what_fails_again_and_again_is_logged_at_once_and_then_counted(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    down = Fake("slack", listens=[Unreachable("no network")] * 10 + [KeyError("t"), Unreachable("no network")])
    metrics = Metrics()
    caplog.set_level("WARNING", logger="bot")

    async with running(clock, down, metrics=metrics):
        assert [record.getMessage() for record in caplog.records] == [
            "slack receives nothing now, trying again: no network"
        ]
        await clock.advance(700)

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and said[1].startswith("slack failed, trying again: KeyError in test_platforms")
    assert metrics.connections_lost.value("slack") == 12


async def test_after_a_good_connection_the_next_is_tried_after_the_shortest_pause(clock: FakeClock) -> None:
    flaky = Fake("telegram", listens=[Unreachable("gone")] * 5)

    async with running(clock, flaky):
        await clock.advance(1 + 2 + 5 + 10 + 30)
        assert flaky.log.count("listen") == 6
        flaky.listens.append(Unreachable("gone"))
        await clock.advance(STEADY_SECONDS)
        flaky.broken.set()
        await clock.settle()
        flaky.broken.clear()
        await clock.advance(1)
        assert flaky.log.count("listen") == 7
        await clock.advance(2)
        assert flaky.log.count("listen") == 8


async def test_another_program_with_the_same_token_is_in_the_state_and_waited_for(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    contested = Fake("telegram", listens=[Contested("another program polls")])
    contested.conflicts = 3
    caplog.set_level("WARNING", logger="bot")

    async with running(clock, contested, Fake("slack")) as (platforms, _, _):
        assert platforms.state["telegram"] == "unreachable: another program polls"
        assert platforms.conflicts == {"telegram": 3}
        assert caplog.records == [], "the adapter has said so"
        await clock.advance(1)
        assert platforms.state["telegram"] == "listening"


async def test_what_was_unfinished_is_taken_up_before_anything_new_is_taken_in(clock: FakeClock) -> None:
    fake = Fake("telegram")
    fails = [StoreError("locked")]

    async def resume(name: str) -> None:
        fake.log.append(f"resume {name}")
        if fails:
            raise fails.pop()

    async with running(clock, fake, resume=resume):
        await clock.advance(1)

        assert fake.log == ["login", "resume telegram", "resume telegram", "listen"]


async def test_after_quiet_nothing_is_taken_in_and_surfaces_work_until_the_end(clock: FakeClock) -> None:
    fake = Fake("telegram")
    async with running(clock, fake) as (platforms, leave, task):
        await platforms.stop_receiving()

        assert not fake.listening
        assert shows(platforms, "telegram")
        assert fake.log == ["login", "listen"]
        leave.set()
        await task
        assert fake.log == ["login", "listen", "left"]


async def test_a_platform_that_comes_back_during_the_end_is_not_listened_to_again(clock: FakeClock) -> None:
    """Else the program would wait for it for ever, and take in what nobody answers."""
    fake = Fake("telegram", listens=[Unreachable("gone")])
    async with running(clock, fake) as (platforms, leave, task):
        await platforms.stop_receiving()
        await clock.advance(5)

        assert fake.log == ["login", "listen"]
        leave.set()
        await clock.settle()
        assert task.done()


async def test_a_login_that_hangs_does_not_hold_up_the_end(clock: FakeClock) -> None:
    hanging = Fake("slack", logins=[asyncio.Event()])
    up = Fake("telegram")
    async with running(clock, hanging, up) as (platforms, leave, task):
        await platforms.stop_receiving()
        leave.set()
        await clock.settle()

        assert task.done() and task.exception() is None
        assert up.log == ["login", "listen", "left"]


async def test_what_is_taken_up_when_the_end_comes_is_not_listened_after(clock: FakeClock) -> None:
    fake, taking_up = Fake("telegram"), asyncio.Event()

    async def resume(_: str) -> None:
        await taking_up.wait()

    async with running(clock, fake, resume=resume) as (platforms, leave, task):
        await platforms.stop_receiving()
        taking_up.set()
        leave.set()
        await clock.settle()

        assert task.done() and fake.log == ["login", "left"]


async def test_a_platform_that_waits_to_log_in_again_is_given_up_at_the_end(clock: FakeClock) -> None:
    fake = Fake("telegram", logins=[Unreachable("gone")])
    async with running(clock, fake) as (_, leave, task):
        leave.set()
        await clock.settle()

        assert task.done() and fake.log == ["login"]


async def test_whoever_cancels_the_whole_leaves_no_connection_open(clock: FakeClock) -> None:
    fake = Fake("telegram")
    async with running(clock, fake) as (_, _leave, task):
        task.cancel()
        await clock.settle()

        assert task.cancelled()
        assert not fake.listening and fake.log == ["login", "listen", "left"]


class SoleFake(Fake):
    """A platform to which one program at a time may listen."""

    account = "17"

    def take_over(self) -> None:
        self.log.append("take over")


class HeldElsewhere:
    """Locks of which each is another process's until that lets go; cancelled, they are given back."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.free = asyncio.Event()
        self.lost = asyncio.Event()

    async def while_held(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self.names.append(name)
        while True:
            await self.free.wait()
            working, losing = asyncio.ensure_future(work()), asyncio.create_task(self.lost.wait())
            try:
                await asyncio.wait((working, losing), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return await working
            finally:
                working.cancel()
                losing.cancel()
                await asyncio.gather(working, losing, return_exceptions=True)
            self.free.clear()
            self.lost.clear()


async def test_a_process_stands_by_while_another_one_listens_and_takes_over(clock: FakeClock) -> None:
    """It is logged in meanwhile, and may show answers; where the other comes back first, it stands by again."""
    locks, resumed = HeldElsewhere(), list[str]()

    async def resume(name: str) -> None:
        resumed.append(name)

    sole, free = SoleFake("telegram"), Fake("slack")
    async with running(clock, sole, free, locks=locks, resume=resume) as (platforms, _, _):
        assert platforms.state == {"telegram": "standing by", "slack": "listening"} and platforms.ready
        assert sorted(resumed) == ["slack", "telegram"] and locks.names == ["listening to telegram as 17"]
        assert shows(platforms, "telegram")

        locks.free.set()
        await clock.settle()
        assert platforms.state["telegram"] == "listening" and sole.log == ["login", "take over", "listen"]

        locks.lost.set()
        await clock.settle()
        assert platforms.state["telegram"] == "standing by" and not sole.listening


async def test_a_process_that_only_answers_listens_nowhere_and_writes_everywhere(clock: FakeClock) -> None:
    locks, resumed = HeldElsewhere(), list[str]()
    locks.free.set()

    async def resume(name: str) -> None:
        resumed.append(name)

    sole, free = SoleFake("telegram"), Fake("slack")
    async with running(clock, sole, free, locks=locks, resume=resume, role=Role.TURNS) as (platforms, _, task):
        assert platforms.state == {"telegram": "standing by", "slack": "standing by"}
        assert platforms.ready and platforms.listening and sorted(resumed) == ["slack", "telegram"]
        assert shows(platforms, "slack") and not locks.names
    assert (sole.log, free.log) == (["login", "left"], ["login", "left"]) and task.exception() is None


class Left(dict[str, str]):
    """What processes leave to the next; it cannot be written while `broken`."""

    broken = False

    async def claim(self, platform: str, identity: str) -> None:
        pass

    async def recall(self, name: str) -> str:
        return self.get(name, "")

    async def leave(self, name: str, session: str) -> None:
        if self.broken:
            raise StoreError("out of reach")
        self[name] = session


class IdentifiedFake(Fake):
    """A platform that says which bot it is at the login."""

    identity = "T1/U1"


async def test_where_other_processes_are_another_bot_none_of_the_platforms_is_used(clock: FakeClock) -> None:
    """What cannot be known at the moment is asked again; before it is, nothing is written there."""
    answers: list[Exception | None] = [StoreError("out of reach"), OtherBot("the process east is another bot")]

    class Others(Left):
        async def claim(self, platform: str, identity: str) -> None:
            assert (platform, identity) == ("slack", "T1/U1")
            if (answer := answers.pop(0)) is not None:
                raise answer

    slack, telegram = IdentifiedFake("slack"), Fake("telegram")
    async with running(clock, slack, telegram, sessions=Others()) as (platforms, _, task):
        assert platforms.state == {"slack": "unreachable: out of reach", "telegram": "listening"}
        with pytest.raises(Unreachable):
            platforms.surface(ReplyTarget("slack"))
        await clock.advance(1.0)

        with pytest.raises(ExceptionGroup) as raised:
            await task
        assert raised.group_contains(OtherBot, match="east is another bot")
    assert slack.log == ["login", "left", "login", "left"] and not telegram.listening


class ResumingFake(SoleFake):
    """A platform that keeps for one connection's session what it could not deliver."""

    former = session = ""


async def test_who_takes_over_goes_on_where_the_listener_before_was(clock: FakeClock) -> None:
    locks, sole, lock = HeldElsewhere(), ResumingFake("telegram"), "listening to telegram as 17"
    left = Left({lock: "session 1, event 5"})
    locks.free.set()
    async with running(clock, sole, locks=locks, sessions=left):
        assert sole.former == "session 1, event 5"
        sole.session = "session 2, event 1"
        await clock.advance(1.0)
        sole.session = "session 2, event 9"
        await clock.advance(1.0)
        assert left[lock] == "session 2, event 1", "what came in the last second may not be stored yet"
        left.broken = True
        await clock.advance(1.0)
        left.broken = False
        await clock.advance(1.0)
        assert left[lock] == "session 2, event 9"
        sole.session = "session 2, event 10"
    assert left[lock] == "session 2, event 10"


class CatchingUpFake(SoleFake):
    """A platform that forgets what it could not deliver."""

    find_left_off = None
    heard = True


@pytest.mark.parametrize("held", [False, True])
async def test_until_when_everything_was_heard_is_stored_each_minute(clock: FakeClock, held: bool) -> None:
    noted: list[float] = []
    broken = False
    fake, locks = CatchingUpFake("discord"), HeldElsewhere()
    locks.free.set()

    async def note(platform: str) -> None:
        assert platform == "discord"
        if broken:
            raise StoreError("locked")
        noted.append(clock.monotonic())

    began = clock.monotonic()
    async with running(clock, fake, locks=locks if held else None, note_heard=note):
        await clock.advance(1.0)
        fake.heard = False
        await clock.advance(120.0)
        assert len(noted) == 1, "something is still on its way"
        fake.heard = broken = True
        await clock.advance(1.0)
        broken = False
        await clock.advance(62.0)
    assert [round(at - began) for at in noted] == [1, 123, 183]


async def test_after_a_sleep_of_the_machine_it_is_first_seen_whether_the_connection_still_stands(
    clock: FakeClock,
) -> None:
    noted: list[float] = []
    fake = CatchingUpFake("discord")

    async def note(platform: str) -> None:
        noted.append(clock.monotonic())

    began = clock.monotonic()
    async with running(clock, fake, note_heard=note):
        await clock.advance(50.0)
        clock.started += 3_600.0
        await clock.advance(170.0)
        assert len(noted) == 1
        await clock.advance(20.0)
    assert [round(at - began) for at in noted] == [1, 231]


async def test_a_platform_out_of_reach_is_left_to_the_other_processes_meanwhile(clock: FakeClock) -> None:
    locks = HeldElsewhere()
    locks.free.set()
    sole = SoleFake("telegram", listens=[Unreachable("no network")])

    async with running(clock, sole, locks=locks) as (platforms, _, _):
        assert platforms.state == {"telegram": "unreachable: no network"} and not platforms.ready
        locks.free.clear()
        await clock.advance(60.0)
        assert platforms.state == {"telegram": "standing by"} and len(locks.names) == 2


async def test_who_stands_by_when_receiving_stops_takes_nothing_over(clock: FakeClock) -> None:
    locks, sole = HeldElsewhere(), SoleFake("telegram")

    async with running(clock, sole, locks=locks) as (platforms, leave, task):
        await platforms.stop_receiving()
        locks.free.set()
        await clock.settle()
        assert sole.log == ["login"]
        leave.set()
        await task
    assert sole.log == ["login", "left"]


async def test_where_any_number_may_receive_no_lock_is_asked_for(clock: FakeClock) -> None:
    locks, by_web = HeldElsewhere(), SoleFake("telegram")
    by_web.account = ""

    async with running(clock, by_web, locks=locks) as (platforms, _, _):
        assert platforms.state == {"telegram": "listening"} and locks.names == []
