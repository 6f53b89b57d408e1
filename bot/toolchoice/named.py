"""Read a message that names a tool as a call of it, made before any model is asked.

Written as `/tool NAME ARGS`, `tool NAME ARGS`, `使用工具：NAME: ARGS`, `我需要使用工具：NAME ARGS`, `NAME(ARGS)` or
`{"name": NAME, "args": {ARGS}}`, and always the whole message. Arguments are read by the same rules as a model's
(`bot/toolsyntax/`), so that both may write the same. A tool that is named without its arguments (`使用工具：NAME`, "use
the NAME tool to …") is one that the model must call.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.sentences import say
from bot.toolsyntax import PythonScan, Registry, object_in, split, unwrap
from tools.calling.schema import check, without_unknown
from tools.contract.base import Json, ToolCall, ToolSpec
from tools.contract.nearness import closest

_SLASH: Final = re.compile(r"/tool(?:@\w+)?(?:\s+(?P<rest>.*))?", re.DOTALL | re.IGNORECASE)
_BARE: Final = re.compile(r"tool\s+(?P<rest>\S.*)", re.DOTALL | re.IGNORECASE)
_WORDED: Final = re.compile(r"(?P<need>我需要)?使用工具[ \t]*[：:][ \t]*(?P<rest>\S.*)", re.DOTALL)
_NAME: Final = re.compile(r"[\"'“”‘’`]?(?P<name>[^\s：:(（{\"'“”‘’`]+)[\"'“”‘’`]?[ \t]*[：:]?(?P<rest>.*)", re.DOTALL)
_CALLED: Final = re.compile(r"(?P<name>[^\s()（）]+)\(")
_ORDERED: Final = re.compile(
    r"(?:\b(?:use|using|call|run|via)\s+(?:the\s+|your\s+)?(?:tool\s+)?|(?:使用|调用|呼叫|調用|用)\s{0,3}(?:工具\s{0,3})?)"
    r"[`'\"“]?(?P<name>[A-Za-z][A-Za-z0-9_.-]{2,63})(?![A-Za-z0-9_(])[`'\"”]?(?P<tool>\s{0,3}(?:tool\b|工具))?",
    re.IGNORECASE,
)
_JSON_KEYS: Final = {"name", "args", "arguments", "parameters"}
MOST_JSON: Final = 20_000
"""Characters of a message in which a call or a name is looked for."""
_NEAR: Final = 5
_UNKNOWN: Final[Mapping[str, Json]] = {"type": "object", "properties": {}}
"""The parameters of a tool that is only to be recognised."""


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A tool call that a person wrote."""

    call: ToolCall | None
    """None where it cannot be made (`problem`), or where the model has to write its arguments (`tool`)."""
    problem: str = ""
    """Why it cannot be made, as a sentence for that person."""
    tool: str = ""
    """The tool that the model must call."""


def named_call(
    text: str,
    specs: Sequence[ToolSpec],
    language: str = "en",
    closed: Mapping[str, str] | None = None,
    form: Callable[[], str] = lambda: "/{word}",
) -> NamedCall | None:
    """Return the tool call that a whole message is; None for a message that the model answers.

    After `/tool` the person certainly meant a tool, so an unknown name or arguments that do not fit are a problem,
    reported in `language`. In the other forms a message that does not fit is an ordinary one.

    Args:
        closed: tools that this person may not use, each with the answer to a call of it.
        form: how a person writes a command on this platform; asked for only after `/tool`.
    """
    text = text.strip()
    closed = closed or {}
    registry = Registry({spec.name: spec.parameters for spec in specs} | dict.fromkeys(closed, _UNKNOWN))
    known = {spec.name: spec for spec in specs}
    if match := _SLASH.fullmatch(text):
        command = form().format(word="tool")
        return _commanded((match["rest"] or "").strip(), registry, known, language, closed, command)
    if match := _WORDED.fullmatch(text) or _BARE.fullmatch(text):
        head = _NAME.fullmatch(match["rest"])
        name = registry.name(head["name"]) if head else ""
        if name in closed:
            return NamedCall(None, closed[name])
        spec = known.get(name)
        if head is None or spec is None:
            return None
        if not head["rest"].strip() and "使用工具" in match[0] and spec.parameters.get("required"):
            return NamedCall(None, tool=spec.name)
        if match.groupdict().get("need") and not head["rest"].lstrip().startswith("{"):
            return _made(spec, registry.first_parameter(spec.name, head["rest"]))
        return _made(spec, _read(spec, head["rest"].strip(), registry))
    called, inside = _parenthesised(text)
    written, arguments = _as_json(text)
    name = registry.name(called or written)
    if name in closed:
        return NamedCall(None, closed[name])
    if (spec := known.get(name)) is not None:
        given = registry.arguments_from_parentheses(name, inside) if called else arguments
        if given is not None:
            return _made(spec, given)
    return _mentioned(text, known)


def _as_json(text: str) -> tuple[str, dict[str, Any] | None]:
    """Return name and arguments of a call written as one JSON object."""
    if not (text.startswith("{") and text.endswith("}") and len(text) <= MOST_JSON):
        return "", None
    value = object_in(text)
    if value is None or len(value) != len(_JSON_KEYS & value.keys()):
        return "", None
    name, given = value.pop("name", None), list(value.values()) or [{}]
    return (name, given[0]) if isinstance(name, str) and len(given) == 1 and isinstance(given[0], dict) else ("", None)


def _mentioned(text: str, known: dict[str, ToolSpec]) -> NamedCall | None:
    """Return the tool that a sentence asks for by its exact name: "use search_web to …", "用 search_web 查…"."""
    for match in _ORDERED.finditer(text[:MOST_JSON]):
        spec = known.get(match["name"])
        if spec is not None and ("_" in spec.name or match["tool"]):
            return NamedCall(None, tool=spec.name)
    return None


def _parenthesised(text: str) -> tuple[str, str]:
    """Split `name(inside)`; two empty strings if the text is anything else."""
    match = _CALLED.match(text)
    if match is None:
        return "", ""
    scan = PythonScan(one_line=False)
    end = scan.advance(text, match.end() - 1)
    whole = scan.done and not text[end:].strip(" ;；")
    return (match["name"], text[match.end() : end - 1]) if whole else ("", "")


def _made(spec: ToolSpec, arguments: dict[str, Any]) -> NamedCall | None:
    """Build the call; None if required arguments are missing, since the tool was then only mentioned."""
    required = spec.parameters.get("required")
    if isinstance(required, list) and not all(name in arguments for name in required):
        return None
    return NamedCall(_call(spec, arguments))


def _call(spec: ToolSpec, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(f"call_{secrets.token_hex(6)}", spec.name, arguments)


def _commanded(
    rest: str, registry: Registry, known: dict[str, ToolSpec], language: str, closed: Mapping[str, str], command: str
) -> NamedCall:
    head = _NAME.fullmatch(rest)
    if head is None:
        return NamedCall(None, say("tool_which", language, command=command, names=_listed(known, language)))
    called, inside = _parenthesised(rest)
    name = registry.name(called or head["name"])
    if name in closed:
        return NamedCall(None, closed[name])
    spec = known.get(name)
    if spec is None:
        near = closest(name.lower(), list(known), _NEAR, 0.5)
        near += [each for each in known if name.lower() in each.lower() and each not in near]
        names = say("and", language).join(f"`{each}`" for each in near[:_NEAR])
        key = "tool_unknown_near" if near else "tool_unknown"
        return NamedCall(None, say(key, language, name=name[:60], names=names or _listed(known, language)))
    arguments: dict[str, Any] | None = None
    if called:
        arguments = registry.arguments_from_parentheses(name, inside)
    if arguments is None:
        arguments = _read(spec, head["rest"].strip(), registry)
    problems = check(spec.parameters, without_unknown(spec.parameters, arguments)[0], language)
    if problems:
        wrong = say("semicolon", language).join(problems)
        usage = _usage(spec, command)
        return NamedCall(None, say("tool_arguments", language, name=name, problems=wrong, usage=usage))
    return NamedCall(_call(spec, arguments))


def _read(spec: ToolSpec, text: str, registry: Registry) -> dict[str, Any]:
    """Read the arguments of a line in the first way that fits the schema, else in the first way."""
    first: dict[str, Any] | None = None
    for arguments in _ways(spec, text, registry):
        if not check(spec.parameters, arguments):
            return arguments
        first = arguments if first is None else first
    return first or {}


def _ways(spec: ToolSpec, text: str, registry: Registry) -> Iterator[dict[str, Any]]:
    name = spec.name
    properties = list(registry.properties(name))
    if text.startswith("{") and (value := object_in(text)) is not None:
        yield value
    parts = split(text, " ")
    if pairs := _pairs(parts, properties):
        yield {key: registry.typed(name, key, unwrap(value)) for key, value in pairs.items()}
    yield registry.arguments_from_line(name, text)
    values = [part for part in parts if part.strip()]
    if 1 < len(values) <= len(properties):
        yield registry.arguments_from_line(name, ", ".join(values))
    # A sentence with commas in it, for a tool that needs a single text.
    yield registry.first_parameter(name, text)


def _pairs(parts: Sequence[str], properties: Sequence[str]) -> dict[str, str]:
    """Read `a=1 b=two words` as {a: 1, b: two words}; empty unless the whole text is such pairs."""
    pairs: dict[str, list[str]] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and key in properties and key not in pairs:
            pairs[key] = [value]
        elif pairs:
            pairs[next(reversed(pairs))].append(part)
        elif part.strip():
            return {}
    return {key: " ".join(words).strip(" ,，;；") for key, words in pairs.items()}


def _listed(known: dict[str, ToolSpec], language: str) -> str:
    names = [f"`{name}`" for name in known]
    return say("and", language).join(names[:20]) + (" …" if len(names) > 20 else "") if names else "–"


def _usage(spec: ToolSpec, command: str) -> str:
    """Return how the tool is called, as `/tool convert value=… to=… [digits=…]`."""
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    names = list(properties) if isinstance(properties, dict) else []
    written = [f"{name}=…" if name in needed else f"[{name}=…]" for name in names]
    return " ".join([command, spec.name, *written])
