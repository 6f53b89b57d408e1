"""Arguments in Gemma's notation: `name{key:value}`, with texts between special tokens instead of quotes."""

from __future__ import annotations

import re
from typing import Any, Final

from bot.toolsyntax.families import Marker, Role, trie
from bot.toolsyntax.reader import Reader, Steps
from bot.toolsyntax.repair import Unreadable, literal, unquote

_QUOTES: Final = trie(Marker(word, Role.SEPARATOR) for word in ('<|"|>', "<escape>"))
_OUTSIDE: Final = re.compile(r'[{}()\[\]"<]')
_PLAIN_STRING: Final = re.compile(r'["\\]')
_TOKEN: Final = re.compile("<")
_PIECE: Final = re.compile(r"[{}()\[\],:=]|[^{}()\[\],:=]+")
_DEEPEST: Final = 64

Token = tuple[bool, str]
"""Whether it is a text, and its content."""


def read_braces(r: Reader) -> Steps[list[Token] | None]:
    """Return the parts of the value whose bracket is the next character; None if the reply ends inside."""
    tokens: list[Token] = []
    depth = 0
    start = r.hold()
    while True:
        c = yield from r.seek(_OUTSIDE)
        if not c:
            break
        if c == "<" and not isinstance((yield from _ahead(r)), Marker):
            r.pos += 1
            continue
        tokens.append((False, r.taken(start)))
        if c in '"<':
            text = yield from (_plain(r) if c == '"' else _between(r))
            if text is None:
                break
            tokens.append((True, text))
        else:
            r.pos += 1
            tokens.append((False, c))
            depth += 1 if c in "{([" else -1
        r.drop()
        if depth == 0:
            return tokens
        start = r.hold()
    r.drop()
    return None


def _ahead(r: Reader) -> Steps[object]:
    """Return the quote that comes next. Consumes nothing."""
    here = r.hold()
    marker = yield from r.match(_QUOTES)
    r.rewind(here)
    r.drop()
    return marker


def _plain(r: Reader) -> Steps[str | None]:
    """Read a text in double quotes."""
    r.pos += 1
    start = r.hold()
    while c := (yield from r.seek(_PLAIN_STRING)):
        if c == '"':
            text = r.taken(start)
            r.pos += 1
            r.drop()
            return unquote(text)
        r.pos += 1
        if (yield from r.peek()):
            r.pos += 1
    r.drop()
    return None


def _between(r: Reader) -> Steps[str | None]:
    """Read a text between two tokens."""
    yield from r.match(_QUOTES)
    start = r.hold()
    while (yield from r.seek(_TOKEN)):
        end = r.offset
        if isinstance((yield from r.match(_QUOTES)), Marker):
            after = r.offset
            r.rewind(end)
            text = r.taken(start)
            r.pos += after - end
            r.drop()
            return text
        r.pos += 1
    r.drop()
    return None


def value_of(tokens: list[Token]) -> dict[str, Any]:
    """Return the object that the parts form.

    Raises:
        Unreadable: they form none.
    """
    stack: list[tuple[Any, str]] = []
    key, word, text = "", "", None
    for is_text, said in tokens:
        if is_text:
            text = said if text is None else text + said
            continue
        for piece in _PIECE.findall(said):
            inside = stack[-1][0] if stack else None
            if piece in "{([":
                stack.append(({} if piece != "[" else [], key))
                key, word, text = "", "", None
                if len(stack) > _DEEPEST:
                    raise Unreadable("too deep")
            elif piece in ":=" and isinstance(inside, dict) and not key:
                key, word, text = text if text is not None else word.strip(), "", None
                if not key:
                    raise Unreadable("no key")
            elif piece in "})],":
                _add(inside, key, word, text)
                key, word, text = "", "", None
                if piece != ",":
                    inside, key = stack.pop()
                    if not stack:
                        return _object(inside)
                    _put(stack[-1][0], key, inside)
                    key = ""
            else:
                word += piece
    raise Unreadable("no end")


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise Unreadable("no object")


def _add(container: Any, key: str, word: str, text: str | None) -> None:
    """Put a value in its place; an empty one only if a key waits for it."""
    word = word.strip()
    if text is None and not word and not key:
        return
    if text is None:
        try:
            text = literal(word)
        except Unreadable:
            text = word
    _put(container, key, text)


def _put(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        if not key:
            raise Unreadable("a value without a key")
        container[key] = value
    else:
        container.append(value)
