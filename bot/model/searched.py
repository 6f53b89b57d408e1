"""The sources that a server's own web search names beside an answer: https://docs.perplexity.ai/docs/sonar/openai-compatibility

The text cites them by number only, so those that it cites are listed under it, as a part of the answer.
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
_CITED: Final = re.compile(r"[\[【](?:citation:\s?|\^)?(\d{1,3}(?:\s?[,，、]\s?\d{1,3}){0,20})\^?[\]】](?!\()")
_SIGNS: Final = re.compile(r"[\[\]\\`*_<>|~]")


def sources_in(event: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sources that an event of a stream, or a whole answer, names; none for most."""
    given = event.get("search_results") or event.get("citations")
    return [_read(one) for one in given[:_MOST_READ]] if isinstance(given, list) else []


def list_cited(text: str, sources: Sources) -> str:
    """Return the list, as Markdown to append, of the sources that a text cites and does not name itself."""
    if not sources:
        return ""
    prose = _IN_CODE.sub(" ", text)
    cited = sorted({int(number) for found in _CITED.finditer(prose) for number in re.findall(r"\d+", found[1])})
    known = [(number, *sources[number - 1]) for number in cited if 0 < number <= len(sources)]
    lines = [f"[{number}] [{_label(title, url)}]({_target(url)})" for number, title, url in known if url]
    if not lines or any(url and url in text for _, _, url in known):
        return ""
    return "\n\n" + "\n".join(lines[:_MOST_LISTED])


def _read(source: object) -> tuple[str, str]:
    title, url = (source.get("title"), source.get("url")) if isinstance(source, dict) else ("", source)
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
