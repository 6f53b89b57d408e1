"""What the operator reads: a line each for people, or a JSON object each for machines; never a secret.

Every line written while a turn is worked on names its chat and its turn. Message texts are not logged. Every value of
a secret setting is replaced, in traces of exceptions too. Of other people's libraries only warnings are heard: their
request lines hold bot tokens, their debug lines what people wrote.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote

from bot.safety import Redactor

_OURS = ("bot", "adapters", "tools", "__main__")
_PLACE: ContextVar[tuple[str, int]] = ContextVar("place of a log line", default=("", 0))
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@contextmanager
def about(chat: object, turn: int = 0) -> Iterator[None]:
    """Lines logged within it, and in the tasks begun within it, name this chat and this turn."""
    token = _PLACE.set((str(chat), turn))
    try:
        yield
    finally:
        _PLACE.reset(token)


class _Place(logging.Filter):
    """Writes onto every record what it is about."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.chat, record.turn = _PLACE.get()
        return True


class _Masking(logging.Formatter):
    """Takes secrets out. What finds them is built once, not for every line."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets: frozenset[str] = frozenset()
        self._redactor = Redactor(())
        self.mask(secrets)

    def mask(self, secrets: Iterable[str]) -> None:
        """Take these out too, also as they are written in addresses."""
        more = self._secrets.union(*((secret, quote(secret, safe="")) for secret in secrets))
        if more != self._secrets:
            self._secrets, self._redactor = more, Redactor(more)

    def masked(self, text: str) -> str:
        return self._redactor.redact(text)

    def trace(self, record: logging.LogRecord) -> str:
        """The traceback of what is reported, if there is one."""
        return self.masked(self.formatException(record.exc_info)) if record.exc_info else ""


class _ForPeople(_Masking):
    def format(self, record: logging.LogRecord) -> str:
        chat, turn = getattr(record, "chat", ""), getattr(record, "turn", 0)
        place = " ".join(part for part in (chat, f"t{turn}" if turn else "") if part)
        # One line is one event, whatever a server's message holds, and no terminal takes orders from it.
        said = _CONTROLS.sub("", " ".join(record.getMessage().splitlines()))
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{at} {record.levelname:<7} {record.name}: {f'[{place}] ' if place else ''}{said}"
        trace = self.trace(record)
        return self.masked(line) + (f"\n{trace}" if trace else "")


class _ForMachines(_Masking):
    def format(self, record: logging.LogRecord) -> str:
        value: dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "where": record.name,
            "what": self.masked(record.getMessage()),
        }
        for name in ("chat", "turn", "reference"):
            if known := getattr(record, name, ""):
                value[name] = known
        if trace := self.trace(record):
            value["trace"] = trace
        return json.dumps(value, ensure_ascii=False)


def set_up(level: str, form: str, secrets: Iterable[str]) -> None:
    """Log to standard error from now on, as `console` or as `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_ForMachines(secrets) if form == "json" else _ForPeople(secrets))
    handler.addFilter(_Place())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))
    for name in _OURS:
        logging.getLogger(name).setLevel(level)


def mask(secrets: Iterable[str]) -> None:
    """Take more secrets out of every line: those that are known only once the program runs."""
    kept = tuple(secrets)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, _Masking):
            handler.formatter.mask(kept)
