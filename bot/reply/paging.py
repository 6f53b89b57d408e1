"""Cutting a growing reply into platform-sized pages.

A full page is sealed and never changes again; the last one is open and only grows. Fences are closed at the end of a
page and reopened on the next, a cut table repeats its header; everything else is the source, character for character.
It looks at lines and not at Markdown (`lines`), once per page and not once per token.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.contract import Button, Page
from bot.markdown import LineScanner
from bot.reply.cutting import Border, border_at, find_cut, sentence_end
from bot.reply.graphemes import boundary_before
from bot.safety import shows_nothing

SHORTEST_PAGE = 32
_LONGEST_WORD = 40
"""Characters of a word: a longer one counts as no word, and is shown as it grows."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The Markdown of one page."""

    body: str
    start: int
    """Offset of its first character in the source."""
    end: int
    """Offset after its last one."""
    opened: int = 0
    """Leading characters of `body` that paging added: a reopened fence, a table's header."""
    closed: int = 0
    """Trailing characters of `body` that paging added: a fence's end."""

    @property
    def source(self) -> str:
        """The body without what paging added."""
        return self.body[self.opened : len(self.body) - self.closed]

    @property
    def blank(self) -> bool:
        """Nothing is visible: platforms refuse such a message, so it is not shown at all."""
        return not self.source.strip()


_NOTHING = PageText("", 0, 0)


class Paginator:
    """The pages of one reply while it grows.

    Lengths come from `measure`, which counts as the platform does: a sum over characters, at least 1 for each. Text is
    added in amortised linear time and cut when pages are read, no further than they are: a megabyte never holds up
    anybody else.
    """

    def __init__(self, length: int, measure: Callable[[str], int] = len) -> None:
        if length < SHORTEST_PAGE:
            raise ValueError(f"a page of {length!r} is too short: the least is {SHORTEST_PAGE}")
        self._length = length
        self._measure = measure
        self._sealed: list[PageText] = []
        self._open: list[str] = []
        self._start = 0
        self._opener = ""
        self._size = 0
        self._closer = ""
        self._pages: tuple[PageText, ...] | None = None
        """All of them, once the text that there is has been cut."""
        self._finished = False
        self._closed = False
        """The end of the text is settled: its open fence is closed."""
        self._stuck = False
        """The rest is too long for a page and cannot be cut."""
        # How the next page opens depends on its first character, so right after a resume it is not known yet.
        self._border: tuple[str, int] | None = None

    @classmethod
    def resume(
        cls, length: int, measure: Callable[[str], int], source: str, sealed_ends: Sequence[int] = ()
    ) -> Paginator:
        """Rebuild the pages of a reply from its source and the ends of its sealed pages."""
        pages = cls(length, measure)
        for end in sealed_ends:
            text = pages._opener + source[pages._start : end]
            pages._size = 0
            following = source[end : end + 1]
            pages._seal(text, len(text), border_at(text, len(text), length, following or "x"))
            pages._border = None if following else (text, len(text))
        pages.extend(source[pages._start :])
        return pages

    @property
    def pages(self) -> Sequence[PageText]:
        """Every page so far: all but the last are sealed."""
        return self.upto(sys.maxsize - 1)

    def upto(self, number: int) -> Sequence[PageText]:
        """Return the pages up to this one, if there are so many, and those after it that are known: all but the last of
        the text are sealed. Before the first character there is one empty page."""
        if self._pages is not None:
            return self._pages
        if not self._settle(number + 1) or not self._open:
            return tuple(self._sealed) or (_NOTHING,)
        text = "".join(self._open)
        self._open = [text]
        last = PageText(
            self._opener + text + self._closer,
            self._start,
            self._start + len(text),
            len(self._opener),
            len(self._closer),
        )
        self._pages = (*self._sealed, last)
        return self._pages

    @property
    def sealed_ends(self) -> tuple[int, ...]:
        """What `resume` needs beside the source."""
        self._settle(sys.maxsize)
        return tuple(page.end for page in self._sealed)

    def extend(self, text: str) -> None:
        """Add text at the end."""
        if not text:
            return
        if self._finished:
            raise ValueError("this reply is finished: nothing can be added to it")
        self._pages = None
        if self._border is not None:
            page, at = self._border
            self._border = None
            self._opener = border_at(page, at, self._length, text[0]).opener
            self._size = self._measure(self._opener)
        self._open.append(text)
        self._size += self._measure(text)
        self._stuck = False

    def finish(self) -> None:
        """The text is complete: seal the last page, too, and close an open fence."""
        self._finished = True
        self._pages = None

    def shrink(self, by: int, page: int = -1) -> bool:
        """Cut a page again because it was `by` units too long after rendering.

        The index in `pages` is `page`, by default the last. The page is sealed shorter, and the text after it flows
        again, so the pages after it must not have been shown. Returns False if nothing more can be taken from it.
        """
        pages = self.pages if page < 0 else self.upto(page)
        target = pages[page]
        index = page % len(pages)
        text = (target.opened and target.body[: target.opened]) or ""
        floor = self._measure(text)
        size = self._measure(text + target.source)
        if _indivisible(target.source):
            return False
        self._pages = None
        less = max(by, 1) + max(by, 1) // 8 + 8
        length = max(size - less, floor + (size - floor) // 4, floor + 1)
        self._open = [*(later.source for later in self._sealed[index:]), *self._open]
        self._sealed = list(pages[:index])
        self._start = target.start
        self._opener, self._closer, self._border = text, "", None
        self._size = floor + sum(self._measure(part) for part in self._open)
        self._closed = self._stuck = False
        self._reflow(length, index + 1, once=True)
        return True

    def sentences(self, page: int) -> str:
        """Return the whole sentences of a growing page; empty if it has none, or does not grow."""
        return self._sentences(page)[0]

    def cut(self, page: int) -> None:
        """Seal a growing page after its last whole sentence, if it has one; the rest is the next page."""
        sentences, text = self._sentences(page)
        if sentences:
            at = len(self._opener) + len(sentences)
            self._pages = None
            self._open = [text[at:]]
            self._seal(text, at, border_at(text, at, self._length, text[at]))

    def end(self, page: int, length: int) -> None:
        """Seal a page after so many characters of its body; the text after it flows again, as after `shrink`."""
        target = self.upto(page)[page]
        opener = target.body[: target.opened]
        self._pages = None
        text = opener + "".join((*(later.source for later in self._sealed[page:]), *self._open))
        self._sealed = self._sealed[:page]
        self._start, self._opener, self._closer, self._border = target.start, opener, "", None
        following = text[length : length + 1]
        self._size, self._open = self._measure(text), [text[length:]] if following else []
        self._closed = self._stuck = False
        self._seal(text, length, border_at(text, length, self._length, following or "x"))
        self._border = None if following else (text, length)

    def _sentences(self, page: int) -> tuple[str, str]:
        """The whole sentences of a page, and all of its text."""
        pages = self.upto(page)
        if page != len(self._sealed) or page >= len(pages):
            return "", ""
        text = self._opener + "".join(self._open)
        return text[len(self._opener) : sentence_end(text, len(self._opener))], text

    @property
    def _whole(self) -> bool:
        """All of the text is in pages: the open one is the last."""
        return self._size <= self._length or self._stuck

    def _settle(self, count: int) -> bool:
        """Cut until `count` pages are sealed; return True if all of the text is in pages."""
        whole = self._whole
        if not whole and len(self._sealed) < count:
            self._reflow(self._length, count)
            whole = self._whole
        if self._finished and whole and not self._closed:
            self._closed = True
            self._close()
        return whole

    def _close(self) -> None:
        """Close the fence that the end of the text left open; cut once more if it does not fit."""
        while self._open:
            body = self._opener + "".join(self._open)
            if "```" not in body and "~~~" not in body:
                return
            scanner = LineScanner()
            position = 0
            while position < len(body):
                end = body.find("\n", position) + 1 or len(body)
                scanner.feed(body[position:end], position)
                position = end
            if scanner.fence is None:
                return
            self._closer = ("" if body.endswith("\n") else "\n") + scanner.fence.closer
            if self._size + self._measure(self._closer) <= self._length:
                return
            room = self._length - self._measure(self._closer)
            self._closer = ""
            self._reflow(min(room, self._size - 1), sys.maxsize, once=True)

    def _reflow(self, length: int, count: int, *, once: bool = False) -> None:
        """Seal pages until there are `count` or the rest fits on one; the first at `length`, `once` in any case."""
        rest = "".join(self._open)
        position = 0
        # A page looks at most this far: itself, and as much again to see whether a table fits on the next.
        window = 2 * self._length + 1024
        while (self._size > self._length and len(self._sealed) < count) or once:
            once = False
            text = self._opener + rest[position : position + window]
            cut = find_cut(text, len(self._opener), length, self._measure, self._length)
            if cut.at >= len(text):
                self._stuck = True
                break
            length = self._length
            position += cut.at - len(self._opener)
            self._seal(text, cut.at, cut.border)
        self._open = [rest[position:]] if position < len(rest) else []

    def _seal(self, text: str, at: int, border: Border) -> None:
        """Seal the page `text[:at]`, and open the next one."""
        opened = len(self._opener)
        end = self._start + at - opened
        self._sealed.append(PageText(text[:at] + border.closer, self._start, end, opened, len(border.closer)))
        self._size += self._measure(border.opener) - self._measure(text[:at])
        self._start = end
        self._opener = border.opener


def _indivisible(text: str) -> bool:
    """Return True if `text` is at most one character as a person sees it."""
    return len(text) < 2 or boundary_before(text, len(text) - 1) == 0


def worth_showing(page: Page) -> bool:
    """There is something to read, not only the beginning of some markup."""
    read = any(sign.isalnum() or ord(sign) > 0x2000 for sign in page.body)
    return bool(page.status) or (read and not shows_nothing(page.body))


def whole_words(text: str) -> str:
    """Return `text` without its last word, which may be half of one; a Chinese character is a word."""
    end = len(text)
    while end and len(text) - end < _LONGEST_WORD and text[end - 1].isalnum() and text[end - 1] < "\u2e80":
        end -= 1
    return text[:end] if len(text) - end < _LONGEST_WORD else text


_UNSEEN: Final = " \n\t`*_~|>#=-:"
"""Characters that can end a text invisibly."""


def beginning(page: Page, buttons: tuple[Button, ...] = ()) -> Page:
    """Return the page without its last word, as a first post that is not the whole text, with these buttons."""
    body = page.body.rstrip(_UNSEEN)  # the end of a code block is not a visible word
    cut = max(body.rfind(" "), body.rfind("\n"))
    if cut <= 0:
        cut = len(body) - 1 if len(body) > 3 else len(body)
    shorter = replace(page, body=body[:cut].rstrip(), final=False, buttons=buttons)
    return shorter if worth_showing(shorter) else page
