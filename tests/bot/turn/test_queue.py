"""The mailboxes: in order within a chat, side by side between chats, and an end in good order."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.contract.messages import ChatId
from bot.turn.queue import Running, TurnQueue, Work
from bot.turn.run import EndReason
from tests.patience import PATIENCE

TEA = ChatId("telegram", "42", "1")
MILK = ChatId("telegram", "42", "2")


def chat(number: int) -> ChatId:
    return ChatId("telegram", "42", str(number))


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def noting(log: list[str], name: str, gate: asyncio.Event | None = None) -> Work:
    async def work(running: Running) -> None:
        log.append(f"begin {name}")
        if gate is not None:
            await gate.wait()
        log.append(f"end {name}")

    return work


async def test_turns_of_a_chat_are_made_one_after_the_other_in_order() -> None:
    queue, log = TurnQueue(), []  # type: ignore[var-annotated]
    for number in range(5):
        queue.put(TEA, number, "ada", noting(log, str(number), None))
    await queue.wait_idle()

    assert log == [line for number in range(5) for line in (f"begin {number}", f"end {number}")]


async def test_a_chat_never_waits_for_another() -> None:
    queue, gate = TurnQueue(), asyncio.Event()
    log: list[str] = []
    queue.put(TEA, 1, "ada", noting(log, "tea", gate))
    for number in range(3, 103):
        queue.put(chat(number), number, "bob", noting(log, f"{number}", None))
    await settle()

    assert log.count("begin tea") == 1 and "end tea" not in log
    assert sum(line.startswith("end") for line in log) == 100
    assert queue.busy == 1
    gate.set()
    await queue.wait_idle()
    assert queue.busy == 0


@pytest.mark.parametrize("steps", range(12))
async def test_what_arrives_while_the_worker_finishes_is_not_stranded(steps: int) -> None:
    """At whatever moment of the end it arrives."""
    queue, log = TurnQueue(), []  # type: ignore[var-annotated]
    queue.put(TEA, 1, "ada", noting(log, "one", None))
    for _ in range(steps):
        await asyncio.sleep(0)
    queue.put(TEA, 2, "ada", noting(log, "two", None))
    await queue.wait_idle()

    assert log == ["begin one", "end one", "begin two", "end two"]


async def test_a_turn_that_puts_another_behind_itself_sees_it_made() -> None:
    queue = TurnQueue()
    log: list[str] = []

    async def first(running: Running) -> None:
        queue.put(TEA, 2, "ada", noting(log, "second"))
        log.append("first")

    queue.put(TEA, 1, "ada", first)
    await queue.wait_idle()

    assert log == ["first", "begin second", "end second"]


async def test_a_turn_that_fails_is_logged_and_the_next_is_made(caplog: pytest.LogCaptureFixture) -> None:
    queue, log = TurnQueue(), []  # type: ignore[var-annotated]

    async def fail(running: Running) -> None:
        raise RuntimeError("a bug")

    queue.put(TEA, 1, "ada", fail)
    queue.put(TEA, 2, "ada", noting(log, "two", None))
    await queue.wait_idle()

    assert log == ["begin two", "end two"]
    assert "a bug" in caplog.text


async def test_stopping_ends_the_running_turn_only() -> None:
    queue, gate = TurnQueue(), asyncio.Event()
    log: list[str] = []
    queue.put(TEA, 1, "ada", noting(log, "one", gate))
    queue.put(TEA, 2, "ada", noting(log, "two"))
    await settle()
    running = queue.find_running(TEA)
    assert running is not None and (running.id, running.person) == (1, "ada")

    running.end(EndReason.STOPPED)
    await queue.wait_idle()

    assert log == ["begin one", "begin two", "end two"]
    assert running.ending is EndReason.STOPPED


async def test_the_first_reason_to_end_counts() -> None:
    queue = TurnQueue()
    ended: list[EndReason | None] = []

    async def slow_to_end(running: Running) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            ended.append(running.ending)

    queue.put(TEA, 1, "ada", slow_to_end)
    await settle()
    running = queue.find_running(TEA)
    assert running is not None
    running.end(EndReason.STOPPED)
    running.end(EndReason.SHUTDOWN)
    await queue.wait_idle()

    assert ended == [EndReason.STOPPED]


async def test_who_waits_where_is_counted_without_the_running_turn() -> None:
    queue, gate = TurnQueue(), asyncio.Event()
    for number, person in enumerate(("ada", "ada", "bob", "ada")):
        queue.put(TEA, number, person, noting([], str(number), gate))
    await settle()

    assert [queue.count_waiting(TEA, "ada"), queue.count_waiting(TEA, "bob"), queue.count_waiting(MILK, "ada")] == [
        2,
        1,
        0,
    ]
    gate.set()
    await queue.wait_idle()


async def test_nothing_is_kept_of_a_chat_that_is_quiet() -> None:
    queue = TurnQueue()
    for number in range(50):
        queue.put(chat(number), number, "ada", noting([], "x"))
    await queue.wait_idle()

    assert queue._boxes == {}


async def closed_with(grace: float) -> list[str]:
    """Close while a turn runs and one waits; what was logged."""
    queue = TurnQueue()
    log: list[str] = []

    async def work(running: Running) -> None:
        try:
            if grace:
                await asyncio.sleep(0)
            else:
                await asyncio.Event().wait()
            log.append("whole")
        except asyncio.CancelledError:
            log.append(str(running.ending))

    queue.put(TEA, 1, "ada", work)
    queue.put(TEA, 2, "ada", noting(log, "waiting"))
    for _ in range(1 if grace else 20):
        await asyncio.sleep(0)
    await queue.close(grace)
    queue.put(TEA, 3, "ada", noting(log, "late"))
    await settle()
    return log


async def test_at_the_end_a_running_turn_is_given_time_and_nothing_more_begins() -> None:
    assert await closed_with(5.0) == ["whole"]


async def test_what_arrives_at_the_end_is_left_to_the_next_start() -> None:
    queue, gate = TurnQueue(), asyncio.Event()
    log: list[str] = []
    queue.put(TEA, 1, "ada", noting(log, "one", gate))
    await settle()
    closing = asyncio.create_task(queue.close(60.0))
    await settle()
    queue.put(TEA, 2, "ada", noting(log, "two"))
    queue.put(MILK, 3, "ada", noting(log, "three"))
    gate.set()
    await closing
    await settle()

    assert log == ["begin one", "end one"] and queue.length == 0


async def test_what_has_not_begun_on_a_platform_that_is_left_never_does() -> None:
    queue, log = TurnQueue(), list[str]()
    queue.put(TEA, 1, "ada", noting(log, "one"))

    assert await queue.leave("telegram") == []
    assert log == [] and queue.find_running(TEA) is None
    queue.enter("telegram")
    queue.put(TEA, 2, "ada", noting(log, "two"))
    await queue.wait_idle()
    assert log == ["begin two", "end two"]


async def test_a_turn_that_is_handed_over_ends_at_its_next_stage_and_nothing_more_begins_in_its_place() -> None:
    queue, log, gates = TurnQueue(), list[str](), [asyncio.Event() for _ in range(2)]
    topic = replace(TEA, thread="9")

    def staged(name: str, gate: asyncio.Event) -> Work:
        async def work(running: Running) -> None:
            try:
                for stage in range(3):
                    log.append(f"{name} stage {stage}")
                    await gate.wait()
                    await running.at_stage()
            except asyncio.CancelledError:
                log.append(f"{name}: {running.ending}")
                raise

        return work

    queue.put(topic, 1, "ada", staged("one", gates[0]))
    queue.put(topic, 2, "ada", noting(log, "two"))
    queue.put(MILK, 3, "ada", staged("three", gates[1]))
    await settle()
    handing = asyncio.create_task(queue.hand_over(str(TEA), PATIENCE))
    await settle()
    assert not handing.done() and log == ["one stage 0", "three stage 0"]
    gates[0].set()
    await handing
    assert log[2:] == [f"one: {EndReason.HANDED_OVER}"] and queue.find_running(topic) is None

    gates[1].set()
    await queue.wait_idle()
    assert log[3:] == ["three stage 1", "three stage 2"]


async def test_a_turn_that_reaches_no_stage_in_time_is_handed_over_as_it_is() -> None:
    queue, ended = TurnQueue(), list[EndReason | None]()

    async def work(running: Running) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(running.ending)

    queue.put(TEA, 1, "ada", work)
    await settle()
    await queue.hand_over(str(TEA), 0.0)
    await queue.hand_over(str(MILK), PATIENCE)

    assert ended == [EndReason.HANDED_OVER] and queue.busy == 0


async def test_a_turn_that_takes_longer_is_ended_as_a_shutdown() -> None:
    assert await closed_with(0.0) == [str(EndReason.SHUTDOWN)]


async def test_a_turn_that_resists_its_end_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = TurnQueue()
    cancelled = 0

    async def stubborn(running: Running) -> None:
        nonlocal cancelled
        while cancelled < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled += 1

    queue.put(TEA, 1, "ada", stubborn)
    await settle()
    wait = asyncio.wait
    monkeypatch.setattr(asyncio, "wait", lambda tasks, timeout: wait(tasks, timeout=0.01))
    await queue.close(0.0)

    assert cancelled == 2
    assert queue.busy == 0


async def test_a_turn_whose_text_stands_holds_nobody_up_and_is_ended_with_the_rest() -> None:
    queue, gate = TurnQueue(), asyncio.Event()
    log: list[str] = []

    async def speak(running: Running) -> None:
        log.append("text")
        running.speaks()
        running.speaks()
        try:
            await gate.wait()
        finally:
            log.append(f"voice {running.ending}")

    queue.put(TEA, 1, "ada", speak)
    queue.put(TEA, 2, "ada", noting(log, "next"))
    await settle()
    assert log == ["text", "begin next", "end next"]
    assert queue.find_running(TEA) is None and queue.busy == 1
    assert (speaking := queue.find_beside(TEA)) is not None and speaking.id == 1
    assert queue.find_newest(TEA, "ada") == TEA and queue.find_beside(MILK) is None
    assert not queue.holds(TEA, 1), "its answer is complete"

    queue.put(TEA, 3, "ada", noting(log, "anew"), replaces=1)
    await queue.wait_idle()
    assert log[3:] == ["voice EndReason.REPLACED", "begin anew", "end anew"]

    for command in (False, True):
        queue.put(TEA, 4, "ada", speak)
        await settle()
        queue.put(TEA, 5, "ada", noting(log, "other"), command=command)
        await settle()
        assert (queue.find_beside(TEA) is None) is command
    assert log[-3:] == ["voice EndReason.STOPPED", "begin other", "end other"]


async def test_beside_a_job_the_next_turns_run_and_a_command_does_not_end_it() -> None:
    queue, gate, log = TurnQueue(), asyncio.Event(), list[str]()
    queue.put(TEA, 1, "ada", noting(log, "job", gate), job=True)
    assert queue.expects_job(TEA) and queue.find_job(TEA) is None
    await settle()
    queue.put(TEA, 2, "ada", noting(log, "command"), command=True)
    await settle()
    job = queue.find_job(TEA)
    assert job is not None and job.ending is None and queue.find_turn(TEA, 1) is job and queue.expects_job(TEA)
    assert log == ["begin job", "begin command", "end command"]

    queue.put(TEA, 3, "ada", noting(log, "late"), adds_to=job)
    await settle()
    assert [one.id for one in job.said] == [3] and log[3:] == []
    gate.set()
    await queue.wait_idle()
    assert log[3:] == ["end job", "begin late", "end late"]
    assert not queue.expects_job(TEA) and queue.find_turn(TEA, 1) is None


@pytest.mark.parametrize("way", ["close", "hand over", "leave"])
async def test_a_voice_ends_where_its_process_or_place_does(way: str) -> None:
    queue, ended = TurnQueue(), list[EndReason | None]()

    async def speak(running: Running) -> None:
        running.speaks()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(running.ending)

    queue.put(TEA, 1, "ada", speak)
    await settle()
    match way:
        case "close":
            await queue.close(0.0)
        case "hand over":
            await queue.hand_over(str(TEA.place), 0.0)
        case _:
            assert await queue.leave("telegram") == [1]

    assert ended == [EndReason.HANDED_OVER if way == "hand over" else EndReason.SHUTDOWN]
    assert queue.busy == 0


async def test_a_turn_that_fails_is_logged_and_the_next_begins(caplog: pytest.LogCaptureFixture) -> None:
    queue, log = TurnQueue(), list[str]()

    async def fail(running: Running) -> None:
        raise ValueError("no")

    queue.put(TEA, 1, "ada", fail)
    queue.put(TEA, 2, "ada", noting(log, "next"))
    await queue.wait_idle()

    assert log == ["begin next", "end next"] and "turn 1 failed" in caplog.text
