"""What a collector gets of turns, by the library's own exporter in memory; and that tracing disturbs nobody."""

from __future__ import annotations

import ast
import asyncio
import importlib
import logging
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.agent import modelpass
from bot.contract import (
    AsideStep,
    BeginStep,
    CallStep,
    ChatId,
    EndStep,
    PassStep,
    Step,
    StoreError,
    SystemClock,
    Usage,
    reference_of,
    tell_aside,
)
from bot.operations import Outlet, open_tracing
from bot.operations.traces import CLOSE_SECONDS, ENDPOINTS, ERRORS, NAMES, OTHER, PROVIDERS, Exporter, Tracing
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.conftest import FakeClock, RawJson, RawObject
from tests.patience import PATIENCE, slowed
from tools.contract.base import ToolStatus

needs = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter", reason="needs parley-chat[otel]")

CHAT = ChatId("telegram", "42", "7")
ROOT = Path(__file__).parent.parent.parent.parent


class Collected:
    """Traces of this process, kept in memory."""

    def __init__(self, clock: RawJson = None) -> None:
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._memory = InMemorySpanExporter()
        self.tracing = Tracing(SimpleSpanProcessor(self._memory), clock or SystemClock())

    @property
    def spans(self) -> Sequence[RawJson]:
        """All ended spans: a root comes after its children."""
        return list(self._memory.get_finished_spans())

    def named(self, name: str) -> RawJson:
        [span] = [span for span in self.spans if span.name == name]
        return span

    @property
    def tree(self) -> list[tuple[str, list[str]]]:
        """Each root with its children, in the order of their beginnings."""
        ordered = sorted(self.spans, key=lambda span: span.start_time)
        return [
            (root.name, [one.name for one in ordered if one.parent and one.parent.span_id == root.context.span_id])
            for root in ordered
            if root.parent is None
        ]


def test_the_steps_of_a_turn_become_a_trace_with_their_times_and_counts(clock: FakeClock) -> None:
    got = Collected(clock)
    usage = Usage(120, 9, 100, 4)
    for step in (
        BeginStep(turn=5, chat=CHAT, attempt=1, came_at=1_000.0, at=1_001.0),
        PassStep(
            turn=5, asked="gemini:flash", model="openai:mini", usage=usage, finish="stop", began=1_002.0, at=1_004.5
        ),
        CallStep(turn=5, tool="search_web", status="completed", began=1_004.5, at=1_005.0),
        CallStep(turn=5, tool="", status="timeout", began=1_004.5, at=1_006.0),
        PassStep(turn=5, asked="openai:mini", error="busy", began=1_006.0, at=1_007.0),
        EndStep(
            turn=5,
            state="failed",
            error="busy",
            usage=usage,
            dollars=0.25,
            pages=2,
            edits=7,
            first_words=3.0,
            at=1_008.0,
        ),
    ):
        got.tracing.take(step)

    assert got.tree == [
        ("invoke_agent parley", ["chat flash", "execute_tool search_web", "execute_tool unknown", "chat mini"])
    ]
    assert len({span.context.trace_id for span in got.spans}) == 1
    root, first, lost, failed = (
        got.named(name) for name in ("invoke_agent parley", "chat flash", "execute_tool unknown", "chat mini")
    )
    seconds = {
        span.name: (span.start_time / 1e9 - clock.started, span.end_time / 1e9 - clock.started) for span in got.spans
    }
    assert seconds["invoke_agent parley"] == pytest.approx((0.0, 8.0), abs=1e-3)
    assert seconds["chat flash"] == pytest.approx((2.0, 4.5), abs=1e-3)
    assert seconds["execute_tool unknown"] == pytest.approx((4.5, 6.0), abs=1e-3)
    hidden = root.attributes["gen_ai.conversation.id"]
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "flash",
        "gen_ai.response.model": "mini",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.reasoning.output_tokens": 4,
        "gen_ai.conversation.id": hidden,
    }
    assert (first.kind.name, first.status.status_code.name) == ("CLIENT", "UNSET")
    assert (lost.attributes["gen_ai.tool.name"], lost.attributes["error.type"]) == ("unknown", "timeout")
    assert (failed.attributes["error.type"], failed.status.status_code.name) == ("busy", "ERROR")
    assert root.attributes["parley.reference"] == reference_of(5) and root.attributes["error.type"] == "busy"
    told = ("parley.platform", "parley.attempt", "parley.state", "parley.dollars", "parley.pages", "parley.edits")
    assert [root.attributes[name] for name in told] == ["telegram", 1, "failed", 0.25, 2, 7]
    assert root.attributes["parley.first_words_seconds"] == 3.0
    assert root.resource.attributes["service.name"] == "parley"


def test_tries_and_chats_are_traces_of_their_own_and_what_was_not_begun_is_left_out(clock: FakeClock) -> None:
    got = Collected(clock)
    for turn, chat in ((1, CHAT), (2, CHAT), (3, ChatId("slack", "T1", "C1"))):
        got.tracing.take(BeginStep(turn=turn, chat=chat, attempt=1, came_at=1_000.0, at=1_000.0))
    for turn in (3, 1, 2, 2, 9):
        got.tracing.take(CallStep(turn=turn, tool="calculator", status="cached", began=1_000.0, at=1_001.0))
        got.tracing.take(EndStep(turn=turn, state="", error="store", at=1_002.0))

    roots = [span for span in got.spans if span.parent is None]
    assert len({root.context.trace_id for root in roots}) == len(roots) == 3
    chats = [root.attributes["gen_ai.conversation.id"] for root in roots]
    assert chats[1] == chats[2] != chats[0] and "T1" not in str(chats)
    assert {root.attributes["parley.state"] for root in roots} == {"left"}


async def test_a_turn_holds_no_words_of_anybody_and_no_name_that_a_model_made_up(
    rig: OpenRig, caplog: pytest.LogCaptureFixture
) -> None:
    words = "marzipan"
    async with rig(TOOL_MODE="native") as it:
        got = Collected()
        it.bot.conversation.watchers = (got.tracing.take,)
        it.model.reply(
            Reply(calls=((f"open_{words}", {"what": words}), ("calculator", {"expression": "6*7"})), reasoning=words),
            Reply(f"It is {words}."),
        )
        await it.say(f"please work out what {words} is")

    [(_, children)] = got.tree
    assert sorted(children) == ["chat scripted", "chat scripted", "execute_tool calculator", "execute_tool unknown"]
    assert words not in "".join(span.to_json() for span in got.spans)
    assert "Ada" not in "".join(span.to_json() for span in got.spans)
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_commands_and_summaries_are_traces_of_one_span(clock: FakeClock) -> None:
    got = Collected(clock)
    for step in (
        AsideStep(chat=CHAT, command="tools", began=1_000.0, at=1_000.5),
        AsideStep(chat=CHAT, command="marzipan", error="store", began=1_001.0, at=1_002.0),
        AsideStep(chat=CHAT, model="gemini:flash", usage=Usage(120, 9), began=1_003.0, at=1_004.0),
    ):
        got.tracing.take(step)

    assert got.tree == [("command tools", []), ("command unknown", []), ("chat flash", [])]
    done, failed, summary = got.spans
    assert (done.end_time - done.start_time) / 1e9 == pytest.approx(0.5)
    hidden = done.attributes["gen_ai.conversation.id"]
    assert dict(failed.attributes) == {
        "parley.platform": "telegram",
        "gen_ai.conversation.id": hidden,
        "parley.command": "unknown",
        "error.type": "store",
    }
    assert (failed.status.status_code.name, summary.status.status_code.name) == ("ERROR", "UNSET")
    assert (summary.attributes["gen_ai.provider.name"], summary.attributes["parley.purpose"]) == (
        "gcp.gemini",
        "summary",
    )
    assert summary.attributes["gen_ai.usage.input_tokens"] == 120
    assert (done.kind.name, summary.kind.name) == ("INTERNAL", "CLIENT")


async def test_each_command_and_each_summary_is_traced_once(rig: OpenRig) -> None:
    async with rig(SUMMARY_AT="500") as it:
        got = Collected()
        object.__setattr__(it.bot.dispatcher.actions, "watchers", (got.tracing.take,))
        it.bot.summaries.watchers = it.bot.conversation.watchers = (got.tracing.take,)
        it.model.script = lambda _: Reply("Tea is a leaf. " * 60)
        await it.say("", command="tools")
        for number in range(4):
            await it.say(f"what is tea, number {number}?")
        await it.bot.summaries.wait_idle()
        await it.say("", command="retry")
        await it.bot.summaries.wait_idle()
        await it.say("", command="new")

    roots = [name for name, _ in got.tree]
    assert roots.count("invoke_agent parley") == 5
    assert (roots.count("command tools"), roots.count("command new")) == (1, 1)
    assert "chat scripted" in roots and len(set(roots)) == 4
    assert not [span for span in got.spans if "error.type" in span.attributes]


async def test_what_ends_a_command_is_its_error(clock: FakeClock) -> None:
    told: list[AsideStep] = []

    def note(step: Step) -> None:
        assert isinstance(step, AsideStep)
        told.append(step)

    for error in (StoreError("full"), asyncio.CancelledError(), ValueError()):
        with pytest.raises(type(error)), tell_aside([note], clock, CHAT, command="new"):
            raise error

    assert [step.error for step in told] == ["store", "cancelled", "failed"]
    assert {step.error for step in told} <= ERRORS


@pytest.mark.parametrize(
    ("replies", "error", "spans"),
    [
        ([Reply(status=401)] * 4, "refused", ["chat scripted"]),
        ([Reply("")] * 4, "empty", ["chat scripted"]),
    ],
)
async def test_a_turn_that_fails_says_why_by_our_own_word(
    rig: OpenRig, replies: list[Reply], error: str, spans: list[str]
) -> None:
    async with rig() as it:
        got = Collected()
        it.bot.conversation.watchers = (got.tracing.take,)
        it.model.reply(*replies)
        await it.say("hello")

    [(_, children)] = got.tree
    root = got.named("invoke_agent parley")
    assert (root.attributes["parley.state"], root.attributes["error.type"]) == ("failed", error)
    assert children[:1] == spans and root.attributes["gen_ai.request.model"] == "scripted"


async def test_a_try_that_the_store_ends_is_a_trace_of_its_own(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    from bot.contract import StoreError
    from bot.store.turns import Turns

    async with rig() as it:
        got, close, fails = Collected(), Turns.close, iter([True])
        it.bot.conversation.watchers = (got.tracing.take,)

        async def failing(turns: Turns, *args: RawJson, **more: RawJson) -> list[int]:
            if next(fails, False):
                raise StoreError("planted")
            return await close(turns, *args, **more)

        monkeypatch.setattr(Turns, "close", failing)
        it.model.reply(Reply("Fine."))
        await it.say("hello")

    roots = [span for span in got.spans if span.parent is None]
    assert [(one.attributes["parley.state"], one.attributes.get("error.type")) for one in roots] == [
        ("left", "store"),
        ("done", None),
    ]
    assert roots[0].attributes["parley.reference"] == roots[1].attributes["parley.reference"]


def test_every_name_of_the_conventions_is_one_that_the_library_knows() -> None:
    known = set()
    for module in ("gen_ai_attributes", "error_attributes"):
        attributes = importlib.import_module(f"opentelemetry.semconv._incubating.attributes.{module}")
        known |= {value for value in vars(attributes).values() if isinstance(value, str)}
    values = importlib.import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    providers = {one.value for one in values.GenAiProviderNameValues}
    operations = {one.value for one in values.GenAiOperationNameValues}

    assert {name for name in NAMES.values() if not name.startswith("parley.")} <= known
    assert set(PROVIDERS.values()) <= providers and {"chat", "execute_tool", "invoke_agent"} <= operations


def test_every_reason_for_which_a_turn_fails_is_in_the_table_of_errors(clock: FakeClock) -> None:
    told = {str(key) for _, key in modelpass._SENTENCES} | {ToolStatus.FAILED, ToolStatus.TIMEOUT, ToolStatus.CANCELLED}
    told |= {f"spent_{whose}" for whose in ("person", "workspace", "all", "nobody")}
    for path in (*(ROOT / "bot/agent").glob("*.py"), *(ROOT / "bot/turn").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Failed":
                told |= {str(one.value) for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)} - {"spent_"}
    got = Collected(clock)
    got.tracing.take(BeginStep(turn=1, chat=CHAT, attempt=1, came_at=1_000.0, at=1_000.0))
    got.tracing.take(EndStep(turn=1, state="failed", error="what nobody listed", at=1_001.0))

    assert len(told) > 12 and told <= ERRORS
    assert got.named("invoke_agent parley").attributes["error.type"] == OTHER


def test_no_turn_fails_because_it_cannot_be_traced(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    got = Collected(clock)
    given: RawJson = {"turn": 1, "chat": None, "attempt": 1, "came_at": 1_000.0, "at": 1_000.0}
    for _ in range(3):
        got.tracing.take(BeginStep(**given))

    assert [record.getMessage() for record in caplog.records] == [
        "a turn cannot be traced; the next failure is not logged"
    ]


class Refusing:
    """A library's exporter to which nobody listens, for a while."""

    def __init__(self, *results: RawJson) -> None:
        self.results = list(results)

    def export(self, spans: RawJson) -> RawJson:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def test_a_collector_that_takes_nothing_is_logged_once_and_so_is_that_it_takes_traces_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from opentelemetry.sdk.trace.export import SpanExportResult

    caplog.set_level(logging.INFO)
    bad, good = SpanExportResult.FAILURE, SpanExportResult.SUCCESS
    exporter = Exporter(Refusing(good, bad, OSError("planted"), bad, good, bad))
    for _ in range(6):
        exporter.export(())

    assert [record.getMessage() for record in caplog.records] == [
        "traces are dropped: the collector does not take them",
        "the collector takes traces again",
        "traces are dropped: the collector does not take them",
    ]


def step_through(watchers: Sequence[RawJson], turns: int = 1) -> None:
    """Tell of so many turns."""
    for watch in watchers:
        for turn in range(turns):
            watch(BeginStep(turn=turn, chat=CHAT, attempt=1, came_at=1_000.0, at=1_000.0))
            watch(EndStep(turn=turn, state="done", at=1_001.0))


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[RawObject]:
    """The environment that `open_tracing` and the library see, without a proxy; in the end, no thread still exports:
    it would call into the next test."""
    before = set(threading.enumerate())
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    yield {"set": monkeypatch.setenv}
    for thread in set(threading.enumerate()) - before:
        if "race" in thread.name or "Otel" in thread.name:
            thread.join(PATIENCE)
            assert not thread.is_alive(), thread.name


@pytest.mark.parametrize("kind", ["silent", "closed"])
async def test_a_collector_that_hangs_or_refuses_holds_nobody_up(
    kind: str, surroundings: RawObject, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if kind == "silent":
            silent.listen()
        environment = {ENDPOINTS[0]: f"http://127.0.0.1:{silent.getsockname()[1]}"}
        surroundings["set"](ENDPOINTS[0], environment[ENDPOINTS[0]])
        async with open_tracing(SystemClock(), Outlet(), environment) as watchers:
            assert watchers
            began = time.monotonic()
            step_through(watchers, 5_000)  # more than its queue holds
            told = time.monotonic()
        closed = time.monotonic()

    # A thousandth of a second a turn is a hundred times what it takes.
    assert told - began < 5.0
    assert closed - told < CLOSE_SECONDS + slowed(0.5)
    lines = [record.getMessage() for record in caplog.records]
    assert set(lines) <= {
        "traces are dropped: the collector does not take them",
        "the last traces are lost: the collector does not answer",
    }


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({}, ""),
        ({ENDPOINTS[0]: " "}, ""),
        ({ENDPOINTS[0]: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"}, ""),
        ({ENDPOINTS[1]: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "TRUE"}, ""),
        (
            {ENDPOINTS[0]: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "turns are not traced: only http/protobuf is supported, not the protocol 'grpc'",
        ),
        (
            {ENDPOINTS[1]: "http://127.0.0.1:9"},
            f"{ENDPOINTS[0]} is set, but turns are not traced: pip install opentelemetry-exporter-otlp-proto-http",
        ),
    ],
)
async def test_nothing_is_traced_or_loaded_where_nobody_named_a_collector_or_the_extra_is_missing(
    environment: dict[str, str], line: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in list(sys.modules):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            monkeypatch.setitem(sys.modules, name, None)

    async with open_tracing(SystemClock(), Outlet(), environment) as watchers:
        assert watchers == ()

    assert [record.getMessage() for record in caplog.records] == ([line] if line else [])


async def test_a_setting_that_the_library_refuses_is_named_and_the_program_starts(
    surroundings: RawObject, caplog: pytest.LogCaptureFixture
) -> None:
    surroundings["set"]("OTEL_BSP_MAX_QUEUE_SIZE", "1")
    surroundings["set"]("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512")
    async with open_tracing(SystemClock(), Outlet(), {ENDPOINTS[0]: "http://127.0.0.1:9"}) as watchers:
        assert watchers == ()

    assert "turns are not traced: a setting of OpenTelemetry cannot be used (ValueError)" in caplog.text


async def test_keys_for_the_collector_are_masked_in_what_an_operator_reads() -> None:
    outlet = Outlet()
    environment = {
        ENDPOINTS[0]: "http://127.0.0.1:9",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hunter2-hunter2-hunter2,x-key=abcdef0123456789",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "none of ours",
    }
    async with open_tracing(SystemClock(), outlet, environment):
        said = outlet.line("Bearer hunter2-hunter2-hunter2 and hunter2-hunter2-hunter2 and abcdef0123456789")

    await asyncio.sleep(0)
    assert "hunter2" not in said and "abcdef" not in said
