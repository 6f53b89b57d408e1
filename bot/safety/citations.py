"""The marks for sources that models write of their own habit, made `[n]` where they name a number, else left out.

Each is meant for one company's page, which shows a chip in its place: ChatGPT's private characters and `oaicite`,
gpt-oss's `【1†source】`, DeepSeek's `[citation:1]`, Kimi's `[^1^]`, Gemini's `[cite: 1]`, Grok's and Claude's tags.
Code is left as it is.
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
_MARKS: Final = re.compile(
    rf"""
    \n[ \t>]{{0,40}}(?P<fence>`{{3,}}|~{{3,}}) | (?P<code>`+) | (?P<gap>\n[ \t]{{0,40}}(?=\n))
    | \ue200(?P<private>[^\ue200\ue201]{{0,600}})\ue201 | (?P<stray>[\ue200-\ue206])
    | 【(?P<dagger>{_WITHIN})†[^【】\n]{{0,80}}】
    | \[{{1,2}}citation:\s?(?P<deepseek>{_NUMBERS})\]{{1,2}}
    | \[\^(?P<kimi>{_NUMBERS})\^\]
    | (?P<none>
        \x20?\[cite:\s?[\d,.\s–-]{{1,80}}\] | \[cite_start\]
        | \x20?(?::contentReference)?\[oaicite:\d{{1,3}}\](?:\{{index=\d{{1,3}}\}})?
        | \x20?<grok:render\b[^<>]{{0,300}}>[^<>]{{0,40}}
          (?:<argument\b[^<>]{{0,80}}>[^<>]{{0,80}}</argument>[^<>]{{0,40}}){{0,4}}</grok:render>
        | </?cite(?:\s[^<>\n]{{0,100}})?>
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


_BEGUN: Final = re.compile(
    r"(?:\ue200[^\ue200\ue201]{0,600}|【\x20?(?:"
    + _beginning("turn", r"\d[a-z\d]{0,20}")
    + r"|\d[\d:,，、\x20–-]{0,38})?(?:†[^【】\n]{0,80})?|\x20?(?:"
    + "|".join(
        (
            _beginning("[cite", r"_[a-z]{0,5}|:[\d,.\s–-]{0,80}"),
            _beginning("[citation:", r"[\d,，、\s–-]{0,60}\]?"),
            _beginning("[[citation:", r"[\d,，、\s–-]{0,60}\]{0,2}"),
            _beginning("[^", r"[\d,，、\s–-]{1,60}\^?"),
            _beginning(":contentReference[oaicite:", r"\d{0,3}\]?(?:\{[a-z]{0,5}=?\d{0,3})?"),
            _beginning("[oaicite:", r"\d{0,3}\]?(?:\{[a-z]{0,5}=?\d{0,3})?"),
            _beginning("<grok:render", r"[^<>]{0,300}(?:>(?s:.){0,500})?"),
            _beginning("<cite", r"(?:\s[^<>\n]{0,100})?"),
            _beginning("</cite"),
        )
    )
    + r")|(?:\n[ \t>]{0,40}){1,2}(?:`{0,40}|~{0,40})|\x20|(?<!`)`{1,40})\Z"
)
"""What may become a mark with the text that follows, at the end of a text."""


class CitationFilter:
    """Rewrites marks for sources in a stream; holds back only what may become one."""

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
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        at = begun.start() if begun else len(text)
        self._held = text[at:]
        return self._rewrite(text[:at])

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        text, self._held = self._held, ""
        return "" if text.startswith("\ue200") and not self._code else self._rewrite(text)

    def _rewrite(self, text: str) -> str:
        shown = _MARKS.sub(self._replacement, text)
        if text and not self._begun:
            self._begun = True
            return shown[1:]
        return shown

    def _replacement(self, found: re.Match[str]) -> str:
        text = found.group()
        if found["gap"]:
            # A code span ends with its paragraph; a block does not.
            self._code = self._code if len(self._code) > 2 else ""
            return text
        if ticks := found["fence"] or found["code"]:
            self._read_ticks(ticks, begins_line=bool(found["fence"]))
            return text
        if self._code:
            return text
        if (private := found["private"]) is not None:
            return _words_of(private)
        number = found["dagger"] or found["deepseek"] or found["kimi"] or ""
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
