"""URLs that are not to be links: written as code or as words, and kept apart from the text beside them.

Such a URL has a marker at each end until `separate` has put a space where two things would join.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count

from bot.markdown import escape

_PIECE = 1_000
"""Characters of a URL in one code span."""
_OPENS, _CLOSES = "\ue010", "\ue011"
"""Stand for a moment at the ends of code that is written for an address."""
_BEGINS, _ENDS = "\ue012", "\ue013"
"""The same for an address that is written as words."""
_BORDERS = re.compile(f"[{_OPENS}{_CLOSES}{_BEGINS}{_ENDS}]")
_JOINS = r"A-Za-z0-9@/:#&=%+~$\-_`\\"
"""What would make one address of two, or of a word and an address."""
_TOO_NEAR = re.compile(
    rf"(?<=[`\\]){_OPENS}|{_CLOSES}(?=[`{_OPENS}])|(?<=[{_JOINS}.?{_ENDS}{_CLOSES}]){_BEGINS}"
    rf"|{_ENDS}(?=[{_JOINS}{_OPENS}{_BEGINS}])"
)


def as_code(text: str, taken: Collection[int] = ()) -> str:
    """Write a URL as inline code, with backtick runs of a length not in `taken`."""
    text = " ".join(text.split("\n")).replace("|", "%7C").replace("`", "%60")
    marks = "`" * next(size for size in count(1) if size not in taken)
    return f"{marks}{text}{marks}"


def as_words(url: str) -> str:
    """Write a URL as words that no Markdown parser turns into a link: without its web scheme."""
    text = re.sub(r"^https?://(?=.)", "", " ".join(url.split()), flags=re.IGNORECASE)
    return escape(text.replace("|", "%7C").replace("`", "%60").replace("\\", "%5C"))


def mark_code(url: str, taken: Collection[int]) -> str:
    """Write a URL as code with markers, in pieces that no page cuts: a piece without its end would be no code."""
    pieces = [url[at : at + _PIECE] for at in range(0, len(url), _PIECE)]
    return " ".join(f"{_OPENS}{as_code(piece, taken)}{_CLOSES}" for piece in pieces)


def mark_words(url: str) -> str:
    """Write a URL as words with markers."""
    return f"{_BEGINS}{as_words(url)}{_ENDS}"


def is_marked_words(text: str) -> bool:
    return text.startswith(_BEGINS)


def last_marker(text: str) -> str:
    """Return the marker that `text` ends with: `separate` needs it in front of what follows."""
    return text[-1:] if text.endswith((_CLOSES, _ENDS)) else ""


def separate(text: str) -> str:
    """Put spaces where a marked URL would join the text beside it, and take the markers out."""
    return without_markers(_TOO_NEAR.sub(" ", text))


def without_markers(text: str) -> str:
    return _BORDERS.sub("", text)


_PARENTHESIS = re.compile(r"[()]")
_COUNTING = 3
"""Characters at the beginning of a label that may count something, as `1)` does."""


def half_open(label: str) -> bool:
    """Return True if a parenthesis closes in a label that did not open there, as in the interval `[0, 1)`: no link."""
    depth = 0
    for sign in _PARENTHESIS.finditer(label):
        depth += 1 if sign[0] == "(" else -1
        if depth < 0:
            if sign.start() > _COUNTING:
                return True
            depth = 0
    return False
