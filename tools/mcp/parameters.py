"""The schema of an MCP tool's arguments, made safe to check and fit for every model provider.

A server may send anything here: references in a circle, a pattern that takes a year to match, a million nodes. What
comes out is a plain tree: references are written out, only keywords that models and our checker know are kept, each
with a value of its type, and the whole is small. What is left out the server still checks itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tools.base import Json

MOST_NODES = 400
MOST_CHARS = 16_000
MOST_DEPTH = 10
DESCRIPTION_CHARS = 400

_PROPERTY = re.compile(r"[\w.-]{1,64}")
_KINDS = {"string", "integer", "number", "boolean", "array", "object", "null"}
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_COUNTS = {"minLength", "maxLength", "minItems", "maxItems"}
_OPTIONS = ("anyOf", "oneOf", "allOf")
_AS_THEY_ARE = ("const", "default")


def usable_schema(schema: object) -> dict[str, Json]:
    """Convert `schema` to one that can be offered.

    Raises:
        ValueError: it cannot; the text says why.
    """
    if not isinstance(schema, Mapping):
        raise ValueError("its schema is no object")
    made = _Tree(schema).node(schema, (), 0)
    _lift_options(made)
    if made.get("type", "object") != "object":
        raise ValueError(f"its arguments are {made['type']!r}, not an object")
    made = {"type": "object", **made}
    made.setdefault("properties", {})
    properties = made["properties"]
    assert isinstance(properties, dict)
    for name in properties:
        if not _PROPERTY.fullmatch(name):
            raise ValueError(f"no model provider takes an argument named {name[:80]!r}")
    required = made.get("required")
    if isinstance(required, list):
        made["required"] = [name for name in required if name in properties]
    if len(json.dumps(made, ensure_ascii=False)) > MOST_CHARS:
        raise ValueError(f"its schema is longer than {MOST_CHARS} characters")
    return made


class _Tree:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, schema: object, within: tuple[str, ...], depth: int) -> dict[str, Json]:
        """One schema, its references written out; `within` are those it stands in."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise ValueError(f"its schema has more than {MOST_NODES} parts")
        if schema is True or depth > MOST_DEPTH:
            return {}
        if not isinstance(schema, Mapping):
            raise ValueError(f"a part of its schema is {schema!r:.60}")
        reference = schema.get("$ref")
        if reference is not None:
            if not isinstance(reference, str) or not reference.startswith("#"):
                raise ValueError(f"its schema refers to {reference!r:.80}")
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            # A part that contains itself ends here as anything: a model's arguments are never that deep.
            target = {} if reference in within else self.node(self._find(reference), (*within, reference), depth)
            return {**target, **self.node(beside, within, depth)} if beside else target
        return self._kept(schema, within, depth)

    def _kept(self, schema: Mapping[str, Any], within: tuple[str, ...], depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        if "type" in schema:
            made["type"] = _type(schema["type"])
        if isinstance(schema.get("description"), str):
            made["description"] = plain_text(schema["description"], DESCRIPTION_CHARS)
        if isinstance(schema.get("pattern"), str):
            # Told, not checked: a hostile pattern could hold the event loop for hours.
            told = f"{made.get('description') or ''} Pattern: {schema['pattern'][:100]}"
            made["description"] = plain_text(told, DESCRIPTION_CHARS)
        if isinstance(schema.get("format"), str):
            made["format"] = plain_text(schema["format"], 40)
        if "enum" in schema:
            if not isinstance(schema["enum"], list) or not schema["enum"]:
                raise ValueError("an enum of its schema is no list of values")
            made["enum"] = _json(schema["enum"])
        made |= {key: _json(schema[key]) for key in _AS_THEY_ARE if key in schema}
        if isinstance(schema.get("examples"), list):
            made["examples"] = _json(schema["examples"][:3])
        made |= {key: _number(key, schema[key]) for key in sorted(_NUMBERS | _COUNTS) if key in schema}
        if isinstance(schema.get("properties"), Mapping):
            made["properties"] = {
                str(name): self.node(one, within, depth + 1) for name, one in schema["properties"].items()
            }
        if isinstance(schema.get("required"), list):
            made["required"] = [name for name in schema["required"] if isinstance(name, str)]
        if "items" in schema:
            made["items"] = self.node(schema["items"], within, depth + 1) if _is_schema(schema["items"]) else {}
        more = schema.get("additionalProperties")
        if isinstance(more, bool):
            made["additionalProperties"] = more
        elif more is not None:
            made["additionalProperties"] = self.node(more, within, depth + 1)
        for key in _OPTIONS:
            if isinstance(schema.get(key), list) and schema[key]:
                made[key] = [self.node(one, within, depth + 1) for one in schema[key]]
        return made

    def _find(self, reference: str) -> object:
        node: Any = self._root
        for part in reference[1:].split("/"):
            if part:
                node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        if not isinstance(node, Mapping):
            raise ValueError(f"its schema refers to {reference!r:.80}, which is not there")
        return node


def plain_text(text: str, most: int) -> str:
    """Clean outside text to one line of at most `most` characters, without invisible or bidi characters."""
    shown = (one for one in text[: most * 8] if one.isspace() or (one.isprintable() and not _is_tag(one)))
    seen = " ".join("".join(shown).split())
    return seen if len(seen) <= most else seen[: most - 1].rstrip() + "…"


def _is_tag(character: str) -> bool:
    """Return True for tag characters, which people do not see and models read."""
    return 0xE0000 <= ord(character) <= 0xE0FFF


def _lift_options(schema: dict[str, Json]) -> None:
    """Merge top-level alternatives into the schema, since providers refuse them."""
    for key in _OPTIONS:
        options = schema.pop(key, None)
        for option in options if isinstance(options, list) else []:
            inner = option.get("properties") if isinstance(option, dict) else None
            if isinstance(option, dict) and isinstance(inner, dict):
                mine = schema.setdefault("properties", {})
                assert isinstance(mine, dict)
                for name, one in inner.items():
                    mine.setdefault(name, one)
                required = option.get("required")
                if key == "allOf" and isinstance(required, list):
                    known = schema.setdefault("required", [])
                    assert isinstance(known, list)
                    known.extend(name for name in required if name not in known)
    for key in ("enum", "const", "default", "examples"):
        schema.pop(key, None)


def _type(value: object) -> Json:
    kinds = value if isinstance(value, list) else [value]
    if not kinds or not all(isinstance(kind, str) and kind in _KINDS for kind in kinds):
        raise ValueError(f"its schema has the type {value!r:.60}")
    return [str(kind) for kind in kinds] if isinstance(value, list) else str(value)


def _number(key: str, value: object) -> Json:
    kind = int if key in _COUNTS else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value):
        raise ValueError(f"{key} of its schema is {value!r:.60}")
    return value


def _json(value: object) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > 4000:
        raise ValueError("a value in its schema is longer than 4000 characters")
    return value


def _is_schema(value: object) -> bool:
    return isinstance(value, Mapping | bool)
