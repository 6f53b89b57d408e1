"""Convert arguments that a model wrote as text to the types of the schema: `"3"` to a number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tools.contract.base import Json
from tools.contract.json_values import read_json

MOST_CHARS: Final = 100_000
"""A longer text is left as it is: it is not a number, and reading it as JSON would be slow."""
_MOST_DEPTH: Final = 8
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.0{1,15})?")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?")
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False}


def converted(schema: Mapping[str, Any], value: Json, depth: int = 0) -> Json:
    """Return `value` with strings converted if `schema` wants another type and no information is lost.

    Numbers, booleans, arrays and objects are read from text. A number becomes text if only text is allowed, and a text
    becomes a list of one if only a list of texts is. An empty text for an optional non-text argument is left out.
    Unreadable values stay, for the check of the arguments to name.
    """
    kinds = kinds_of(schema)
    if kinds and not is_of_any(value, kinds):
        value = _read(value, kinds) if isinstance(value, str) else _written(value, kinds)
        value = [value] if _is_one_of_a_list(schema, value, kinds) else value
    if depth >= _MOST_DEPTH:
        return value
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        return {
            name: converted(known[name], one, depth + 1) if isinstance(known.get(name), Mapping) else one
            for name, one in value.items()
            if name in needed or not _says_nothing(known.get(name), one)
        }
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [converted(items, one, depth + 1) for one in value]
    return value


def _says_nothing(schema: object, value: Json) -> bool:
    """Return True for an empty text where no text is allowed: many models write unused arguments so."""
    if not isinstance(value, str) or value.strip() or not isinstance(schema, Mapping):
        return False
    kinds = kinds_of(schema)
    return bool(kinds) and "string" not in kinds


def _is_one_of_a_list(schema: Mapping[str, Any], value: Json, kinds: frozenset[str]) -> bool:
    """Return True for one text where only a list of texts is allowed, unless it begins like a list itself."""
    items = schema.get("items")
    return (
        isinstance(value, str)
        and kinds <= {"array", "null"}
        and bool(value.strip())
        and value.lstrip()[0] not in "[{"
        and isinstance(items, Mapping)
        and kinds_of(items) == {"string"}
    )


def kinds_of(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that `schema` allows; empty if it does not say, or not in a supported way."""
    wanted = schema.get("type")
    if wanted is not None:
        return frozenset(str(kind) for kind in (wanted if isinstance(wanted, list) else [wanted]))
    found: set[str] = set()
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        for option in options if isinstance(options, list) else []:
            inner = kinds_of(option) if isinstance(option, Mapping) else frozenset()
            if not inner:
                return frozenset()
            found |= inner
    return frozenset(found)


def is_of(value: Json, kind: object) -> bool | None:
    """Return whether a value is of a JSON Schema type; None for an unknown type."""
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def is_of_any(value: Json, kinds: frozenset[str]) -> bool:
    """Return True if a value is of one of these types."""
    return any(is_of(value, kind) for kind in kinds)


def _read(text: str, kinds: frozenset[str]) -> Json:
    if len(text) > MOST_CHARS:
        return text
    told = text.strip()
    if "integer" in kinds and _WHOLE.fullmatch(told):
        return int(told.partition(".")[0])
    if "number" in kinds and _NUMBER.fullmatch(told):
        return int(told) if told.lstrip("+-").isdigit() else float(told)
    if "boolean" in kinds and told.lower() in _WORDS:
        return _WORDS[told.lower()]
    if kinds & {"array", "object"} and told[:1] in ("[", "{"):
        try:
            read: Json = read_json(told)
        except ValueError:
            return text
        return read if is_of_any(read, kinds) else text
    return text


def _written(value: Json, kinds: frozenset[str]) -> Json:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number and kinds <= {"string", "null"} else value
