"""Runs a module as `python -m` would, and ends it when the process that started it is gone.

    python -m playground.leash bot run

The parent keeps the other end of our standard input. Whatever becomes of it, `kill -9` included, the pipe closes, and
the module gets the SIGTERM it knows. Imports the standard library only: what runs here is somebody else's program.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def _watch() -> None:
    # Not sys.stdin: a thread that holds its lock while the interpreter ends is a fatal error.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Hold on to the parent and become the module named by the first argument."""
    threading.Thread(target=_watch, name="leash", daemon=True).start()
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
