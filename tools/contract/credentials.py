"""Find the secrets among the values an operator passes to services and programs.

Better one value too many than one too few: a wrongly masked value is visible, and `public` in mcp.json exempts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

SHORTEST_SECRET = 12
"""Shorter values are never masked: they would hit ordinary words."""
_SHORTEST_HIDDEN = 6
"""A service's text about itself contains few ordinary words: there shorter values are removed, too."""

_KEY_NAME = re.compile(r"key|token|secret|pass|pwd|auth|credential|signature|\bsig\b|cookie|bearer", re.IGNORECASE)
_PUBLIC = frozenset(
    {"accept", "accept-language", "content-type", "user-agent", "path", "home", "lang", "lc_all", "tz", "node_env"}
)
"""Headers and variables that never contain a secret and whose values are ordinary words."""

_ACCOUNT = re.compile(r"://([^\s/@:]*:([^\s/]+))@([^\s/@]*)(?=[/?,\s]|\Z)")
_ADDRESS = re.compile(r"\w[\w+.-]*://[^\s/?#]*(?P<path>[^\s?#]*)(?:\?(?P<query>[^\s#]*))?(?:#\S*)?")
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w .-]+){2,}[/\\]?")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HEADER = re.compile(r"([A-Za-z][\w-]*):(?!//)\s*(.+)", re.DOTALL)
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_TURN = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_PIECE = re.compile(r"[^\s\"'=:,;{}]{12,}")


def is_key_name(name: str) -> bool:
    """Return True if a variable, header, flag or parameter of this name holds a key."""
    return bool(_KEY_NAME.search(name))


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Remove these values from a text, for messages of a service that knows them."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_HIDDEN:
            text = text.replace(secret, "***")
    return text


def accounts(text: str) -> Iterator[str]:
    """Return the passwords of the URLs in a text; short ones together with user and host."""
    for account, password, host in _ACCOUNT.findall(text):
        yield password
        if len(password) < SHORTEST_SECRET:
            yield account if len(account) >= SHORTEST_SECRET else f"{account}@{host}"


def in_address(text: str) -> Iterator[str]:
    """Return the secrets in a URL: its password, its query values, random parts of its path."""
    yield from accounts(text)
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        return
    for parameter in (found["query"] or "").split("&"):
        name, _, value = parameter.partition("=")
        if is_key_name(name) or len(value) >= SHORTEST_SECRET:
            yield value
    for part in found["path"].split("/"):
        if is_random(part):
            yield part


def in_table(table: Mapping[str, str], public: Sequence[str] = ()) -> Iterator[str]:
    """Return the secrets in headers or variables: every value except paths, and only parts of URLs."""
    known = _PUBLIC.union(name.lower() for name in public)
    for name, value in table.items():
        if name.lower() in known:
            continue
        ordinary = _ADDRESS.fullmatch(value.strip()) or (_PATH.fullmatch(value) and not is_random(value))
        if is_key_name(name) or not ordinary:
            yield value
        yield from in_address(value)


def in_arguments(arguments: Sequence[str], public: Sequence[str] = ()) -> Iterator[str]:
    """Return the secrets in a command's arguments: values of key-like flags, and what looks like a key."""
    flag = ""
    for argument in arguments:
        given = argument
        if found := _FLAG.fullmatch(argument):
            flag, given = found[1], found[2] or ""
            if found[2] is None:
                continue
        if flag and flag.lower() not in (name.lower() for name in public):
            if is_key_name(flag):
                yield given
            named = _HEADER.fullmatch(given) if flag.lower() in ("h", "header", "headers") else None
        else:
            named = None
        named = named or _VARIABLE.fullmatch(given)
        if named is not None:
            yield from in_table({named[1]: named[2]}, public)
        else:
            yield from in_address(given)
            for piece in _PIECE.findall(given):
                yield from (part for part in (piece, *piece.split("/")) if is_random(part))
        flag = ""


def is_random(text: str) -> bool:
    """Return True if letters and digits alternate so often that the text must be generated."""
    return any(len(_TURN.findall(run)) > 1 for run in _RUN.findall(text))
