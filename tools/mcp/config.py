"""`mcp.json`: the MCP servers, in the form that other MCP clients read, too.

    {"mcpServers": {
        "github": {"command": "github-mcp-server", "args": ["stdio"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
                   "deny": ["delete_*"]},
        "search": {"url": "https://search.example/mcp", "headers": {"Authorization": "Bearer ${SEARCH_KEY}"},
                   "timeout": 60}
    }}

Comments and trailing commas are accepted, as editors write them. `${NAME}`, `${env:NAME}` and `${NAME:-default}` are
replaced from the environment in every text. `allow` and `deny` are names of tools or patterns as `get_*`; `deny` wins.
Keys that only other clients know are ignored.

`describe` adds to a server's description of its tools: `"describe": {"search": {"category": "web", "useWhen": "…",
"notFor": "…", "prefer": {"search_web": "news"}, "examples": [{"query": "tea"}], "keywords": ["茶"], "purpose": "…"}}`.

Headers, variables, the queries of addresses and key-like arguments count as secrets and are never shown; `public` names
exceptions: `"public": ["AWS_REGION"]`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from tools.calling.descriptions import Description
from tools.contract.credentials import in_address, in_arguments, in_table
from tools.contract.json_values import read_json
from tools.contract.names import unique_names
from tools.contract.nearness import explain_path_error, find_path_fault, suggest
from tools.mcp.errors import McpConfigError
from tools.mcp.plain import plain_text

START_SECONDS = 30.0
LONGEST_SECONDS = 3600.0
MOST_BYTES = 1_000_000
PREFIX_CHARS = 24

TOLD_CHARS = 600
"""Characters of one text about a tool by an operator: every prompt that offers the tool contains it."""
MOST_EXAMPLES = 4
_TOLD = ("purpose", "category", "useWhen", "notFor", "prefer", "examples", "keywords")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}")
_HTTP_TYPES = {"http", "streamable-http", "streamableHttp", "streamable_http"}


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is a program: it is started, and reached through its standard input and output."""

    program: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """All that it gets, beside PATH, HOME and the like. Never our own environment, which contains our tokens."""
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server reached by streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


Reach: TypeAlias = Command | Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One configured server."""

    name: str
    """Its name in the file."""
    prefix: str
    """The prefix of its tools' names."""
    reach: Reach
    allow: tuple[str, ...] | None = None
    """Name patterns of the tools to offer; None for all."""
    deny: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for one call; None for the default of all tools."""
    start_seconds: float = START_SECONDS
    """Seconds until its tools must be listed."""
    descriptions: Mapping[str, Description] = field(default_factory=dict)
    """The operator's descriptions of tools, by their names at the server."""
    public: tuple[str, ...] = ()
    """Names of headers, variables and flags whose values are not secret."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that may be secrets and must never be shown."""
        match self.reach:
            case Command():
                found = {
                    *in_table(self.reach.environment, self.public),
                    *in_arguments(self.reach.arguments, self.public),
                }
            case Endpoint():
                found = {*in_address(self.reach.url), *in_table(self.reach.headers, self.public)}
        return tuple(sorted(value for value in found if value))

    def offers(self, tool: str) -> bool:
        """Return True if this tool may be offered."""
        if any(fnmatchcase(tool, pattern) for pattern in self.deny):
            return False
        return self.allow is None or any(fnmatchcase(tool, pattern) for pattern in self.allow)


@dataclass(frozen=True, slots=True)
class McpConfig:
    """The servers to start, and the reasons why others are left out."""

    servers: tuple[ServerConfig, ...]
    problems: Mapping[str, str]
    """Server → one sentence. A problem of the file itself has the name of the file."""


def read_config(file: Path, environment: Mapping[str, str]) -> McpConfig:
    """Read the servers from `file`. One with a mistake is left out and reported. Never raises."""
    try:
        entries = _read_entries(file)
    except McpConfigError as error:
        return McpConfig((), {file.name: str(error)})
    servers: list[ServerConfig] = []
    problems: dict[str, str] = {}
    prefixes = unique_names(entries, PREFIX_CHARS, fallback="server")
    for name, entry in entries.items():
        try:
            server = _read_server(name, prefixes[name], entry, environment)
        except McpConfigError as error:
            problems[name] = str(error)
            continue
        if server is not None:
            servers.append(server)
    return McpConfig(tuple(servers), problems)


def _read_entries(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise McpConfigError(f"MCP_CONFIG names {str(file)!r}, and there is no such file{suggest(file)}") from error
    except OSError as error:
        raise McpConfigError(f"MCP_CONFIG: {explain_path_error(file, error)}") from error
    if len(text) > MOST_BYTES:
        raise McpConfigError(f"{str(file)!r} is larger than {MOST_BYTES} bytes")
    try:
        data = _read_jsonc(text)
    except ValueError as error:
        where = f" in line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise McpConfigError(f"{str(file)!r} is no JSON{where}") from error
    entries = data.get("mcpServers", data.get("servers")) if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise McpConfigError(f'{str(file)!r} must hold an object: {{"mcpServers": {{"name": {{"command": …}}}}}}')
    return entries


def _read_server(name: str, prefix: str, entry: Any, environment: Mapping[str, str]) -> ServerConfig | None:
    if not isinstance(entry, dict):
        raise McpConfigError('it must be an object with "command" or "url"')
    if _read_flag(entry, "disabled", False) or not _read_flag(entry, "enabled", True):
        return None
    allow = _read_texts(entry, "allow", "includeTools", "enabledTools")
    return ServerConfig(
        name=name,
        prefix=prefix,
        reach=_read_reach(entry, environment),
        allow=allow,
        deny=_read_texts(entry, "deny", "excludeTools", "disabledTools") or (),
        timeout=_read_seconds(entry, "timeout"),
        start_seconds=_read_seconds(entry, "startTimeout") or START_SECONDS,
        descriptions=_read_descriptions(entry),
        public=_read_texts(entry, "public") or (),
    )


def _read_descriptions(entry: dict[str, Any]) -> dict[str, Description]:
    table = entry.get("describe") or {}
    if not isinstance(table, dict):
        raise McpConfigError('"describe" must be an object: a tool\'s name, then what is said of it')
    return {name: _read_description(name, told) for name, told in table.items()}


def _read_description(name: str, told: Any) -> Description:
    where = f"describe.{name:.60}"
    if not isinstance(told, dict):
        raise McpConfigError(f'"{where}" must be an object with {", ".join(_TOLD)}')
    unknown = [key for key in told if key not in _TOLD]
    if unknown:
        raise McpConfigError(f'"{where}" has no key {unknown[0][:60]!r}; there are {", ".join(_TOLD)}')
    texts = {key: told.get(key, "") for key in ("purpose", "category", "useWhen", "notFor")}
    prefer, examples = told.get("prefer", {}), told.get("examples", [])
    if not isinstance(prefer, dict) or not all(isinstance(text, str) for text in (*texts.values(), *prefer.values())):
        raise McpConfigError(f'what "{where}" says must be texts, and "prefer" an object of texts by tool')
    if not isinstance(examples, list) or not all(isinstance(one, dict) for one in examples):
        raise McpConfigError(f'"{where}.examples" must be a list of objects, each the arguments of a call')
    return Description(
        purpose=plain_text(texts["purpose"], TOLD_CHARS),
        category=plain_text(texts["category"], 40),
        use_when=plain_text(texts["useWhen"], TOLD_CHARS),
        not_for=plain_text(texts["notFor"], TOLD_CHARS),
        examples=tuple(examples[:MOST_EXAMPLES]),
        keywords=_read_texts(told, "keywords") or (),
        rather=tuple((other, plain_text(what, TOLD_CHARS)) for other, what in prefer.items()),
    )


def _read_reach(entry: dict[str, Any], environment: Mapping[str, str]) -> Reach:
    kind = entry.get("type") or entry.get("transport") or ("http" if "url" in entry else "stdio")
    if kind == "sse":
        raise McpConfigError('type "sse" is the transport of old; ask the service for its streamable HTTP address')
    if kind in _HTTP_TYPES:
        url = _read_text(entry, "url", environment)
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise McpConfigError('"url" must begin with http:// or https://')
        return Endpoint(url, _read_table(entry, "headers", environment))
    if kind != "stdio":
        raise McpConfigError(f'type {kind!r} is unknown: write "stdio" or "http"')
    arguments = entry.get("args", [])
    if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
        raise McpConfigError('"args" must be a list of texts')
    return Command(
        program=_read_text(entry, "command", environment),
        arguments=tuple(substitute_variables(one, environment, "args") for one in arguments),
        environment=_read_table(entry, "env", environment),
        folder=_read_text(entry, "cwd", environment) if entry.get("cwd") else None,
    )


def place_of(command: Command) -> Path:
    """Return where a program is: a path below its folder, or a name to look up in PATH."""
    return Path(command.folder or "", command.program) if os.sep in command.program else Path(command.program)


def missing_program(reach: Reach, path: str | None) -> str:
    """Return a sentence if a server's program or its folder does not exist; empty if both do.

    Args:
        path: where programs are looked up unless the server has its own PATH.
    """
    if not isinstance(reach, Command):
        return ""
    if reach.folder is not None and (fault := find_path_fault(Path(reach.folder), "folder")):
        return f'"cwd" is wrong: {fault}'
    if shutil.which(place_of(reach), path=reach.environment.get("PATH", path)) is None:
        return f"there is no program {reach.program!r} that can be run; install it, or write its whole path"
    return ""


def substitute_variables(text: str, environment: Mapping[str, str], where: str) -> str:
    """Replace every `${NAME}` and `${NAME:-default}` in `text`.

    Raises:
        McpConfigError: a variable is not set and has no default; the sentence names it.
    """

    def replace(match: re.Match[str]) -> str:
        name, has_default, default = match[1], match[2], match[3]
        found = environment.get(name)
        if has_default and not found:
            return str(default)
        if found is None:
            raise McpConfigError(f'the environment variable {name}, named in "{where}", is not set')
        return found

    if "${input:" in text:
        raise McpConfigError(f'"{where}" holds {"${input:…}"}, for which only an editor asks; write ${{NAME}} instead')
    made = _VARIABLE.sub(replace, text)
    if "\0" in made:
        raise McpConfigError(f'"{where}" must not hold a zero character')
    return made


def _read_text(entry: dict[str, Any], key: str, environment: Mapping[str, str]) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise McpConfigError(f'"{key}" must be a text')
    return substitute_variables(value, environment, key)


def _read_table(entry: dict[str, Any], key: str, environment: Mapping[str, str]) -> dict[str, str]:
    table = entry.get(key) or {}
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise McpConfigError(f'"{key}" must be an object whose values are texts')
    return {name: substitute_variables(value, environment, f"{key}.{name}") for name, value in table.items()}


def _read_texts(entry: dict[str, Any], *keys: str) -> tuple[str, ...] | None:
    key = next((key for key in keys if entry.get(key) is not None), None)
    if key is None:
        return None
    if not isinstance(entry[key], list) or not all(isinstance(one, str) for one in entry[key]):
        raise McpConfigError(f'"{key}" must be a list of names or patterns')
    return tuple(entry[key])


def _read_flag(entry: dict[str, Any], key: str, default: bool) -> bool:
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise McpConfigError(f'"{key}" must be true or false')
    return value


def _read_seconds(entry: dict[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_SECONDS:
        raise McpConfigError(f'"{key}" must be seconds, more than 0 and at most {LONGEST_SECONDS:g}')
    return float(value)


# Also a comment without an end, which is not JSON: searching it again and again would take for ever.
_TEXT = r'"(?:[^"\\\n]|\\.)*+"?'
_COMMENTS = re.compile(rf"{_TEXT}|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMAS = re.compile(rf"{_TEXT}|,(?=\s*+[}}\]])")


def _read_jsonc(data: bytes) -> Any:
    """Return the value of JSON in any Unicode encoding, with or without comments and trailing commas.

    Raises:
        ValueError: it is not JSON; a line in the error is the file's.
    """
    try:
        return read_json(data)
    except ValueError:
        text = data.decode(json.detect_encoding(data))
        return read_json(_COMMAS.sub(_kept_text, _COMMENTS.sub(_kept_lines, text)).removeprefix("\ufeff"))


def _kept_lines(match: re.Match[str]) -> str:
    """Keep texts as they are, and of comments the line breaks."""
    return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")


def _kept_text(match: re.Match[str]) -> str:
    return "" if match[0] == "," else match[0]
