"""MediaWiki's action API with a few invented articles in English and Chinese; `/en/w/api.php`, `/zh/w/api.php`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web

from playground.web.service import PublicService, Refused

_PROPS = frozenset({"extracts", "info", "pageprops", "description"})


@dataclass(frozen=True, slots=True)
class Article:
    """One article: its title, its introduction, and what `pageprops` says."""

    title: str
    introduction: str
    description: str = ""
    several: bool = False
    """A page that lists the meanings of a name."""


ARTICLES: dict[str, tuple[Article, ...]] = {
    "en": (
        Article(
            "Suspension bridge",
            "A suspension bridge is a bridge whose deck hangs from cables.\n\n\nThe cables run over towers into "
            "anchors at each end. The design carries the longest spans there are.",
            "Type of bridge",
        ),
        Article("Suspension bridge types", "There are several types of suspension bridge.", "Wikimedia list article"),
        Article("Mercury", "Mercury most commonly refers to:", "Topics referred to by the same term", True),
        Article("Mercury (planet)", "Mercury is the first planet from the Sun.", "First planet from the Sun"),
        Article("Mercury (element)", "Mercury is a chemical element, liquid at room temperature.", "Chemical element"),
        Article("Quokka", "The quokka is a small macropod about the size of a domestic cat.", "Species of marsupial"),
        Article(
            "Ada Lovelace",
            "Ada Lovelace (1815–1852) was an English mathematician and writer. She wrote about Babbage's Analytical "
            "Engine, and is often called the first computer programmer.",
            "English mathematician (1815–1852)",
        ),
        Article("Long article", "A sentence about bridges that goes on. " * 600, ""),
    ),
    "zh": (
        Article("悬索桥", "悬索桥是以悬索为主要承重结构的桥梁。\n\n其主缆越过塔顶锚固于两端。", "桥梁类型"),
        Article("长城", "长城是古代的军事防御工程，总长度超过两万公里。", "古代防御工程"),
    ),
}


class MediaWikiServer(PublicService):
    """Wikipedia on loopback; a client's base URL is `base_url` and `/{language}`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port)
        self.articles: dict[str, list[Article]] = {code: list(one) for code, one in ARTICLES.items()}
        self.serve("/{language}/w/api.php", self._answer)

    @property
    def language_url(self) -> str:
        """The base URL with a place for the language."""
        return self.base_url + "/{language}"

    def too_many(self) -> Refused:
        return Refused(429, {"error": "Too many requests"}, Retry_After="5")

    def _answer(self, request: web.Request) -> dict[str, Any]:
        agent = request.headers.get("User-Agent", "")
        if not agent or agent.startswith(("Python/", "python-requests", "Mozilla/5.0 (Windows")):
            said = "Please set a user-agent and respect our robot policy https://w.wiki/4wJS"
            raise Refused(403, {"error": said})
        language = request.match_info["language"]
        if language not in self.articles:
            raise Refused(404, {"error": "No wiki found"})
        query = request.query
        if query.get("action") != "query" or query.get("format") != "json":
            return _error("badvalue", f'Unrecognized value for parameter "action": {query.get("action")}.')
        if query.get("formatversion") != "2":
            return _error("badvalue", "This wiki speaks formatversion 2 only.")
        if query.get("meta") == "siteinfo":
            return {"batchcomplete": True, "query": {"general": {"sitename": "Wikipedia", "lang": language}}}
        if query.get("generator") != "search":
            return _error("missingparam", 'The "generator" parameter must be set.')
        wanted = query.get("gsrsearch", "").strip()
        if not wanted:
            return _error("missingparam", 'The "gsrsearch" parameter must be set.')
        if len(wanted.encode()) > 1200 or len(wanted) > 300:
            return _error("cirrussearch-query-too-long", "Search request is longer than the maximum allowed length.")
        props = set(filter(None, query.get("prop", "").split("|")))
        if not props <= _PROPS:
            return _error("badvalue", f'Unrecognized value for parameter "prop": {min(props - _PROPS)}.')
        found = self._found(language, wanted)[: int(query.get("gsrlimit", "10"))]
        if not found:
            return {"batchcomplete": True}
        plain = "exintro" in query and "explaintext" in query
        limit = int(query.get("exlimit", "1"))
        pages = [self._page(language, at, one, props, plain and at <= limit) for at, one in enumerate(found, 1)]
        # The service sends pages by their number; `index` is the order of the search.
        pages.sort(key=lambda page: str(page["title"]))
        return {"batchcomplete": True, "query": {"pages": pages}}

    def _found(self, language: str, wanted: str) -> list[Article]:
        words = wanted.lower().split()
        scored = []
        for at, one in enumerate(self.articles[language]):
            text = f"{one.title} {one.introduction}".lower()
            if all(word in text for word in words):
                scored.append((one.title.lower() != wanted.lower(), wanted.lower() not in one.title.lower(), at, one))
        return [one for *_, one in sorted(scored, key=lambda row: row[:3])]

    def _page(self, language: str, index: int, one: Article, props: set[str], plain: bool) -> dict[str, Any]:
        address = f"https://{language}.wikipedia.org/wiki/{quote(one.title.replace(' ', '_'))}"
        page: dict[str, Any] = {"pageid": 100 + len(one.title), "ns": 0, "title": one.title, "index": index}
        if "extracts" in props and plain:
            page["extract"] = one.introduction
        if "info" in props:
            page |= {"contentmodel": "wikitext", "pagelanguage": language, "fullurl": address, "canonicalurl": address}
        if "pageprops" in props and one.several:
            page["pageprops"] = {"disambiguation": ""}
        if "description" in props and one.description:
            page |= {"description": one.description, "descriptionsource": "local"}
        return page


def _error(code: str, info: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": info, "docref": "See the API's help for its usage."}}
