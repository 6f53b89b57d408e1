"""Make text storable and sendable: without halves of surrogate pairs, which UTF-8 cannot encode, and NUL characters.

Platforms, models and tools send both: a JSON escape cut in two, an emoji cut by a limit, a value padded with zeros.
They must not make a message unstorable, or every later request to the model unwritable.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tools.contract.base import Json
from tools.contract.json_values import map_texts

_HALF = re.compile("[\ud800-\udfff]")


def to_plain(text: str) -> str:
    """Join adjacent halves of surrogate pairs, replace single ones by U+FFFD, and drop NUL characters."""
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
    """Apply `to_plain` to every text in a JSON value, including names."""
    return map_texts(value, to_plain)


def read_stored(document: str) -> Any:
    """Read JSON from the store. Halves and NUL characters that earlier versions stored are repaired.

    Raises:
        ValueError: it is not JSON.
    """
    value = json.loads(document)
    # In stored JSON both occur only as escapes, in lower case.
    return plain_values(value) if "\\ud" in document or "\\u0000" in document else value
