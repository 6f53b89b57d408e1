"""Shorten a schema until it is small enough for every prompt: descriptions first, then the deepest parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tools.contract.base import Json

MOST_CHARS: Final = 16_000
MOST_DEPTH: Final = 10

_VALUES: Final = ("enum", "const", "default", "examples")
_PARTS: Final = ("properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """How much of a schema is kept."""

    top: int = 400
    """Characters of an argument's description."""
    inner: int = 400
    """Characters of the description of a part of an argument."""
    values: int = 4000
    """Characters of an enum, a default or an example."""
    depth: int = MOST_DEPTH
    arguments: int | None = None


_FULL: Final = _Limits()


def _stages() -> Iterator[_Limits]:
    """Yield ever stricter limits."""
    yield (limits := replace(_FULL, top=120, inner=120))
    yield (limits := replace(limits, values=400))
    yield (limits := replace(limits, inner=0))
    yield (limits := replace(limits, top=40))
    for depth in range(MOST_DEPTH - 1, 0, -1):
        yield (limits := replace(limits, depth=depth))
    yield (limits := replace(limits, top=0, values=0))
    for arguments in (200, 50, 0):
        yield replace(limits, arguments=arguments)


def shortened(schema: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return `schema` in at most `MOST_CHARS` characters, and the losses in a few words each."""
    made, limits = schema, _FULL
    stages = _stages()
    while len(json.dumps(made, ensure_ascii=False)) > MOST_CHARS:
        limits = next(stages)
        made = _cut(schema, limits, 0)
    said = []
    if limits.arguments is not None:
        said.append(f"all but {limits.arguments} arguments")
    if limits.depth < MOST_DEPTH:
        said.append(too_deep(limits.depth))
    if limits.top < _FULL.top:
        said.append("the end of long descriptions" if limits.inner else "most descriptions")
    return made, said


def too_deep(depth: int) -> str:
    """Return the words for parts left out for their depth."""
    return f"what is more than {depth} deep"


def _cut(schema: Any, limits: _Limits, depth: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, one in schema.items():
        if key == "description":
            most = limits.top if depth <= 1 else limits.inner
            if most:
                made[key] = one if len(one) <= most else one[: most - 1].rstrip() + "…"
        elif key in _VALUES:
            if len(json.dumps(one, ensure_ascii=False)) <= limits.values:
                made[key] = one
        elif key == "items":
            made[key] = _cut(one, limits, depth + 1) if depth < limits.depth else {}
        elif key not in _PARTS:
            made[key] = one
        elif depth < limits.depth:
            made[key] = _cut_parts(key, one, limits, depth)
    if limits.arguments is not None and depth == 0:
        _drop_arguments(made, limits.arguments)
    return made


def _cut_parts(key: str, parts: Any, limits: _Limits, depth: int) -> Json:
    if key == "properties":
        return {name: _cut(one, limits, depth + 1) for name, one in parts.items()}
    if key == "additionalProperties":
        return _cut(parts, limits, depth + 1) if isinstance(parts, dict) else parts
    return parts if key == "required" else [_cut(one, limits, depth + 1) for one in parts]


def _drop_arguments(schema: dict[str, Any], most: int) -> None:
    """Keep the first `most` arguments, the required ones before all others."""
    required = set(schema.get("required", ()))
    kept = set(sorted(schema["properties"], key=lambda name: name not in required)[:most])
    schema["properties"] = {name: one for name, one in schema["properties"].items() if name in kept}
    if required:
        schema["required"] = [name for name in schema["required"] if name in kept]
