"""Markdown as it is read aloud: words without marks, addresses, code and unspoken characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bot.markdown.addresses import BARE_URL, host_of, trim_url
from bot.markdown.tree import Block, CodeBlock, Heading, Inline, Listing, Paragraph, Quote, Table, parse, text_of

_LETTERS: Final = 14.0
"""Letters spoken in a second."""
_SIGNS: Final = 4.5
"""Chinese, Japanese or Korean characters spoken in a second."""
_LEAST: Final = 1.0
"""Seconds that first sentences take to say: a single word is not worth a message."""
_ADDRESS: Final = re.compile(rf"<?(?=(?:https?://|www\.)){BARE_URL.pattern}>?", re.IGNORECASE)
_SILENT: Final = re.compile(
    "[\u200b\u200d\u2060\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\ufe0e\ufe0f\U0001f000-\U0001faff]+"
    "|\\[\\d{1,3}\\]"
)
"""Pictures and the numbers of sources."""
_WIDE: Final = re.compile("[\u2e80-\ufeff\U00020000-\U0003ffff]")
_ASIDE: Final = "\0"
_NOTHING: Final = re.compile(f"(?<!\\s)\\s*+[(（]{_ASIDE}[)）]?")
"""An address in brackets of its own."""
_SPACE: Final = re.compile(r"\s+")
_CLOSED: Final = re.compile(r"[.!?…:;,。！？；：，、][\"'”’)\]」』）】》]*\Z")
_SENTENCE: Final = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？；][”’」』）】》]*\s*|\n")


def to_spoken(text: str, *, final: bool = True) -> str:
    """Return the spoken text of Markdown, a line for each paragraph, item and row; empty for nothing."""
    return "\n".join(_lines(parse(text, final=final)))


def seconds_to_say(text: str) -> float:
    """Return roughly how long `text` takes to say."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return (len(text) - wide) / _LETTERS + wide / _SIGNS


def first_sentences(spoken: str) -> str:
    """Return the first whole sentences of a growing text, as few as are worth a message; empty for none."""
    seconds, begin = 0.0, 0
    for found in _SENTENCE.finditer(spoken):
        seconds += seconds_to_say(spoken[begin : found.end()].strip())
        begin = found.end()
        if seconds >= _LEAST:
            return spoken[:begin]
    return ""


def shorten(spoken: str, seconds: float) -> str:
    """Return as many whole sentences of a text as can be said in so many seconds; words, if the first is longer."""
    if seconds_to_say(spoken) <= seconds:
        return spoken
    length = len(spoken)
    while length > 1 and seconds_to_say(spoken[:length]) > seconds:
        length = min(length - 1, int(length * max(0.1, seconds / seconds_to_say(spoken[:length]))))
    ends = [found.end() for found in _SENTENCE.finditer(spoken, 0, length)]
    return spoken[: ends[-1] if ends else spoken.rfind(" ", 0, length) + 1 or length].strip()


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph(children) | Heading(_, children):
                yield from _sentence(children)
            case Quote(inside, collapsed=False):
                yield from _lines(inside)
            case Listing(items):
                for item in items:
                    lines = list(_lines(item.blocks))
                    if lines and item.number is not None:
                        lines[0] = f"{item.number}. {lines[0]}"
                    yield from lines
            case Table(rows):
                for row in rows:
                    cells = [words for cell in row if (words := _words(cell))]
                    if cells:
                        yield _closed(", ".join(cells))
            case CodeBlock() | _:
                continue


def _sentence(children: Sequence[Inline]) -> Iterator[str]:
    if words := _words(children):
        yield _closed(words)


def _words(children: Sequence[Inline]) -> str:
    named = _NOTHING.sub("", _ADDRESS.sub(_host, text_of(children).replace(_ASIDE, "")))
    return _SPACE.sub(" ", _SILENT.sub("", named)).strip()


def _host(found: re.Match[str]) -> str:
    """Return the spoken form of an address, with the punctuation that follows it."""
    whole = found.group().strip("<>")
    url = trim_url(whole)
    host = host_of(url if "://" in url else f"https://{url}")
    after = whole[len(url) :]
    if found.start() and found.string[found.start() - 1] in "(（" and after[:1] in ")）":
        return _ASIDE + after  # it only says where the words before it lead
    return host.removeprefix("www.") + after


def _closed(words: str) -> str:
    """Return a line with a final character at which a voice pauses."""
    if _CLOSED.search(words):
        return words
    return words + ("。" if _WIDE.search(words[-1]) else ".")
