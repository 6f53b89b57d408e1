"""Runs a module as `python -m` would, and ends it when the process that started it is gone.

    python -m playground.leash parley_chat run

The parent keeps the other end of our standard input. Whatever becomes of it, `kill -9` included, the pipe closes, and
the module gets the SIGTERM it knows. Imports the standard library only: what runs here is somebody else's program.

With PLAYGROUND_STAYS_HOME set, the module reaches nothing outside this machine, whatever it is asked to open.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import runpy
import signal
import sys
import threading
from typing import Any


def _watch() -> None:
    # Not sys.stdin: a thread that holds its lock while the interpreter ends is a fatal error.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def stay_home() -> None:
    """From here on, connections and look-ups that lead away from this machine fail as on one without a network."""
    sys.addaudithook(_refuse)


def _refuse(event: str, given: tuple[Any, ...]) -> None:
    match event:
        case "socket.getaddrinfo" | "socket.gethostbyname":
            host = given[0]
        case "socket.connect" | "socket.sendto" | "socket.sendmsg":
            address = given[1]
            # Anything but a pair of host and port stays here by its kind: a Unix socket, a datagram answered.
            host = address[0] if isinstance(address, tuple) else None
        case _:
            return
    if not _here(host):
        raise OSError(errno.ENETUNREACH, "nothing leaves this machine from the playground")


def _here(host: Any) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name is None or name in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


def main() -> None:
    """Hold on to the parent and become the module named by the first argument."""
    if os.environ.get("PLAYGROUND_STAYS_HOME"):
        stay_home()
    threading.Thread(target=_watch, name="leash", daemon=True).start()
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
