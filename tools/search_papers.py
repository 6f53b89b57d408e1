"""Search scholarly papers in OpenAlex: who wrote what, when, where it appeared, and where it can be read freely."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from tools.calling.function import FunctionTool
from tools.contract.base import Source, ToolContext, ToolError, ToolResult
from tools.contract.findings import Finding
from tools.fetch.entries import joined
from tools.fetch.service import JsonService, fields_of, items_of, number_of, text_of
from tools.settings import SearchPapersSettings

PAGE = 5
"""Papers of one page; with abstracts, as many as fit into an ordinary result."""
LAST_PAGE = 100
LONGEST_QUERY = 300
_ABSTRACT_CHARS = 900
_AUTHORS = 6
_FIELDS = (
    "id,doi,display_name,publication_year,publication_date,type,authorships,primary_location,best_oa_location,"
    "open_access,cited_by_count,is_retracted,abstract_inverted_index"
)
_ORDERS = {"relevance": "relevance_score:desc", "newest": "publication_date:desc", "cited": "cited_by_count:desc"}
_EXAMPLES = (
    {"query": "diffusion models for protein design", "from_year": 2023},
    {"query": "CRISPR off-target effects", "order": "cited", "open_access": True},
    {"query": "10.1038/s41586-021-03819-2"},
)
_ASKED = (
    "Which papers are there since 2023 on diffusion models for protein design?",
    "Which freely readable papers on off-target effects of CRISPR are cited most?",
)
_KEYWORDS = (
    *("paper", "papers", "study", "studies", "research", "literature", "article", "journal", "citation", "doi"),
    *("arxiv", "preprint", "scholar", "author", "论文", "文献", "研究", "期刊", "引用", "学术", "作者", "综述"),
)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)$", re.IGNORECASE)


def open_tool(settings: SearchPapersSettings | None) -> SearchPapers:
    """The search, ready for its first query; it works without a key, a hundred times a day or so."""
    return SearchPapers(settings if settings is not None else SearchPapersSettings.model_construct())


class SearchPapers(FunctionTool):
    """`search_papers`."""

    def __init__(self, settings: SearchPapersSettings) -> None:
        self._key = settings.openalex_api_key.get_secret_value().strip()
        contact = settings.contact.strip()
        self._email = contact if "@" in contact and "/" not in contact else ""
        self._service = JsonService(
            "OpenAlex",
            settings.openalex_base_url,
            "OPENALEX_BASE_URL",
            contact=f"mailto:{self._email}" if self._email else contact,
            configured=bool(settings.model_fields_set),
        )
        super().__init__(
            self.search,
            self._service,
            name="search_papers",
            category="research",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="search find query paper article publication arxiv scholar semantic pubmed academic "
            "| paper scholarly academic arxiv",
            icon="🎓",
            verb=("Searching papers", "正在搜索论文", "正在搜尋論文"),
            label=("Find scientific papers", "查找学术论文", "尋找學術論文"),
            subject="query",
            cache_seconds=3600.0,
            timeout=15.0,
        )

    async def search(
        self,
        context: ToolContext,
        query: str,
        from_year: int | None = None,
        to_year: int | None = None,
        open_access: bool = False,
        order: Literal["relevance", "newest", "cited"] = "relevance",
        page: int = 1,
    ) -> ToolResult:
        """Search scholarly papers: title, authors, year, venue, DOI, free full text, abstract, citations.

        Use when: the person asks for studies, papers, evidence or citations, or gives a DOI.
        Not for: news and ordinary pages (search_web), or an encyclopaedia's overview (wikipedia).
        Source: OpenAlex

        Args:
            query: Topic, title or author in a few words, or a DOI; English finds most. Example: "sourdough microbiome"
            from_year: The earliest year of publication.
            to_year: The latest year of publication.
            open_access: Only papers that can be read freely.
            order: relevance, newest first, or most cited first.
            page: Which page of five papers.
        """
        query = " ".join(query.split())
        if not query:
            raise ToolError("The query is empty: say what the papers are about.")
        if len(query) > LONGEST_QUERY:
            raise ToolError(f"The query has {len(query)} characters: search for its few essential words.")
        if not 1 <= page <= LAST_PAGE:
            raise ToolError(f"page must be between 1 and {LAST_PAGE}.")
        if from_year is not None and to_year is not None and from_year > to_year:
            raise ToolError("from_year must not be later than to_year.")
        asked = self._named() | {"select": _FIELDS}
        doi = _DOI.match(query)
        if doi:
            found = await self._service.get(f"/works/doi:{quote(doi[1].rstrip('.,;'), safe='/:;()')}", asked)
            papers = [found] if isinstance(found, dict) and found.get("id") else []
            return _written(query, papers, len(papers), 1, context.chars)
        filters = []
        if from_year is not None or to_year is not None:
            filters.append(f"publication_year:{from_year or ''}-{to_year or ''}")
        if open_access:
            filters.append("open_access.is_oa:true")
        if filters:
            asked["filter"] = ",".join(filters)
        # A comma and a colon have a meaning in filters only; `search` takes any words.
        asked |= {"search": query, "sort": _ORDERS[order], "per_page": PAGE, "page": page}
        found = fields_of(await self._service.get("/works", asked))
        count = number_of(fields_of(found.get("meta")).get("count")) or 0
        return _written(query, items_of(found.get("results"))[:PAGE], int(count), page, context.chars)

    async def check(self, *, offline: bool = False) -> Finding:
        """Whether OpenAlex answers a search for one paper."""
        asked = self._named() | {"select": "id", "search": "tea", "per_page": 1}
        return await self._service.check("/works", asked, expected="results", offline=offline)

    def _named(self) -> dict[str, str | int | float]:
        """What tells OpenAlex who asks."""
        return {name: told for name, told in (("mailto", self._email), ("api_key", self._key)) if told}


def _written(query: str, papers: list[dict[str, Any]], count: int, page: int, chars: int) -> ToolResult:
    if not papers:
        text = f"No papers were found for {query!r}" + (f" on page {page}" if page > 1 else "")
        return ToolResult(text=f"{text}. Try other or fewer words, or fewer limits.", untrusted=True)
    first = (page - 1) * PAGE + 1
    head = f"Papers for {query!r} in OpenAlex, {first} to {first + len(papers) - 1} of {count}:\n"
    more = f"\n(page={page + 1} has more.)" if first + len(papers) - 1 < min(count, LAST_PAGE * PAGE) else ""
    # Shorter abstracts rather than fewer papers: a list is asked for to choose from.
    abstracts = [rebuilt(one.get("abstract_inverted_index")) for one in papers]
    for longest in (_ABSTRACT_CHARS, 600, 400, 250, 120, 0):
        entries = [
            _entry(first + at, one, abstract, longest)
            for at, (one, abstract) in enumerate(zip(papers, abstracts, strict=True))
        ]
        if len(head) + sum(map(len, entries)) + len(more) <= chars:
            break
    text, shown = joined(head, entries, chars, tail=more)
    sources = tuple(Source(_title(one), address) for one in papers[:shown] if (address := _address(one)))
    return ToolResult(text=text.rstrip("\n"), sources=sources, untrusted=True)


def _entry(number: int, paper: Mapping[str, Any], abstract: str, longest: int) -> str:
    names = [text_of(fields_of(one.get("author")).get("display_name")) for one in items_of(paper.get("authorships"))]
    names = [name for name in names if name]
    authors = ", ".join(names[:_AUTHORS]) + (f" and {len(names) - _AUTHORS} more" if len(names) > _AUTHORS else "")
    venue = text_of(fields_of(fields_of(paper.get("primary_location")).get("source")).get("display_name"))
    kind = text_of(paper.get("type"))
    about = [str(paper.get("publication_year") or "year unknown"), venue, kind if kind != "article" else ""]
    cited = number_of(paper.get("cited_by_count"))
    if cited is not None:
        about.append(f"cited {cited:.0f} times")
    lines = [f"\n[{number}] {_title(paper)}"]
    if paper.get("is_retracted") is True:
        lines.append("RETRACTED: this paper has been withdrawn.")
    lines.append(f"{authors or 'authors unknown'} ({', '.join(one for one in about if one)})")
    doi = text_of(paper.get("doi"))
    if doi:
        lines.append(f"DOI: {doi}")
    if _free(paper):
        lines.append(f"Free full text: {_free(paper)}")
    if not doi and not _free(paper) and _address(paper):
        lines.append(f"Source: {_address(paper)}")
    if longest > 0:
        if len(abstract) > longest:
            abstract = abstract[:longest].rsplit(" ", 1)[0] + " […]"
        lines.append(f"Abstract: {abstract}" if abstract else "(no abstract)")
    return "\n".join(lines) + "\n"


def rebuilt(index: object) -> str:
    """An abstract from OpenAlex' form of it: each word with the places it stands at."""
    words: dict[int, str] = {}
    for word, places in fields_of(index).items():
        for place in places if isinstance(places, list) else []:
            if isinstance(place, int) and 0 <= place < 100_000:
                words[place] = word
    return text_of(" ".join(words[place] for place in sorted(words)))


def _title(paper: Mapping[str, Any]) -> str:
    # Titles come with markup of their publishers: <i>, <sub>, MathML.
    return text_of(re.sub(r"<[^<>]{1,60}>", "", text_of(paper.get("display_name")))) or "(no title)"


def _free(paper: Mapping[str, Any]) -> str:
    best = fields_of(paper.get("best_oa_location"))
    for value in (best.get("pdf_url"), best.get("landing_page_url"), fields_of(paper.get("open_access")).get("oa_url")):
        if text_of(value).startswith(("https://", "http://")):
            return text_of(value)
    return ""


def _address(paper: Mapping[str, Any]) -> str:
    for value in (paper.get("doi"), _free(paper), paper.get("id")):
        if text_of(value).startswith(("https://", "http://")):
            return text_of(value)
    return ""
