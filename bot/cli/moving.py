"""`parley chats move`: copies everything from one database into another, of either kind."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack

from bot.cli.counts import count_of
from bot.contract import SettingsError, SystemClock
from bot.store import Store, copy_store, explain_absence, is_server, lock_database, real_path, refuse_running

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


async def move(source: str, target: str) -> int:
    """Copy, compare, and print the next step; return the exit code. The same command continues an interrupted copy.

    Raises:
        SettingsError: an address is invalid or in use, or the target contains something else.
        StoreError: a database cannot be used now, or the copy differs from the source.
    """
    there, here = _address(source), _address(target)
    if absent := explain_absence(there):
        raise SettingsError(f"There is nothing to move from {source!r}: {absent}.")
    if _identity(there) == _identity(here):
        raise SettingsError("FROM and TO are the same database.")
    clock = SystemClock()
    with ExitStack() as locks:
        for url in (there, here):
            for command in ("run", "chat"):
                locks.enter_context(lock_database(url, command))
            if is_server(url):
                refuse_running(url)
        async with Store.open(there, clock=clock) as old, Store.open(here, clock=clock) as new:
            moved = await copy_store(old, new, _Progress())
    chats, turns, rows = count_of(moved.chats, "chat"), count_of(moved.turns, "turn"), count_of(moved.rows, "row")
    print(f"{chats} and {turns} are now in {target} ({rows}, each compared); {source} is unchanged")  # noqa: T201
    if moved.waiting:
        print(f"{count_of(moved.waiting, 'question')} without an answer yet: the next start answers")  # noqa: T201
    print("Set DATABASE_URL to the new address, and start the bot.")  # noqa: T201
    return 0


def _address(said: str) -> str:
    if not _VARIABLE.fullmatch(said):
        return said
    if not (held := os.environ.get(said, "")):
        raise SettingsError(f"The variable {said} is not set, or empty: export it, or write the address instead.")
    return held


def _identity(url: str) -> str:
    return url.strip() if is_server(url) else str(real_path(url))


class _Progress:
    """A progress bar in a terminal; elsewhere a line for each tenth."""

    def __init__(self) -> None:
        self._said = -1
        self._drawn = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        part = 100 * done // total if total else 100
        if part == self._said or (not self._drawn and part // 10 == self._said // 10):
            return
        self._said = part
        bar, start = "#" * (part // 4), "\r" if self._drawn else ""
        end = "\n" if part == 100 or not self._drawn else ""
        print(f"{start}moving [{bar:<25}] {part:3} %", end=end, file=sys.stderr, flush=True)  # noqa: T201
