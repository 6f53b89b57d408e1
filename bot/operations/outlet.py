"""Mask secrets in everything an operator reads: logs, standard output and error, HTTP answers, reports.

Secrets are masked and control characters made visible, so that a line shows no key, forges no other line and controls
no terminal. `take_over` wraps the standard streams and the interpreter's hooks, so that nobody has to remember it.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Iterable
from typing import TextIO, cast
from urllib.parse import quote

from bot.safety import REMOVED, Redactor
from tools.contract.base import Json
from tools.contract.credentials import SHORTEST_SECRET, is_key_name
from tools.contract.json_values import map_texts
from tools.programs.output import MaskedStream, inert

_ACCOUNT = re.compile(r"(?<=://)[^\s/?#]+@")
_QUERY = re.compile(r"([?&])([\w.-]{1,60})=([^\s&#\"'<>]+)")

log = logging.getLogger(__name__)


class Outlet:
    """Masks secrets and neutralises control characters; secrets can be added while it is in use."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._redactor = Redactor(())
        self.mask(secrets)

    def mask(self, secrets: Iterable[str]) -> None:
        """Mask these secrets from now on, also percent-encoded in URLs."""
        more = self._secrets.union(*((secret, quote(secret, safe="")) for secret in secrets))
        if more != self._secrets:
            self._secrets, self._redactor = more, Redactor(more)

    def data(self, text: str) -> str:
        """Mask known secrets and neutralise control characters in requested data, such as a tool's result."""
        return inert(self._redactor.mask(text))

    def words(self, text: str) -> str:
        """Do the same as `data` for the program's own messages, and also remove accounts and keys from URLs."""
        return inert(_QUERY.sub(_without_key, _ACCOUNT.sub(_without_account, self._redactor.mask(text))))

    def line(self, text: str) -> str:
        """Do the same as `words`, and join the lines into one."""
        return " ".join(self.words(text).splitlines())

    def value(self, value: Json) -> Json:
        """Do the same as `line` for every string in a JSON value."""
        return map_texts(value, self.line)

    def take_over(self) -> None:
        """Mask standard output, standard error, warnings and uncaught errors until the process ends."""
        sys.stdout = cast("TextIO", MaskedStream(sys.stdout, self.data))
        sys.stderr = cast("TextIO", MaskedStream(sys.stderr, self.words))
        logging.captureWarnings(True)
        sys.excepthook = _uncaught
        sys.unraisablehook = _unraisable
        threading.excepthook = _uncaught_in_thread

    def terminal(self) -> TextIO:
        """Return a standard output that masks secrets and keeps control characters, for drawing on a terminal."""
        return cast("TextIO", MaskedStream(raw(sys.stdout), lambda text: self._redactor.mask(text)))


def raw(stream: TextIO) -> TextIO:
    """Return the stream behind a masked one, for text that is already masked."""
    return stream.raw if isinstance(stream, MaskedStream) else stream


def _without_account(found: re.Match[str]) -> str:
    account = found.group()[:-1]
    return f"{REMOVED}@" if ":" in account or len(account) >= SHORTEST_SECRET else found.group()


def _without_key(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}={REMOVED}" if is_key_name(found[2]) else found.group()


def _uncaught(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        log.critical("an error that nobody caught ends the program", exc_info=error)


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        name = args.thread.name if args.thread is not None else "a thread"
        log.error("%s was ended by an error", name, exc_info=args.exc_value)


def _unraisable(args: sys.UnraisableHookArgs) -> None:
    log.error("%s %s", args.err_msg or "an error was ignored in", type(args.object).__name__, exc_info=args.exc_value)
