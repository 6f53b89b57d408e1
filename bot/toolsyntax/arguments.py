"""Read the tool name and the arguments of a call that a model wrote as text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from bot.toolsyntax.elements import typed
from bot.toolsyntax.pieces import Schema
from bot.toolsyntax.repair import Unreadable, literal, loads, object_in, unquote
from tools.contract.json_values import DEEPEST, is_too_deep

NAME_KEYS: Final = ("tool", "name", "tool_name", "function", "recipient_name", "action")
"""`recipient_name` is OpenAI's, in calls that its models bundle; `action` LangChain's."""
ARGUMENT_KEYS: Final = ("arguments", "args", "parameters", "input", "action_input")
_MAY_BE_PARAMETERS: Final = frozenset({"input", "action_input"})
LISTS: Final = ("tool_calls", "tool_uses")
"""Keys of an object around a list of calls, where nothing else names a tool."""
HOLDERS: Final = ("function_call", "tool_call")
"""The same, around one call."""
_NOT_ARGUMENTS: Final = frozenset({"id", "type", "tool_call_id"})
_QUOTES: Final = "\"'“”‘’`"
_CLOSING_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_STRING_STOPS: Final = {end: re.compile(rf"[\\{end}]") for end in "\"'”’"}
_KEYWORD: Final = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")
_SUFFIX: Final = re.compile(r":\d{1,9}\Z")
_LONGEST_TUPLE: Final = 4000
_MOST_SIGNS: Final = 2_000
"""Commas, quotes, brackets and the like that are used to split one line of values."""
_VALUE: Final = re.compile(r"\S")
_OPENS: Final = re.compile(r"[{(\[<]")
_NUMBER: Final = re.compile(r"_\d{1,9}\Z")
_PREFIXES: Final = (
    *(f"{word}{sign}" for word in ("functions", "function", "tools", "default_api") for sign in ".:/_"),
    "tool.", "call:", "call_",
)  # fmt: skip
_PREFIX: Final = re.compile(rf"(?:{'|'.join(map(re.escape, _PREFIXES))}){{1,3}}")


@dataclass(frozen=True, slots=True)
class Found:
    """One call as it was read; the registry says whether its tool exists."""

    name: str
    arguments: dict[str, Any] = field(hash=False)


def _folded(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


class Registry:
    """The tools offered in this chat, as far as reading calls needs them."""

    def __init__(self, tools: Mapping[str, Schema]) -> None:
        self._tools = dict(tools)
        names = sorted(map(re.escape, self._tools), key=len, reverse=True)
        self._words = re.compile(rf"(?<![^\W_])(?:{'|'.join(names)})(?![^\W_])") if names else None

    @cached_property
    def _alike(self) -> dict[str, str]:
        """Registered names by their form without case and kinds of dashes; empty if two are alike."""
        alike: dict[str, str] = {}
        for name in self._tools:
            folded = _folded(name)
            alike[folded] = "" if folded in alike else name
        return alike

    @property
    def names(self) -> Iterable[str]:
        """The registered names."""
        return self._tools.keys()

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def begins(self, text: str) -> bool:
        """Return True if `text` begins a registered name, or is one."""
        text = _SUFFIX.sub("", text.strip().lstrip(_QUOTES).rstrip(_QUOTES + ":"))
        bare = _PREFIX.sub("", text)
        open_ended = any(prefix.startswith(text) for prefix in _PREFIXES)
        return bool(text) and (open_ended or any(name.startswith(bare) for name in self._tools))

    def name(self, written: str) -> str:
        """Return the registered name that was meant: `written` itself, or its form without a model's decoration.

        Removed are quotes, anything from a special token on, a suffix `:N` and prefixes such as `functions.`. If that
        is not a name either, case, `-` and `_` may differ, provided exactly one tool fits.
        """
        name = written.strip()
        for bare in (name, name.strip(_QUOTES)):
            if bare in self._tools or not bare:
                return bare
        name = _SUFFIX.sub("", name.partition("<|")[0].strip().strip(_QUOTES)).strip(_QUOTES)
        bare = _PREFIX.sub("", name)
        for meant in (name, bare, _NUMBER.sub("", bare) if bare != name else name):
            if meant in self._tools:
                return meant
            if alike := self._alike.get(_folded(meant)):
                return alike
        return name.removeprefix("functions.")

    def named_in(self, text: str, *, with_arguments: bool = False) -> bool:
        """Return True if `text` contains a registered name as a whole word; `with_arguments`: followed by a bracket or
        a brace."""
        found = self._words.search(text) if self._words is not None else None
        return found is not None and (not with_arguments or _OPENS.search(text, found.end()) is not None)

    def properties(self, name: str) -> dict[str, Schema]:
        """The parameters of a tool, in declared order."""
        found = self._tools.get(name, {}).get("properties")
        if not isinstance(found, Mapping):
            return {}
        return {key: value if isinstance(value, Mapping) else {} for key, value in found.items()}

    def needs_arguments(self, name: str) -> bool:
        """The tool has parameters that must be given."""
        return bool(self._tools.get(name, {}).get("required"))

    def typed(self, name: str, key: str, text: str) -> Any:
        """Return a value written as plain text in the schema's type; the text itself if it does not fit."""
        return typed(text, self.properties(name).get(key, {}))

    # Calls written as JSON objects

    def calls_in(self, value: Any, *, tagged: bool) -> list[Found] | None:
        """Return the calls in a JSON value, or None if it is not entirely calls.

        Untagged, at least one of the tools must be registered.
        """
        if isinstance(value, dict) and not self._direct(value):
            inner = next((value[key] for key in LISTS if isinstance(value.get(key), list)), None)
            alone = next((value[key] for key in HOLDERS if isinstance(value.get(key), dict) and len(value) == 1), None)
            value = inner if inner is not None else alone if alone is not None else value
        items = value if isinstance(value, list) else [value]
        found = []
        for item in items:
            call = self._call_in(item, tagged=tagged) if isinstance(item, dict) else None
            if call is None:
                return None
            found.append(call)
        if not tagged and not any(call.name in self for call in found):
            return None
        return found

    def arguments_in(self, value: Any) -> dict[str, Any] | None:
        """Return a call's arguments as an object, or None if they cannot be one."""
        if isinstance(value, str):
            value = value.strip()
            return {} if value in ("", "null") else object_in(value)
        if value is None:
            return {}
        return value if isinstance(value, dict) else None

    def _direct(self, value: Mapping[str, Any]) -> bool:
        return any(isinstance(value.get(key), str) and self.name(value[key]) in self for key in NAME_KEYS)

    def _call_in(self, item: dict[str, Any], *, tagged: bool) -> Found | None:
        key, name, holder = self._name_in(item)
        if not key and tagged and len(item) == 1:  # the name itself is the key
            [(name, value)] = item.items()
            return Found(self.name(name), value) if self.name(name) in self and isinstance(value, dict) else None
        if not key or (not tagged and name not in self and not _has_arguments(holder, item)):
            return None
        properties = self.properties(name)
        for source in (holder, item) if holder is not item else (item,):
            for argument_key in ARGUMENT_KEYS:
                if argument_key not in source or (argument_key in _MAY_BE_PARAMETERS and argument_key in properties):
                    continue
                arguments = self.arguments_in(source[argument_key])
                if arguments is None and key == "tool" and argument_key in properties:
                    continue  # a flat call of a tool with a parameter of that name
                if arguments is None or _is_schema(arguments, properties):
                    return None
                return Found(name, arguments)
        rest = {other: value for other, value in item.items() if other != key}
        if key == "tool":
            flat = tagged or self._fits(name, rest.keys())
            return Found(name, rest) if flat else None
        rest = {other: value for other, value in rest.items() if other not in _NOT_ARGUMENTS}
        if tagged:
            return Found(name, rest if rest and rest.keys() <= properties.keys() else {})
        return Found(name, {}) if key not in ("name", "action") and holder is item and not rest else None

    def _fits(self, name: str, keys: Set[str]) -> bool:
        """Return True if these keys are parameters of a tool, or belong to a call, and include what the tool
        requires."""
        required = self._tools.get(name, {}).get("required")
        known = keys <= {*self.properties(name), *NAME_KEYS, *_NOT_ARGUMENTS}
        return known and (not isinstance(required, list) or keys >= set(required))

    def _name_in(self, item: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        """Return the key that names the tool (the first with a registered name), the name, and its position."""
        first = ("", "", item)
        for key in NAME_KEYS:
            value, holder = item.get(key), item
            if key == "function" and isinstance(value, dict):
                holder = value
                value = value.get("name")
            if not isinstance(value, str) or not value.strip():
                continue
            name = self.name(value)
            if name in self:
                return key, name, holder
            if not first[0]:
                first = (key, name, holder)
        return first

    # Arguments written as bare values on one line

    def arguments_from_line(self, name: str, text: str) -> dict[str, Any]:
        """Return the arguments of `使用工具：name: text`, typed by the schema."""
        properties = list(self.properties(name))
        text = text.strip()
        if not text:
            return {}
        if text.startswith("{"):
            value = object_in(text)
            if value is not None and value.keys() <= set(properties):
                return value
        if not properties:
            return {}
        values = [text] if len(properties) == 1 else split(text, ",，", _MOST_SIGNS)
        arguments: dict[str, Any] = {}
        extra: list[str] = []
        for value_text in values:
            key, value_text = _keyword(value_text, properties)
            free = [each for each in properties if each not in arguments]
            if not key and not free:
                extra.append(value_text)
                continue
            arguments[key or free[0]] = value_text
        if extra:
            arguments[properties[-1]] = ", ".join([arguments[properties[-1]], *extra])
        return {key: self.typed(name, key, unwrap(value)) for key, value in arguments.items()}

    def first_parameter(self, name: str, text: str) -> dict[str, Any]:
        """Return the arguments of `我需要使用工具：name text`: the rest of the line is the first parameter."""
        properties = list(self.properties(name))
        text = text.strip()
        if not text or not properties:
            return {}
        return {properties[0]: self.typed(name, properties[0], unwrap(text))}

    def arguments_from_parentheses(self, name: str, text: str) -> dict[str, Any] | None:
        """Return the arguments of `name(text)`: JSON and Python values keep their type, other text is a string.

        None if it is rather a signature or has more values than the tool has parameters.
        """
        known = name in self
        properties = list(self.properties(name))
        text = text.strip()
        if not text:
            return {}
        if known and len(properties) == 1:
            key, rest = _keyword(text, properties)
            if not key and _is_signature(rest, properties[0]):
                return None
            if not key and rest.startswith("{"):
                value = python_value(rest)
                if isinstance(value, dict) and value.keys() <= set(properties):
                    return value
            return {key or properties[0]: python_value(rest)}
        arguments: dict[str, Any] = {}
        values = split(text, ",")
        if values and not values[-1].strip():
            values.pop()
        signature = True
        for value_text in values:
            key, rest = _keyword(value_text, None)
            if key:
                arguments[key] = python_value(rest)
                signature = False
                continue
            value = python_value(rest)
            if isinstance(value, dict) and len(values) == 1 and (value.keys() <= set(properties) or not known):
                return value
            free = [each for each in properties if each not in arguments]
            if not free:
                if known:
                    return None
                free = [f"argument{len(arguments) + 1}"]
            signature = signature and _is_signature(rest.strip(), free[0])
            arguments[free[0]] = value
        return None if signature else arguments


@cache
def _signs(separators: str) -> re.Pattern[str]:
    return re.compile(rf"[()\[\]{{}}=:{re.escape(separators)}]")


def split(text: str, separators: str, most: int = sys.maxsize) -> list[str]:
    """Cut at separators outside quotes and brackets; a quote only counts where a value begins.

    Args:
        most: characters that are examined; the rest is part of the last piece.
    """
    parts: list[str] = []
    signs = _signs(separators)
    start = depth = pos = 0
    value = -1
    """Where the next value begins."""
    fresh = True
    for _ in range(most):
        found = signs.search(text, pos)
        if value < pos:
            begins = _VALUE.search(text, pos)
            value = begins.start() if begins is not None else len(text)
        if fresh and text[value : value + 1] in _CLOSING_QUOTES and (found is None or value < found.start()):
            pos, fresh = string_end(text, value), False
            continue
        if found is None:
            break
        c, pos = found[0], found.end()
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c in separators and depth <= 0:
            parts.append(text[start : found.start()])
            start = pos
        fresh = c not in ")]}"
    parts.append(text[start:])
    return parts


def string_end(text: str, pos: int) -> int:
    """Return where the string that begins at `pos` ends; the end of the text if it does not end."""
    quote = _CLOSING_QUOTES[text[pos]]
    stop = _STRING_STOPS[quote]
    if text.startswith(quote * 3, pos):
        end = text.find(quote * 3, pos + 3)
        return end + 3 if end >= 0 else len(text)
    pos += 1
    while match := stop.search(text, pos):
        if match.group() == quote:
            return match.end()
        pos = match.end() + 1
    return len(text)


def unwrap(text: str) -> str:
    """Return a text without its quotes, if all of it is one quoted text."""
    text = text.strip()
    quoted = len(text) > 1 and text[0] in _CLOSING_QUOTES and text[-1] == _CLOSING_QUOTES[text[0]]
    return text[1:-1] if quoted and string_end(text, 0) == len(text) else text


def python_value(text: str, depth: int = 0) -> Any:
    """Return a JSON or Python value; other text, or too deep nesting, is a string as it is."""
    text = text.strip()
    if depth > DEEPEST or (len(text) > _LONGEST_TUPLE and text[:1] == "("):
        return text
    if text[:1] in _CLOSING_QUOTES and text and string_end(text, 0) == len(text) and len(text) > 1:
        wide = 3 if len(text) > 5 and text.startswith(_CLOSING_QUOTES[text[0]] * 3) else 1
        return unquote(text[wide:-wide])
    if text[:1] in ("{", "["):
        try:
            return loads(text)
        except Unreadable:
            return text
    if text.startswith("(") and text.endswith(")"):
        made = [python_value(each, depth + 1) for each in split(text[1:-1], ",") if each.strip()]
        return text if not depth and is_too_deep(made) else made
    try:
        return literal(text)
    except Unreadable:
        return text


def _keyword(text: str, allowed: Sequence[str] | None) -> tuple[str, str]:
    """Return the parts of `key=value`, or no key."""
    match = _KEYWORD.match(text)
    if match is None or (allowed is not None and match.group(1) not in allowed):
        return "", text.strip()
    return match.group(1), text[match.end() :].strip()


def _is_signature(text: str, parameter: str) -> bool:
    """Return True if the value only repeats the parameter: a description of the tool and not a call."""
    return text in ("...", "…", parameter) or re.match(rf"{re.escape(parameter)}\s*:", text) is not None


def _has_arguments(holder: dict[str, Any], item: dict[str, Any]) -> bool:
    return any(key in holder or key in item for key in ARGUMENT_KEYS)


def _is_schema(arguments: dict[str, Any], properties: Mapping[str, Schema]) -> bool:
    """Return True if the "arguments" are a tool's definition, as in JSON that describes tools."""
    return (
        arguments.get("type") == "object"
        and isinstance(arguments.get("properties"), dict)
        and ("properties" not in properties)
    )
