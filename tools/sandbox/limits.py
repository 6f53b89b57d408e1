"""Resource limits of a cell."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one sandbox. Sizes are bytes, times seconds."""

    wall: float = 15.0
    """From the start of a cell to its end."""
    cpu: float = 10.0
    """Processor time of a cell, all its processes together."""
    memory: int = 512 * MIB
    """Address space of one process, and the memory of all processes and files of a sandbox together."""
    file: int = 16 * MIB
    """The largest file."""
    disk: int = 64 * MIB
    """All files of the current folder together; `/tmp` has as much again."""
    entries: int = 20_000
    """Files and folders; each takes kernel memory however small it is."""
    processes: int = 64
    descriptors: int = 128
    output: int = 64 * KIB
    """What a cell may print."""
    value: int = 20_000
    """Characters of the last expression's value and of an error."""
    grace: float = 0.5
    """After `wall` the cell is interrupted and its variables are kept; this much later the sandbox is killed."""
    files: int = 8
    """Files of one cell that are sent to the chat."""
    file_sent: int = 8 * MIB
    """The largest file that is sent to the chat."""
    files_sent: int = 16 * MIB
    """All files of one cell together."""
