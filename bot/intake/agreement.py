"""What processes on one database must agree on: the time, settings that affect answers, and the bot's identity."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator

from bot.contract import OtherBot, SettingsError
from bot.store import Process

CLOCK_SECONDS = 1.0
"""The most that a machine's clock may differ from the database's."""

_BOT = "bot:"
"""Prefix of the names that state a process's bot on a platform."""

log = logging.getLogger(__name__)


def digest(name: str, value: bytes) -> str:
    """Return `NAME=digest` of something that processes must agree on."""
    return f"{name}={hashlib.sha256(value).hexdigest()[:8]}"


def digest_of_bot(platform: str, identity: str) -> str:
    """Return the digest of a process's bot on a platform."""
    return digest(_BOT + platform, identity.encode())


def find_differences(own: str, processes: Iterable[Process]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each process with different settings, and the names of those settings.

    A setting that only one of two versions knows does not count as a difference.

    Args:
        own: this process's settings, as `NAME=digest` separated by spaces.
    """
    for name, differences in _compare(own, processes):
        if names := [one for one in differences if not one.startswith(_BOT)]:
            yield name, names


def find_other_bots(own: str, processes: Iterable[Process]) -> Iterator[str]:
    """Yield a sentence for each process that is another bot on some platform."""
    for name, differences in _compare(own, processes):
        if platforms := [one.removeprefix(_BOT) for one in differences if one.startswith(_BOT)]:
            yield (
                f"The process {name} answers from the same database as another bot on {', '.join(platforms)}. One "
                "database is for one bot: give each process a token of the same one, or another database."
            )


def refuse_other_bots(own: str, processes: Iterable[Process]) -> None:
    """
    Raises:
        OtherBot: another process is another bot.
    """
    for sentence in find_other_bots(own, processes):
        raise OtherBot(sentence)


def refuse_differences(own: str, processes: Iterable[Process]) -> None:
    """
    Raises:
        SettingsError: another process has other settings.
    """
    for name, names in find_differences(own, processes):
        raise SettingsError(
            f"The process {name} answers from the same database with other settings: {', '.join(names)}. Give this one "
            "the same, or start it with --new-settings to replace all processes one by one."
        )


def tell_differences(own: str, processes: Iterable[Process]) -> None:
    """Log the names of the differing settings, if they may differ."""
    for name, names in find_differences(own, processes):
        log.warning("process %s has other settings than this one: %s", name, ", ".join(names))


class ClockWatch:
    """Warns the operator once when this machine's clock differs from the database's, until it is right again."""

    def __init__(self) -> None:
        self._strays = False

    def look(self, ahead: float, took: float) -> None:
        """
        Args:
            ahead: seconds by which the clock is ahead of the database's.
            took: how long the database took to answer; the measured difference may be wrong by as much.
        """
        strays = abs(ahead) > CLOCK_SECONDS + took
        if strays and not self._strays:
            log.warning(
                "this machine's clock is %.1f s %s the database's: shared rate limits hold only while "
                "all agree within a second (NTP)",
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )
        self._strays = strays


def _compare(own: str, processes: Iterable[Process]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each process with the settings that both know and that differ."""
    mine = _digests(own)
    for process in processes:
        theirs = _digests(process.configuration)
        if names := sorted(name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]):
            yield process.name, names


def _digests(configuration: str) -> dict[str, str]:
    return {name: digest for name, _, digest in (pair.partition("=") for pair in configuration.split())}
