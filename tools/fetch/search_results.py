"""Write a search service's answer for a model: a summary, then numbered entries, within a length."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tools.contract.base import Source
from tools.contract.languages import Words, phrase

CUT: Final = " […]"
LEAST_EXCERPT: Final = 120
"""Characters of an excerpt below which it is useless: then fewer entries are shown, not shorter ones."""


_LABELS: Final[Mapping[str, Words]] = {
    "found": ("Search results for {query!r}:", "“{query}”的搜索结果：", "「{query}」的搜尋結果："),
    "summary": ("Summary by the search service: {text}", "搜索服务的摘要：{text}", "搜尋服務的摘要：{text}"),
    "source": ("Source: {url}", "来源：{url}", "來源：{url}"),
    "date": ("Date: {date}", "日期：{date}", "日期：{date}"),
    "relevance": ("Relevance: {score:.2f}", "相关度：{score:.2f}", "相關度：{score:.2f}"),
    "shown": (
        "({shown} of {found:result|results} are shown.)",
        "（共 {found} 条结果，显示 {shown} 条。）",
        "（共 {found} 筆結果，顯示 {shown} 筆。）",
    ),
    "nothing": (
        "Nothing was found for {query!r}. Try other or fewer words, or fewer filters.",
        "没有找到与“{query}”有关的内容。请换用其他或更少的词，或减少筛选条件。",
        "找不到與「{query}」有關的內容。請換用其他或更少的詞，或減少篩選條件。",
    ),
    "second": (
        "(From a second source, for the first one fails now.)",
        "（来自备用的搜索服务：首选的服务目前无法使用。）",
        "（來自備用的搜尋服務：首選的服務目前無法使用。）",
    ),
    "no_title": ("(no title)", "（无标题）", "（無標題）"),
    "no_excerpt": ("(no excerpt)", "（无摘录）", "（無摘錄）"),
}


def label(key: str, language: str, **values: object) -> str:
    """Return a label in the language of a tag."""
    return phrase(_LABELS[key], language, **values)


def found_pages(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the results whose URL can be opened."""
    return [one for one in answer.get("results", []) if isinstance(one, dict) and _address(one)]


def best_score(answer: Mapping[str, Any]) -> float | None:
    """Return the highest relevance, from 0 to 1; None if the service gives none."""
    return max((score for one in found_pages(answer) if (score := _score(one)) is not None), default=None)


def written(query: str, answer: Mapping[str, Any], chars: int, language: str) -> tuple[str, tuple[Source, ...]]:
    """Return the text, at most `chars` long, and the pages in it; `language` is that of the labels.

    Long excerpts are shortened before any entry is left out: each one was paid for, and its address alone is useful.
    """
    found = found_pages(answer)
    summary = _shortened(_text(answer.get("answer")), chars // 2)
    if not found and not summary:
        return label("nothing", language, query=query), ()
    head = label("found", language, query=query) + "\n"
    if summary:
        head += "\n" + label("summary", language, text=summary) + "\n"
    heads = [_head(number, one, language) for number, one in enumerate(found, 1)]
    excerpts = [_text(one.get("content")) or label("no_excerpt", language) for one in found]
    shown = len(found)
    notice = ""
    while shown > 1 and _length(head, heads[:shown], notice, excerpts[:shown], LEAST_EXCERPT) > chars:
        shown -= 1
        notice = "\n" + label("shown", language, shown=shown, found=len(found)) + "\n"
    most = _share(chars - _length(head, heads[:shown], notice, [], 0), excerpts[:shown])
    entries = [f"{one}{_shortened(text, most)}\n" for one, text in zip(heads[:shown], excerpts, strict=False)]
    text = (head + "".join(entries) + notice).rstrip("\n")
    return text[:chars], tuple(Source(_line(one.get("title")) or _address(one), _address(one)) for one in found[:shown])


def _length(head: str, heads: Sequence[str], notice: str, excerpts: Sequence[str], most: int) -> int:
    """Return the total length with every excerpt cut to `most`."""
    return len(head) + sum(len(one) + 1 for one in heads) + len(notice) + sum(min(len(one), most) for one in excerpts)


def _share(room: int, excerpts: Sequence[str]) -> int:
    """Return the length to cut excerpts to so that all fit into `room`; long ones use what short ones leave."""
    lengths = sorted(map(len, excerpts))
    for position, length in enumerate(lengths):
        left = len(lengths) - position
        if length * left > room:
            return max(0, room // left)
        room -= length
    return lengths[-1] if lengths else 0


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - len(CUT))] + CUT[: max(0, most)]


def _head(number: int, result: Mapping[str, Any], language: str) -> str:
    title = _line(result.get("title")) or label("no_title", language)
    lines = [f"\n[{number}] {title}"]
    lines.append(label("source", language, url=_address(result)))
    date, score = _line(result.get("published_date")), _score(result)
    if date:
        lines.append(label("date", language, date=date))
    if score is not None:
        lines.append(label("relevance", language, score=score))
    return "\n".join(lines) + "\n"


def _score(result: Mapping[str, Any]) -> float | None:
    score = result.get("score")
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1 else None


def _address(result: Mapping[str, Any]) -> str:
    """Return the page's URL; empty if it cannot be opened."""
    url = result.get("url")
    if not isinstance(url, str) or not re.match(r"https?://[^\s]+$", url.strip()):
        return ""
    return url.strip()


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _text(value: object) -> str:
    """Remove blank lines, which separate the entries."""
    if not isinstance(value, str):
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return "\n".join(line for line in value.strip().splitlines() if line.strip())
