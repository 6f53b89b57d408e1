"""Schemas of tools in words that every server reads: one type for each value, no references, no alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 12
_KINDS: Final = frozenset(("string", "number", "integer", "boolean", "array", "object"))


def simplified(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema for a server that refuses it as it is; arguments are still checked by the whole one."""
    return {**_simple(schema, schema, 0), "type": "object"}


def _simple(schema: object, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    node = _resolved(schema, root)
    kind = _kind(node)
    simple: dict[str, Any] = {"type": kind}
    if isinstance(said := node.get("description"), str):
        simple["description"] = said
    choices = [one for one in node.get("enum") or () if isinstance(one, str)] if kind == "string" else []
    if choices:
        simple["enum"] = choices
    if depth >= _DEEPEST:
        return simple
    if kind == "object":
        given = node.get("properties")
        properties = given if isinstance(given, Mapping) else {}
        simple["properties"] = {str(name): _simple(one, root, depth + 1) for name, one in properties.items()}
        required = node.get("required")
        names = [name for name in required if name in properties] if isinstance(required, list) else []
        if names:
            simple["required"] = names
    if kind == "array":
        simple["items"] = _simple(node.get("items"), root, depth + 1)
    return simple


def _resolved(schema: object, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node with its reference followed, its parts joined, and the first of its alternatives."""
    node: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else {}
    for _ in range(_DEEPEST):
        found = _referred(node.pop("$ref", None), root)
        parts = [found, *(node.pop("allOf", None) or ())]
        for name in ("anyOf", "oneOf"):
            others = node.pop(name, None) or ()
            parts += [one for one in others if isinstance(one, Mapping) and one.get("type") != "null"][:1]
        parts = [part for part in parts if isinstance(part, Mapping) and part]
        if not parts:
            break
        for part in parts:
            node = {**part, **node, **_joined(part, node)}
    return node


def _joined(part: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    first, second = part.get("properties"), node.get("properties")
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {"properties": {**first, **second}}
    return {}


def _referred(reference: object, root: Mapping[str, Any]) -> object:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: object = root
    for name in reference[2:].split("/"):
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


def _kind(node: Mapping[str, Any]) -> str:
    given = node.get("type")
    kinds = given if isinstance(given, list) else [given]
    named = next((kind for kind in kinds if kind in _KINDS), "")
    return named or ("object" if "properties" in node else "array" if "items" in node else "string")
