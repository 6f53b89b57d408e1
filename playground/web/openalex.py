"""OpenAlex with a dozen invented papers: search, filters, pages, one work by its DOI, and its refusals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from playground.web.service import PublicService, Refused

_FIELDS = frozenset(
    (
        *("id", "doi", "title", "display_name", "publication_year", "publication_date", "type", "authorships", "ids"),
        *("primary_location", "best_oa_location", "open_access", "cited_by_count", "is_retracted", "relevance_score"),
        *("abstract_inverted_index", "language", "biblio", "locations", "topics", "keywords", "referenced_works"),
    )
)
_SORTS = frozenset({"relevance_score", "publication_date", "cited_by_count", "display_name", "publication_year"})


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper as the index knows it."""

    number: int
    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    abstract: str
    cited: int = 0
    free: bool = True
    retracted: bool = False
    doi: bool = True
    """It has one."""


PAPERS: tuple[Paper, ...] = (
    Paper(
        1,
        "Aeroelastic stability of long-span suspension bridges",
        ("Ingrid Solheim", "Kenji Mori"),
        2021,
        "Journal of Bridge Engineering",
        "We study flutter of suspension bridges with spans above two kilometres in a wind tunnel and in computation.",
        148,
    ),
    Paper(
        2,
        "Corrosion of cables in suspension bridges: <i>a review</i>",
        tuple(f"Author {letter}" for letter in "ABCDEFGHI"),
        2019,
        "Materials and Structures",
        "Cables of suspension bridges corrode from within. We review methods to detect it without opening them.",
        96,
        free=False,
    ),
    Paper(3, "Suspension bridges and traffic loads", ("Omar Haddad",), 2024, "Structures", "", 3),
    Paper(
        4,
        "A bridge that was never built",
        ("Li Wei",),
        2016,
        "Annals of Invented Results",
        "This paper reports measurements of suspension bridges that were not made.",
        11,
        retracted=True,
    ),
    Paper(
        5,
        "Sourdough microbiomes across four continents",
        ("Ana Prado", "Tom Beck"),
        2022,
        "Food Microbiology",
        "Sourdough starters from four continents share fewer species of bacteria than expected.",
        210,
    ),
    Paper(
        6,
        "Monitoring suspension bridges with smartphones",
        ("Grace Kim",),
        2023,
        "arXiv",
        "Phones of passengers measure how suspension bridges sway.",
        37,
        doi=False,
    ),
    Paper(7, "Suspension bridges in cold climates", ("Aino Laine",), 2020, "Cold Regions", "Ice on cables.", 5),
    Paper(8, "悬索桥的风致振动研究", ("王芳", "李强"), 2022, "桥梁建设", "本文研究大跨度悬索桥的风致振动。", 18),
)


class OpenAlexServer(PublicService):
    """OpenAlex on loopback; `key` is asked for when set."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, key: str = "") -> None:
        super().__init__(host, port)
        self.papers: list[Paper] = list(PAPERS)
        self.key = key
        self.serve("/works", self._search)
        self.serve("/works/{id:.+}", self._one)

    def too_many(self) -> Refused:
        said = {
            "error": "Rate limit exceeded",
            "message": "Insufficient budget. Resets at midnight UTC.",
            "status": 429,
        }
        return Refused(429, said, Retry_After="53940")

    def _search(self, request: web.Request) -> dict[str, Any]:
        query = request.query
        self._check_key(request)
        known = {"search", "filter", "sort", "select", "per_page", "per-page", "page", "mailto", "api_key", "cursor"}
        wrong = set(query) - known
        if wrong:
            raise _bad(f"{min(wrong)} is not a valid parameter. Valid parameters are: {', '.join(sorted(known))}.")
        fields = self._selected(request)
        size, page = _number(query.get("per_page", "25"), 100), _number(query.get("page", "1"), 10_000)
        if size * page > 10_000:
            raise _bad("Maximum results size of 10,000 records is exceeded.")
        found = [paper for paper in self.papers if _matches(paper, query.get("search", ""))]
        for one in filter(None, query.get("filter", "").split(",")):
            found = _filtered(found, one)
        for one in filter(None, query.get("sort", "").split(",")):
            name, _, way = one.partition(":")
            if name not in _SORTS or way not in ("", "asc", "desc"):
                raise _bad(f"Invalid sort: {one}")
            if name == "relevance_score" and not query.get("search"):
                raise _bad("Must include a search query in order to sort by relevance_score.")
            found = _sorted(found, name, way == "desc")
        shown = found[(page - 1) * size : page * size]
        return {
            "meta": {"count": len(found), "db_response_time_ms": 12, "page": page, "per_page": size},
            "results": [{name: value for name, value in _work(one).items() if name in fields} for one in shown],
            "group_by": [],
        }

    def _one(self, request: web.Request) -> dict[str, Any]:
        self._check_key(request)
        fields = self._selected(request)
        wanted = request.match_info["id"].removeprefix("doi:").removeprefix("https://doi.org/").lower()
        for paper in self.papers:
            work = _work(paper)
            if wanted in (str(work["doi"]).removeprefix("https://doi.org/"), f"w{paper.number}"):
                return {name: value for name, value in work.items() if name in fields}
        raise Refused(404, {"error": "Not found", "message": f"Work {wanted} not found"})

    def _check_key(self, request: web.Request) -> None:
        if self.key and request.query.get("api_key") != self.key:
            raise Refused(401, {"error": "Invalid API key", "message": "The API key is not valid."})

    def _selected(self, request: web.Request) -> frozenset[str]:
        given = frozenset(filter(None, request.query.get("select", "").split(",")))
        if not given <= _FIELDS:
            raise _bad(f"{min(given - _FIELDS)} is not a valid select field.")
        return given or _FIELDS


def _bad(message: str) -> Refused:
    return Refused(400, {"error": "Invalid query parameters error.", "message": message})


def _number(text: str, most: int) -> int:
    if not text.isdigit() or not 1 <= int(text) <= most:
        raise _bad(f"Value must be a number between 1 and {most}.")
    return int(text)


def _matches(paper: Paper, query: str) -> bool:
    text = f"{paper.title} {paper.abstract} {' '.join(paper.authors)}".lower()
    return all(word in text for word in query.lower().split())


def _filtered(papers: Sequence[Paper], condition: str) -> list[Paper]:
    name, _, value = condition.partition(":")
    if name == "publication_year":
        years = re.fullmatch(r"(\d{4})?(-)?(\d{4})?", value)
        if not years or not value.strip("-"):
            raise _bad(f"Invalid filter: {condition}")
        first = int(years[1] or 0)
        last = int(years[3] or 9999) if years[2] else first
        return [paper for paper in papers if first <= paper.year <= last]
    if name in ("open_access.is_oa", "is_oa") and value in ("true", "false"):
        return [paper for paper in papers if paper.free is (value == "true")]
    raise _bad(f"Unknown filter field: {name}")


def _sorted(papers: Sequence[Paper], name: str, down: bool) -> list[Paper]:
    if name == "cited_by_count":
        return sorted(papers, key=lambda paper: paper.cited, reverse=down)
    if name in ("publication_date", "publication_year"):
        return sorted(papers, key=lambda paper: paper.year, reverse=down)
    return list(papers)


def _work(paper: Paper) -> dict[str, Any]:
    doi = f"https://doi.org/10.5555/parley.{paper.number}" if paper.doi else None
    landing = doi or f"https://papers.example/{paper.number}"
    place = {
        "is_oa": paper.free,
        "landing_page_url": landing,
        "pdf_url": f"https://papers.example/{paper.number}.pdf" if paper.free and paper.number % 2 else None,
        "source": {"id": "https://openalex.org/S1", "display_name": paper.venue, "type": "journal"},
    }
    index: dict[str, list[int]] = {}
    for place_of, word in enumerate(paper.abstract.split()):
        index.setdefault(word, []).append(place_of)
    return {
        "id": f"https://openalex.org/W{paper.number}",
        "doi": doi,
        "title": paper.title,
        "display_name": paper.title,
        "publication_year": paper.year,
        "publication_date": f"{paper.year}-05-17",
        "type": "article" if paper.doi else "preprint",
        "authorships": [
            {"author_position": "first" if not at else "middle", "author": {"display_name": name}, "institutions": []}
            for at, name in enumerate(paper.authors)
        ],
        "primary_location": place,
        "best_oa_location": place if paper.free else None,
        "open_access": {"is_oa": paper.free, "oa_status": "gold" if paper.free else "closed", "oa_url": None},
        "cited_by_count": paper.cited,
        "is_retracted": paper.retracted,
        "relevance_score": 100.0 - paper.number,
        "abstract_inverted_index": index or None,
    }
