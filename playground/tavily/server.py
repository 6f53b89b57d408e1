"""The server: keys, limits and credits, the search over the canned pages, and what was asked."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web

from playground.faults import Faults
from playground.loopback import Loopback, after, before
from playground.tavily.pages import LAST_RESORT, PAGES, CannedPage
from playground.tavily.ranking import chunks, rank, sentences
from playground.tavily.strictness import RANGES, Refused, check_extract, check_search

_ERRORS = {
    401: "Unauthorized: missing or invalid API key.",
    403: "This request is not allowed for your key.",
    429: "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
    433: "This request exceeds the pay-as-you-go limit. You can increase your limit on the Tavily dashboard.",
}
_DEFAULT_RESULTS = 5


@dataclass(slots=True)
class SearchRequest:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    """Event loop time (monotonic seconds)."""
    status: int = 0
    """The status it was answered with; 0 while it is not, and for a client that left."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class TavilyServer:
    """Tavily on loopback: `/search` and `/extract` over canned pages."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        key: str = "",
        least_score: float = 0.0,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self.least_score = least_score
        """The relevance of every page that is found, at least."""
        self.key = key
        """Asked for when set; another one, or none, is a 401."""
        self.pages: list[CannedPage] = list(PAGES)
        self.last_resort: CannedPage | None = LAST_RESORT
        """What a search finds that finds nothing else; None: no results."""
        self.requests: list[SearchRequest] = []
        self.faults = Faults()
        """By method: `search`, `extract`."""
        self.per_minute = 100
        """Requests in a minute before 429, as for a development key."""
        self.credits: float | None = None
        """What is left of the plan; None: no end."""
        self._now = now
        self._recent: deque[float] = deque()
        app = web.Application()
        app.router.add_post("/search", self._search)
        app.router.add_post("/extract", self._extract)
        self._http = Loopback(app, host, port)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL; no slash at the end."""
        return self._http.url

    async def __aenter__(self) -> Self:
        await self._http.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    async def _search(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "search", self._find)

    async def _extract(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "extract", self._read)

    async def _handle(
        self, request: web.Request, method: str, answer: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> web.StreamResponse:
        raw = await request.read()
        clock = asyncio.get_running_loop().time
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        seen = SearchRequest(request.path, body if isinstance(body, dict) else {}, dict(request.headers), clock())
        self.requests.append(seen)
        try:
            response = await self._answer(request, method, body, answer, seen.at)
            seen.status = response.status
            return response
        finally:
            seen.ended.set()

    async def _answer(
        self,
        request: web.Request,
        method: str,
        body: Any,
        answer: Callable[[dict[str, Any]], dict[str, Any]],
        at: float,
    ) -> web.StreamResponse:
        fault = self.faults.take(method)
        status = fault.status if fault is not None else 0
        failed = await before(fault, request, json.dumps(_error(_ERRORS.get(status, "Internal Server Error"))))
        if failed is not None:
            return failed
        try:
            self._check_key(request)
            self._check_rate(at)
            if not isinstance(body, dict):
                raise Refused(422, "The body is no JSON object.")
            result = answer(body)
            self._spend(body, result)
        except Refused as refused:
            headers = {"Retry-After": "60"} if refused.status == 429 else {}
            return web.json_response(_error(str(refused)), status=refused.status, headers=headers)
        lost = await after(fault, request)
        return lost if lost is not None else web.json_response(result)

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer").strip()
        if self.key and given != self.key:
            raise Refused(401, _ERRORS[401])
        if not given and request.headers.get("X-Tavily-Access-Mode") != "keyless":
            raise Refused(401, _ERRORS[401])

    def _check_rate(self, at: float) -> None:
        while self._recent and self._recent[0] <= at - 60:
            self._recent.popleft()
        if len(self._recent) >= self.per_minute:
            raise Refused(429, _ERRORS[429])
        self._recent.append(at)

    def _spend(self, body: dict[str, Any], result: dict[str, Any]) -> None:
        deep = "advanced" in (body.get("search_depth"), body.get("extract_depth"))
        cost = 2.0 if deep else 1.0
        if self.credits is not None:
            if self.credits < cost:
                raise Refused(432, _ERRORS[432])
            self.credits -= cost
        if body.get("include_usage"):
            result["usage"] = {"credits": cost}

    def _find(self, body: dict[str, Any]) -> dict[str, Any]:
        check_search(body)
        query = body["query"]
        ranked = rank(query, [page for page in self.pages if self._wanted(page, body)])
        if body.get("include_domains_mode") == "prefer":
            preferred = body.get("include_domains") or []
            ranked.sort(key=lambda pair: not _on_any(pair[1].url, preferred))
        most = _DEFAULT_RESULTS if body.get("max_results") is None else body["max_results"]
        if not ranked and self.last_resort is not None and not body.get("include_domains"):
            ranked = [(0.05, self.last_resort)]
        results = [self._result(score, page, body) for score, page in ranked[:most]]
        answer = " ".join(sentences(page.text)[0] for _, page in ranked[:2]) if body.get("include_answer") else None
        return {
            "query": query,
            "follow_up_questions": None,
            "answer": answer,
            "images": [],
            "results": results,
            "response_time": 0.01,
            "request_id": f"req-{len(self.requests):06d}",
        }

    def _wanted(self, page: CannedPage, body: dict[str, Any]) -> bool:
        included, excluded = body.get("include_domains") or [], body.get("exclude_domains") or []
        restricted = included and body.get("include_domains_mode") != "prefer"
        if (restricted and not _on_any(page.url, included)) or _on_any(page.url, excluded):
            return False
        topic = body.get("topic") or "general"
        if topic != "general" and page.topic != topic:
            return False
        published = self._published(page).date().isoformat()
        oldest = RANGES[body["time_range"]] if body.get("time_range") else body.get("days")
        return (
            (oldest is None or page.age_days <= oldest)
            and (body.get("start_date") is None or published >= body["start_date"])
            and (body.get("end_date") is None or published <= body["end_date"])
        )

    def _published(self, page: CannedPage) -> datetime.datetime:
        return self._now() - datetime.timedelta(days=page.age_days)

    def _result(self, score: float, page: CannedPage, body: dict[str, Any]) -> dict[str, Any]:
        deep = body.get("search_depth") == "advanced"
        count = body.get("chunks_per_source") or 3
        result: dict[str, Any] = {
            "title": page.title,
            "url": page.url,
            "content": chunks(body["query"], page.text, count) if deep else page.text,
            "score": max(score, self.least_score),
            "raw_content": _whole(page, body["include_raw_content"]) if body.get("include_raw_content") else None,
        }
        if body.get("topic") == "news":
            result["published_date"] = email.utils.format_datetime(self._published(page).replace(microsecond=0), True)
        return result

    def _read(self, body: dict[str, Any]) -> dict[str, Any]:
        known = {page.url: page for page in (*self.pages, LAST_RESORT)}
        results, failed = [], []
        for url in check_extract(body):
            page = known.get(url.strip().rstrip("/"))
            if page is None:
                failed.append({"url": url, "error": "Failed to fetch url"})
                continue
            text = _whole(page, body.get("format") or "markdown")
            if body.get("query"):
                text = chunks(body["query"], page.text, body.get("chunks_per_source") or 3)
            results.append({"url": url, "title": page.title, "raw_content": text, "images": []})
        return {
            "results": results,
            "failed_results": failed,
            "response_time": 0.01,
            "request_id": f"req-{len(self.requests):06d}",
        }


def _error(message: str) -> dict[str, Any]:
    return {"detail": {"error": message}}


def _whole(page: CannedPage, form: object) -> str:
    return f"{page.title}\n\n{page.text}" if form == "text" else f"# {page.title}\n\n{page.text}"


def _on_any(url: str, domains: list[str]) -> bool:
    """Whether `url` lies on one of `domains` or below it; a domain may be written as an address."""
    host = urlsplit(url).hostname or ""
    names = [(urlsplit(name).hostname or "") if "//" in name else name.split("/")[0] for name in domains]
    return any(host == name or host.endswith(f".{name.removeprefix('*.')}") for name in names if name)
