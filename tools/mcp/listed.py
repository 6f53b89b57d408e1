"""A tool of an MCP server, as the server announced it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as announced by its server."""

    name: str
    title: str = ""
    description: str = ""
    parameters: object = None
    read_only: bool = False
    """The server promises that it changes nothing; no promise counts as none."""
    destroys: bool = True
    """Its changes cannot be undone, unless the server promises that it only adds (`destructiveHint: false`)."""
    closed: bool = False
    """The server promises that it reaches nothing outside its own data (`openWorldHint: false`)."""
    as_task: bool = False
    """It runs only as a task, whose result is fetched later. See
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks"""
    left_out: tuple[str, ...] = ()
    """The parts that break the protocol and were left out, in a few words each."""
