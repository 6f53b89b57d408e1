"""The sources of a turn: numbered across all its results, and listed under the answer that cites them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from bot.safety.characters import clean_name
from bot.safety.citations import rewrite_citations
from bot.sentences import say
from tools.contract.base import Source, ToolResult

MOST_LISTED = 20
_TITLE_CHARS = 90
_HEAD = re.compile(r"^\[(\d{1,3})\](?=[ \t])", re.MULTILINE)
_FENCED = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"[\[【](\d{1,3}(?:\s*[,，、;–\-]\s*\d{1,3})*)[\]】](?!\()")
_RANGE = re.compile(r"(\d+)\s*[–\-]\s*(\d+)")
_SIGNS = r"(?:[^\w\n]|_)*"
_OWN_LIST = re.compile(
    rf"^{_SIGNS}(?:sources?|references?|citations?|(?:资料)?来源|参考(?:资料|来源|文献|链接)?|出处"
    rf"|(?:資料)?來源|參考(?:資料|來源|文獻|連結)?|出處){_SIGNS}(?:[:：].*)?$",
    re.MULTILINE | re.IGNORECASE,
)
_NUMBERED = re.compile(rf"^{_SIGNS}\d{{1,3}}[\].):]", re.MULTILINE)
_MARKS = re.compile(r"[\[\]`*<>|~\\]|(?<!\w)_|_(?!\w)")


def number_sources(result: ToolResult, taken: int) -> tuple[ToolResult, int]:
    """Return the result with its sources numbered from `taken` + 1, and the last number used.

    A tool that numbers its entries writes `[1]`, `[2]`, … at the beginnings of lines; these numbers continue. Sources
    of other tools are listed before their text, so that they can be cited.
    """
    if not result.ok or not result.sources:
        return result, taken
    heads: list[re.Match[str]] = []
    for head in _HEAD.finditer(result.text):
        if int(head[1]) == len(heads) + 1:
            heads.append(head)
    if not heads:
        sources = tuple(replace(one, number=taken + place) for place, one in enumerate(result.sources, 1))
        listed = "\n".join(f"[{one.number}] {one.title} {one.url}" for one in sources)
        return replace(result, text=f"{listed}\n\n{result.text}", sources=sources), taken + len(sources)
    ends = [head.start() for head in heads[1:]] + [len(result.text)]
    blocks = [result.text[head.end() : end] for head, end in zip(heads, ends, strict=True)]
    text = result.text[: heads[0].start()]
    text += "".join(f"[{taken + place}]{block}" for place, block in enumerate(blocks, 1))
    placed = []
    for one in result.sources:
        place = next((place for place, block in enumerate(blocks, 1) if one.url in block), 0)
        placed.append(replace(one, number=taken + place if place else 0))
    return replace(result, text=text, sources=tuple(placed)), taken + len(blocks)


class Citations:
    """The numbered sources of one turn."""

    def __init__(self) -> None:
        self._known: dict[int, Source] = {}

    def add(self, sources: Iterable[Source]) -> None:
        """Add a result's sources; those without a number cannot be cited."""
        for one in sources:
            if one.number and one.number not in self._known:
                self._known[one.number] = one

    def list_cited(self, answer: str, language: str) -> str:
        """Return the list of sources that `answer` cites, as Markdown; empty if it cites none or lists them itself.

        Numbers without a source stay as text.
        """
        prose = _without_code(rewrite_citations(answer))
        cited = [self._known[number] for number in _numbers(prose) if number in self._known][:MOST_LISTED]
        if not cited or self._lists_itself(prose, cited):
            return ""
        lines = [f"[{one.number}] [{_title(one)}]({_address(one.url)})" for one in cited]
        return "\n".join([f"**{say('sources', language)}**", *lines])

    def _lists_itself(self, prose: str, cited: list[Source]) -> bool:
        if all(one.url in prose for one in cited):
            return True
        heads = list(_OWN_LIST.finditer(prose))
        if not heads:
            return False
        tail = prose[heads[-1].start() :]
        return any(one.url in tail for one in cited) or _NUMBERED.search(tail) is not None


def _without_code(answer: str) -> str:
    """Return the answer with a space for each block and each piece of code, which begins and ends with as many
    backticks."""
    answer = _FENCED.sub(" ", answer)
    runs = list(re.finditer("`+", answer))
    ends: dict[int, int] = {}
    partner: dict[int, int] = {}
    for place in reversed(range(len(runs))):
        size = len(runs[place].group())
        if size in ends:
            partner[place] = ends[size]
        ends[size] = place
    prose: list[str] = []
    at = place = 0
    while place < len(runs):
        if place in partner:
            prose += (answer[at : runs[place].start()], " ")
            place = partner[place]
            at = runs[place].end()
        place += 1
    return "".join([*prose, answer[at:]])


def _numbers(prose: str) -> list[int]:
    """Return every cited number, once each, in order."""
    found: set[int] = set()
    for match in _CITED.finditer(prose):
        rest = match[1]
        for first, last in _RANGE.findall(rest):
            found |= set(range(int(first), min(int(last), int(first) + MOST_LISTED) + 1))
        found |= {int(number) for number in re.findall(r"\d+", rest)}
    return sorted(found)


def source_line(source: Source) -> str:
    """Return a source with its address in full view; only its title if the address is not one."""
    if not re.fullmatch(r"https?://[^\s<>]+", source.url):
        return _title(source)
    return f"{_title(source)} <{source.url}>" if source.title else f"<{source.url}>"


def _title(source: Source) -> str:
    """Return the title in a line, without its markup."""
    title = " ".join(_MARKS.sub(" ", clean_name(source.title)).split()) or source.url
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"


def _address(url: str) -> str:
    return f"<{url}>" if re.search(r"[()]", url) else url
