"""The marks for sources that models write of their own habit, made `[n]` where they name a number, else left out.

Each is meant for one company's page, which shows a chip in its place: ChatGPT's private characters and `oaicite`,
gpt-oss's `【1†source】`, DeepSeek's `[citation:1]`, Kimi's `[^1^]`, Qwen's `[ref_1]`, Gemini's `[cite: 1]`, and tags of
Grok, Claude and Command. So are comments of HTML, which no page shows. Code is left as it is.
"""

from __future__ import annotations

import json
import re
from typing import Final

_NUMBERS: Final = r"\d{1,3}(?:\s{0,2}[,，、–\-]\s{0,2}\d{1,3}){0,20}"
_WITHIN: Final = r"\x20?(?:turn\d[a-z\d]{0,20}|\d[\d:,，、\x20–-]{0,38})?"
"""The beginning of gpt-oss's marks: these brackets contain headings in Chinese and Japanese."""
_LONGEST: Final = 700
"""Characters of a mark."""
_COMMENT: Final = r"(?!>)(?:[^-]|-(?!->)){0,600}"
_CODE: Final = r"\n[\x20\t>]{0,40}(?P<fence>`{3,}|~{3,})|(?P<code>`+)|(?P<gap>\n[\x20\t]{0,40}(?=\n))"
_IN_CODE: Final = re.compile(_CODE)
_MARKS: Final = re.compile(
    rf"""
    {_CODE}
    | \ue200(?P<private>[^\ue200\ue201]{{0,600}})\ue201 | (?P<stray>[\ue200-\ue206])
    | 【(?P<dagger>{_WITHIN})†[^【】\n]{{0,80}}】
    | \[{{1,2}}citation:\s?(?P<deepseek>{_NUMBERS})\]{{1,2}}
    | \[\^(?P<kimi>{_NUMBERS})\^\]
    | [\[【]ref_(?P<qwen>\d{{1,3}})[\]】]
    | (?P<none>
        \x20?\[cite:\s?[\d,.\s–-]{{1,80}}\] | \[cite_start\]
        | \x20?(?::contentReference)?\[oaicite:\d{{1,3}}\](?:\{{index=\d{{1,3}}\}})?
        | \x20?<grok:render\b[^<>]{{0,300}}>[^<>]{{0,40}}
          (?:<argument\b[^<>]{{0,80}}>[^<>]{{0,80}}</argument>[^<>]{{0,40}}){{0,4}}</grok:render>
        | </?cite(?:\s[^<>\n]{{0,100}})?> | </?co(?::[\d:,\[\]\x20]{{1,60}})?> | <!--{_COMMENT}-->
      )
    """,
    re.VERBOSE,
)


def _beginning(word: str, rest: str = "") -> str:
    """Return the pattern of every beginning of a word, followed by `rest` where the word is complete."""
    pattern = rest
    for sign in reversed(word):
        pattern = f"{re.escape(sign)}(?:{pattern})?" if pattern else re.escape(sign)
    return pattern


_CODE_BEGUN: Final = r"(?:\n[ \t>]{0,40}){1,2}(?:`{0,40}|~{0,40})|(?<!`)`{1,40}"
_BEGUN_IN_CODE: Final = re.compile(rf"(?:{_CODE_BEGUN})\Z")
_BEGUN: Final = re.compile(
    r"(?:\ue200[^\ue200\ue201]{0,600}|【\x20?(?:"
    + _beginning("turn", r"\d[a-z\d]{0,20}")
    + r"|\d[\d:,，、\x20–-]{0,38})?(?:†[^【】\n]{0,80})?|\x20?(?:"
    + "|".join(
        (
            _beginning("[cite", r"_[a-z]{0,5}|:[\d,.\s–-]{0,80}"),
            _beginning("[citation:", r"[\d,，、\s–-]{0,60}\]?"),
            _beginning("[[citation:", r"[\d,，、\s–-]{0,60}\]{0,2}"),
            _beginning("[ref_", r"\d{0,3}"),
            _beginning("【ref_", r"\d{0,3}"),
            _beginning("[^", r"[\d,，、\s–-]{1,60}\^?"),
            _beginning(":contentReference[oaicite:", r"\d{0,3}\]?(?:\{[a-z]{0,5}=?\d{0,3})?"),
            _beginning("[oaicite:", r"\d{0,3}\]?(?:\{[a-z]{0,5}=?\d{0,3})?"),
            _beginning("<grok:render", r"[^<>]{0,300}(?:>(?s:.){0,500})?"),
            _beginning("<co", r":[\d:,\[\]\x20]{0,60}"),
            _beginning("</co", r":[\d:,\[\]\x20]{0,60}"),
            _beginning("<cite", r"(?:\s[^<>\n]{0,100})?"),
            _beginning("</cite"),
            _beginning("<!--", _COMMENT),
        )
    )
    + r")|(?:\n[ \t>]{0,40}){1,2}"
    + _beginning("<!--", _COMMENT)
    + rf"|{_CODE_BEGUN}|\x20)\Z"
)
"""What may become a mark with the text that follows, at the end of a text."""
_NEVER_WORDS: Final = re.compile(r"\ue200|\n\s*<!--|【.{0,40}†")
"""The beginnings of unfinished marks that are left out; in a line, `<!--` may be a word."""


class CitationFilter:
    """Rewrites marks for sources, and leaves out comments, in a stream; holds back only what may become one."""

    def __init__(self) -> None:
        self._held = "\n"
        self._begun = False
        """The line break that begins the first line is cut off."""
        self._code = ""
        """The backticks or tildes that opened the present code."""
        self._block = False
        """They begin a line, as do those that end it."""

    def feed(self, text: str) -> str:
        """Take more text and return what may be shown now."""
        text = self._held + text
        shown: list[str] = []
        at, last = 0, max(0, len(text) - _LONGEST)
        code = None
        while code != self._code:
            code = self._code
            begun = (_BEGUN_IN_CODE if code else _BEGUN).search(text, max(at, last))
            end = begun.start() if begun else len(text)
            at = self._rewrite(text, at, end, last, shown)
        self._held = text[at:]
        return self._joined(shown)

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        text, self._held = self._held, ""
        shown: list[str] = []
        if self._code or not _NEVER_WORDS.match(text):
            self._rewrite(text, 0, len(text), len(text), shown)
        return self._joined(shown)

    def _joined(self, shown: list[str]) -> str:
        text = "".join(shown)
        start = 0 if self._begun else 1
        self._begun = self._begun or bool(text)
        return text[start:]

    def _rewrite(self, text: str, at: int, end: int, last: int, shown: list[str]) -> int:
        """Add a part of the text to `shown`; return its end, which is where code begins or ends after `last`."""
        while found := (_IN_CODE if self._code else _MARKS).search(text, at, end):
            before = self._code
            shown += (text[at : found.start()], self._replacement(found))
            at = found.end()
            if before != self._code and at > last:
                return at
        shown.append(text[at:end])
        return end

    def _replacement(self, found: re.Match[str]) -> str:
        text = found.group()
        if found["gap"]:
            # A code span ends with its paragraph; a block does not.
            self._code = self._code if len(self._code) > 2 else ""
            return text
        if ticks := found["fence"] or found["code"]:
            self._read_ticks(ticks, begins_line=bool(found["fence"]))
            return text
        if (private := found["private"]) is not None:
            return _words_of(private)
        number = found["dagger"] or found["deepseek"] or found["kimi"] or found["qwen"] or ""
        return f"[{number.strip()}]" if re.fullmatch(_NUMBERS, number.strip()) else ""

    def _read_ticks(self, ticks: str, *, begins_line: bool) -> None:
        if begins_line and len(self._code) < 3:
            self._code, self._block = ticks, True
        elif begins_line and ticks.startswith(self._code):
            self._code, self._block = "", False
        elif not begins_line and not self._block:
            self._code = "" if ticks == self._code else self._code or ticks


def rewrite_citations(text: str) -> str:
    """Return a whole text with its marks for sources rewritten."""
    marks = CitationFilter()
    return marks.feed(text) + marks.finish()


def _words_of(private: str) -> str:
    """Return what a person reads of one of ChatGPT's private marks: the name of a thing, or the label of a link."""
    kind, _, rest = private.partition("\ue202")
    if kind == "url":
        return rest.partition("\ue202")[0]
    if kind == "entity":
        try:
            found = json.loads(rest)
        except ValueError:
            return ""
        return found[1] if isinstance(found, list) and len(found) > 1 and isinstance(found[1], str) else ""
    return ""
