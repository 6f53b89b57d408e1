"""The second source of search_web: public search engines without a key, through the library ddgs.

A deliberate choice (November 2026): ddgs is maintained (a release most months, MIT), but it reads the result pages of
DuckDuckGo, Brave and Mojeek like a browser, and they change them and sometimes refuse. So it is off until the operator
names it in SEARCH_FALLBACK, and its failures are ordinary.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
from collections.abc import Sequence
from typing import Any

from tools.contract.addresses import split_address
from tools.contract.base import ToolError
from tools.contract.languages import script_of_tag
from tools.contract.network import open_certificate_file, proxy_before
from tools.fetch.service import LONGEST_TEXT, MOST_ITEMS

ENGINES = "duckduckgo,brave,mojeek"
SECONDS = 6
"""The time for one engine; a second one may be asked after it."""
TOTAL_SECONDS = 12.0
_RANGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
_REGIONS = {
    **{code: f"{code}-{code}" for code in ("de", "fr", "es", "it", "ru", "nl", "pl", "tr", "no")},
    "zh": "cn-zh",
    "ja": "jp-jp",
    "ko": "kr-kr",
    "pt": "br-pt",
    "sv": "se-sv",
}


def installed() -> bool:
    """Return True if the library is installed, without loading it."""
    return importlib.util.find_spec("ddgs") is not None


async def search(
    query: str,
    *,
    most: int,
    language: str = "",
    time_range: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[dict[str, str]]:
    """Return the best pages, each with `title`, `url` and `content`.

    Raises:
        ToolError: no engine answered.
    """
    asked = query
    if include:
        asked += " (" + " OR ".join(f"site:{domain}" for domain in include[:5]) + ")"
    asked += "".join(f" -site:{domain}" for domain in exclude[:5])
    try:
        async with asyncio.timeout(TOTAL_SECONDS):
            rows = await asyncio.to_thread(_ask, asked, most, _region(language), _RANGES.get(time_range or ""))
    except TimeoutError as error:
        raise ToolError("The search engines did not answer in time. Try once more, or answer without it.") from error
    return _pages(rows, most, include, exclude)


def _pages(rows: Sequence[Any], most: int, include: Sequence[str], exclude: Sequence[str]) -> list[dict[str, str]]:
    """Return what the library found, in our form and not longer than useful."""
    found = [
        {
            "title": str(row.get("title") or "")[:LONGEST_TEXT],
            "url": str(row.get("href") or "")[:LONGEST_TEXT],
            "content": str(row.get("body") or "")[:LONGEST_TEXT],
        }
        for row in rows[:MOST_ITEMS]
        if isinstance(row, dict)
    ]
    # Engines treat `site:` as a wish.
    return [one for one in found if _fits(one["url"], include, exclude)][:most]


def _ask(query: str, most: int, region: str, time_limit: str | None) -> list[Any]:
    """Run in a thread: the library blocks, and is imported here for the first time."""
    library: Any = importlib.import_module("ddgs")
    errors: Any = importlib.import_module("ddgs.exceptions")
    try:
        proxy = proxy_before("https://duckduckgo.com", "the search engines")
        # The library has its own certificates.
        with open_certificate_file() as certificates:
            rows: list[Any] = library.DDGS(proxy, SECONDS, verify=certificates or True).text(
                query, region=region, safesearch="moderate", timelimit=time_limit, max_results=most, backend=ENGINES
            )
        return rows
    except errors.TimeoutException as error:
        raise ToolError("The search engines did not answer in time. Try once more, or answer without it.") from error
    except errors.DDGSException as error:
        if re.search(r"no results", str(error), re.IGNORECASE):
            return []
        raise ToolError(
            "The search engines do not answer the bot now. Answer without searching, and say so.", retry=False
        ) from error


def _region(language: str) -> str:
    if script_of_tag(language) == "zh-Hant":
        return "tw-tzh"
    return _REGIONS.get(language.lower().replace("_", "-").split("-")[0], "us-en")


def _fits(url: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    try:
        host = split_address(url).hostname or ""
    except ValueError:
        return False

    def on(domains: Sequence[str]) -> bool:
        return any(host == domain or host.endswith(f".{domain}") for domain in domains)

    return bool(host) and (not include or on(include)) and not on(exclude)
