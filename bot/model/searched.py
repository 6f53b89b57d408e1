"""The sources that a server's own web search names beside an answer, listed under it as a part of it.

They are found pages that the text cites by number (https://docs.perplexity.ai/docs/sonar/openai-compatibility), or
annotations of the text, all of which count (https://openrouter.ai/docs/guides/features/plugins/web-search).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

Sources: TypeAlias = Sequence[tuple[str, str]]
"""Title and address of each, in the order of their numbers; empty if unknown."""

_MOST_READ: Final = 200
_MOST_LISTED: Final = 20
_TITLE_CHARS: Final = 90
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"`\\]{1,2000}")
_IN_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CAMPAIGN: Final = re.compile(r"[?&]utm_source=[\w.]{1,40}\Z")
_CITED: Final = re.compile(r"[\[【](?:citation:\s?|\^|ref_)?(\d{1,3}(?:\s?[,，、]\s?\d{1,3}){0,20})\^?[\]】](?!\()")
_SIGNS: Final = re.compile(r"[\[\]\\`*_<>|~]")


def sources_in(event: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sources that an event of a stream, or a whole answer, names; none for most."""
    found = event.get("search_info")  # Hunyuan's; `web_search` is Zhipu's
    given = found.get("search_results") if isinstance(found, dict) else None
    given = given or event.get("search_results") or event.get("web_search") or event.get("citations")
    return [_read(one) for one in given[:_MOST_READ]] if isinstance(given, list) else []


def annotated_in(said: object) -> list[tuple[str, str]]:
    """Return the pages that the annotations of an answer name; none for most."""
    if not isinstance(said, list):
        return []
    pages = [one.get("url_citation") or one for one in said[:_MOST_READ] if isinstance(one, dict)]
    return [read for read in map(_read, pages) if read[1]]


def list_cited(text: str, sources: Sources, annotated: Sources = ()) -> str:
    """Return the list, as Markdown to append, of the sources that a text cites and does not name itself.

    Args:
        annotated: those that the server says were cited; they count without a number in the text, too.
    """
    if not sources and not annotated:
        return ""
    prose = _IN_CODE.sub(" ", text)
    cited = sorted({int(number) for found in _CITED.finditer(prose) for number in re.findall(r"\d+", found[1])})
    numbered = sources or tuple(dict.fromkeys(annotated))
    known = [(number, *numbered[number - 1]) for number in cited if 0 < number <= len(numbered)]
    if not known and annotated:
        known = [(number, *one) for number, one in enumerate(dict.fromkeys(annotated), 1)]
    lines = [f"[{number}] [{_label(title, url)}]({_target(url)})" for number, title, url in known if url]
    if not lines or any(url and _CAMPAIGN.sub("", url) in text for _, _, url in known):
        return ""
    return "\n\n" + "\n".join(lines[:_MOST_LISTED])


def _read(source: object) -> tuple[str, str]:
    title, url = (
        (source.get("title"), source.get("url") or source.get("link")) if isinstance(source, dict) else ("", source)
    )
    if not isinstance(url, str) or not _ADDRESS.fullmatch(url):
        return "", ""
    return title if isinstance(title, str) else "", url


def _label(title: str, url: str) -> str:
    words = " ".join(title[: 4 * _TITLE_CHARS].split())
    if not words:
        try:
            words = (urlsplit(url).hostname or url).removeprefix("www.")
        except ValueError:
            words = url
    words = words if len(words) <= _TITLE_CHARS else words[: _TITLE_CHARS - 1] + "…"
    return _SIGNS.sub(lambda found: "\\" + found.group(), words)


def _target(url: str) -> str:
    return f"<{url}>" if re.search(r"[()]", url) else url
