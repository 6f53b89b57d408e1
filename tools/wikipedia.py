"""Look something up in Wikipedia: the introduction of the best article, and what else there is by that name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tools.calling.function import FunctionTool
from tools.contract.base import Source, ToolContext, ToolError, ToolResult
from tools.contract.findings import Finding
from tools.fetch.service import LONGEST_TEXT, JsonService, fields_of, items_of, number_of, text_of
from tools.settings import WikipediaSettings

_ARTICLES = 5
_SHORT = 160
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,10}){0,2}$")
# Tags whose Wikipedia has another name.
_NAMED = {"nb": "no", "cmn": "zh", "yue": "zh-yue", "iw": "he", "in": "id", "fil": "tl"}
_SCRIPTS = (
    (re.compile(r"[\u3040-\u30ff]"), "ja"),
    (re.compile(r"[\uac00-\ud7af]"), "ko"),
    (re.compile(r"[\u4e00-\u9fff]"), "zh"),
    (re.compile(r"[\u0e00-\u0e7f]"), "th"),
    (re.compile(r"[\u0590-\u05ff]"), "he"),
)
_VARIANTS = {"zh-cn": "zh-cn", "zh-hans": "zh-cn", "zh-sg": "zh-sg", "zh-tw": "zh-tw", "zh-hant": "zh-tw"} | {
    one: one for one in ("zh-hk", "zh-mo", "zh-my")
}
_EXAMPLES = (
    {"query": "Ada Lovelace"},
    {"query": "长城", "language": "zh"},
    {"query": "suspension bridge"},
)
_ASKED = (
    "Who was Ada Lovelace?",
    "长城有多长？",
)
_KEYWORDS = (
    *("wikipedia", "wiki", "who is", "who was", "what is", "biography", "history of", "encyclopedia", "capital of"),
    *("born", "definition", "维基", "百科", "是谁", "是什么", "什么是", "生平", "历史", "首都", "介绍一下"),
)


def open_tool(settings: WikipediaSettings | None) -> Wikipedia:
    """The encyclopaedia; it needs no key."""
    return Wikipedia(settings if settings is not None else WikipediaSettings.model_construct())


class Wikipedia(FunctionTool):
    """`wikipedia`."""

    def __init__(self, settings: WikipediaSettings) -> None:
        self._base_url = settings.wikipedia_base_url.strip().rstrip("/")
        self._service = JsonService(
            "Wikipedia",
            self._base_url,
            "WIKIPEDIA_BASE_URL",
            contact=settings.contact,
            configured=bool(settings.model_fields_set),
        )
        super().__init__(
            self.look_up,
            self._service,
            name="wikipedia",
            category="knowledge",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="search find read query page article summary title content wiki wikipedia | wikipedia",
            icon="📚",
            verb=("Looking it up in Wikipedia", "正在查阅维基百科", "正在查閱維基百科"),
            label=("Look something up in Wikipedia", "查阅维基百科", "查閱維基百科"),
            subject="query",
            cache_seconds=3600.0,
            timeout=22.0,
        )

    async def look_up(self, context: ToolContext, query: str, language: str = "") -> ToolResult:
        """Look up a person, place, thing or idea in Wikipedia: the article's introduction and its address.

        Use when: the person asks who or what something is, or for well-established facts and history.
        Not for: news, prices and what changed lately (search_web), or scientific papers (search_papers).
        Source: Wikipedia

        Args:
            query: The name of the thing, in the language of that Wikipedia. Example: "Ada Lovelace"
            language: Code of the Wikipedia to use, as en or zh; the person's language when left out.
        """
        query = " ".join(query.split())[:300]
        if not query:
            raise ToolError("The query is empty: say what to look up.")
        tag = (language or _of_script(query) or context.language or "en").lower().replace("_", "-")
        code = _code(tag)
        if not _LANGUAGE.match(code):
            raise ToolError(f"language must be a code such as en, zh or de, not {language!r}.")
        # Whoever reads Chinese reads it in one of two scripts, which Wikipedia converts on request.
        own = context.language.lower().replace("_", "-")
        variant = _VARIANTS.get(tag) or (_VARIANTS.get(own, "") if code == "zh" else "")
        articles = await self._search(query, code, variant)
        note = ""
        if articles is None:
            raise ToolError(f"There is no Wikipedia in the language {code!r}; use en, zh, de, fr, es or another.")
        if not articles and code != "en" and "{language}" in self._base_url:
            articles = await self._search(query, "en", "") or []
            note = f"(Nothing was found in the Wikipedia of {code!r}; this is the English one.)\n\n" if articles else ""
        if not articles:
            return ToolResult(
                text=f"Wikipedia has nothing about {query!r}. Try the usual name alone, or search_web.", untrusted=True
            )
        return _written(note, articles, context.chars)

    async def check(self, *, offline: bool = False) -> Finding:
        """Whether the English Wikipedia, or the one that is configured, answers."""
        address = self._base_url.replace("{language}", "en")
        asked: dict[str, str | int | float] = {
            "action": "query",
            "meta": "siteinfo",
            "format": "json",
            "formatversion": 2,
        }
        return await self._service.check("/w/api.php", asked, expected="query", base_url=address, offline=offline)

    async def _search(self, query: str, code: str, variant: str) -> list[Mapping[str, Any]] | None:
        """The articles found, best first; None where there is no such Wikipedia."""
        asked: dict[str, str | int | float] = {
            "action": "query",
            "format": "json",
            "formatversion": 2,
            "redirects": 1,
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": _ARTICLES,
            "prop": "extracts|info|pageprops|description",
            "inprop": "url",
            "ppprop": "disambiguation",
            "exintro": 1,
            "explaintext": 1,
            "exlimit": _ARTICLES,
        }
        if variant:
            asked["variant"] = variant
        address = self._base_url.replace("{language}", code)
        found = await self._service.get("/w/api.php", asked, base_url=address)
        if found is None:
            return None
        found = fields_of(found)
        error = fields_of(found.get("error"))
        if error:
            # MediaWiki answers most refusals with status 200.
            if text_of(error.get("code")) in ("ratelimited", "maxlag", "readonly"):
                raise ToolError("Wikipedia is busy. Try once more in a few seconds, or answer without it.")
            said = text_of(error.get("info"))[:200].rstrip(".") or "no reason given"
            raise ToolError(f"Wikipedia refuses the request: {said}. Use other words.")
        pages = items_of(fields_of(found.get("query")).get("pages"))[: 2 * _ARTICLES]
        return sorted(
            (page for page in pages if text_of(page.get("title"))), key=lambda page: number_of(page.get("index")) or 0
        )


def _code(tag: str) -> str:
    """The Wikipedia of a language tag: zh for zh-CN, pt for pt-BR, but zh-yue as it is."""
    if tag in ("zh-yue", "zh-min-nan", "zh-classical", "be-tarask", "bat-smg", "map-bms", "nds-nl", "roa-rup"):
        return tag
    if tag.startswith("zh-"):
        return "zh"
    short = tag.split("-")[0]
    return _NAMED.get(short, short)


def _of_script(query: str) -> str:
    """The language that the writing itself shows; empty for letters that many languages share."""
    return next((language for pattern, language in _SCRIPTS if pattern.search(query)), "")


def _written(note: str, articles: list[Mapping[str, Any]], chars: int) -> ToolResult:
    first, others = articles[0], articles[1:]
    head = f"{note}{_title(first)}\nSource: {_address(first)}\n"
    several = "disambiguation" in fields_of(first.get("pageprops"))
    if several:
        head += "(This name has several meanings; choose one and look that up.)\n"
    tail = ""
    if others:
        tail = "\n\nOther articles:\n" + "\n".join(
            f"- {_title(one)}: {_short(one)}\n  {_address(one)}".replace(": \n", "\n") for one in others
        )
    room = chars - len(head) - len(tail) - 60
    if room < 300:
        room, tail = chars - len(head) - 60, ""
    whole = first.get("extract")
    text = _paragraphs(whole)
    if len(text) > room or (isinstance(whole, str) and len(whole) > LONGEST_TEXT):
        text = _cut(text, room) + "\n[…] (read_page on the address above has the rest.)"
    found = articles if tail else articles[:1]
    sources = tuple(Source(_title(one), _address(one)) for one in found if _address(one))
    return ToolResult(
        text=f"{head}\n{text or '(The article has no introduction.)'}{tail}", sources=sources, untrusted=True
    )


def _cut(text: str, room: int) -> str:
    """The beginning of `text`, whole sentences where they are not too long."""
    start = text[: max(0, room)]
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|[。！？]|\n", start)]
    return start[: ends[-1]].rstrip() if ends and ends[-1] > room // 2 else start


def _paragraphs(value: object) -> str:
    return re.sub(r"\n{2,}", "\n\n", value[:LONGEST_TEXT].strip()) if isinstance(value, str) else ""


def _short(page: Mapping[str, Any]) -> str:
    text = text_of(page.get("description")) or text_of(page.get("extract"))
    return text if len(text) <= _SHORT else text[:_SHORT] + "…"


def _title(page: Mapping[str, Any]) -> str:
    return text_of(page.get("title"))


def _address(page: Mapping[str, Any]) -> str:
    return text_of(page.get("canonicalurl")) or text_of(page.get("fullurl"))
