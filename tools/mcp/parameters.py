"""The schema of an MCP tool's arguments, made safe to check and acceptable to every model provider.

A server may send anything here: circular references, a pattern that takes a year to match, a million nodes, names and
keywords that no provider accepts. The result is a small plain tree: references are written out, and only keywords that
models and our checker know are kept, each with a value of its type. An odd part costs that part and never the tool: it
is named for the operator, and the server still checks it itself.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tools.contract.base import Json
from tools.mcp.argument_names import ArgumentNames, rename_properties
from tools.mcp.plain import plain_text
from tools.mcp.shortening import MOST_DEPTH, shortened, too_deep

MOST_NODES = 1000
MOST_ARGUMENTS = 500
DESCRIPTION_CHARS = 400
VALUE_CHARS = 4000
MOST_REFERENCES = 50
"""The longest chain of references."""
MOST_NAMED = 5
"""Parts left out that are named to the operator; the rest are counted."""
LARGEST_BOUND = 10**18
"""A larger number is no bound."""

_KINDS = {"string", "integer", "number", "boolean", "array", "object", "null"}
_OTHER_KINDS = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "map": "object",
    "none": "null",
}
"""Types of other languages in servers' schemas, and their JSON Schema names."""
_DEPTHS = (MOST_DEPTH, 6, 4, 3, 2, 1, 0)
"""Levels that are read; fewer if they have too many parts."""
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_COUNTS = {"minLength", "maxLength", "minItems", "maxItems"}
_OPTIONS = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class UsableSchema:
    """A schema that can be offered."""

    parameters: dict[str, Json]
    names: ArgumentNames
    """The server's own names of renamed properties."""
    left_out: tuple[str, ...]
    """The parts of it that models do not get, in a few words each."""


class _TooLarge(Exception):
    """More parts than the limits allow."""


def usable_schema(schema: object, descriptions: Mapping[str, str] = {}) -> UsableSchema:
    """Convert `schema` to one that can be offered. This works for any schema.

    Args:
        descriptions: of arguments without one in the schema.
    """
    for depth in _DEPTHS:
        tree = _Tree(schema, depth)
        try:
            made = tree.whole()
        except _TooLarge:
            continue
        break
    _describe(made, descriptions)
    made, names = rename_properties(made)
    made, cost = shortened(made)
    unread = [too_deep(depth)] if depth < MOST_DEPTH else []
    return UsableSchema(made, names, tuple(dict.fromkeys((*_named(tree.left_out), *unread, *cost))))


def _describe(schema: dict[str, Json], descriptions: Mapping[str, str]) -> None:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    for name, one in properties.items():
        if isinstance(one, dict) and not one.get("description") and name in descriptions:
            one["description"] = plain_text(descriptions[name], DESCRIPTION_CHARS)


def _named(left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield each odd part by its place and value."""
    for place, value in list(left_out.items())[:MOST_NAMED]:
        yield f"{place} ({value})" if value else place
    if len(left_out) > MOST_NAMED:
        yield f"{len(left_out) - MOST_NAMED} more parts"


class _Tree:
    """One reading of a schema, up to a number of levels."""

    def __init__(self, root: object, depth: int) -> None:
        self._root = root
        self._depth = depth
        self._nodes = 0
        self.left_out: dict[str, str] = {}
        """By its place, the odd part."""

    def whole(self) -> dict[str, Json]:
        """Return the schema of an object.

        Raises:
            _TooLarge: it has too many parts.
        """
        made = self._node(self._root, (), "", 0)
        if made is None:
            made = {}
        _lift_options(made)
        kind = made.pop("type", "object")
        if kind != "object" and "object" not in (kind if isinstance(kind, list) else []):
            self._leave_out("", "type", kind)
        made.pop("items", None)
        properties = made.setdefault("properties", {})
        assert isinstance(properties, dict)
        if isinstance(required := made.get("required"), list):
            made["required"] = [name for name in required if name in properties]
        return {"type": "object", **made}

    def _node(self, schema: object, within: tuple[str, ...], place: str, depth: int) -> dict[str, Json] | None:
        """Return one schema with its references written out; None for an invalid one. `within` are the enclosing
        ones."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _TooLarge
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            self._leave_out(place, "", schema)
            return None
        if "$ref" not in schema:
            return self._kept(schema, within, place, depth)
        reference = schema["$ref"]
        beside = self._kept({key: one for key, one in schema.items() if key != "$ref"}, within, place, depth)
        # A part that contains itself ends here as anything: a model's arguments are never that deep.
        if reference in within:
            return beside
        target = self._find(reference) if isinstance(reference, str) and len(within) < MOST_REFERENCES else None
        if target is None:
            self._leave_out(place, "$ref", reference)
            return beside
        return {**(self._node(target, (*within, str(reference)), place, depth) or {}), **beside}

    def _kept(self, schema: Mapping[str, Any], within: tuple[str, ...], place: str, depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        if "type" in schema and (kind := self._kind(schema["type"], place)):
            made["type"] = kind
        if told := _description(schema):
            made["description"] = told
        if isinstance(schema.get("format"), str):
            made["format"] = plain_text(schema["format"], 40)
        self._keep_values(schema, made, place)
        for key in sorted((_NUMBERS | _COUNTS) & schema.keys()):
            if (number := _number(key, schema[key])) is None:
                self._leave_out(place, key, schema[key])
            else:
                made[key] = number
        if depth < self._depth:
            self._keep_properties(schema, made, within, place, depth)
            self._keep_options(schema, made, within, place, depth)
        kinds = made.get("type")
        if kinds is None or "array" in (kinds if isinstance(kinds, list) else [kinds]):
            items = schema.get("items", None if kinds is None else {})
            if items is not None:
                # A list of schemas, one for each place, is left out for models.
                is_one = isinstance(items, Mapping) and depth < self._depth
                made["items"] = (self._node(items, within, f"{place}[]", depth + 1) if is_one else None) or {}
        return made

    def _keep_values(self, schema: Mapping[str, Any], made: dict[str, Json], place: str) -> None:
        for key in ("enum", "const", "default", "examples"):
            if key not in schema:
                continue
            value = schema[key]
            if key in ("enum", "examples") and not (isinstance(value, list) and value):
                self._leave_out(place, key, value)
                continue
            value = value[:3] if key == "examples" else value
            if _is_long(value):
                self._leave_out(place, key, value)
            else:
                made[key] = value

    def _keep_properties(
        self, schema: Mapping[str, Any], made: dict[str, Json], within: tuple[str, ...], place: str, depth: int
    ) -> None:
        required = schema.get("required")
        needed: list[Json] = []
        if isinstance(required, list):
            needed = list(dict.fromkeys(name for name in required if isinstance(name, str)))
        elif required is not None and not isinstance(required, bool):
            self._leave_out(place, "required", required)
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            inner: dict[str, Json] = {}
            for name in self._chosen(properties, needed):
                one = self._node(properties[name], within, f"{place}.{name:.60}".lstrip("."), depth + 1)
                # Without a required argument, the server would refuse every call.
                if one is not None or name in needed:
                    inner[name] = one or {}
            made["properties"] = inner
            needed = [name for name in needed if name in inner or name not in properties]
        elif properties is not None:
            self._leave_out(place, "properties", properties)
        if needed:
            made["required"] = needed
        more = schema.get("additionalProperties")
        if isinstance(more, bool):
            made["additionalProperties"] = more
        elif more is not None and (one := self._node(more, within, f"{place}.*", depth + 1)) is not None:
            made["additionalProperties"] = one

    def _chosen(self, properties: Mapping[str, Any], needed: list[Json]) -> list[str]:
        """Return the names of all properties; if there are too many for one level, of the first."""
        if self._depth > 1 or len(properties) <= MOST_ARGUMENTS:
            return list(properties)
        self.left_out[f"all but {MOST_ARGUMENTS} of {len(properties)} arguments"] = ""
        wanted = set(map(str, needed))
        return sorted(properties, key=lambda name: name not in wanted)[:MOST_ARGUMENTS]

    def _keep_options(
        self, schema: Mapping[str, Any], made: dict[str, Json], within: tuple[str, ...], place: str, depth: int
    ) -> None:
        for key in _OPTIONS:
            if key not in schema:
                continue
            options = schema[key] if isinstance(schema[key], list) else []
            read = [self._node(one, within, f"{place} {key}".strip(), depth + 1) for one in options]
            usable: list[Json] = [one for one in read if one is not None]
            # Without one of its alternatives the others would be too narrow.
            if usable and (key == "allOf" or len(usable) == len(read)):
                made[key] = usable
            elif not options:
                self._leave_out(place, key, schema[key])

    def _kind(self, value: object, place: str) -> Json:
        kinds = value if isinstance(value, list) else [value]
        names = [one.strip().lower() if isinstance(one, str) and len(one) < 20 else "" for one in kinds]
        known = list(dict.fromkeys(_OTHER_KINDS.get(one, one) for one in names))
        if not known or not _KINDS.issuperset(known):
            self._leave_out(place, "type", value)
            return None
        return list[Json](known) if isinstance(value, list) else known[0]

    def _find(self, reference: str) -> object:
        """Return the part of the schema that a reference names; None if there is none."""
        if not reference.startswith("#"):
            return None
        node: Any = self._root
        for part in unquote(reference[1:]).split("/"):
            if not part:
                continue
            if isinstance(node, list):
                node = node[int(part)] if part.isdecimal() and len(part) < 6 and int(part) < len(node) else None
            else:
                node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        return node if isinstance(node, Mapping | bool) else None

    def _leave_out(self, place: str, key: str, value: object) -> None:
        whole = f"{place!r:.160}" if place else "its schema"
        where = f"{key} of {whole}" if key else whole
        self.left_out.setdefault(where, reprlib.repr(value))


def _description(schema: Mapping[str, Any]) -> str:
    told = schema["description"] if isinstance(schema.get("description"), str) else ""
    if isinstance(schema.get("pattern"), str):
        # Shown, not checked: a hostile pattern could block the event loop for hours.
        told = f"{told[:4000]} Pattern: {schema['pattern'][:100]}"
    values = schema.get("enum")
    if isinstance(values, list) and _is_long(values):
        told = f"One of {len(values)} values, as {json.dumps(values[:3], ensure_ascii=False)[1:-1]:.80}. {told}"
    return plain_text(told, DESCRIPTION_CHARS)


def _is_long(value: object) -> bool:
    """Return True for a value that is too long for a prompt, or not JSON."""
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False)) > VALUE_CHARS
    except ValueError:
        return True


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


def _number(key: str, value: object) -> Json:
    """Return a bound; None for an invalid one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST_BOUND:
        return None
    if key not in _COUNTS:
        return None if math.isnan(value) else value
    return int(value) if value >= 0 and value == int(value) else None
