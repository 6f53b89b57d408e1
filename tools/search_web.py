"""The tool that searches the web with Tavily: its summary first, then numbered entries with their addresses.

A second source (SEARCH_FALLBACK) answers when there is no key or Tavily fails. Tavily's library is imported at the
first search, in a thread, because the import takes a third of a second.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from tools.calling.function import FunctionTool
from tools.contract.base import ToolContext, ToolError, ToolResult, Unavailable, Unpaid
from tools.contract.credentials import hidden
from tools.contract.findings import Finding
from tools.contract.late import Late
from tools.contract.network import proxy_before, trusted
from tools.contract.payments import Bill
from tools.fetch import keyless_search
from tools.fetch.search_results import best_score, found_pages, label, written
from tools.settings import SearchSettings

if TYPE_CHECKING:
    from tavily import AsyncTavilyClient

log = logging.getLogger(__name__)

LONGEST_QUERY = 400
"""Characters; Tavily refuses more."""
MOST_DOMAINS = 50
_DEPTHS: dict[str, dict[str, Any]] = {
    "quick": {"search_depth": "basic", "max_results": 3},
    "deep": {"search_depth": "advanced", "max_results": 10, "include_answer": True},
}
CREDIT_PRICE: Final = 0.008
"""Dollars for a credit, beyond those of a plan. https://tavily.com/pricing"""
AGAIN_BELOW: Final = 0.2
"""A quick search whose best result has a lower relevance is made again as a deep one."""
_CREDITS = {"basic": 1, "advanced": 2}
"""Credits that Tavily charges for a search. https://docs.tavily.com/documentation/api-credits"""
_SECONDS = {"quick": 12.0, "deep": 18.0}
"""Time limits for Tavily: below the timeout of the tool, so that the model learns the reason."""
_EXAMPLES = (
    {"query": "Nobel Prize in Physics winner"},
    {"query": "人工智能法案 最新消息", "topic": "news"},
    {"query": "central bank interest rate decision", "topic": "news", "time_range": "week"},
    {"query": "Python 3.14 free threading", "mode": "deep", "include_domains": ["docs.python.org"]},
)
_ASKED = (
    "Who won the Nobel Prize in Physics this year?",
    "人工智能法案最近有什么新闻？",
)


def open_tool(settings: SearchSettings | None, *, again_below: float = AGAIN_BELOW) -> WebSearch:
    """The tool, not yet connected.

    Args:
        again_below: the relevance below which a quick search is made again as a deep one.

    Raises:
        Unavailable: there is no key and no second source.
    """
    # Without a key Tavily's client raises no error: it searches "keyless", with other limits. We decide here.
    if settings is None or not (settings.tavily_api_key.get_secret_value().strip() or settings.search_fallback):
        raise Unavailable("it needs TAVILY_API_KEY, a key from tavily.com, or SEARCH_FALLBACK=ddgs")
    if settings.search_fallback and not keyless_search.installed():
        raise Unavailable("SEARCH_FALLBACK=ddgs needs ddgs: pip install ddgs", wanted=True)
    return WebSearch(settings, again_below)


class Unanswered(ToolError):
    """Tavily fails where another source may succeed; the request itself is right."""


class _Connection:
    """Tavily's client, and the HTTP client below it, which it closes only where it made it."""

    def __init__(self, tavily: AsyncTavilyClient, http: Any) -> None:
        self.tavily = tavily
        self._http = http

    async def close(self) -> None:
        await self._http.aclose()


class WebSearch(FunctionTool):
    """`search_web`."""

    def __init__(self, settings: SearchSettings, again_below: float) -> None:
        self._key = settings.tavily_api_key.get_secret_value().strip()
        self._base_url = settings.tavily_api_base_url.rstrip("/")
        self._second = bool(settings.search_fallback)
        self._again_below = again_below
        self._client: Late[_Connection] = Late(self._open)
        super().__init__(
            self.search,
            self._client,
            name="search_web",
            category="web",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="search web query find google internet online brave tavily exa duckduckgo bing "
            "| web internet online google duckduckgo",
            icon="🔎",
            verb=("Searching the web", "正在搜索网页", "正在搜尋網路"),
            label=("Search the web", "搜索网页", "搜尋網路"),
            subject="query",
            cache_seconds=600.0,
            timeout=34.0 + (keyless_search.TOTAL_SECONDS if self._key and self._second else 0.0),
        )

    async def search(
        self,
        context: ToolContext,
        query: str,
        mode: Literal["quick", "deep"] | None = None,
        topic: Literal["general", "news", "finance"] = "general",
        time_range: Literal["day", "week", "month", "year"] | None = None,
        include_domains: list[str] | None = None,
        exclude_domains: list[str] | None = None,
    ) -> ToolResult:
        """Search the web and return the best matching pages with their addresses and what they say.

        Use when: the answer needs news, prices, weather, scores, releases, or facts that change or that you are not
            sure of, or when the person asks for sources.
        Not for: arithmetic and units (calculator), the date or time (current_time), small talk, or what is already in
            the conversation.
        Source: Tavily's index of the public web

        Args:
            query: What to look for, as a few words in the language of the pages wanted. Example: "weather in Oslo"
            mode: quick gives 3 results; deep gives up to 10 with longer excerpts and a summary, and takes longer. Leave
                it out unless the person asks for one of them.
            topic: news and finance search only such pages.
            time_range: Only pages published or changed within the last day, week, month or year.
            include_domains: Only pages of these domains. Example: ["who.int"]
            exclude_domains: No pages of these domains.
        """
        query, depth = _check_query(query), mode or "quick"
        options: dict[str, Any] = {"query": query, **_DEPTHS[depth]}
        if topic != "general":
            options["topic"] = topic
        if time_range is not None:
            options["time_range"] = time_range
        for name, domains in (("include_domains", include_domains), ("exclude_domains", exclude_domains)):
            if domains:
                options[name] = _check_domains(name, domains)
        failure: ToolError | None = None
        if self._key:
            try:
                return _make_result(query, await self._search_tavily(options, depth, context), context)
            except (Unanswered, Unpaid) as error:
                if not self._second:
                    raise
                log.warning("search_web uses its fallback: %s", error)
                failure = error
        try:
            found = await _search_without_key(options, context.language)
        except ToolError as error:
            raise failure or error from error
        return _make_result(query, found, context, label("second", context.language) + "\n" if failure else "")

    async def check(self, *, offline: bool = False) -> Finding:
        """Make a test search, which costs a credit, and report the result to the operator.

        Raises:
            ToolError: Tavily does not answer it.
        """
        place = urlsplit(self._base_url).netloc
        if not self._key:
            return Finding.not_asked(f"SEARCH_FALLBACK searches without a key; it needs {keyless_search.ENGINES}")
        if offline:
            return Finding.not_asked(f"it needs Tavily at {place}")
        options = {"query": "Tavily", **_DEPTHS["quick"], "max_results": 1, "timeout": _SECONDS["quick"]}
        try:
            _check_answer(await self._ask(options, Bill()))
        except ToolError as error:
            raise ToolError(_describe_fault(error, place), retry=False) from error
        return Finding.ok(f"Tavily at {place} answers")

    async def _search_tavily(self, options: Mapping[str, Any], depth: str, context: ToolContext) -> Mapping[str, Any]:
        """Search with Tavily, and once more in depth where a quick search finds nothing relevant."""
        seconds, bill = context.seconds, context.bill
        answer = _check_answer(await self._ask({**options, "timeout": min(_SECONDS[depth], seconds)}, bill))
        score = best_score(answer)
        if depth == "deep" or score is None or score >= self._again_below:
            return answer
        log.info("search_web searches deep: the best of a quick search has a relevance of %.2f", score)
        try:
            again = _check_answer(
                await self._ask({**options, **_DEPTHS["deep"], "timeout": min(_SECONDS["deep"], seconds / 2)}, bill)
            )
        except ToolError as error:
            log.warning("search_web keeps its quick results: %s", error)
            return answer
        return again if found_pages(again) else answer

    async def _ask(self, options: Mapping[str, Any], bill: Bill) -> Any:
        """Make one paid request. A failure becomes a ToolError with a sentence for the model.

        A refused request costs no credit; one without an answer may have cost one.
        """
        client = (await self._client.get()).tavily
        # Both are loaded by now. Tavily's errors have no common base, and it lets httpx's through.
        import httpx
        from tavily import errors

        refusals = (
            *(errors.UsageLimitExceededError, errors.ForbiddenError, errors.InvalidAPIKeyError),
            *(errors.BadRequestError, httpx.HTTPStatusError, httpx.ConnectError, httpx.InvalidURL),
        )
        price = CREDIT_PRICE * _CREDITS[options["search_depth"]]
        try:
            async with bill.pay(price) as payment:
                with payment.nothing_for(*refusals):
                    return await client.search(**options)
        except errors.UsageLimitExceededError as error:
            raise Unanswered(
                "The search service's request limit is reached; it opens again in about a minute. "
                "Answer from what you know and say that it was not checked.",
                retry=False,
            ) from error
        except errors.ForbiddenError as error:
            raise Unanswered(
                "The search service refuses: the plan's credits are used up, or the key may not do this. Only the "
                "operator of this bot can change that. Answer without searching, and say so.",
                retry=False,
            ) from error
        except errors.InvalidAPIKeyError as error:
            raise Unanswered(
                "The search service refuses the bot's key. Only the operator can change that (TAVILY_API_KEY). "
                "Answer without searching, and say so.",
                retry=False,
            ) from error
        except errors.BadRequestError as error:
            raise ToolError(f"The search service refuses the request: {self._quote(error)} Change it.") from error
        except errors.TimeoutError as error:
            raise Unanswered(
                f"The search service did not answer within {options['timeout']:g} s. "
                "Search once more with mode quick, or answer without it."
            ) from error
        except httpx.HTTPStatusError as error:
            raise _explain_status(error.response.status_code) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            log.warning(
                "search_web cannot reach Tavily (%s); TAVILY_API_BASE_URL says where it is", type(error).__name__
            )
            raise Unanswered(
                "The search service cannot be reached. Answer without searching, and say so.", retry=False
            ) from error
        except (ValueError, TypeError, AttributeError) as error:
            # The body is no JSON, or no object; and for a 2xx other than 200 the library raises what is no exception.
            raise Unanswered(
                "The search service answered with something that is no search result. Answer without searching.",
                retry=False,
            ) from error

    def _open(self) -> _Connection:
        httpx: Any = importlib.import_module("httpx")
        http = httpx.AsyncClient(
            base_url=self._base_url,
            trust_env=False,
            proxy=proxy_before(self._base_url, "Tavily"),
            verify=trusted(httpx.create_ssl_context),
        )
        client = importlib.import_module("tavily").AsyncTavilyClient(
            api_key=self._key, api_base_url=self._base_url, client=http
        )
        return _Connection(client, http)

    def _quote(self, error: Exception) -> str:
        text = " ".join(hidden(str(error), (self._key, self._base_url)).split())[:200]
        return text if text.endswith((".", "!", "?")) else f"{text or 'no reason given'}."


_KEYWORDS = (
    *("search", "google", "look up", "find", "news", "latest", "today", "current", "price", "weather", "source", "web"),
    *("搜索", "查一下", "查询", "搜一下", "新闻", "最新", "今天", "现在", "价格", "天气", "上网", "资料", "来源"),
)


def _describe_fault(error: ToolError, place: str) -> str:
    """The reason for a failed search, for the operator."""
    cause = error.__cause__
    match type(cause).__name__ if cause is not None else "":
        case "InvalidAPIKeyError":
            return "Tavily refuses the key of TAVILY_API_KEY"
        case "ForbiddenError":
            return "the credits of the plan are used up, or the key of TAVILY_API_KEY may not search"
        case "UsageLimitExceededError":
            return "Tavily's limit of requests is reached, or the plan's credits are used up"
        case "HTTPStatusError" | "":
            return f"{place} does not answer as Tavily does; TAVILY_API_BASE_URL says where it is"
        case name:
            return f"Tavily at {place} does not answer ({name}); TAVILY_API_BASE_URL says where it is"


def _explain_status(status: int) -> ToolError:
    if status >= 500:
        return Unanswered(f"The search service has a fault of its own ({status}). Try once more, or answer without it.")
    if status in (400, 422):
        return ToolError(f"The search service refuses the request ({status}). Use a shorter query and fewer filters.")
    log.warning("search_web: Tavily answers %d; is TAVILY_API_BASE_URL right?", status)
    return Unanswered(
        f"The search service is not where it should be ({status}). Answer without searching.", retry=False
    )


async def _search_without_key(options: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """What the second source finds for options of Tavily. Raises ToolError."""
    rows = await keyless_search.search(
        options["query"],
        most=options["max_results"],
        language=language,
        time_range=options.get("time_range") or ("month" if options.get("topic") == "news" else None),
        include=options.get("include_domains", ()),
        exclude=options.get("exclude_domains", ()),
    )
    return {"results": rows}


def _check_query(query: str) -> str:
    """The query on one line. Raises ToolError if it is empty or too long."""
    query = " ".join(query.split())
    if not query:
        raise ToolError("The query is empty: say what to search for, in a few words.")
    if len(query) > LONGEST_QUERY:
        raise ToolError(
            f"The query has {len(query)} characters, at most {LONGEST_QUERY} are possible: "
            "search for its few essential words."
        )
    return query


def _check_domains(name: str, given: Sequence[str]) -> list[str]:
    """Domains without scheme and path, which models often add. Raises ToolError if one is not a domain."""
    found = [re.sub(r"^[a-z]+://", "", one.strip().lower()).split("/")[0] for one in given]
    found = list(dict.fromkeys(one for one in found if one))
    if len(found) > MOST_DOMAINS:
        raise ToolError(f"{name} has {len(found)} domains, at most {MOST_DOMAINS} are possible.")
    wrong = next((one for one in found if "." not in one or " " in one), None)
    if wrong is not None:
        raise ToolError(f"{name} takes domains such as example.org, not {wrong!r}.")
    return found


def _check_answer(answer: Any) -> Mapping[str, Any]:
    """Return the answer if it has the form of search results, else raise Unanswered."""
    if not isinstance(answer, dict) or not isinstance(answer.get("results", []), list):
        raise Unanswered("The search service answered with something that is no search result.", retry=False)
    return answer


def _make_result(query: str, answer: Mapping[str, Any], context: ToolContext, note: str = "") -> ToolResult:
    text, sources = written(query, answer, context.chars - len(note), context.language)
    return ToolResult(text=note + text, sources=sources, untrusted=True)
