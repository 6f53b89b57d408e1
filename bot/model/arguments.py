"""Read the arguments of a native call from the text that models stream, with the necessary repairs."""

from __future__ import annotations

import re

from bot.toolsyntax import repair
from tools.contract.base import Json
from tools.contract.json_values import OutsideDecoder, TooDeep
from tools.contract.plaintext import plain_values, to_plain

_LONGEST_REPAIRED = 40_000
"""Characters of the longest arguments that are repaired, at a microsecond each; longer ones are requested again."""
_STRUCTURE = re.compile(r'["\\{}\[\]]')


_strict = OutsideDecoder()
_lenient = OutsideDecoder(strict=False)


class ObjectEnd:
    """Tells, fragment by fragment, whether a JSON object is complete; reads each character once."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = -1
        self._offset = 0
        self.complete = False

    def feed(self, fragment: str) -> None:
        for match in _STRUCTURE.finditer(fragment):
            place = self._offset + match.start()
            if place == self._escaped:
                continue
            mark = match.group()
            if self._in_string:
                if mark == "\\":
                    self._escaped = place + 1
                elif mark == '"':
                    self._in_string = False
            elif mark == '"':
                self._in_string = True
            elif mark in "{[":
                self._depth += 1
                self.complete = False
            elif mark in "}]":
                self._depth -= 1
                self.complete = self._depth <= 0
        self._offset += len(fragment)


def read_arguments(text: str, *, cut: bool = False) -> tuple[dict[str, Json], str]:
    """Return the arguments in `text`, and why there are none (empty if there are).

    Strict JSON first, so that valid input is never changed; then control characters in strings; then the first complete
    object, ignoring the rest; then the repairs of call bodies. With `cut` the model was stopped while it wrote, and
    incomplete parts are not repaired.
    """
    text = text.strip()
    if text in ("", "null"):
        return ({}, "The call was cut off before its arguments were written.") if cut else ({}, "")
    for attempt in (_strict, _lenient):
        try:
            return _as_object(attempt.decode(text))
        except TooDeep:
            return {}, "The arguments are nested too deeply."
        except ValueError:
            continue
    start = text.find("{")
    if start >= 0:
        try:
            return _as_object(_lenient.raw_decode(text, start)[0])
        except ValueError:
            pass
    if cut:
        return {}, "The call was cut off: its arguments end in the middle."
    repaired = _repair(text)
    if repaired is not None:
        return repaired, ""
    return {}, f"The arguments are no JSON object: {_excerpt(text)!r}."


def is_object(text: str) -> bool:
    """Return True if `text` is a JSON object, and nothing else."""
    try:
        return isinstance(_lenient.decode(text), dict)
    except ValueError:
        return False


def alone(value: object) -> object:
    """Return the object in a list of one, which some models write around their arguments; anything else as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) else value


def _as_object(value: object) -> tuple[dict[str, Json], str]:
    if isinstance(value, str):
        # Some servers encode the arguments twice, none more often.
        try:
            value = _lenient.decode(value)
        except TooDeep:
            raise
        except ValueError:
            pass
    value = alone(value)
    if isinstance(value, dict):
        return {to_plain(str(key)): plain_values(item) for key, item in value.items()}, ""
    if value is None:
        return {}, ""
    return {}, f"The arguments must be a JSON object, not {type(value).__name__}: {_excerpt(str(value))!r}."


def _repair(text: str) -> dict[str, Json] | None:
    """Apply the repairs of call bodies; an object without an end is never repaired."""
    if "{" not in text or len(text) > _LONGEST_REPAIRED:
        return None
    value = repair.object_in(text[text.index("{") :])
    return None if value is None else _as_object(value)[0]


def _excerpt(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"
