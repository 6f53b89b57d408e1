"""Which trouble is told, to whom, how often and with which cause."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.contract.errors import Unreachable
from bot.contract.messages import ChatId, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.metrics import Metrics
from bot.intake.alarm import AGAIN_SECONDS, LASTS_SECONDS, LOOK_SECONDS, SPAN_SECONDS, Alarm
from bot.policy.access import Access
from bot.store import Store
from tests.conftest import FakeClock, RawJson

ADA, BOB = "telegram:7", "slack:T1/U8"


@dataclass
class Rig:
    """An alarm with a real store, and what it sees and says."""

    store: Store
    clock: FakeClock
    metrics: Metrics = field(default_factory=Metrics)
    state: dict[str, str] = field(default_factory=lambda: {"telegram": "listening", "slack": "listening"})
    conflicts: dict[str, int] = field(default_factory=dict)
    late: float = 0.0
    told: list[tuple[str, str]] = field(default_factory=list)
    """Person and text."""
    unreachable: set[str] = field(default_factory=set)
    mute: set[str] = field(default_factory=set)
    """People to whom nothing can be shown, which nobody says."""
    memory: tuple[int, int] = (1, 1)
    admins: tuple[str, ...] = ()

    def alarm(self) -> Alarm:
        access = Access.__new__(Access)
        access.admins = self.admins
        given: RawJson = {"platforms": self, "access": access, "notices": self, "memory": lambda: self.memory}
        return Alarm(
            store=self.store,
            metrics=self.metrics,
            clock=self.clock,
            late=lambda: self.late,
            **given,
        )

    async def tell(self, question: MessageSent, text: str, *, turn: str) -> tuple[MessageRef, ...]:
        if question.sender.id in self.unreachable:
            raise Unreachable("away")
        if question.sender.id in self.mute:
            return ()
        self.told.append((question.sender.id, text))
        return (MessageRef("1"),)

    async def wrote(self, person: str, text: str = "hello", *, group: bool = False, language: str = "") -> None:
        platform = person.partition(":")[0]
        await self.store.intake.take_in(
            MessageSent(
                delivery=f"{person} {text} {self.clock.now}",
                chat=ChatId(platform, "1", f"{person[-1]}{group}"),
                sender=Sender(id=person, name="", language=language),
                target=ReplyTarget(platform, {}),
                text=text,
                sent_at=self.clock.wall(),
                group=group,
            )
        )
        self.clock.now += 1.0

    async def look(self, alarm: Alarm, seconds: float) -> None:
        for _ in range(int(seconds / LOOK_SECONDS) + 1):
            await alarm.look()
            self.clock.now += LOOK_SECONDS

    def answer(self, waited: float, *, seconds: float = 10.0, tokens: int = 500) -> None:
        self.metrics.reader_waits.observe(waited)
        self.metrics.model_seconds.add("small", amount=seconds)
        self.metrics.tokens.add("small", "completion", amount=tokens)
        for kind in ("post", "edit"):
            self.metrics.platform_calls.add("telegram", kind)


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Rig]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as store:
        await store.access.set_role(ADA, "owner")
        rig = Rig(store, clock)
        await rig.wrote(ADA)
        yield rig


async def test_a_trouble_is_told_when_it_has_lasted_once_and_again_only_after_an_hour(rig: Rig) -> None:
    alarm = rig.alarm()
    rig.state["slack"] = "unreachable: Slack answers 503"
    await rig.look(alarm, LASTS_SECONDS - LOOK_SECONDS)
    assert not rig.told

    await rig.look(alarm, AGAIN_SECONDS - LASTS_SECONDS)
    assert rig.told == [(ADA, "⚠️ For the operator: no message reaches me from Slack: Slack answers 503.")]
    rig.clock.now += 1.0  # the store counts from its own moment
    await rig.look(alarm, LASTS_SECONDS)
    assert len(rig.told) == 2


async def test_a_trouble_that_comes_and_goes_is_not_told(rig: Rig) -> None:
    alarm = rig.alarm()
    for _ in range(20):
        rig.state["slack"] = "connecting"
        await rig.look(alarm, LOOK_SECONDS)
        rig.state["slack"] = "standing by"
        await rig.look(alarm, LOOK_SECONDS)
    assert not rig.told


async def test_of_several_processes_one_tells(rig: Rig) -> None:
    rig.state["slack"] = "off: the token was revoked"
    for alarm in (rig.alarm(), rig.alarm()):
        await rig.look(alarm, LASTS_SECONDS)
    assert [text.partition(": ")[2] for _, text in rig.told] == [
        "no message reaches me from Slack: the token was revoked."
    ]


@pytest.mark.parametrize("state", ["starting", "connecting", "unreachable: no network", "off: no scope"])
@pytest.mark.parametrize("platform", ["telegram", "slack"])
async def test_each_state_in_which_nothing_arrives_is_told_with_its_cause(rig: Rig, platform: str, state: str) -> None:
    rig.state[platform] = state
    await rig.look(rig.alarm(), LASTS_SECONDS)
    [(_, text)] = rig.told
    assert f"from {platform.capitalize()}: " in text
    assert (state.partition(": ")[2] or {"starting": "log-in", "connecting": "connection was lost"}[state]) in text


async def test_it_is_told_where_an_owner_wrote_last_in_private_and_else_where_another_did(rig: Rig) -> None:
    await rig.store.access.set_role(BOB, "owner")
    await rig.wrote(BOB, "你好", language="zh")
    await rig.wrote(ADA, "in the group", group=True)
    rig.conflicts["slack"] = 3
    await rig.look(rig.alarm(), LASTS_SECONDS)
    rig.conflicts.clear()
    rig.unreachable.add(BOB)
    rig.state["slack"], rig.state["telegram"] = "listening", "connecting"
    await rig.look(rig.alarm(), LASTS_SECONDS)

    assert [person for person, _ in rig.told] == [BOB, ADA]
    assert rig.told[0][1].startswith("⚠️ 给管理员：我收不到 Slack 的消息：another program")


async def test_without_an_owner_the_operators_list_says_who_is_told_and_the_log_has_it_in_any_case(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.store.access.set_role(ADA, None)
    rig.state["slack"] = "unreachable: no network"
    await rig.look(rig.alarm(), LASTS_SECONDS)
    assert not rig.told and caplog.text.count("no message reaches me from Slack: no network") == 1

    rig.admins = (ADA,)
    rig.state["telegram"] = "unreachable: no network"
    await rig.look(rig.alarm(), LASTS_SECONDS)
    assert [person for person, _ in rig.told] == [ADA]


CAUSES: dict[str, tuple[Callable[[Rig], object], str]] = {
    "machine": (lambda rig: setattr(rig, "late", SPAN_SECONDS / 2), "the machine is overloaded"),
    "refusals": (lambda rig: rig.metrics.refusals.add("discord", amount=4), "Discord refuses calls as too many (4 in"),
    "tool": (lambda rig: rig.metrics.tool_seconds.add("search_web", amount=100), "the tool search_web takes long"),
    "model": (lambda rig: rig.metrics.model_seconds.add("small", amount=1000), "small writes slowly"),
    "crowd": (lambda rig: None, "more answers at once than the limits of Telegram carry"),
}


@pytest.mark.parametrize("name", CAUSES)
async def test_readers_who_wait_are_told_with_the_cause(rig: Rig, name: str) -> None:
    plant, words = CAUSES[name]
    alarm = rig.alarm()
    await rig.look(alarm, LOOK_SECONDS)
    for number in range(10):
        rig.answer(8.0 if number < 3 else 0.1)
    plant(rig)
    await rig.look(alarm, LOOK_SECONDS)

    [(_, text)] = rig.told
    assert words in text


async def test_a_few_slow_answers_are_nothing_to_tell(rig: Rig) -> None:
    alarm = rig.alarm()
    for _ in range(30):
        rig.answer(0.1)
    await rig.look(alarm, LOOK_SECONDS)
    for number in range(20):
        rig.answer(8.0 if number < 3 else 0.1)
    await rig.look(alarm, LOOK_SECONDS)
    rig.clock.now += SPAN_SECONDS
    rig.answer(8.0)
    await rig.look(alarm, LOOK_SECONDS)
    assert not rig.told


async def test_a_fault_of_the_alarm_does_not_end_it(rig: Rig, clock: FakeClock) -> None:
    import asyncio

    alarm = rig.alarm()
    late = iter([ZeroDivisionError("planted")])

    def failing() -> float:
        if error := next(late, None):
            raise error
        return 0.0

    alarm.late = failing
    rig.state["slack"] = "unreachable: no network"
    watching = asyncio.create_task(alarm.watch())
    await clock.advance(LOOK_SECONDS * 8)
    watching.cancel()
    assert len(rig.told) == 1


async def test_a_missing_right_is_told_where_the_bot_may_still_write(rig: Rig) -> None:
    await rig.store.access.set_role(BOB, "owner")
    await rig.wrote(BOB)
    rig.mute.add(BOB)
    alarm = rig.alarm()
    rig.metrics.rights_missing.add("slack", "the scope chat:write is missing")
    await rig.look(alarm, SPAN_SECONDS)

    assert rig.told == [
        (ADA, "⚠️ For the operator: an answer could not be shown on Slack: the scope chat:write is missing.")
    ]


@pytest.mark.parametrize(
    ("left", "whole", "tells"),
    [(20, 512, True), (30, 512, False), (120, 64_000, True), (200, 64_000, False), (6, 100, False), (4, 100, True)],
)
async def test_memory_that_is_nearly_used_up_is_told_once_it_lasts(
    rig: Rig, left: int, whole: int, tells: bool
) -> None:
    alarm, rig.memory = rig.alarm(), (left * 2**20, whole * 2**20)
    await rig.look(alarm, LASTS_SECONDS - LOOK_SECONDS)
    assert not rig.told
    await rig.look(alarm, LASTS_SECONDS)

    assert [text for _, text in rig.told] == [
        f"⚠️ For the operator: memory is nearly used up, and the system may end me: {left:,} of {whole:,} MB are left."
    ] * tells


async def test_a_name_that_cannot_be_resolved_is_the_cause_of_what_it_keeps_away(rig: Rig) -> None:
    asked: list[str] = []

    async def unresolved(platform: str) -> str:
        asked.append(platform)
        return "slack.example"

    alarm = rig.alarm()
    alarm.unresolved = unresolved
    rig.state["slack"] = "unreachable: Slack does not answer"
    await rig.look(alarm, LASTS_SECONDS)
    rig.memory = (0, 100)
    await rig.look(alarm, LASTS_SECONDS)

    assert [text for _, text in rig.told] == [
        "⚠️ For the operator: no message reaches me from Slack: this machine cannot resolve the name slack.example "
        "(DNS).",
        "⚠️ For the operator: memory is nearly used up, and the system may end me: 0 of 0 MB are left.",
    ]
    assert asked == ["slack"]
