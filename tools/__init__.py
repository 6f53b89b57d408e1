"""The tools: a call by name → a result. Knows no chat and imports nothing of the rest.

`TOOLS` is the list: name → module. Each module has `open_tool(settings) -> Tool`, with `settings` of the class that
`tools.settings.SETTINGS` names (None for a tool without), and raises `Unavailable` when it cannot be offered. One that
raises anything else, imported or opened, is not offered either: that is its own fault, and named with the error.
Modules import what is heavy only when they run. This one imports none of ours before: programs that read in a sandbox
import it, and have no other there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.calling.plugins import Plugin
    from tools.calling.registry import Condense, ToolRegistry
    from tools.contract.base import Tool
    from tools.contract.forms import ToolSettings

TOOLS: dict[str, str] = {
    "search_web": "tools.search_web",
    "read_page": "tools.read_page",
    "read_file": "tools.read_file",
    "run_python": "tools.run_python",
    "query_database": "tools.query_database",
    "remind_me": "tools.remind_me",
    "generate_image": "tools.generate_image",
    "remember": "tools.remember",
    "recall": "tools.recall",
    "forget": "tools.forget",
    "search_papers": "tools.search_papers",
    "get_weather": "tools.get_weather",
    "wikipedia": "tools.wikipedia",
    "token_price": "tools.token_price",
    "calculator": "tools.calculator",
    "current_time": "tools.current_time",
    "plan": "tools.plan",
}


def open_registry(
    settings: Mapping[str, ToolSettings],
    *,
    plugins: Sequence[Plugin] = (),
    timeout: float = 30.0,
    result_chars: int = 8000,
    condense: Condense | None = None,
    off: Sequence[str] = (),
    runs: bool = True,
) -> ToolRegistry:
    """Open every tool that works with these settings; the registry knows why the others do not.

    Args:
        settings: by the name of a tool, or the origin of a plug-in.
        plugins: tools of other authors, which come after ours.
        off: names and patterns of tools that nobody may use.
        runs: False: no tool is opened and no server started, as others run them; the registry knows the keys of
            servers, which must not be shown here either.

    Tools of MCP servers come later: the servers are started in the background, where an event loop runs.
    """
    from tools.calling.registry import ToolRegistry
    from tools.settings import McpSettings

    found, missing, wanted, broken = _open(settings, plugins, off) if runs else ([], {}, set(), set())
    registry = ToolRegistry(
        found,
        timeout=timeout,
        result_chars=result_chars,
        unavailable=missing,
        wanted=wanted,
        broken=broken,
        condense=condense,
        off=off,
        runs=runs,
    )
    mcp = settings.get("mcp")
    if isinstance(mcp, McpSettings):
        from tools.mcp.source import open_source

        if (source := open_source(mcp.mcp_config)) is not None:
            registry.add_source(source)
    return registry


def _open(
    settings: Mapping[str, ToolSettings], plugins: Sequence[Plugin], off: Sequence[str]
) -> tuple[list[Tool], dict[str, str], set[str], set[str]]:
    """Return the tools that can be used; of the others, by name, the reasons, which of them are configured, and which
    are broken."""
    from tools.calling.crashes import describe_crash
    from tools.calling.registry import SWITCHED_OFF
    from tools.contract.base import Unavailable
    from tools.programs.cancelling import Contained

    found: dict[str, Tool] = {}
    missing, wanted, broken = dict[str, str](), set[str](), set[str]()
    opening: dict[str, Callable[[ToolSettings | None], Tool]] = {name: partial(_open_own, name) for name in TOOLS}
    opening |= {plugin.origin: plugin.open for plugin in plugins}
    for origin, open_tool in opening.items():
        if any(fnmatchcase(origin, pattern) for pattern in off):
            missing[origin] = SWITCHED_OFF
            continue
        try:
            with Contained():
                tool = open_tool(settings.get(origin))
            if tool.spec.name in found or (tool.spec.name in TOOLS and origin not in TOOLS):
                raise ValueError(f"another tool has its name, {tool.spec.name!r}")
            found[tool.spec.name] = tool
        except Unavailable as reason:
            missing[origin] = str(reason)
            if reason.wanted:
                wanted.add(origin)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever one tool does, the others work, and its name says so
            why = str(error) if type(error) is ValueError else describe_crash(error)
            missing[origin] = f"it cannot be opened: {why}"
            broken.add(origin)
    return list(found.values()), missing, wanted, broken


def _open_own(name: str, settings: ToolSettings | None) -> Tool:
    tool: Tool = importlib.import_module(TOOLS[name]).open_tool(settings)
    if tool.spec.name != name:
        raise ValueError(f"the tool in {TOOLS[name]} has another name, {tool.spec.name!r}")
    return tool
