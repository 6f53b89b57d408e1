"""The six kinds of bodies: read one from its beginning to the end of its structure.

Each method is a parse that may wait for more text. It returns an `Outcome`; after `TEXT` the caller goes back to its
hold; otherwise the text read is call syntax and is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from bot.toolsyntax.arguments import Found, Registry
from bot.toolsyntax.braces import read_braces, value_of
from bot.toolsyntax.families import CLOSERS, ELEMENT_HEADS, IN_PAIRS, IN_XML, SEPARATORS, Marker, Role, Trie, trie
from bot.toolsyntax.outcomes import BROKEN, TEXT, UNFINISHED, Outcome, Verdict, fired
from bot.toolsyntax.python_calls import PythonScan, read_calls
from bot.toolsyntax.reader import PARTIAL, Reader, Steps
from bot.toolsyntax.repair import Unreadable, literal, loads, loads_strict
from bot.toolsyntax.scan import JsonScan

_NAME_STOP: Final = " <[{(\"'`,;✿"
COLONS: Final = ":： \n"
_LONGEST_NAME: Final = 128
_LONGEST_HEAD: Final = 300
_NAME_ATTRIBUTE: Final = re.compile(r"name\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_STRING_ATTRIBUTE: Final = re.compile(r"\bstring\s*=\s*[\"']?(true|false)")
_PLACEHOLDER: Final = re.compile(r"\s|…|\.\.\.|\$")
_FENCE: Final = "`"
_BEYOND_NUMBERS: Final = re.compile(r"[^\d\s,.\-]").search
"""Nothing ends or changes kind without one of these; until then numbers may wait to be read together."""


class Bodies:
    """Reads bodies from one reply."""

    def __init__(self, reader: Reader, registry: Registry) -> None:
        self._reader = reader
        self._registry = registry
        self.cut = False
        """The model stopped for length: unclosed parts do not count."""
        self.fenced = False
        """The body is in a fence of its own."""

    # JSON values

    def json(self) -> Steps[Outcome]:
        """Read one object or list of calls."""
        return (yield from self._meant(lambda value: self._registry.calls_in(value, tagged=True)))

    def _meant(self, calls_of: Callable[[Any], list[Found] | None], *, records: bool = True) -> Steps[Outcome]:
        """Read one object or list, and return the calls that `calls_of` makes of it; None for none."""
        text, verdict = yield from self._json_text(records=records)
        if verdict is not Verdict.CALLS:
            return Outcome(verdict)
        try:
            calls = calls_of(loads(text, unclosed=True))
        except Unreadable:
            return BROKEN
        return BROKEN if calls is None else fired(*calls)

    def _json_text(self, *, records: bool) -> Steps[tuple[str, Verdict]]:
        """Read one object or list, in which closers may be missing before a closing tag."""
        r = self._reader
        scan = JsonScan(records=records)
        start = r.hold()
        verdict = Verdict.UNFINISHED
        while not scan.done:
            if r.pos >= len(r.text):
                if r.ended:
                    break
                r.quick = scan.quick
                if r.quick is None and scan.begun:
                    r.quick, r.unread = _BEYOND_NUMBERS, True
                yield
                continue
            r.pos = scan.advance(r.text, r.pos, len(r.text))
            if not scan.begun and (scan.broken or scan.stopped):
                verdict = Verdict.TEXT
                break
            if scan.stopped:
                end = r.offset
                marker = yield from r.match(CLOSERS)
                if isinstance(marker, Marker):
                    r.rewind(end)
                    verdict = Verdict.CALLS if scan.closable else Verdict.BROKEN
                    break
                if marker is not PARTIAL:
                    scan.tolerate()
                    scan.advance(" ", 0, 1)
                r.pos += 1
        if scan.done:
            verdict = Verdict.CALLS
        text = r.taken(start)
        r.drop()
        return text, verdict

    # a name, then JSON

    def name(self) -> Steps[str]:
        """Read a name, up to the first character that cannot be part of one."""
        return (yield from self._reader.read_until(_NAME_STOP, _LONGEST_NAME))

    def named(self, name: str, *, plain: bool) -> Steps[Outcome]:
        """Read the separator and the arguments after a name; `plain` allows no separator."""
        r = self._reader
        separated = False
        while True:
            c = yield from r.skip()
            marker = (yield from r.match(SEPARATORS)) if c and c in "<[✿" else None
            if marker is PARTIAL:
                return UNFINISHED
            if not isinstance(marker, Marker):
                break
            separated = True
            c = yield from r.skip()
            if marker.family is not None and marker.family.colons:
                c = yield from r.skip(COLONS)
            if marker.written == "[CALL_ID]":
                yield from r.read_until(" [{<", _LONGEST_NAME)
            elif c and c not in "{[<`" and (name == "function" or name not in self._registry):
                name = self._registry.name((yield from self.name()))
        if c == _FENCE and separated:
            self.fenced = True
            yield from r.skip(_FENCE)
            yield from r.read_until("{\n", _LONGEST_NAME)
            c = yield from r.skip()
        if c == "{" and (separated or plain):
            return (yield from self.arguments(name))
        if not separated:
            return TEXT
        if not c:
            return UNFINISHED if self.cut or name not in self._registry else fired(Found(name, {}))
        element = (yield from r.match(ELEMENT_HEADS)) if c == "<" else None
        if isinstance(element, Marker):
            return (yield from self.element(element))
        marker = (yield from r.match(CLOSERS)) if c in "<[" else None
        if isinstance(marker, Marker):
            return fired(Found(name, {}))
        return BROKEN

    def arguments(self, name: str) -> Steps[Outcome]:
        """Read a JSON object of arguments; or one that names the tool itself, if `name` is only an id."""

        def called(value: Any) -> list[Found] | None:
            inside = None if name in self._registry else self._registry.calls_in(value, tagged=True)
            if inside and all(call.name in self._registry for call in inside):
                return inside
            arguments = self._registry.arguments_in(value)
            return None if arguments is None else [Found(name, arguments)]

        return (yield from self._meant(called, records=False))

    # name{key:value}

    def braces(self) -> Steps[Outcome]:
        """Read a name after `call:`, then its arguments in brackets."""
        r = self._reader
        written = yield from r.read_until(" <[{(\"'`,;", _LONGEST_NAME)
        name = self._registry.name(written.lstrip(":").removeprefix("call").lstrip(":"))
        c = yield from r.skip()
        if not c:
            return UNFINISHED
        if not name or c not in "{(":
            return TEXT
        tokens = yield from read_braces(r)
        if tokens is None:
            return UNFINISHED
        try:
            return fired(Found(name, value_of(tokens)))
        except Unreadable:
            return BROKEN

    # XML: <function=…> and <invoke name=…>

    def element(self, opener: Marker) -> Steps[Outcome]:
        """Read a function or invoke element after its opener."""
        r = self._reader
        head = yield from r.read_until(">\n<{", _LONGEST_HEAD)
        written = _name_in(head) if opener.written.endswith(" ") else head
        c = yield from r.peek()
        if not c:
            return UNFINISHED if self.cut or self._registry.begins(written) else TEXT
        name = self._registry.name(written)
        if c != ">" or not name or (name not in self._registry and _PLACEHOLDER.search(name)):
            return TEXT
        r.pos += 1
        c = yield from r.skip()
        if c == "{":
            return (yield from self.arguments(name))
        if not c:
            return UNFINISHED
        if c != "<":
            return TEXT
        here = r.offset
        marker = yield from r.match(IN_XML)
        if marker is PARTIAL:
            return UNFINISHED
        if isinstance(marker, Marker) and marker.role is Role.ELEMENT_END:
            return fired(Found(name, {}))
        r.rewind(here)
        if isinstance(marker, Marker) and marker.role is Role.CLOSE and name in self._registry:
            return fired(Found(name, {}))  # the element's end is missing
        if isinstance(marker, Marker) and marker.role is Role.PARAMETER:
            return (yield from self._parameters(name))
        return (yield from self._named_elements(name)) if marker is None else TEXT

    def _named_elements(self, name: str) -> Steps[Outcome]:
        """Read parameters as elements with their own names, up to the end of the enclosing element."""
        r = self._reader
        properties = self._registry.properties(name)
        arguments: dict[str, object] = {}
        while True:
            c = yield from r.skip()
            here = r.offset
            if c and c != "<":
                return BROKEN if arguments else TEXT
            marker = (yield from r.match(IN_XML)) if c else PARTIAL
            if marker is PARTIAL:
                return (yield from self._ended(here, Found(name, arguments)))
            if isinstance(marker, Marker):
                if marker.role is not Role.ELEMENT_END:
                    r.rewind(here)
                return fired(Found(name, arguments))
            r.pos += 1
            key = yield from r.read_until(" <>/", _LONGEST_NAME)
            c = yield from r.peek()
            if not c:
                return UNFINISHED
            if c != ">" or (key not in properties and name in self._registry and not arguments):
                return TEXT
            r.pos += 1
            value = yield from self._element_value(trie([Marker(f"</{key}>", Role.PARAMETER_END)], {}))
            if value is None:
                return UNFINISHED
            arguments[key] = self._xml_value(name, key, value, None)

    def _element_value(self, ends: Trie) -> Steps[str | None]:
        """Read the text up to an element's own end; return None if the reply ends inside."""
        r = self._reader
        start = r.hold()
        while (yield from r.find("<")):
            at = r.offset
            if isinstance((yield from r.match(ends, {})), Marker):
                return self._value(start, at, r.offset)
            r.pos += 1
        r.drop()
        return None

    def _parameters(self, name: str) -> Steps[Outcome]:
        """Read the parameters of an element up to its end."""
        r = self._reader
        arguments: dict[str, object] = {}
        while True:
            c = yield from r.skip()
            here = r.offset
            marker = (yield from r.match(IN_XML)) if c == "<" else None
            if not c or marker is PARTIAL:
                return (yield from self._ended(here, Found(name, arguments)))
            if isinstance(marker, Marker) and marker.role is Role.PARAMETER:
                head = yield from r.read_until(">\n<", _LONGEST_HEAD)
                c = yield from r.peek()
                if not c:
                    return UNFINISHED
                if c != ">":
                    return BROKEN
                r.pos += 1
                key = _head_name(head, marker)
                others = self._registry.properties(name).keys() - arguments.keys() - {key}
                value = yield from self._parameter(frozenset(others))
                if value is None:
                    return UNFINISHED
                arguments[key] = self._xml_value(name, key, value, _STRING_ATTRIBUTE.search(head))
                continue
            if not isinstance(marker, Marker):
                return BROKEN
            if marker.role is not Role.ELEMENT_END:
                r.rewind(here)  # the element's end is missing
            return fired(Found(name, arguments))

    def _parameter(self, others: frozenset[str]) -> Steps[str | None]:
        """Read a parameter's value and its closing tag; return None if the reply ends inside.

        A closing tag counts if a parameter, the element's close or the end follows. If the closing tag is missing, the
        next of the `others` or a finished element ends the value.
        """
        r = self._reader
        start = r.hold()
        candidate: int | None = None  # an unconfirmed end of the element
        while (yield from r.find("<")):
            at = r.offset
            marker = yield from r.match(IN_XML)
            if not isinstance(marker, Marker):
                r.pos += 1
                continue
            after = r.offset
            match marker.role:
                case Role.PARAMETER_END:
                    if (yield from self._followed(IN_XML, (Role.PARAMETER, Role.ELEMENT_END, Role.CLOSE))):
                        return self._value(start, at, after)
                case Role.ELEMENT_END:
                    if (yield from self._followed(IN_XML, (Role.CLOSE, Role.ELEMENT))):
                        return self._value(start, at, at)
                    candidate = at if candidate is None else candidate
                case Role.PARAMETER:
                    head = yield from r.read_until(">\n<", _LONGEST_HEAD)
                    if _head_name(head, marker) in others and (yield from r.peek()) == ">":
                        return self._value(start, at, at)
                case Role.OPEN | Role.ELEMENT if candidate is not None:
                    return self._value(start, candidate, candidate)
            r.rewind(after)
        if candidate is not None and not self.cut:
            return self._value(start, candidate, candidate)
        r.drop()
        return None

    def _value(self, start: int, end: int, then: int) -> str:
        """Return the held text from `start` to `end`; reading continues at `then`. Ends the hold."""
        r = self._reader
        r.rewind(end)
        value = r.taken(start)
        r.pos += then - end
        r.drop()
        return value

    def _followed(self, trie: Trie, roles: tuple[Role, ...]) -> Steps[bool]:
        """Return True if one of these, or the end of the reply, comes next after whitespace. Consumes nothing."""
        r = self._reader
        here = r.offset
        c = yield from r.skip()
        marker = (yield from r.match(trie)) if c and c in "<[" else None
        r.rewind(here)
        if not c or marker is PARTIAL:
            return True
        return isinstance(marker, Marker) and marker.role in roles

    def _xml_value(self, name: str, key: str, value: str, string: re.Match[str] | None) -> object:
        """Return the value as the `string` attribute, or else the schema, wants it."""
        value = _trim(value)
        if string is None:
            return self._registry.typed(name, key, value)
        if string.group(1) == "true":
            return value
        try:
            return loads(value.strip()) if value.strip()[:1] in ("{", "[") else _scalar(value)
        except Unreadable:
            return value

    # <arg_key> pairs

    def pairs(self, name: str) -> Steps[Outcome]:
        """Read `<arg_key>` and `<arg_value>` elements after a name."""
        r = self._reader
        arguments: dict[str, object] = {}
        while True:
            c = yield from r.skip()
            here = r.offset
            marker = (yield from r.match(IN_PAIRS)) if c == "<" else None
            if not c or marker is PARTIAL:
                return (yield from self._ended(here, Found(name, arguments)))
            if not isinstance(marker, Marker):
                return BROKEN
            if marker.role is not Role.KEY:
                r.rewind(here)
                return fired(Found(name, arguments)) if marker.role is not Role.VALUE else BROKEN
            key = (yield from r.read_until("<", _LONGEST_HEAD)).strip()
            while True:  # the key's end and the value's beginning; either may be missing if the other is there
                c = yield from r.skip()
                marker = (yield from r.match(IN_PAIRS)) if c == "<" else None
                if not c or marker is PARTIAL:
                    return UNFINISHED
                if not isinstance(marker, Marker) or marker.role not in (Role.KEY_END, Role.VALUE):
                    return BROKEN
                if marker.role is Role.VALUE:
                    break
            value = yield from self._pair_value()
            if value is None:
                return UNFINISHED
            arguments[key] = self._registry.typed(name, key, _trim(value))

    def _pair_value(self) -> Steps[str | None]:
        r = self._reader
        start = r.hold()
        while (yield from r.find("<")):
            at = r.offset
            marker = yield from r.match(IN_PAIRS)
            if not isinstance(marker, Marker):
                r.pos += 1
                continue
            after = r.offset
            if marker.role is Role.VALUE_END and (yield from self._followed(IN_PAIRS, (Role.KEY, Role.CLOSE))):
                return self._value(start, at, after)
            r.rewind(after)
        r.drop()
        return None

    def _ended(self, here: int, call: Found) -> Steps[Outcome]:
        """Return the outcome of a call without an end: read the rest of the reply, from `here` on."""
        self._reader.rewind(here)
        while (yield from self._reader.peek()):
            self._reader.pos = len(self._reader.text)
        return UNFINISHED if self.cut else fired(call)

    # Python

    def python(self, *, one_line: bool, start: int) -> Steps[Outcome]:
        """Read a call or a list of calls from the held `start`; the next character is its first bracket."""
        r = self._reader
        scan = PythonScan(one_line=one_line)
        while not scan.done:
            if r.pos >= len(r.text):
                if r.ended:
                    return UNFINISHED
                r.quick = scan.quick
                yield
                continue
            r.pos = scan.advance(r.text, r.pos)
            if scan.broken:
                return TEXT if one_line else BROKEN
        calls = read_calls(r.taken(start), self._registry)
        return BROKEN if calls is None else fired(*calls)


def _scalar(text: str) -> object:
    text = text.strip()
    return loads_strict(text) if text[:1] == '"' else literal(text)


def _trim(value: str) -> str:
    """Return the text without one line break at either end."""
    for start in ("\r\n", "\n"):
        if value.startswith(start):
            value = value[len(start) :]
            break
    for end in ("\r\n", "\n"):
        if value.endswith(end):
            return value[: -len(end)]
    return value


def _name_in(head: str) -> str:
    match = _NAME_ATTRIBUTE.search(head)
    return match.group(1).strip("\"'") if match else ""


def _head_name(head: str, marker: Marker) -> str:
    """Return the name in a parameter's head, `=name` or ` name="name"`, quoted or not."""
    if marker.written.endswith("="):
        return head.strip().strip("\"'“”")
    return _name_in(head) or head.strip().lstrip("=").strip().strip("\"'")
