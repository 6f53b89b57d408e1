"""Server-sent events, decoded from bytes as they arrive: the cheap way to read a model's stream.

The SDK's own decoder costs four times as much, and silently ignores everything that is not an event: a web page with
status 200, a JSON error, a stream without an end. Here these are kept for the caller.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from tools.contract.json_values import MOST_VALUES, OutsideDecoder, ValueCounter

DONE: Final = b"[DONE]"
"""The data of the last event of a stream."""
_DONE: Final = DONE.decode()
_ALIKE: Final = 6
_MOST_CUT: Final = 4
"""Frames cut off in one line, after which the line is given up."""
_STRAY_BYTES = 65_536
MOST_EVENT_BYTES: Final = 32 * 1024 * 1024
"""Bytes of an event, or of a line: the largest contains a picture."""
_LARGE: Final = 65_536
"""Bytes from which on the values of an event are counted before it is parsed."""
_BOM = b"\xef\xbb\xbf"
_decoder = OutsideDecoder(nulls=True)


class Decoder(ABC):
    """Turns the bytes of a stream, cut anywhere, into the data of complete events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        """The incomplete line, in pieces."""
        self._size = 0
        """Bytes of the incomplete part."""
        self._stray = bytearray()

    @property
    def stray(self) -> str:
        """Lines that belong to no stream, such as a page or an error in its place; the first 64 KiB."""
        return self._stray.decode("utf-8", "replace")

    @property
    def too_long(self) -> bool:
        """The incomplete event is larger than any event may be."""
        return self._size > MOST_EVENT_BYTES

    @abstractmethod
    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that `chunk` completes, in order."""

    @abstractmethod
    def finish(self) -> list[bytes]:
        """Return what the end of the stream leaves."""


class LineDecoder(Decoder):
    """Decodes a stream of JSON objects, one a line."""

    def feed(self, chunk: bytes) -> list[bytes]:
        self._rest.append(chunk)
        self._size += len(chunk)
        if b"\n" not in chunk:
            return []
        lines = b"".join(self._rest).split(b"\n")
        self._rest = [lines.pop()]
        self._size = len(self._rest[0])
        events = [line for line in map(bytes.strip, lines) if line]
        if self._stray or (events and not events[0].startswith(b"{")):
            self._stray += b"\n".join(events)[: max(0, _STRAY_BYTES - len(self._stray))]
            return []
        return events

    def finish(self) -> list[bytes]:
        return self.feed(b"\n")


class EventDecoder(Decoder):
    """Decodes server-sent events.

    Event names, ids and retry times are ignored: everything in a model's stream is in the data.
    """

    def __init__(self) -> None:
        super().__init__()
        self._data: list[bytes] = []
        self._after_return = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that `chunk` completes, in order."""
        if not self._started:
            chunk = b"".join([*self._rest, chunk])
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._rest = [chunk]
                return []
            self._rest.clear()
            self._started = True
            chunk = chunk.removeprefix(_BOM)
        if b"\r" in chunk or self._after_return:
            chunk = self._unify(chunk)
        self._rest.append(chunk)
        self._size += len(chunk)
        if b"\n" not in chunk:
            return []
        lines = b"".join(self._rest).split(b"\n")
        self._rest = [lines.pop()]
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line[:5] == b"data:":
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line[:6] == b"error:" and line[6:].lstrip()[:1] == b"{":
                # llama.cpp before autumn 2025: https://github.com/ggml-org/llama.cpp/issues/16104
                events.append(b'{"error":%b}' % line[6:])
            elif line[:1] != b":":
                self._other(line)
        if not data:
            self._size = len(self._rest[0])
        return events

    def finish(self) -> list[bytes]:
        """Return what the end of the stream leaves: an event whose blank line never came."""
        tail = self.feed(b"\n\n") if any(self._rest) or self._data else []
        self._after_return = False
        return tail

    def _unify(self, chunk: bytes) -> bytes:
        """Turn every line end into a newline; a CR LF may be cut in two."""
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if chunk.endswith(b"\r"):
            self._after_return = True
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _other(self, line: bytes) -> None:
        if line.partition(b":")[0] in (b"event", b"id", b"retry", b"data"):
            return
        room = _STRAY_BYTES - len(self._stray)
        if room > 0:
            self._stray += line[:room] + b"\n"


def read_together(events: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Return the objects of several events that hold one each, parsed at once; None if they must be read one by one."""
    data = b",".join(events)
    if len(events) < 2 or len(data) > _LARGE:
        return None
    try:
        objects = _decoder.decode(f"[{data.decode('utf-8', 'replace')}]")
    except ValueError:
        return None
    # The parts of one that is cut in two would fit together.
    whole = len(objects) == len(events) and all(isinstance(one, dict) for one in objects)
    return objects if whole else None


def read_event(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the objects of an event, and whether the stream ends with them.

    Servers that forget the blank line between two events send both as one, and some send two in one line, sometimes
    with the first cut off: the complete ones after it count.

    Raises:
        ValueError: a line is not JSON, and does not end with a complete object.
    """
    # Numbers alone, one a line, are values that the counter does not see.
    if len(data) > _LARGE and ValueCounter().feed(data) + data.count(b"\n") > MOST_VALUES:
        raise ValueError("too many values")
    text = data.decode("utf-8", "replace")
    try:
        event = _decoder.decode(text)
        return [one for one in (event if isinstance(event, list) else [event]) if isinstance(one, dict)], False
    except json.JSONDecodeError:
        pass
    found: list[dict[str, Any]] = []
    for line in text.split("\n"):
        objects, done = _objects_in(line)
        found += objects
        if done:
            return found, True
    return found, False


def _objects_in(line: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the complete objects in a line, and whether `[DONE]` follows them."""
    found: list[dict[str, Any]] = []
    place, cut = 0, 0
    while True:
        place = _skip(line, place)
        if place == len(line) or line.startswith(_DONE, place):
            return found, place < len(line)
        try:
            value, place = _decoder.raw_decode(line, place)
        except json.JSONDecodeError as error:
            # Cut off: the next one begins just before the place where they do not fit together, or after it.
            cut += 1
            if cut > _MOST_CUT:
                raise
            value, place = _next_object(line, place, error)
        if isinstance(value, dict):
            found.append(value)


def _next_object(line: str, after: int, error: json.JSONDecodeError) -> tuple[object, int]:
    """Return the object after one that was cut off, and the position after it.

    Raises:
        JSONDecodeError: none is complete.
    """
    starts = (
        line.rfind("{", after + 1, error.pos + 1),
        line.find("{", error.pos + 1),
        # The two may fit together if a value was expected; objects of one server begin alike.
        line.find(line[after : after + _ALIKE], after + 1),
    )
    for start in starts:
        try:
            value, end = _decoder.raw_decode(line, start) if start >= 0 else (None, 0)
        except ValueError:
            continue
        # An inner object is followed by the rest of the outer one.
        behind = _skip(line, end)
        if end and (behind == len(line) or line.startswith(("{", _DONE), behind)):
            return value, end
    raise error


def _skip(line: str, place: int) -> int:
    """Return where the next object may begin: after spaces and the field's name."""
    end = len(line)
    while place < end and (line[place].isspace() or line.startswith("data:", place)):
        place += 1 if line[place].isspace() else 5
    return place
