"""JSON schemas of arguments: made from a function's signature, and checked before a call.

The checker knows the parts of JSON Schema that tools use (types, enums, required, nested objects and arrays, ranges,
patterns, any/all/one of, local references). It is our own because the common library costs ten megabytes and a tenth of
a second at start for a hundred lines' worth of need.

pydantic cannot replace it: schemas of MCP servers are checked, too, which it cannot read, and its schemas of our 15
tools are the same without its titles and nulls (9,411 characters before, 7,772 after, 7,852 of ours), for 26 instead of
2 ms at the start. docstring-parser does not read `Use when: …` in one line, which our docstrings and servers' have, and
raises on an unexpected argument line.
"""

from __future__ import annotations

import enum
import inspect
import operator
import re
import reprlib
import time
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.calling.conversion import is_of
from tools.calling.problems import kind_name, problem
from tools.contract.base import Json

MOST_STEPS = 20_000
PATTERN_SECONDS = 0.03
"""For all patterns of one check together; patterns after that are not checked."""
LONGEST_PROBLEM = 2_000
"""Characters of a sentence about what is wrong."""
_MISSES: Mapping[str, Callable[[float, float], bool]] = {
    "minimum": operator.lt,
    "maximum": operator.gt,
    "exclusiveMinimum": operator.le,
    "exclusiveMaximum": operator.ge,
}
"""Bounds of a number, each with the word for a number that breaks it."""
_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    str: "a string",
    int: "a number",
    float: "a number",
    list: "an array",
}
"""Kinds of wrong values: keys of `tools.calling.problems`."""
_ARGUMENT = re.compile(r"^(\s{0,8})(\w+):\s*(.+)$")
_EXAMPLE = re.compile(r"\s*Example:\s*(.+?)\s*$")


@dataclass(slots=True)
class _Root:
    """The whole schema, and the remaining budget of its check: references multiply, and patterns may search for
    ever."""

    schema: Mapping[str, Json]
    language: str = "en"
    left: int = MOST_STEPS
    seconds: float = PATTERN_SECONDS

    def says(self, key: str, name: str, **values: object) -> str:
        """Return a sentence about the argument `name`, or about all arguments if empty."""
        return problem(key, self.language, name=name or problem("arguments", self.language), **values)


def check(schema: Mapping[str, Json], value: Json, language: str = "en") -> list[str]:
    """Return the faults of `value`, one sentence each; malformed parts of the schema are ignored."""
    return [_cut(found) for found in _problems(schema, value, "", _Root(schema, language), 0)[:8]]


def without_unknown(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the arguments that the schema knows, and the names of the others.

    An optional argument that is null is left out as well: many models write unused arguments so.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties") not in (None, False):
        return dict(arguments), []
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    known = {
        name: value
        for name, value in arguments.items()
        if name in properties
        and (value is not None or name in needed or not _problems(properties[name], None, name, _Root(schema), 0))
    }
    return known, [name for name in arguments if name not in properties]


def _problems(schema: Any, value: Json, path: str, root: _Root, depth: int) -> list[str]:
    root.left -= 1
    if not isinstance(schema, Mapping) or depth > 32 or root.left < 0:
        return []
    if isinstance(schema.get("$ref"), str):
        return _problems(_resolve(root.schema, schema["$ref"]), value, path, root, depth + 1)
    found: list[str] = []
    wanted = schema.get("type")
    if wanted is not None:
        kinds = wanted if isinstance(wanted, list) else [wanted]
        if kinds and all(is_of(value, kind) is False for kind in kinds):
            either = problem("or", root.language).join(kind_name(kind, root.language) for kind in kinds)
            return [root.says("type", path, kinds=either, given=_named(value, root.language))]
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        listed = ", ".join(_short(one) for one in choices[:40])
        listed += ", …" * (len(choices) > 40)
        found.append(root.says("enum", path, listed=listed, given=_short(value)))
    if "const" in schema and value != schema["const"]:
        found.append(root.says("const", path, wanted=_short(schema["const"])))
    found += _ranges(schema, value, path, root)
    if isinstance(value, dict):
        found += _object(schema, value, path, root, depth)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value[:1000]):
            found += _problems(schema["items"], item, f"{path}[{index}]", root, depth + 1)
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            tried = [_problems(option, value, path, root, depth + 1) for option in options]
            if all(tried):
                found.append(min(tried, key=len)[0])
    for option in _listed(schema, "allOf"):
        found += _problems(option, value, path, root, depth + 1)
    return found


def _object(schema: Mapping[str, Any], value: dict[str, Json], path: str, root: _Root, depth: int) -> list[str]:
    found = [
        root.says("required", f"{path}.{name}" if path else name)
        for name in _listed(schema, "required")
        if isinstance(name, str) and name not in value
    ]
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for name, item in value.items():
        inner = f"{path}.{name}" if path else name
        if name in known:
            found += _problems(known[name], item, inner, root, depth + 1)
        elif isinstance(schema.get("additionalProperties"), Mapping):
            found += _problems(schema["additionalProperties"], item, inner, root, depth + 1)
    return found


def _ranges(schema: Mapping[str, Any], value: Json, path: str, root: _Root) -> list[str]:
    found: list[str] = []
    if isinstance(value, int | float) and not isinstance(value, bool):
        for word, misses in _MISSES.items():
            if (bound := _bound(schema, word)) is not None and misses(value, bound):
                found.append(root.says(word, path, bound=bound, given=_short(value)))
    if isinstance(value, str):
        if (bound := _bound(schema, "minLength")) is not None and len(value) < bound:
            found.append(root.says("short" if value else "empty", path))
        if (bound := _bound(schema, "maxLength")) is not None and len(value) > bound:
            found.append(root.says("maxLength", path, bound=bound, given=len(value)))
        if isinstance(schema.get("pattern"), str) and not _matches(schema["pattern"], value, root):
            found.append(root.says("pattern", path, wanted=_short(schema["pattern"])))
    if isinstance(value, list):
        if (bound := _bound(schema, "minItems")) is not None and len(value) < bound:
            found.append(root.says("minItems", path, bound=bound))
        if (bound := _bound(schema, "maxItems")) is not None and len(value) > bound:
            found.append(root.says("maxItems", path, bound=bound, given=len(value)))
    return found


def _bound(schema: Mapping[str, Any], word: str) -> int | float | None:
    bound = schema.get(word)
    return bound if isinstance(bound, int | float) and not isinstance(bound, bool) else None


def _listed(schema: Mapping[str, Any], word: str) -> list[Any]:
    options = schema.get(word)
    return options if isinstance(options, list) else []


def _matches(pattern: str, value: str, root: _Root) -> bool:
    # Not the standard library's: a pattern may come from a stranger's server and take for ever.
    import regex

    if root.seconds <= 0:
        return True
    begun = time.perf_counter()
    try:
        return regex.search(pattern, value[:10_000], timeout=root.seconds) is not None
    except (regex.error, TimeoutError):
        return True
    finally:
        root.seconds -= time.perf_counter() - begun


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxlong = _repr.maxother = 80


def _short(value: object) -> str:
    """Shorten a value for an error message."""
    return _repr.repr(value)


def _cut(found: str) -> str:
    return found if len(found) <= LONGEST_PROBLEM else f"{found[: LONGEST_PROBLEM - 1]}…"


def _resolve(root: Mapping[str, Json], reference: str) -> Any:
    node: Any = root
    for part in reference.removeprefix("#").split("/"):
        if part:
            part = part.replace("~1", "/").replace("~0", "~")
            node = node.get(part) if isinstance(node, Mapping) else None
    return node


def _named(value: Json, language: str) -> str:
    return problem(_NAMES.get(type(value), "an object"), language, given=_short(value))


def of_function(function: Callable[..., Any], descriptions: Mapping[str, str]) -> dict[str, Json]:
    """Build the schema of a function's arguments from its annotations, without the parameter `context`.

    A description that ends with `Example: …` becomes the schema's example, or several with commas between them.

    Raises:
        TypeError: a parameter has no annotation that JSON knows.
    """
    hints = typing.get_type_hints(function)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "context":
            continue
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name!r} has no type")
        one = _of_type(hints[name], f"{function.__name__}.{name}")
        if name in descriptions:
            text = descriptions[name]
            match = _EXAMPLE.search(text)
            if match:
                one["examples"] = _literals(match[1])
                text = text[: match.start()].rstrip()
            one["description"] = text
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif parameter.default is not None:
            one["default"] = parameter.default
        properties[name] = one
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def of_docstring(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parts of a tool's docstring: (`purpose`, `use_when`, `not_for`, `source`) and the arguments' lines."""
    parts: dict[str, str] = {}
    arguments: dict[str, str] = {}
    key, last, depth = "purpose", "", 8
    heads = {"use when:": "use_when", "not for:": "not_for", "source:": "source", "args:": "args"}
    for line in inspect.cleandoc(text).splitlines():
        head = next((one for one in heads if line.lower().startswith(one)), None)
        if head is not None:
            key, line = heads[head], line[len(head) :]
        if key == "args":
            match = _ARGUMENT.match(line)
            if match and len(match[1]) <= depth:  # a deeper line continues the one before
                last, depth = match[2], len(match[1])
                arguments[last] = match[3].strip()
            elif last and line.strip():
                arguments[last] += " " + line.strip()
        elif line.strip():
            parts[key] = f"{parts[key]} {line.strip()}" if key in parts else line.strip()
    return parts, arguments


def _of_type(hint: Any, where: str) -> dict[str, Json]:
    origin = typing.get_origin(hint)
    if hint in _TYPES:
        return {"type": _TYPES[hint]}
    if origin is typing.Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))}
    if origin in (typing.Union, types.UnionType):
        inner = [one for one in typing.get_args(hint) if one is not type(None)]
        if len(inner) == 1:
            return _of_type(inner[0], where)
        return {"anyOf": [_of_type(one, where) for one in inner]}
    if origin is list:
        return {"type": "array", "items": _of_type(typing.get_args(hint)[0], where)}
    if origin is dict or hint is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        return {"type": "string", "enum": [str(one) for one in hint]}
    named = hint.__name__ if isinstance(hint, type) else repr(hint)
    raise TypeError(f"{where}: JSON knows no {named}; use str, int, float, bool, list, dict, Literal or a StrEnum")


def _literals(text: str) -> list[Json]:
    import json

    try:
        values: list[Json] = json.loads(f"[{text}]")
    except ValueError:
        return [text.strip("\"'`")]
    return values
