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
from playground.tavily.strictness import RANGES, Refused, check_search

_ERRORS = {
    401: "Unauthorized: missing or invalid API key.",
    403: "This request is not allowed for your key.",
    429: "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
    433: "This request exceeds the pay-as-you-go limit. You can increase your limit on the Tavily dashboard.",
}
_DEFAULT_RESULTS = 5
_CHUNKS = 3


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
    """Tavily on loopback: `/search` over canned pages."""

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
        """By method: `search`."""
        self.per_minute = 100
        """Requests in a minute before 429, as for a development key."""
        self.credits: float | None = None
        """What is left of the plan; None: no end."""
        self._now = now
        self._recent: deque[float] = deque()
        app = web.Application()
        app.router.add_post("/search", self._search)
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
        raw = await request.read()
        clock = asyncio.get_running_loop().time
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        seen = SearchRequest(request.path, body if isinstance(body, dict) else {}, dict(request.headers), clock())
        self.requests.append(seen)
        try:
            response = await self._answer(request, body, seen.at)
            seen.status = response.status
            return response
        finally:
            seen.ended.set()

    async def _answer(self, request: web.Request, body: Any, at: float) -> web.StreamResponse:
        fault = self.faults.take("search")
        status = fault.status if fault is not None else 0
        failed = await before(fault, request, json.dumps(_error(_ERRORS.get(status, "Internal Server Error"))))
        if failed is not None:
            return failed
        try:
            self._check_key(request)
            self._check_rate(at)
            if not isinstance(body, dict):
                raise Refused(422, "The body is no JSON object.")
            result = self._find(body)
            self._spend(body)
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

    def _spend(self, body: dict[str, Any]) -> None:
        cost = 2.0 if body.get("search_depth") == "advanced" else 1.0
        if self.credits is not None:
            if self.credits < cost:
                raise Refused(432, _ERRORS[432])
            self.credits -= cost

    def _find(self, body: dict[str, Any]) -> dict[str, Any]:
        check_search(body)
        query = body["query"]
        ranked = rank(query, [page for page in self.pages if self._wanted(page, body)])
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
        if (included and not _on_any(page.url, included)) or _on_any(page.url, excluded):
            return False
        topic = body.get("topic") or "general"
        if topic != "general" and page.topic != topic:
            return False
        return not body.get("time_range") or page.age_days <= RANGES[body["time_range"]]

    def _result(self, score: float, page: CannedPage, body: dict[str, Any]) -> dict[str, Any]:
        deep = body.get("search_depth") == "advanced"
        result: dict[str, Any] = {
            "title": page.title,
            "url": page.url,
            "content": chunks(body["query"], page.text, _CHUNKS) if deep else page.text,
            "score": max(score, self.least_score),
            "raw_content": None,
        }
        if body.get("topic") == "news":
            published = self._now() - datetime.timedelta(days=page.age_days)
            result["published_date"] = email.utils.format_datetime(published.replace(microsecond=0), True)
        return result


def _error(message: str) -> dict[str, Any]:
    return {"detail": {"error": message}}


def _on_any(url: str, domains: list[str]) -> bool:
    """Whether `url` lies on one of `domains` or below it; a domain may be written as an address."""
    host = urlsplit(url).hostname or ""
    names = [(urlsplit(name).hostname or "") if "//" in name else name.split("/")[0] for name in domains]
    return any(host == name or host.endswith(f".{name.removeprefix('*.')}") for name in names if name)
