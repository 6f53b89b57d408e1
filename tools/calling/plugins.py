"""Tools of other authors: from installed packages (the entry points `parley.tools`) and from the files in TOOLS_DIR.

A plug-in is a module with `open_tool(settings)`, like our tools, or with a single tool: a `FunctionTool`, or one
annotated async function. Its class `Settings`, if it has one, is read like ours. A plug-in that cannot be used is left
out and named; the rest works.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tools.calling.crashes import describe_crash
from tools.calling.function import FunctionTool
from tools.contract.base import Tool
from tools.contract.forms import ToolSettings
from tools.contract.nearness import find_path_fault
from tools.programs.cancelling import Contained

GROUP: Final = "parley.tools"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names that all model servers accept."""
_WRITABLE_BY_OTHERS: Final = stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Plugin:
    """A tool of another author, or the reason why it is left out."""

    origin: str
    """Its source: `dice.py`, or `dice (package tool-dice 1.0)`."""
    open_tool: Callable[[Any], Tool] | None = None
    """As in our modules, called with an instance of `settings`."""
    settings: type[ToolSettings] | None = None
    fault: str = ""

    def open(self, settings: ToolSettings | None) -> Tool:
        """
        Raises:
            ValueError: it cannot be used; says why.
            Unavailable: a setting is missing.
        """
        if self.open_tool is None:
            raise ValueError(self.fault)
        with Contained():
            tool = self.open_tool(settings)
        if not _NAME.fullmatch(tool.spec.name):
            raise ValueError(f"{tool.spec.name[:80]!r} is no name of a tool: letters, digits, _ and -, 64 at most")
        return tool


def find_plugins(folder: str) -> tuple[Plugin, ...]:
    """Load the plug-ins of installed packages, then those of `folder` (empty: none), by name.

    Raises:
        ValueError: there is no such folder; a half sentence says what is wrong.
    """
    return (*_installed(), *(_files(Path(folder).expanduser()) if folder else ()))


def _installed() -> Iterator[Plugin]:
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda one: one.name):
        package = f" (package {entry.dist.name} {entry.dist.version})" if entry.dist is not None else ""

        def load(entry: importlib.metadata.EntryPoint = entry) -> tuple[ModuleType, Any]:
            found = entry.load()
            return sys.modules[entry.module], found

        yield _load(f"{entry.name}{package}", load)


def _files(folder: Path) -> Iterator[Plugin]:
    if fault := find_path_fault(folder, "folder"):
        raise ValueError(fault)
    try:
        paths = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    except OSError as error:
        raise ValueError(f"{folder} cannot be read: {error.strerror or type(error).__name__}") from error
    for path in paths:

        def load(path: Path = path) -> tuple[ModuleType, Any]:
            for place in (path.resolve(), folder.resolve()):
                if os.name == "posix" and place.stat().st_mode & _WRITABLE_BY_OTHERS:
                    raise ValueError(f"everybody on this machine may write to {place} (chmod o-w)")
            module = _import_file(path)
            return module, module

        yield _load(path.name, load)


def _import_file(path: Path) -> ModuleType:
    """Import a file under a name that no other module has: `tools.py` and `json.py` hide nothing."""
    name = f"parley_tools_dir.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError("Python cannot import it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load(origin: str, load: Callable[[], tuple[ModuleType, Any]]) -> Plugin:
    try:
        with Contained():
            module, found = load()
        kind = getattr(module, "Settings", None)
        if kind is not None and not (isinstance(kind, type) and issubclass(kind, ToolSettings)):
            raise ValueError("its class Settings must be a ToolSettings")
        return Plugin(origin, _opener(found), kind)
    except ValueError as error:
        return Plugin(origin, fault=str(error))
    except SystemExit:
        return Plugin(origin, fault="it ends the program while it is imported")
    except Exception as error:  # noqa: BLE001 - whatever one plug-in does, the rest works, and its name says so
        return Plugin(origin, fault=describe_crash(error))


def _opener(found: Any) -> Callable[[Any], Tool]:
    """Return the function that opens the tool of a module, a `FunctionTool` or a function."""
    if isinstance(found, ModuleType):
        opener: Callable[[Any], Tool] | None = getattr(found, "open_tool", None)
        if callable(opener):
            return opener
        tools: dict[str, object] = {name: one for name, one in vars(found).items() if isinstance(one, FunctionTool)}
        own = {name: one for name, one in vars(found).items() if inspect.isfunction(one)}
        tools = tools or {n: one for n, one in own.items() if one.__module__ == found.__name__ and n[0] != "_"}
        if len(tools) != 1:
            why = f"it has several: {', '.join([*tools][:9])}" if tools else "it has none"
            raise ValueError(f"a file must hold one tool, and {why} (names of helpers begin with _)")
        [found] = tools.values()
    if inspect.isfunction(found):
        # A bare function declares nothing: the worst is assumed.
        found = FunctionTool(found, effects=True, outside=True)
    if isinstance(found, FunctionTool):
        return lambda _: found
    raise ValueError(f"{type(found).__name__} is no tool: a module, a tool or an async function is expected")
