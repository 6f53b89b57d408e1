"""Detect URLs in a result that merely echo the call's own arguments.

Many results repeat the model's arguments: "Nothing was found for …". Such an address is the model's, not the tool's,
however the tool spells it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from bot.safety import clean_untrusted
from tools.contract.base import Json

MOST_GIVEN = 100_000
"""Characters of arguments beyond which every address of the result counts as an echo."""
_MOST_DECODED = 4
"""How often a text is percent-decoded until nothing changes."""
_LONGEST_PART = 64
_PART = re.compile(r"[^\W_]+")
_PIECE = re.compile(r".{1,200}?(?=[\x00-\x7f]|\Z)|.{200}", re.DOTALL)
_PERCENTS = re.compile("%(?:25)+")
_ENCODED = re.compile("%[0-9A-Fa-f]{2}")
_PUNYCODE = re.compile(r"xn--[a-z0-9-]{1,59}")
_SPELLED = re.compile(r"[%&\x00-\x1f\x7f]|xn--", re.IGNORECASE)
"""In plain ASCII text only these need normalising."""
_NEUTRAL = frozenset({"http", "https", "www", "mailto"})


class Echoes:
    """The arguments of a call, to tell which addresses could have been built from them.

    An address could have been built from them if every word of its host, path and query is in the arguments, or joins
    the end of one and the beginning of another; in any case and order, percent-encoded or not, in Unicode or Punycode.
    """

    def __init__(self, arguments: Json) -> None:
        leaves = [_fold(leaf) for leaf in leaves_of(arguments)]
        self._everything = sum(map(len, leaves)) > MOST_GIVEN
        words = [] if self._everything else [word for leaf in leaves for word in _PART.findall(leaf)]
        self._text = " ".join(words)
        self._begins = {word[:size] for word in words for size in range(1, min(len(word), _LONGEST_PART) + 1)}
        self._ends = {word[-size:] for word in words for size in range(1, min(len(word), _LONGEST_PART) + 1)}

    def could_build(self, address: str) -> bool:
        """Return True if `address` could have been built from the arguments."""
        if self._everything:
            return True
        folded = _fold(address)
        if _ENCODED.search(folded):
            return True
        return all(self._holds(part) for part in _PART.findall(folded) if part not in _NEUTRAL)

    def _holds(self, part: str) -> bool:
        if part in self._text:
            return True
        return len(part) <= 2 * _LONGEST_PART and any(
            part[:place] in self._ends and part[place:] in self._begins for place in range(1, len(part))
        )


def leaves_of(value: Json) -> Iterator[str]:
    """Yield every text and number in a JSON value, including names of fields."""
    stack = [value]
    while stack:
        match stack.pop():
            case dict() as table:
                stack.extend(reversed([*table, *table.values()]))
            case list() as items:
                stack.extend(reversed(items))
            case bool() | None:
                pass
            case str() as text:
                yield text
            case number:
                yield str(number)


def _fold(text: str) -> str:
    """Normalise a text so that all its spellings become the same."""
    if text.isascii() and not _SPELLED.search(text):
        return text.lower()
    text = html.unescape(clean_untrusted(text))
    for _ in range(_MOST_DECODED):
        decoded = unquote(_PERCENTS.sub("%", text))
        if decoded == text:
            break
        text = decoded
    # In pieces: ordering combining marks takes the square of their number.
    pieces = _PIECE.findall(clean_untrusted(text))
    text = "".join(map(_same_case, pieces))
    return _PUNYCODE.sub(lambda found: _unicode(found.group()), text)


def _same_case(piece: str) -> str:
    """Normalise the form and case of letters, first to capitals: services turn "ı" into "I", which is "i" to us."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", piece).upper().casefold())


def _unicode(label: str) -> str:
    try:
        return _same_case(label.encode().decode("idna"))
    except UnicodeError:
        return label
