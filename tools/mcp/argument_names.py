"""Names of arguments that every model provider accepts, and the server's own for the call.

OData has `$filter`, JSON:API `filter[name]`, Twilio `StartTime<`, others names in Chinese or with spaces; a provider
that refuses one name refuses the whole request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.contract.base import Json
from tools.contract.names import MOST_CHARS, unique_names
from tools.mcp.plain import plain_text

_FIT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_PLAIN_KEYS = ("items", "additionalProperties")
_OPTIONS = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class ArgumentNames:
    """The server's names of an object's renamed properties, and of the properties inside it."""

    own: Mapping[str, str] = field(default_factory=dict)
    """By the offered name."""
    inside: Mapping[str, ArgumentNames] = field(default_factory=dict)
    """By the offered name of a property that contains renamed ones."""
    each: ArgumentNames | None = None
    """The names in each item of a list, and in properties without their own schema."""

    def __bool__(self) -> bool:
        return bool(self.own or self.inside or self.each)

    def restored(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return arguments with the server's names in place of the offered ones."""
        return {self.own.get(name, name): self._inner(name)._inside(one) for name, one in arguments.items()}

    def _inner(self, name: str) -> ArgumentNames:
        return self.inside.get(name) or (None if name in self.own else self.each) or _NONE

    def _inside(self, value: Json) -> Json:
        if isinstance(value, list) and self.each:
            return [self.each._inside(one) for one in value]
        return self.restored(value) if isinstance(value, dict) and self else value

    def and_of(self, other: ArgumentNames) -> ArgumentNames:
        """Return these and another alternative's names; a name has the same meaning in the whole schema."""
        inside = dict(self.inside)
        for name, one in other.inside.items():
            inside[name] = inside[name].and_of(one) if name in inside else one
        each = self.each.and_of(other.each) if self.each and other.each else self.each or other.each
        return ArgumentNames({**self.own, **other.own}, inside, each)


_NONE = ArgumentNames()


def rename_properties(schema: dict[str, Json]) -> tuple[dict[str, Json], ArgumentNames]:
    """Return `schema` with names that every provider accepts, each unique in the whole schema, and their originals."""
    every = set(_names_in(schema))
    if all(_FIT.fullmatch(name) for name in every):
        return schema, _NONE
    fit = unique_names(every, MOST_CHARS, fallback="argument")
    return _renamed(schema, {name: fit[name] for name in every if not _FIT.fullmatch(name)})


def _names_in(schema: Any) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from properties
    for one in (*properties.values(), *_parts_of(schema)):
        yield from _names_in(one)


def _parts_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in _PLAIN_KEYS:
        if isinstance(schema.get(key), dict):
            yield schema[key]
    for key in _OPTIONS:
        yield from schema.get(key, ())


def _renamed(schema: Any, fit: Mapping[str, str]) -> tuple[dict[str, Json], ArgumentNames]:
    made = dict(schema)
    own: dict[str, str] = {}
    inside: dict[str, ArgumentNames] = {}
    if "properties" in schema:
        made["properties"] = properties = {}
        for name, one in schema["properties"].items():
            new = fit.get(name, name)
            properties[new], names = _renamed(one, fit)
            if names:
                inside[new] = names
            if new != name:
                own[new] = name
                said = f"Its server calls it {plain_text(name, 80)!r}. {one.get('description', '')}"
                properties[new] |= {"description": plain_text(said, 400)}
    if "required" in schema:
        made["required"] = [fit.get(name, name) for name in schema["required"]]
    found = ArgumentNames(own, inside)
    for key in _PLAIN_KEYS:
        if isinstance(schema.get(key), dict):
            made[key], names = _renamed(schema[key], fit)
            found = found.and_of(ArgumentNames(each=names or None))
    for key in _OPTIONS:
        if key in schema:
            alternatives = [_renamed(one, fit) for one in schema[key]]
            made[key] = [one for one, _ in alternatives]
            for _, names in alternatives:
                found = found.and_of(names)
    return made, found
