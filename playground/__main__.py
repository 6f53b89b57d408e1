"""`python -m playground`: three chats in a web page, the bot as a child process, and nothing leaves this machine."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from playground.show import DEFAULT_PORT, Playground


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="python -m playground",
        description="Telegram, Slack and Discord side by side in a web page, with the real bot behind them. "
        "No account, no key, nothing leaves this machine.",
    )
    options.add_argument("--port", type=int, help=f"where the page is served ({DEFAULT_PORT}, or the next free one)")
    options.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options.add_argument("--data", type=Path, help="folder that keeps its conversations; default: a temporary one")
    return options


async def run(options: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM; a second one ends everything at once. Returns the exit code."""
    stop = asyncio.Event()
    playground = Playground(port=options.port, data=options.data)

    def ask() -> None:
        if stop.is_set():
            playground.child.abandon()
        stop.set()

    try:
        async with playground:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, ask)
            _say(f"Parley playground: {playground.url}")
            _say("A scripted model answers (no AI). Ctrl-C ends it.")
            if not options.no_browser:
                _browse(playground.url)
            await stop.wait()
            _say("Ending the bot …")
    except OSError as error:
        where = f"port {options.port}" if options.port is not None else "a port for the page"
        sys.stderr.write(
            f"playground: {where} cannot be used ({error.strerror or error}); choose another with --port\n"
        )
        return 2
    return 0


def _browse(url: str) -> None:
    """Open a browser where there is a screen; elsewhere one for terminals would take this one."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    return asyncio.run(run(parser().parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
