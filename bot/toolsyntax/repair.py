"""JSON in models' notation: strict JSON first, so that valid input is never changed, then the repairs.

Repaired are single and curly quotes as delimiters, unquoted keys, trailing commas, `True`, `False`, `None`, raw line
breaks in strings, a closer too many, and missing closers if the caller saw the closing tag.
"""

from __future__ import annotations

import re
from typing import Any

from bot.toolsyntax.scan import JsonScan, Part
from tools.contract.json_values import OutsideDecoder

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SHORT = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "a": "\a", "v": "\v",
    "\n": "", "\r\n": "",
}  # fmt: skip
_KEPT = {'"', "'", "\\", "/", "`", "“", "”", "‘", "’"}
_WORDS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


_decoder = OutsideDecoder(strict=False)


class Unreadable(ValueError):
    """The text is not a JSON value and cannot be repaired into one."""


def loads_strict(text: str) -> Any:
    """Read JSON; control characters in strings are accepted.

    Raises:
        Unreadable: it is not JSON, or too deeply nested or too long.
    """
    try:
        return _decoder.decode(text)
    except ValueError as error:
        raise Unreadable(str(error)) from error


def loads(text: str, *, unclosed: bool = False) -> Any:
    """Read an object or a list, repaired if necessary; `unclosed` supplies missing closers.

    Raises:
        Unreadable: no repair helps.
    """
    parts: list[Part] = []
    scan = JsonScan(parts=parts)
    try:
        return loads_strict(text)
    except Unreadable:
        scan.advance(text, 0, len(text))
        scan.finish()
    if scan.broken or scan.stopped or not (scan.done or (unclosed and scan.closable)):
        raise Unreadable(f"no JSON: {text[:80]!r}")
    return _build(parts)


def object_in(text: str) -> dict[str, Any] | None:
    """Return the object that `text` is, repaired if necessary; None if it is not one."""
    try:
        value = loads(text)
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None


def partial(text: str) -> Any:
    """Return the readable part of an incomplete object or list; None if there is none."""
    parts: list[Part] = []
    scan = JsonScan(parts=parts)
    scan.advance(text, 0, len(text))
    if scan.broken:
        return None
    scan.flush()
    return None if scan.too_deep else _build(parts)


def unquote(raw: str) -> str:
    """Return the text between two quotes, with its escapes read; unknown escapes stay as they are."""
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(_unescape, raw)
    return _PAIR.sub(lambda pair: pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


def number(text: str) -> int | float:
    """Read a number in JSON's or Python's notation.

    Raises:
        Unreadable: it is not one.
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError as error:
        raise Unreadable(f"no number: {text[:80]!r}") from error
    if value in (float("inf"), float("-inf")) or value != value:
        raise Unreadable(f"no finite number: {text[:80]!r}")
    return value


def literal(text: str) -> Any:
    """Read `true`, `None`, a number and their like.

    Raises:
        Unreadable: it is something else.
    """
    return _WORDS[text] if text in _WORDS else number(text)


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 2 or (code[0] == "x" and len(code) > 1):
        return chr(int(code[1:], 16)) if code[0] in "ux" else _SHORT[code]
    if code in _SHORT:
        return _SHORT[code]
    return code if code in _KEPT else match.group()


def _build(parts: list[Part]) -> Any:
    """Build the value from the parts; unclosed containers count as closed."""
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[str] = [""]
    for kind, text in parts:
        if kind in "}]":
            stack.pop()
            keys.pop()
            continue
        if kind == "key":
            keys[-1] = unquote(text)
            continue
        value: Any
        match kind:
            case "{":
                value = {}
            case "[":
                value = []
            case "string":
                value = unquote(text)
            case _:
                try:
                    value = literal(text)
                except Unreadable:
                    value = text
        if isinstance(stack[-1], dict):
            stack[-1][keys[-1]] = value
        else:
            stack[-1].append(value)
        if kind in "{[":
            stack.append(value)
            keys.append("")
    return root[0] if root else None
