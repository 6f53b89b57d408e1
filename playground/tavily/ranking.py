"""Which pages belong to a query: common words counted, rare ones more, the title most."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from playground.tavily.pages import CannedPage

_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")
_COMMON = frozenset(
    (
        *(
            "a",
            "an",
            "and",
            "are",
            "about",
            "at",
            "be",
            "by",
            "can",
            "do",
            "does",
            "for",
            "from",
            "how",
            "i",
            "in",
            "is",
        ),
        *("it", "latest", "me", "my", "new", "of", "on", "or", "please", "search", "tell", "that", "the", "this", "to"),
        *(
            "today",
            "was",
            "what",
            "when",
            "where",
            "which",
            "who",
            "why",
            "will",
            "with",
            "you",
            "最新",
            "今天",
            "什么",
        ),
        *("怎么", "如何", "一下", "搜索", "多少", "新闻", "消息", "news"),
    )
)
_TITLE_WEIGHT = 3.0
_NEAR = 0.3
"""How near to the best page's score another's has to be; a page that shares one stray word is left out."""


def terms(text: str) -> list[str]:
    """The words of `text` that tell something: Latin words without a plural s, Chinese in pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if "\u4e00" <= word[0] <= "\u9fff":
            found += [word[start : start + 2] for start in range(max(1, len(word) - 1))]
        else:
            found.append(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return [term for term in found if term not in _COMMON]


def rank(query: str, pages: Sequence[CannedPage]) -> list[tuple[float, CannedPage]]:
    """The pages that share a word with `query`, best first, each with a score between 0 and 1."""
    wanted = set(terms(query))
    if not wanted:
        return []
    titles = [set(terms(page.title)) for page in pages]
    bodies = [set(terms(page.text)) for page in pages]
    weights = {
        term: math.log(
            1
            + len(pages) / (1 + sum(term in title or term in body for title, body in zip(titles, bodies, strict=True)))
        )
        for term in wanted
    }
    most = sum(weights.values()) * (_TITLE_WEIGHT + 1)
    scored: list[tuple[float, CannedPage]] = []
    for page, title, body in zip(pages, titles, bodies, strict=True):
        score = sum(weights[term] * (_TITLE_WEIGHT * (term in title) + (term in body)) for term in wanted)
        if score:
            scored.append((round(min(0.99, score / most), 4), page))
    best = max((score for score, _ in scored), default=0.0)
    return sorted((pair for pair in scored if pair[0] >= best * _NEAR), key=lambda pair: -pair[0])


def sentences(text: str) -> list[str]:
    """`text` in sentences, each with its mark."""
    return [
        part.strip()
        for part in re.findall(r"[^.。！？!?]+(?:\.(?=\d)[^.。！？!?]*)*[.。！？!?]?", text)
        if part.strip()
    ]


def chunks(query: str, text: str, count: int) -> str:
    """The `count` sentences nearest to `query`, in their own order, as the advanced search joins them."""
    wanted = set(terms(query))
    parts = sentences(text)
    best = sorted(range(len(parts)), key=lambda index: -len(wanted & set(terms(parts[index]))))[:count]
    return " [...] ".join(parts[index] for index in sorted(best))
