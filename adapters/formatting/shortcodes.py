"""Words in which a client of Slack or Discord would draw an emoji: `2a14:c::/48`, `parser.js:100:14`, `user:id:42`.

Both draw names between colons also in the middle of a word. Only a name that stands alone is meant as an emoji.
https://github.com/bgptools/issues/issues/222
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adapters.formatting.layout import GAP
from bot.markdown import Code, Inline, Styled, Text

NAME = r"(?:100|1234|8ball|[+-]1|[a-z][a-z\d+_-]*)"
"""Names are lower case. Of those that begin with a digit, like times and numbers of lines, few are emoji."""
_COLON = re.compile(rf":(?={NAME}:)")
_WORD = re.compile(r"[!-~]+")
_ALONE = re.compile(rf"(?:[^:]*[!?.,;(\[{{\"'])?(?::{NAME}:)+[!-/;-@\[-`{{-~]*")
_OPENING, _CLOSING = "([{\"'", ")]}\"'.,;!?"


def words_with_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words begin and end in which a name between colons is no emoji, without signs around them."""
    if text.count(":") < 2:
        return
    for found in _WORD.finditer(text):
        word = found[0]
        if word.count(":") > 1 and _COLON.search(word) and not _ALONE.fullmatch(word):
            start = found.end() - len(word.lstrip(_OPENING))
            yield start, max(start, found.start() + len(word.rstrip(_CLOSING)))


def colons_of_names(text: str) -> set[int]:
    """Return where the colons before such names are."""
    return {colon.start() for start, end in words_with_names(text) for colon in _COLON.finditer(text, start, end)}


def without_names(text: str) -> str:
    """Return a text in which clients draw no emoji in a word, where code is not possible."""
    colons = colons_of_names(text)
    return "".join(f"{sign}{GAP}" if at in colons else sign for at, sign in enumerate(text)) if colons else text


def names_as_code(children: Sequence[Inline]) -> Iterator[Inline]:
    """Yield the nodes of a paragraph with such words as code, which also copies as it reads."""
    for child in children:
        match child:
            case Text(text):
                at = 0
                for start, end in words_with_names(text):
                    yield Text(text[at:start])
                    yield Code(text[start:end]) if "`" not in text[start:end] else Text(without_names(text[start:end]))
                    at = end
                yield Text(text[at:]) if at else child
            case Styled(style, inner):
                yield Styled(style, tuple(names_as_code(inner)))
            case _:
                yield child
