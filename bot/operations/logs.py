"""Log records as lines for people or as JSON objects for machines, without secrets.

Every line about a turn names its chat, its turn and the turn's reference. Messages of people and models are not logged;
arguments and results of tools are, at DEBUG. Everything passes through the outlet, including traces of exceptions. Of
libraries only warnings are logged, and only the words of their authors: the arguments may contain what a person wrote.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePath
from types import FrameType
from typing import TextIO

from bot.contract import origin_of, reference_of
from bot.operations.outlet import Outlet, raw

MOST_CHARS = 8_000
"""Characters of a line; an error may quote megabytes of a server's answer."""
MOST_TRACE_CHARS = 30_000
_OURS = ("bot", "adapters", "tools")
_ABOVE = "".join(f"{part}." for part in __name__.split(".")[:-3])
"""The prefix of these names: nothing in a clone, `parley_chat.` in the wheel."""
_INSTALLED = {"site-packages", "dist-packages"}
_HOME = Path(__file__).parent.parent.parent
_PLACE: ContextVar[tuple[str, int]] = ContextVar("place of a log line", default=("", 0))
_ADDRESS = re.compile(r"(?<=://)([^\s/?#\"'<>]+)[/?][^\s\"'<>]*")


@contextmanager
def about(chat: object, turn: int = 0) -> Iterator[None]:
    """Name this chat and turn in every line logged inside the block, and in tasks started there."""
    token = _PLACE.set((str(chat), turn))
    try:
        yield
    finally:
        _PLACE.reset(token)


class _Place(logging.Filter):
    """Adds the chat and the turn to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.chat, record.turn = _PLACE.get()
        return True


class _Formatter(logging.Formatter):
    """Formats a record with secrets masked."""

    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self.outlet = outlet

    def said(self, record: logging.LogRecord) -> str:
        """The message in one line; for a library, with the name of the error whose trace it would show."""
        text = _message(record)
        if _foreign(record):
            error = record.exc_info[1] if record.exc_info else None
            text = _template(record) + (f" ({origin_of(error)})" if error is not None else "")
        return self.outlet.line(text[: 2 * MOST_CHARS])[:MOST_CHARS]

    def trace(self, record: logging.LogRecord) -> str:
        """The traceback of a reported error, if it is ours: a library's ends with its arguments. Addresses in it end
        with their host."""
        if not record.exc_info or _foreign(record):
            return ""
        text, most, words = self.formatException(record.exc_info), MOST_TRACE_CHARS, self.outlet.words
        if len(text) > 2 * most:
            # The error itself is at the end. Cut after masking: half a secret is not recognised.
            text = f"{words(text[: 2 * most])[:most]}\n…\n{words(text[-2 * most :])[-most:]}"
        else:
            text = words(text)
        return _ADDRESS.sub(r"\1/…", text)


class _ForPeople(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        chat, turn = getattr(record, "chat", ""), getattr(record, "turn", 0)
        named = f"t{turn} {reference_of(turn)}" if turn else ""
        place = " ".join(part for part in (self.outlet.line(chat), named) if part)
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{at} {record.levelname:<7} {record.name}: {f'[{place}] ' if place else ''}{self.said(record)}"
        # One event is one line, and its text cannot pass for another line.
        return "\n    | ".join([line, *self.trace(record).splitlines()])


class _ForMachines(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        value: dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "where": record.name,
            "what": self.said(record),
        }
        if turn := getattr(record, "turn", 0):
            value["reference"] = reference_of(turn)
        for name in ("chat", "turn", "reference"):
            if known := getattr(record, name, ""):
                value[name] = self.outlet.line(known) if isinstance(known, str) else known
        if trace := self.trace(record):
            value["trace"] = trace
        return json.dumps(value, ensure_ascii=False)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to a stream, and drops a line that cannot be written: `logging` would print its arguments unmasked."""

    def handleError(self, record: logging.LogRecord) -> None:
        return None


def _foreign(record: logging.LogRecord) -> bool:
    """Return True if a library wrote it. The name does not tell: some libraries use a logger of ours."""
    place = PurePath(record.pathname)
    return bool(_INSTALLED.intersection(place.parts)) and not any(place.is_relative_to(_HOME / one) for one in _OURS)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001  # whatever an argument raises as it is written, the line is not lost
        return f"{_template(record)} [cannot be filled in: {type(error).__name__}]"


class _Unsaid:
    """Stands in for a log argument that is not shown."""

    def __repr__(self) -> str:
        return "…"

    def __format__(self, form: str) -> str:
        return "…"


def _shown(argument: object) -> object:
    if argument is None or isinstance(argument, int | float):
        return argument
    return type(argument).__name__ if isinstance(argument, BaseException) else _Unsaid()


def _template(record: logging.LogRecord) -> str:
    """Return the words of a library's author, with only numbers and kinds of errors filled in."""
    written = _literal(record)
    if written != record.msg:
        return f"{written}… ({PurePath(record.pathname).name}:{record.lineno})"
    arguments = record.args
    if not arguments:
        return written
    try:
        if isinstance(arguments, Mapping):
            return written % {name: _shown(one) for name, one in arguments.items()}
        return written % tuple(_shown(one) for one in arguments)
    except (TypeError, ValueError, KeyError):
        return written


def _literal(record: logging.LogRecord) -> str:
    """Return the beginning of the message that is a constant in the function that logs it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != (record.pathname, record.lineno):
        frame = frame.f_back
    message = record.msg
    if frame is None or not isinstance(message, str):
        return ""
    constants = (one for one in frame.f_code.co_consts if isinstance(one, str) and message.startswith(one))
    return max(constants, key=len, default="")


def set_up(level: str, form: str, outlet: Outlet) -> None:
    """Log to standard error, as `console` or as `json`."""
    handler = _Handler(raw(sys.stderr))
    handler.setFormatter(_ForMachines(outlet) if form == "json" else _ForPeople(outlet))
    handler.addFilter(_Place())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))
    for name in ("__main__", *(_ABOVE + name for name in _OURS)):
        logging.getLogger(name).setLevel(level)
