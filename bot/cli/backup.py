"""`parley backup` and `parley restore`: copy the whole database while the bot runs, and replace it with a copy."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bot.cli.counts import count_of
from bot.contract import BotError, SystemClock
from bot.store import Contents, back_up, examine_backup, keep_bots_away, look_at, put_back, real_path


def write_backup(database_url: str, file: str, *, overwrite: bool) -> int:
    """Run `parley backup FILE`; return the exit code.

    Raises:
        SettingsError: the database is missing or empty.
        StoreError: the backup cannot be written.
    """
    place = _place(file)
    held = back_up(real_path(database_url), place, overwrite=overwrite)
    print(f"{place} holds {_describe(held)}")  # noqa: T201
    return 0


def restore_backup(database_url: str, file: str, *, sure: bool) -> int:
    """Run `parley restore FILE`; return the exit code.

    Raises:
        SettingsError: the file is not a complete backup, or a bot is using the database.
        StoreError: the database cannot be restored now.
    """
    backup, path = _place(file), real_path(database_url)
    held = examine_backup(backup, path)
    with keep_bots_away(path):
        print(f"{backup} holds {_describe(held)}.")  # noqa: T201
        print(f"{path} {_describe_present(path)}.")  # noqa: T201
        if held.unfinished:
            questions, them = count_of(held.unfinished, "question"), "it" if held.unfinished == 1 else "them"
            print(f"{questions} had no answer yet when the backup was made; the next start answers {them}.")  # noqa: T201
        if not sure and not confirm("Replace it with the backup? The present database is kept beside it. [y/N] "):
            print("parley: nothing was restored", file=sys.stderr)  # noqa: T201
            return 1
        kept = put_back(backup, path, SystemClock())
    aside = f"; the previous database is kept as {kept}" if kept else ""
    upgraded = "; the next start upgrades it" if held.older else ""
    print(f"{path} was restored{aside}{upgraded}")  # noqa: T201
    return 0


def _place(file: str) -> Path:
    return Path(os.path.realpath(Path(file).expanduser()))


def _describe(held: Contents) -> str:
    last = f", the last of {time.strftime('%Y-%m-%d %H:%M', time.gmtime(held.last_at))} UTC" if held.last_at else ""
    chats, turns = count_of(held.chats, "chat"), count_of(held.turns, "turn")
    return f"{chats} and {turns}{last} (schema {held.schema}, {held.bytes:,} bytes)"


def _describe_present(path: Path) -> str:
    """Describe the present database, or what is in its place."""
    try:
        held = look_at(path)
    except BotError as error:
        return f"cannot be used now: {str(error).rstrip('.')}"
    return f"holds {_describe(held)}" if held else "does not exist yet or is empty"


def confirm(question: str) -> bool:
    """Ask the person at the terminal; return False if nobody can be asked."""
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False
