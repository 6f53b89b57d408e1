"""Make text storable and sendable: no half of a surrogate pair, which UTF-8 cannot hold, and no NUL sign.

Platforms, models and tools send both: a JSON escape cut in two, an emoji cut by a limit, a value padded with zeros. One
of them must not make a message unstorable, or every later request to the model unwritable.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tools.contract.base import Json

_HALF = re.compile("[\ud800-\udfff]")


def to_plain(text: str) -> str:
    """Join adjacent halves of surrogate pairs, replace single ones by U+FFFD, and drop NUL signs."""
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()  # finds a half faster than any search
    except UnicodeEncodeError:
        return _HALF.sub("\ufffd", json.loads(json.dumps(text)))  # JSON joins halves, faster than a codec
    return text


def plain_values(value: Json) -> Json:
    """Apply `to_plain` to every text in a JSON value, names included."""
    match value:
        case str():
            return to_plain(value)
        case list():
            return [plain_values(one) for one in value]
        case dict():
            return {to_plain(name): plain_values(one) for name, one in value.items()}
        case _:
            return value


def read_stored(document: str) -> Any:
    """Read JSON that the store holds. Of what earlier versions stored as it came, halves and NUL signs are mended.

    Raises:
        ValueError: it is no JSON.
    """
    value = json.loads(document)
    # Neither stands in stored JSON but as an escape, written in small letters.
    return plain_values(value) if "\\ud" in document or "\\u0000" in document else value
