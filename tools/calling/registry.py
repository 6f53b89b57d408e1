"""Run tools by name: check arguments, limit time, cache results, and never raise.

Every failure becomes a result that says what happened and what to change. Only cancellation passes through.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeAlias

from tools.calling.conversion import converted
from tools.calling.descriptions import told_apart
from tools.calling.schema import check, without_unknown
from tools.contract.base import (
    Holding,
    Json,
    Proven,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSource,
    ToolSpec,
    ToolStatus,
    Unavailable,
)
from tools.contract.languages import Words, in_language
from tools.contract.newest import Newest
from tools.contract.payments import Bill
from tools.programs.cancelling import Contained, end_tasks, is_cancelled

log = logging.getLogger(__name__)

Condense: TypeAlias = Callable[[ToolCall, str], Awaitable[str | None]]
"""Shortens a long result; returns None if it cannot. Never raises."""

Specs: TypeAlias = tuple[ToolSpec, ...]

STATUS_CHARS = 60
CACHE_ENTRIES = 512
CONDENSED_FROM = 5
"""How many times longer a tool's result may be if it is condensed afterwards: tools that shorten theirs themselves
would leave nothing to condense."""
CACHE_CHARS = 20_000
"""Longer results, and those with files, are not cached: 512 of them would take too much memory."""
KINDS_OF_PERSONS = 8
"""Sets of described tools that are cached: people may use different ones."""
SWITCHED_OFF = "switched off by TOOLS_OFF"
_COLON: Words = (": ", "：", "：")
_TRY: Words = (" ({ordinal} try)", "（第 {count} 次尝试）", "（第 {count} 次嘗試）")
_MIDDLE = "\n[… {left} characters left out …]\n"


@dataclass(slots=True)
class _Kept:
    result: ToolResult
    until: float


class ToolRegistry:
    """The tools of this process."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        timeout: float = 30.0,
        result_chars: int = 8000,
        unavailable: Mapping[str, str] | None = None,
        wanted: Collection[str] = (),
        broken: Collection[str] = (),
        condense: Condense | None = None,
        off: Sequence[str] = (),
        runs: bool = True,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """
        Args:
            unavailable: the tools that are not offered, each with the reason.
            wanted: those that the operator configured.
            broken: those with a fault of their own.
            off: names and patterns (`github__*`) of tools that nobody may use.
            runs: False: other processes run tools; this one only knows its sources' keys.
        """
        self.runs = runs
        self._condense = condense
        self._off = tuple(off)
        self._tools = {tool.spec.name: tool for tool in tools if not self._is_off(tool.spec.name)}
        self._timeout = timeout
        self._result_chars = result_chars
        self._now = now
        self._sleep = sleep
        self._cache: Newest[str, _Kept] = Newest(CACHE_ENTRIES)
        self._running: dict[str, asyncio.Task[ToolResult]] = {}
        self._recent: Newest[tuple[str, str], deque[tuple[float, object]]] = Newest(4096)
        """For each chat and tool, its calls of the last minute, and the batch of each."""
        self._missing = dict(unavailable or {})
        self._wanted = set(wanted)
        self._broken = set(broken)
        self._sources: list[ToolSource] = []
        self._closed = False
        self._told: Newest[tuple[int, ...], tuple[Specs, Specs]] = Newest(KINDS_OF_PERSONS)

    @property
    def unavailable(self) -> Mapping[str, str]:
        """The tools that are not offered, each with the reason."""
        made = dict(self._missing)
        for source in self._sources:
            made |= source.unavailable
        return made | dict.fromkeys(self.switched_off, SWITCHED_OFF)

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The known tools, ours and the sources', that nobody may use."""
        return tuple(name for name in self.known if self._is_off(name)) if self._off else ()

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all tools, including those not offered."""
        listed = (spec.name for source in self._sources for spec in source.specs())
        return tuple(dict.fromkeys((*self._tools, *self._missing, *listed)))

    def _is_off(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._off)

    @property
    def faults(self) -> Mapping[str, str]:
        """The tools that the operator configured and that are not offered, each with the reason."""
        made = {name: why for name, why in self._missing.items() if name in self._wanted and not self._is_off(name)}
        for source in self._sources:
            made |= source.faults
        return made

    def held_scopes(self) -> set[str]:
        """Return the scopes with state in this process between calls."""
        return {scope for tool in self._tools.values() if isinstance(tool, Holding) for scope in tool.held_scopes()}

    @property
    def broken(self) -> Mapping[str, str]:
        """The tools that cannot be opened because of their own fault, each with the error."""
        return {name: why for name, why in self._missing.items() if name in self._broken}

    def could_bring(self, pattern: str) -> bool:
        """Return True if a source that has not brought its tools yet may bring one of this name or pattern."""
        return any(source.could_bring(pattern) for source in self._sources)

    def starting(self, permits: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the names of servers that are still starting, and whose tools may be used."""
        return tuple(
            name
            for source in self._sources
            for name in source.starting(lambda tool: permits(tool) and not self._is_off(tool))
        )

    async def wait_for(self, name: str) -> None:
        """Wait for the server of a tool while it is down, for as long as its start may take."""
        await asyncio.gather(*(source.wait_for(name) for source in self._sources))

    def add_source(self, source: ToolSource) -> None:
        """Offer the tools of `source` whenever it has them; starts it at once if an event loop runs."""
        self._sources.append(source)
        if not self.runs:
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        source.start()

    async def settle(self, seconds: float) -> None:
        """Wait until every source knows its tools, up to a limit of time since its start."""
        await asyncio.gather(*(source.settle(seconds) for source in self._sources))

    async def prove(self) -> None:
        """Try the tools that need a trial on this machine, and withdraw those that fail."""
        for name, tool in list(self._tools.items()):
            if not isinstance(tool, Proven):
                continue
            try:
                with Contained():
                    found = await tool.prove()
            except Exception as error:
                known = isinstance(error, Unavailable)
                reason = str(error) if known else f"its trial failed ({type(error).__name__})"
                log.warning("%s is not offered: %s", name, reason, exc_info=not known)
                self._missing[name] = reason
                if not isinstance(error, Unavailable) or error.wanted:
                    self._wanted.add(name)
                del self._tools[name]
                await tool.close()
            else:
                if found:
                    log.info("%s: %s", name, found)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The sources' keys, which must never be shown."""
        return tuple(secret for source in self._sources for secret in source.secrets)

    def specs(self, permits: Callable[[str], bool] | None = None) -> Specs:
        """Return the tools for models: ours in the table's order, then the sources', with duplicates distinguished.

        Args:
            permits: returns which names may be used; None: all.
        """
        ours = tuple(tool.spec for tool in self._tools.values())
        every = ours + self.foreign()
        if permits is not None:
            every = tuple(spec for spec in every if permits(spec.name))
        # The compared specs are kept with the key, so no id in it is another object's.
        key = tuple(map(id, every))
        if key not in self._told:
            self._told.put(key, (every, told_apart(every)))
        self._told.move_to_end(key)
        return self._told[key][1]

    def foreign(self) -> Specs:
        """Return the tools of the sources with their own descriptions."""
        listed = (spec for source in self._sources for spec in source.specs() if spec.name not in self._tools)
        return tuple(spec for spec in listed if not self._is_off(spec.name))

    def spec(self, name: str) -> ToolSpec | None:
        tool = self.tool(name)
        return tool.spec if tool is not None else None

    def specs_of(self, names: Iterable[str]) -> list[ToolSpec]:
        """Return the specs of the existing ones among these tools."""
        found = [self._tools.get(name) or self.tool(name) for name in names]
        return [tool.spec for tool in found if tool is not None]

    def tool(self, name: str) -> Tool | None:
        """Return the tool object; to run it, use `run`."""
        tool = self._tools.get(name)
        if tool is not None or self._is_off(name):
            return tool
        return next((found for source in self._sources if (found := source.tool(name)) is not None), None)

    def status(self, call: ToolCall, attempt: int = 1, language: str = "en") -> str:
        """The status line of a running call: `🔎 Searching the web: tea`, `🐍 Running code (2nd try): …`."""
        spec = self.spec(call.name)
        if spec is None:
            return f"🔧 {call.name}"
        subject: object = call.arguments.get(spec.subject) if spec.subject else None
        if subject is None:
            subject = next((value for value in call.arguments.values() if isinstance(value, str)), "")
        line = " ".join(str(subject).split())
        verb = in_language(spec.verb, language) or spec.name
        head = f"{spec.icon} {verb}{_try(attempt, language)}"
        if not line:
            return head
        head += in_language(_COLON, language)
        room = STATUS_CHARS - len(head)
        return head + (line if len(line) <= room else line[: max(0, room - 1)] + "…")

    def prepare(self, call: ToolCall) -> ToolCall | ToolResult:
        """Return a call as it would be made, with the arguments in the tool's types; or why it would fail."""
        spec = self.spec(call.name)
        if spec is None:
            return ToolResult.failed(f"There is no tool {call.name[:100]!r}.")
        checked = _checked(spec, call)
        return checked if isinstance(checked, ToolResult) else replace(call, arguments=checked[0])

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run a call. Every error is in the result; only cancellation is raised."""
        tool = self.tool(call.name)
        if tool is None:
            names = ", ".join(spec.name for spec in self.specs()) or "none"
            return ToolResult.failed(f"There is no tool {call.name[:100]!r}. Available tools: {names}.")
        spec = tool.spec
        checked = _checked(spec, call)
        if isinstance(checked, ToolResult):
            return checked
        arguments, unknown = checked
        while (wait := self._wait(spec, context)) > 0:
            if wait <= context.time_left() / 2:
                await self._sleep(wait)
                continue
            return ToolResult.failed(
                f"{call.name} was called too often in this chat; it may be called again in {wait:.0f} s."
            )
        started = self._now()
        seconds = spec.timeout if spec.timeout is not None else self._timeout
        note = f"(Unknown arguments were left out: {', '.join(unknown)[:200]}.)\n" if unknown else ""
        # A tool that cuts between entries leaves room for the note, which would otherwise displace part of one.
        room = max(0, self._result_chars - len(note)) * (CONDENSED_FROM if self._condense is not None else 1)
        result = await self._shared(tool, arguments, replace(context, seconds=seconds, chars=room), seconds)
        if note:
            result = replace(result, text=note + result.text)
        return replace(result, text=await self._fitted(call, result), seconds=self._now() - started)

    async def close(self) -> None:
        """Cancel running calls and release the tools' resources, once."""
        if self._closed:
            return
        self._closed = True
        await end_tasks(*self._running.values())
        await asyncio.gather(*(source.close() for source in self._sources))
        for tool in self._tools.values():
            await tool.close()

    async def _shared(
        self, tool: Tool, arguments: Mapping[str, object], context: ToolContext, seconds: float
    ) -> ToolResult:
        """Return a result from the cache, from the same call in progress, or by running the call."""
        spec = tool.spec
        if spec.cache_seconds <= 0:
            return await self._guarded(tool, arguments, context, seconds)
        # A result may be in the caller's language; it must not be served to others.
        key = f"{spec.name}/{context.language}/" + json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        kept = self._cache.get(key)
        if kept is not None and kept.until > self._now():
            self._cache.move_to_end(key)
            return replace(kept.result, status=ToolStatus.CACHED, dollars=0.0)
        task = self._running.get(key)
        own = task is None
        if task is None:
            task = self._running[key] = asyncio.create_task(
                self._guarded(tool, arguments, context, seconds), name=f"tool {spec.name}"
            )
            task.add_done_callback(lambda _: self._running.pop(key, None))
        try:
            result = await (task if own else asyncio.shield(task))
        except asyncio.CancelledError:
            if not own and task.cancelled() and not is_cancelled():
                return await self._guarded(tool, arguments, context, seconds)
            raise
        if own and result.ok and not result.files and len(result.text) <= CACHE_CHARS:
            self._cache.put(key, _Kept(result, self._now() + spec.cache_seconds))
        if own:
            return result
        return replace(result, status=ToolStatus.CACHED if result.ok else result.status, dollars=0.0)

    async def _guarded(
        self, tool: Tool, arguments: Mapping[str, object], context: ToolContext, seconds: float
    ) -> ToolResult:
        """Run a tool, turning any exception into a result with the dollars paid until then."""
        bill = Bill(tool.spec.name, context.purse)
        result = await self._caught(tool, arguments, replace(context, bill=bill), seconds)
        return replace(result, dollars=bill.dollars) if bill.dollars else result

    async def _caught(
        self, tool: Tool, arguments: Mapping[str, object], context: ToolContext, seconds: float
    ) -> ToolResult:
        name = tool.spec.name
        try:
            async with asyncio.timeout(seconds) as limit:
                with Contained():
                    result = await tool.run(arguments, context)  # type: ignore[arg-type]  # checked against the schema
                return replace(result, own_words=True) if tool.spec.own_words else result
        except TimeoutError:
            if not limit.expired():
                return ToolResult.failed(f"{name} failed: something it needs did not answer in time.")
            return ToolResult.failed(
                f"{name} did not finish within {seconds:g} s and was stopped. Ask for less, or answer without it.",
                status=ToolStatus.TIMEOUT,
            )
        except ToolError as error:
            return ToolResult.failed(str(error), retry=error.retry, own_words=tool.spec.own_words)
        except Exception as error:
            log.exception("the tool %s failed", name)
            return ToolResult.failed(
                f"{name} failed ({type(error).__name__}). Try other arguments, or answer without it."
            )

    def _wait(self, spec: ToolSpec, context: ToolContext) -> float:
        """Return the seconds until this chat may call this tool again; count the call if it may now."""
        now, key = self._now(), (context.scope, spec.name)
        times = self._recent.get(key, deque())
        self._recent.put(key, times)
        while times and times[0][0] <= now - 60.0:
            times.popleft()
        begun = context.together is not None and any(together is context.together for _, together in times)
        if len(times) >= spec.per_minute and not begun:
            return times[-spec.per_minute][0] + 60.0 - now
        times.append((now, context.together))
        return 0.0

    async def _fitted(self, call: ToolCall, result: ToolResult) -> str:
        """Shorten a result's text to the limit: condensed if that is enabled and works, else cut."""
        if self._condense is not None and result.ok and len(result.text) > self._result_chars:
            shorter = await self._condense(call, result.text)
            if shorter:
                return self._cut(f"[condensed from {len(result.text)} characters]\n{shorter}")
        return self._cut(result.text)

    def _cut(self, text: str) -> str:
        """Cut a result to the limit, including the notice; keep head and tail, since errors are at the end."""
        most = self._result_chars
        if len(text) <= most:
            return text
        room = most - len(_MIDDLE.format(left=len(text)))
        if room <= 0:
            return text[:most]
        head = room * 2 // 3
        return text[:head] + _MIDDLE.format(left=len(text) - room) + text[len(text) - (room - head) :]


def _try(attempt: int, language: str) -> str:
    """Return the number of this try after failures, as text."""
    if attempt < 2:
        return ""
    ordinal = f"{attempt}{ {2: 'nd', 3: 'rd'}.get(attempt, 'th') }"
    return in_language(_TRY, language).format(count=attempt, ordinal=ordinal)


def _checked(spec: ToolSpec, call: ToolCall) -> tuple[dict[str, Json], list[str]] | ToolResult:
    """Return the arguments in the tool's types, and the names of those left out; or why the call fails."""
    size = len(json.dumps(call.arguments, ensure_ascii=False))
    if size > spec.most_chars:
        return ToolResult.failed(
            f"{call.name} was not run: its arguments have {size:,} characters, and it takes {spec.most_chars:,}."
        )
    given = converted(spec.parameters, spec.named(call.arguments))
    arguments, unknown = without_unknown(spec.parameters, given if isinstance(given, dict) else {})
    problems = check(spec.parameters, arguments)
    if problems:
        schema = json.dumps(spec.parameters, ensure_ascii=False)
        return ToolResult.failed(f"{call.name} was not run: {'; '.join(problems)}. Its parameters: {schema[:1500]}")
    return arguments, unknown
