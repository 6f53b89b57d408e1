"""Read JSON as editors write it: with comments and trailing commas."""

from __future__ import annotations

import json
import re
from typing import Any

from tools.contract.json_values import read_json

# Also a comment without an end, which is not JSON: searching it again and again would take for ever.
_TEXT = r'"(?:[^"\\\n]|\\.)*+"?'
_COMMENTS = re.compile(rf"{_TEXT}|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMAS = re.compile(rf"{_TEXT}|,(?=\s*+[}}\]])")


def read_jsonc(data: bytes) -> Any:
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
