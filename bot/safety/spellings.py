"""The encoded spellings of secrets that redaction looks for.

Spellings of a whole value are listed here. Those of single characters (`&#115;`, `%73`) are too many to list: they
are read as what they stand for.
"""

from __future__ import annotations

import base64
import html.entities
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote

from tools.contract.credentials import accounts

_BEARER = re.compile(r"(?:bearer|basic|token|bot)\s+(\S+)", re.IGNORECASE)


def secret_forms(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values, and the secret part of each by itself, in every spelling to look for.

    That are passwords in addresses, what follows `Bearer`, and the second half of a Telegram token; as they are,
    percent-decoded and -encoded, and as JSON writes them.
    """
    found: dict[str, None] = {}
    for value in values:
        parts = [value, *accounts(value), *_BEARER.findall(value)]
        number, colon, rest = value.partition(":")
        if colon and number.isdigit():
            parts.append(rest)
        for part in parts:
            for form in (part, unquote(part), quote(part, safe=""), json.dumps(part)[1:-1]):
                if form:
                    found[form] = None
    return tuple(found)


def encoded_forms(form: str) -> Iterator[str]:
    """Return the parts of a value that occur wherever a text contains it encoded as Base64 or hex.

    In Base64 three bytes make four characters, so a value has three looks, by the place at which it begins. Characters
    that also hold a part of the text beside the value are left out.
    """
    value = form.encode(errors="surrogatepass")
    whole = base64.b64encode(value).decode()
    looks = [whole, whole.rstrip("=")]
    for before in range(3):
        drawn = base64.b64encode(bytes(before) + value).decode()
        looks.append(drawn[-(-before * 8 // 6) : (before + len(value)) * 8 // 6])
    for look in looks:
        yield look
        yield look.translate(_URL_SAFE)
    yield value.hex()
    yield value.hex().upper()


_URL_SAFE = str.maketrans("+/", "-_")

_NAMES = {
    name.removesuffix(";"): sign
    for name, sign in html.entities.html5.items()
    if len(sign) == 1 and (sign.isascii() or not sign.isprintable())
}
"""HTML names of the characters a secret may contain, and of invisible ones."""
_NAME = "|".join(sorted(_NAMES, key=len, reverse=True))
_NUMBER = r"#(?:[0-9]{1,20}|[xX][0-9A-Fa-f]{1,20})"
SPELLED = re.compile(rf"&(?:(?P<number>{_NUMBER})|(?P<name>{_NAME}));?|%(?P<byte>[0-7][0-9A-Fa-f])")
"""Matches an encoded character."""
_SPELLED_PART = re.compile(r"&(?:#(?:[0-9]{0,20}|[xX][0-9A-Fa-f]{0,20})|[A-Za-z]{0,24})\Z|%[0-7]?\Z")


def decode_sign(found: re.Match[str]) -> str:
    """Return the character that a match of `SPELLED` encodes; U+FFFD if it encodes none."""
    if name := found["name"]:
        return _NAMES[name]
    number = found["number"]
    code = int(found["byte"], 16) if not number else int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    return chr(code) if code < 0x110000 else "\ufffd"


def decode_spelled(text: str) -> str:
    """Return the text with every encoded character decoded."""
    return SPELLED.sub(decode_sign, text)


def is_spelled_part(text: str, start: int) -> bool:
    """Return True if the text may end inside an encoded character that begins at `start`."""
    part = _SPELLED_PART.match(text, start)
    if part is None:
        return False
    name = part.group()[1:]
    return not name.isalpha() or part.group()[0] == "%" or any(whole.startswith(name) for whole in _NAMES)
