"""Run a tool from a shell: its result to standard output, an error to standard error.

0: done. 1: the tool failed. 2: called wrongly (unknown tool, arguments that are not a JSON object).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tools import open_registry
from tools.calling.crashes import describe_crash
from tools.calling.plugins import Plugin
from tools.calling.registry import ToolRegistry
from tools.contract.base import Arguments, ToolCall, ToolContext
from tools.contract.forms import ToolSettings
from tools.contract.json_values import read_json
from tools.contract.nearness import closest
from tools.shell.shelf import Shelf

SETTLING = 15.0
"""The time for servers to list their tools."""


def main(
    settings: Mapping[str, ToolSettings],
    name: str | None,
    arguments: str,
    *,
    data: Path | None = None,
    plugins: Sequence[Plugin] = (),
    program: str = "parley tools",
    mask: Callable[[Iterable[str]], None] | None = None,
    off: Sequence[str] = (),
) -> int:
    """Run the tool `name` with `arguments` (JSON), or list the tools; return the exit code.

    Args:
        data: the file for facts and reminders; None: they cannot be stored.
        plugins: tools of other authors.
        program: the command as the person typed it, for the examples of the list.
        mask: gets the secrets before anything is shown.
        off: names and patterns of tools that nobody may use.
    """
    try:
        shelf = Shelf(data) if data is not None else None
    except ValueError as error:
        return _wrong(str(error))
    timers = shelf.timers if shelf is not None else None
    context = ToolContext(zone=_zone(), facts=shelf, timers=timers, progress=_to_stderr)
    registry = open_registry(settings, plugins=plugins, off=off)
    if mask is not None:
        mask(registry.secrets)
    crashes, log = _Crashes(), logging.getLogger(ToolRegistry.__module__)
    log.addFilter(crashes)
    try:
        return asyncio.run(_main(registry, name, arguments, context, program, crashes))
    finally:
        log.removeFilter(crashes)


class _Crashes(logging.Filter):
    """Catches what the registry logs with a traceback: a person at a terminal gets one line instead."""

    last: BaseException | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info:
            return True
        self.last = record.exc_info[1]
        return False


async def _main(
    registry: ToolRegistry, name: str | None, arguments: str, context: ToolContext, program: str, crashes: _Crashes
) -> int:
    try:
        if name is None or registry.spec(name) is None:
            # Only now are the servers with further tools needed.
            await registry.settle(SETTLING)
        if name is None:
            await registry.prove()
            print(listing(registry, program))  # noqa: T201
            return 0
        if registry.spec(name) is None:
            return _wrong(_missing(registry, name))
        try:
            given = read_arguments(arguments)
        except ValueError as error:
            return _wrong(str(error))
        result = await registry.run(ToolCall("shell", name, given), context)
        if crashes.last is not None:
            _to_stderr(f"tools: {name} failed: {describe_crash(crashes.last)}")
            return 1
        print(result.text, file=sys.stdout if result.ok else sys.stderr)
        for file in result.files:
            print(f"File: {_kept(file.name, file.content)}")  # noqa: T201
        return 0 if result.ok else 1
    finally:
        await registry.close()


def _missing(registry: ToolRegistry, name: str) -> str:
    reason = registry.unavailable.get(name) or registry.unavailable.get(f"{name}.py")
    if reason is not None:
        return f"{name} cannot be used here: {reason}"
    names = [spec.name for spec in registry.specs()]
    near = closest(name.lower(), names, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"there is no tool {name!r}; {meant}available: {', '.join(names)}"


def read_arguments(text: str) -> Arguments:
    """Parse the arguments in `text`.

    Raises:
        ValueError: they are not a JSON object; one sentence says where.
    """
    try:
        given = read_json(text or "{}")
    except ValueError as error:
        where = (
            f" at character {error.pos + 1}: {error.msg}" if isinstance(error, json.JSONDecodeError) else f": {error}"
        )
        raise ValueError(f'the arguments are no JSON{where}; write them as {{"name": "value"}} in quotes') from error
    if not isinstance(given, dict):
        raise ValueError(f'the arguments must be a JSON object, as {{"name": "value"}}, not {text[:60]!r}')
    return given


def listing(registry: ToolRegistry, program: str = "parley tools") -> str:
    """List every tool with commands to paste into a shell, and why others are missing."""
    lines: list[str] = []
    for spec in registry.specs():
        lines.append(f"{spec.icon} {spec.name}: {spec.purpose}")
        for example in spec.examples[:2]:
            lines.append(f"    {program} {spec.name} {shlex.quote(json.dumps(example, ensure_ascii=False))}")
    for name, reason in registry.unavailable.items():
        lines.append(f"✗ {name}: not available, {reason}")
    return "\n".join(lines)


def _zone() -> str:
    """Return this machine's time zone by name, if known."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        try:
            named = str(Path("/etc/localtime").readlink()).partition("zoneinfo/")[2]
        except OSError:
            named = ""
    return named or "UTC"


def _kept(name: str, content: bytes) -> Path:
    """Write a produced file into the current folder without overwriting."""
    plain = Path(Path(name).name or "file")
    number = 0
    while True:
        number += 1
        path = plain if number == 1 else plain.with_stem(f"{plain.stem}-{number}")
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            continue
        return path


def _wrong(sentence: str) -> int:
    _to_stderr(f"tools: {sentence}")
    return 2


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201
