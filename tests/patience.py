"""How long tests wait on a machine that others use, too. All limits in real time stand here or grow by what is here."""

from __future__ import annotations

import os

PATIENCE = 120.0
"""Seconds for what must happen: reached only by what never does. No test takes that long, whatever runs beside it."""


LATE = 15.0
"""Seconds after the limit of whatever is given it, so that the limit decides."""


def slowed(seconds: float) -> float:
    """Return how long this may take here and now, of what may take so many seconds on a quiet machine."""
    return seconds * slowness()


def slowness() -> float:
    """Return how many times longer than on a quiet machine something takes now.

    Programs that want a core, by cores, and what a process of this niceness gets beside those of the usual one: each
    level costs it a fifth of its share (sched(7)).
    """
    running = 1.0
    try:
        with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123
            running = float(file.read().split()[3].partition("/")[0])
    except OSError:  # not Linux
        pass
    waiting = max(1.0, running / (os.cpu_count() or 1), os.getloadavg()[0] / (os.cpu_count() or 1))
    return waiting * 1.25 ** max(0, os.nice(0))
