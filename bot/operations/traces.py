"""Traces of turns for a collector, by OpenTelemetry's conventions for generative AI.

A turn is a trace: its root span, a span for each pass of a model and one for each tool call. A command, and a summary
of a chat, is a trace of one span. Attributes are counts, names and times; no words of people, models or tools, and no
id of a person or chat in clear.

The libraries are those of the extra `otel`, imported only if the environment names a collector. Their batch processor
exports in its own thread and drops what the collector does not take.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import unquote

from bot.contract import (
    BY_WORD,
    AsideStep,
    BeginStep,
    CallStep,
    ChatId,
    Clock,
    EndStep,
    PassStep,
    Step,
    Usage,
    Watcher,
    reference_of,
)
from bot.operations.outlet import Outlet

log = logging.getLogger(__name__)

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The standard variables that name a collector: either one starts tracing."""
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
NAMES: Final[Mapping[str, str]] = {
    "operation": "gen_ai.operation.name",
    "agent": "gen_ai.agent.name",
    "conversation": "gen_ai.conversation.id",
    "provider": "gen_ai.provider.name",
    "asked": "gen_ai.request.model",
    "model": "gen_ai.response.model",
    "finish": "gen_ai.response.finish_reasons",
    "prompt": "gen_ai.usage.input_tokens",
    "completion": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
    "tool": "gen_ai.tool.name",
    "kind": "gen_ai.tool.type",
    "error": "error.type",
    "platform": "parley.platform",
    "command": "parley.command",
    "purpose": "parley.purpose",
    "reference": "parley.reference",
    "attempt": "parley.attempt",
    "state": "parley.state",
    "dollars": "parley.dollars",
    "pages": "parley.pages",
    "edits": "parley.edits",
    "first_words": "parley.first_words_seconds",
}
"""Ours → the attribute's. The conventions still change: only here. Those of our own begin with `parley.`."""
PROVIDERS: Final[Mapping[str, str]] = {"gemini": "gcp.gemini"}
"""Our providers that the conventions call otherwise."""
ERRORS: Final = frozenset(
    {
        *("away", "busy", "slow", "dropped", "refused", "no_money", "content_refused", "filtered", "too_long"),
        *("too_much_found", "empty", "empty_after_tools", "spent_person", "spent_workspace", "spent_all"),
        *("spent_nobody", "timeout", "cancelled", "failed", "failed_for_good", "store", "unreachable"),
    }
)
"""Every value of `error.type` but that of the conventions for all others: keys of sentences, and states of calls."""
OTHER: Final = "_OTHER"
UNKNOWN: Final = "unknown"
"""Replaces the name of a tool that does not exist."""
AGENT: Final = "parley"
CLOSE_SECONDS: Final = 1.5
"""How long the end of the program waits for the last export."""
_FINE: Final = ("completed", "cached")


@asynccontextmanager
async def open_tracing(
    clock: Clock, outlet: Outlet, environment: Mapping[str, str]
) -> AsyncIterator[Sequence[Watcher]]:
    """Yield what exports turns while the block runs, if the environment names a collector; else nothing."""
    tracing = None
    if any(environment.get(name, "").strip() for name in ENDPOINTS) and not _is_off(environment):
        outlet.mask(_keys_in(environment))
        tracing = _connect(clock, environment)
    try:
        yield () if tracing is None else (tracing.take,)
    finally:
        if tracing is not None:
            await _close(tracing)


def _is_off(environment: Mapping[str, str]) -> bool:
    exporters = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    return exporters == "none" or environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def _keys_in(environment: Mapping[str, str]) -> list[str]:
    """Return the values of the headers that the collector gets: keys."""
    pairs = (pair.partition("=") for name in _HEADERS for pair in environment.get(name, "").split(","))
    values = [value.strip() for _, _, value in pairs]
    return [key for value in values if value for key in {value, unquote(value), unquote(value).rpartition(" ")[2]}]


def _connect(clock: Clock, environment: Mapping[str, str]) -> Tracing | None:
    protocol = next((told for name in _PROTOCOLS if (told := environment.get(name, "").strip())), "http/protobuf")
    if protocol != "http/protobuf":
        log.warning("turns are not traced: only http/protobuf is supported, not the protocol %r", protocol)
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning(
            "%s is set, but turns are not traced: pip install opentelemetry-exporter-otlp-proto-http", ENDPOINTS[0]
        )
        return None
    try:
        exporter = Exporter(OTLPSpanExporter())
        tracing = Tracing(BatchSpanProcessor(exporter), clock, exporter)
    except (ValueError, OSError) as error:
        log.warning("turns are not traced: a setting of OpenTelemetry cannot be used (%s)", type(error).__name__)
        return None
    # It logs every failed try, which `Exporter` does once.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    log.info("turns are traced")
    return tracing


async def _close(tracing: Tracing) -> None:
    """Export what is left, if the collector takes it in time: a thread that hangs is left to the end of the process."""
    closing = threading.Thread(target=tracing.provider.shutdown, name="end of tracing", daemon=True)
    closing.start()
    await asyncio.to_thread(closing.join, CLOSE_SECONDS)
    if closing.is_alive() and tracing.exporter is not None:
        tracing.exporter.given_up = True
        log.warning("the last traces are lost: the collector does not answer")


class Exporter:
    """Exports spans by another exporter, and logs the first of several failures in a row."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self._failing = False
        self.given_up = False
        """Nobody waits for it any more, and nothing is logged."""

    def export(self, spans: Any) -> Any:
        from opentelemetry.sdk.trace.export import SpanExportResult

        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001  # these spans are lost, whatever it is
            result = SpanExportResult.FAILURE
        if self.given_up:
            return result
        failing = result is not SpanExportResult.SUCCESS
        if failing and not self._failing:
            log.warning("traces are dropped: the collector does not take them")
        elif self._failing and not failing:
            log.info("the collector takes traces again")
        self._failing = failing
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))


class _Turn:
    """The root span of a turn under way."""

    def __init__(self, span: Any, within: Any, offset: float, shared: Mapping[str, Any]) -> None:
        self.span = span
        self.within = within
        self.offset = offset
        """From monotonic to wall-clock time: one for the whole turn, so that its spans stay in order."""
        self.shared = shared
        """Attributes of all its spans."""


class Tracing:
    """Makes spans of the steps of turns; one object for the process."""

    def __init__(self, processor: Any, clock: Clock, exporter: Exporter | None = None) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        resource = Resource.create()
        if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": AGENT}))
        # Not the global provider: libraries that trace themselves would send words.
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(processor)
        self._tracer = self.provider.get_tracer(AGENT)
        self._client, self._internal = SpanKind.CLIENT, SpanKind.INTERNAL
        self._error = Status(StatusCode.ERROR)
        self._in = set_span_in_context
        self.exporter = exporter
        self._clock = clock
        self._key = secrets.token_bytes(16)
        self._turns: dict[int, _Turn] = {}
        self._failed = False

    def take(self, step: Step) -> None:
        """Make what a step adds to its turn's trace; a `Watcher`."""
        try:
            self._take(step)
        except Exception:
            # No turn fails because it cannot be traced.
            if not self._failed:
                log.exception("a turn cannot be traced; the next failure is not logged")
            self._failed = True

    def _take(self, step: Step) -> None:
        if isinstance(step, BeginStep):
            self._begin(step)
        elif isinstance(step, AsideStep):
            self._add_aside(step)
        elif (turn := self._turns.get(step.turn)) is not None:
            match step:
                case PassStep():
                    self._add_pass(turn, step)
                case CallStep():
                    self._add_call(turn, step)
                case EndStep():
                    del self._turns[step.turn]
                    self._end(turn, step)

    def _hide(self, chat: ChatId) -> str:
        """Return the name of a chat in the traces of this process."""
        return hashlib.blake2b(str(chat).encode(), key=self._key, digest_size=8).hexdigest()

    def _add_aside(self, step: AsideStep) -> None:
        """Add a trace of one span."""
        from opentelemetry.context import Context

        told: dict[str, Any] = {"platform": step.chat.platform, "conversation": self._hide(step.chat)}
        if step.model:
            provider, _, asked = step.model.partition(":")
            told |= {"operation": "chat", "provider": PROVIDERS.get(provider, provider), "asked": asked}
            told |= {"purpose": "summary", **_counts(step.usage)}
        else:
            told["command"] = step.command if step.command in BY_WORD else UNKNOWN
        offset = self._clock.wall() - self._clock.monotonic()
        span = self._tracer.start_span(
            f"chat {told['asked']}" if step.model else f"command {told['command']}",
            context=Context(),
            kind=self._client if step.model else self._internal,
            attributes=_named(told),
            start_time=_nanoseconds(step.began + offset),
        )
        self._finish(span, step.error, step.at + offset)

    def _begin(self, step: BeginStep) -> None:
        from opentelemetry.context import Context

        shared = {"conversation": self._hide(step.chat)}
        told = {
            "operation": "invoke_agent",
            "agent": AGENT,
            "platform": step.chat.platform,
            "reference": reference_of(step.turn),
            "attempt": step.attempt,
            **shared,
        }
        offset, nothing = self._clock.wall() - self._clock.monotonic(), Context()
        span = self._tracer.start_span(
            f"invoke_agent {AGENT}",
            context=nothing,
            kind=self._internal,
            attributes=_named(told),
            start_time=_nanoseconds(step.came_at + offset),
        )
        self._turns[step.turn] = _Turn(span, self._in(span, nothing), offset, shared)

    def _add_pass(self, turn: _Turn, step: PassStep) -> None:
        provider, _, asked = step.asked.partition(":")
        told: dict[str, Any] = {"operation": "chat", "provider": PROVIDERS.get(provider, provider), "asked": asked}
        if step.model:
            told |= {"model": step.model.partition(":")[2], "finish": (step.finish,), **_counts(step.usage)}
            if not step.usage.reasoning:
                del told["reasoning"]
        turn.span.set_attributes(_named({"provider": told["provider"], "asked": asked}))
        self._add(turn, f"chat {asked}", self._client, told, step.error, step.began, step.at)

    def _add_call(self, turn: _Turn, step: CallStep) -> None:
        tool, error = step.tool or UNKNOWN, "" if step.status in _FINE else step.status
        told = {"operation": "execute_tool", "tool": tool, "kind": "function"}
        self._add(turn, f"execute_tool {tool}", self._internal, told, error, step.began, step.at)

    def _end(self, turn: _Turn, step: EndStep) -> None:
        told = {"state": step.state or "left", "dollars": step.dollars, "pages": step.pages, "edits": step.edits}
        if step.first_words is not None:
            told["first_words"] = step.first_words
        turn.span.set_attributes(_named({**told, **_counts(step.usage)}))
        self._finish(turn.span, step.error, step.at + turn.offset)

    def _add(
        self, turn: _Turn, name: str, kind: Any, told: Mapping[str, Any], error: str, began: float, ended: float
    ) -> None:
        attributes, start = _named({**told, **turn.shared}), _nanoseconds(began + turn.offset)
        span = self._tracer.start_span(name, context=turn.within, kind=kind, attributes=attributes, start_time=start)
        self._finish(span, error, ended + turn.offset)

    def _finish(self, span: Any, error: str, at: float) -> None:
        if error:
            span.set_attribute(NAMES["error"], error if error in ERRORS else OTHER)
            span.set_status(self._error)
        span.end(_nanoseconds(at))


def _counts(usage: Usage) -> dict[str, int]:
    return {
        "prompt": usage.prompt,
        "completion": usage.completion,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    }


def _named(told: Mapping[str, Any]) -> dict[str, Any]:
    return {NAMES[name]: value for name, value in told.items()}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
