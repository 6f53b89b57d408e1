"""Values that a model wrote as plain text or as nested elements, in the types of a tool's schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.toolsyntax.pieces import Schema
from bot.toolsyntax.repair import Unreadable, literal, loads
from tools.calling.conversion import is_of_any, kinds_of

_TAG: Final = re.compile(r"<(/?)([\w.:-]{1,128})>")
_DEEPEST: Final = 32
_MOST: Final = 5_000
"""Tags of one value that are read."""
_ITEM: Final = "item"
"""The name of a list's elements if the schema does not say that it is one."""


@dataclass(slots=True)
class _Element:
    """An element, and its inner elements."""

    name: str
    start: int
    """Where its text begins."""
    end: int = 0
    inside: list[_Element] = field(default_factory=list)


def typed(text: str, schema: Schema) -> Any:
    """Return a value written as plain text in the schema's type; the text itself if it does not fit."""
    kinds = kinds_of(schema)
    if "string" in kinds or not kinds:
        return text
    stripped = text.strip()
    try:
        if stripped[:1] == "<":
            value = _value(stripped, _read(stripped), schema)
        else:
            value = literal(stripped) if stripped[:1] not in ("{", "[", '"') else loads(stripped)
    except (Unreadable, RecursionError):
        return text
    # A whole number with a decimal point is left to the registry, which reads it as an integer.
    pointed = isinstance(value, float) and "number" not in kinds
    return value if is_of_any(value, kinds) and not pointed else text


def _read(text: str) -> _Element:
    """Return the elements in a text; a tag without its other half is part of the text around it.

    Raises:
        Unreadable: they are too many, or too deeply nested.
    """
    root = _Element("", 0, len(text))
    opened = [root]
    names: Counter[str] = Counter()
    for number, tag in enumerate(_TAG.finditer(text)):
        name = tag[2]
        if number == _MOST or len(opened) > _DEEPEST:
            raise Unreadable("too many elements, or too deep in each other")
        if not tag[1]:
            opened.append(_Element(name, tag.end()))
            names[name] += 1
        elif names[name]:
            while (closed := opened.pop()).name != name:
                names[closed.name] -= 1
            names[name] -= 1
            closed.end = tag.start()
            opened[-1].inside.append(closed)
    return root


def _value(text: str, element: _Element, schema: Schema) -> Any:
    """Return an element's content: a list or an object if the schema, or without one its elements, say so; otherwise
    text."""
    kinds, inside = kinds_of(schema), element.inside
    written = text[element.start : element.end]
    if not inside or "string" in kinds:
        return typed(written, schema) if not inside else written
    if "array" in kinds or (not kinds and all(one.name == _ITEM for one in inside)):
        return [_value(text, one, _part(schema, "items")) for one in inside]
    if "object" in kinds or not kinds:
        properties = _part(schema, "properties")
        others = _part(schema, "additionalProperties")
        return {one.name: _value(text, one, _part(properties, one.name) or others) for one in inside}
    return written


def _part(schema: Schema, name: str) -> Schema:
    found = schema.get(name)
    return found if isinstance(found, Mapping) else {}
