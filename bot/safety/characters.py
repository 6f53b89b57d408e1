"""Remove deceptive and unprintable characters from answers and from outside text.

Links and secrets have modules of their own, `links` and `redactor`.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]{3,7}\U000e007f"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_OVERRIDES = "\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
)

_HIDDEN = "\u180e\u200b\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_VARIANTS = "\U000e0100-\U000e01ef"
_SELECTORS = "\ufe00-\ufe0f"

_ANSWER = re.compile(
    f"({_FLAG})|[\ud800-\udbff][\udc00-\udfff]|([\u2028\u2029])|[{_CONTROLS}{_OVERRIDES}{_HIDDEN}{_TAGS}\ud800-\udfff]"
)
_STRAY = re.compile(f"(?<![{_IDEOGRAPHS}])[{_VARIANTS}]+")
_REPEATED = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]+")
"""A character takes one variation selector; a run of them can hide a text."""
_SELECTED = re.compile(f"(?:[{_IDEOGRAPHS}][{_VARIANTS}]?|[{_SELECTORS}])\\Z")
_UNTRUSTED = re.compile(
    f"({_FLAG})|[\ud800-\udbff][\udc00-\udfff]|[{_CONTROLS}{_OVERRIDES}{_TAGS}{_INVISIBLE}\ud800-\udfff]"
    # A joiner belongs between two letters of a script that joins, or in an emoji; a selector after what it selects.
    "|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])|(?<=[\u200c\u200d])[\u200c\u200d]+"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNDECIDED = re.compile("(?:\U0001f3f4[\U000e0020-\U000e007e]{0,7}|[\ud800-\udbff])\\Z")


def _replacement(found: re.Match[str]) -> str:
    text = found.group()
    if found.group(1):
        return text
    if text in ("\u2028", "\u2029"):
        return "\n"
    if len(text) == 2 and "\ud800" <= text[0] <= "\udbff":
        # The two halves of one character, which a model's JSON may bring in two pieces.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    return "\ufffd" if "\ud800" <= text[0] <= "\udfff" else ""


def clean_answer(text: str) -> str:
    """Remove what deceives or breaks a display: controls, bidi overrides and isolates, stray tag characters,
    and what has no width and no use.

    Joiners, RTL letters and marks, combining marks and flags stay as they are.
    """
    return _REPEATED.sub("", _STRAY.sub("", _ANSWER.sub(_replacement, text)))


def shows_nothing(text: str) -> bool:
    """Return True for a text that shows nothing, also where it is not empty.

    Blanks, characters without width, the blank Braille pattern, HTML names of these, and HTML comments show nothing.
    """
    if text[:1].isalnum() and text[:1].isascii():
        return False
    if "<!--" in text:
        text = _COMMENT.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    return not text.strip() or _seen().search(text) is None


@lru_cache(maxsize=1)
def _seen() -> Any:
    # Python's own tables do not hold the property. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
    import regex

    return regex.compile(r"[^\s\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]")


class AnswerFilter:
    """`clean_answer` for a stream; holds back only an incomplete flag or half a character."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        """The last characters given out, if what follows depends on them."""

    def feed(self, text: str) -> str:
        """Take more text and return what may be shown now."""
        text = self._held + text
        undecided = _UNDECIDED.search(text, max(0, len(text) - 9))
        at = undecided.start() if undecided else len(text)
        self._held = text[at:]
        return self._clean(text[:at])

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        text, self._held = self._held, ""
        return self._clean(text)

    def _clean(self, text: str) -> str:
        known = len(self._before)
        shown = clean_answer(self._before + text)
        selected = _SELECTED.search(shown, max(0, len(shown) - 2))
        self._before = selected.group() if selected else ""
        return shown[known:]


def clean_untrusted(text: str) -> str:
    """Remove every invisible character from outside text (a web page, a tool's result)."""
    return _UNTRUSTED.sub(_replacement, text)


def clean_name(text: str) -> str:
    """Make a displayed name safe inside a line: no invisible characters, one line, single spaces."""
    return " ".join(clean_untrusted(re.sub(r"[\s\x85\u2028\u2029]+", " ", text)).split())
