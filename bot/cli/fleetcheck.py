"""Examine a PostgreSQL server for `parley doctor`, and the processes that share its database."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from bot.contract import BotError, Clock
from bot.intake import CLOCK_SECONDS, Role, find_differences, find_lack, find_other_bots
from bot.store import Process, inspect_server
from tools.contract.findings import Finding

CONNECTIONS_EACH = 11
"""Roughly how many connections a process uses."""
Result: TypeAlias = tuple[str, Finding]
"""The checked thing, and the finding."""


async def examine_server(url: str, clock: Clock, platforms: Collection[str], digests: str) -> tuple[list[Result], int]:
    """Return the findings, and the tokens of a usual question's prompt; 0: no question was answered yet."""
    try:
        found = await asyncio.to_thread(inspect_server, url, clock)
    except BotError as error:
        return [("database", Finding.bad(str(error)))], 0
    named = f"PostgreSQL {found.version}"
    if not found.schema:
        return [("database", Finding.ok(f"{named} answers; the first start makes its tables"))], 0
    results = [("database", Finding.ok(f"{named} answers, {format_size(found.bytes)}"))]
    if found.older:
        results.append(
            ("database", Finding.note("its tables are from an earlier version; the next start upgrades them"))
        )
    free = found.allowed - found.connections
    if free < CONNECTIONS_EACH:
        text = (
            f"{found.connections} of {found.allowed} connections are open; one more process needs {CONNECTIONS_EACH}: "
        )
        results.append(("database", Finding.note(text + "raise max_connections, or run fewer")))
    if abs(found.ahead) > CLOCK_SECONDS:
        results.append(("clock", Finding.bad(f"this machine's clock is {_astray(found.ahead)}")))
    results += ((f"process {process.name}", _examine_process(process)) for process in found.processes)
    results += (("processes", finding) for finding in _compare(found.processes, digests))
    return results + list_unfinished(found.unfinished, platforms), found.prompt


def _examine_process(process: Process) -> Finding:
    """Describe a process and check its clock: the rate limits are shared by the machines' clocks."""
    does = {Role.INTAKE: "only receives", Role.TURNS: "only answers"}.get(Role.of(process.role), "receives and answers")
    listens = f", listens to {process.listens}" if process.listens else ", stands by"
    said = f"{does}{listens}; version {process.version or 'unknown'}, heard {process.heard:.1f} s ago"
    # A message delayed by a busy machine looks like a slow clock.
    if abs(process.ahead) > CLOCK_SECONDS + process.heard:
        return Finding.bad(f"{said}; its clock is {_astray(process.ahead)}")
    return Finding.ok(said)


def _astray(ahead: float) -> str:
    side = "ahead of" if ahead > 0 else "behind"
    return f"{abs(ahead):.1f} s {side} the database's: all machines must agree within a second (NTP)"


def _compare(processes: Collection[Process], digests: str) -> Iterator[Finding]:
    """Yield the roles that no process has, and the settings that differ from those that the doctor reads."""
    if processes and (lack := find_lack({Role.of(process.role) for process in processes})):
        yield Finding.bad(lack)
    for sentence in find_other_bots(digests, processes):
        yield Finding.bad(sentence)
    for name, names in find_differences(digests, processes):
        yield Finding.bad(f"{name} has other settings than this folder: {', '.join(names)}")


def list_unfinished(unfinished: Mapping[str, int], platforms: Collection[str]) -> list[Result]:
    """List unfinished questions: those that the next start answers, and those that wait for a platform no longer
    configured."""
    results = []
    for platform, count in unfinished.items():
        text = f"{count} on {platform}: answered at the next start"
        wanting = Finding.note(f"{text}; {platform} must be configured again for them")
        results.append(("unfinished", Finding.ok(text) if platform in platforms else wanting))
    return results


def format_size(count: int) -> str:
    if count < 2**20:
        return f"{count / 2**10:,.0f} KiB"
    return f"{count / 2**20:,.0f} MiB" if count < 10 * 2**30 else f"{count / 2**30:,.0f} GiB"
