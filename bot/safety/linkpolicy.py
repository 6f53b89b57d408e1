"""Decide which links are shown as links: URLs that the person or a tool brought, without deceptive labels."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import unquote

from bot.markdown import BARE_URL, MAIL_REACH, PLAIN_HOST, SCHEMES, bare_mail, hides_host, host_of, scheme_of, trim_url
from tools.contract.addresses import split_address

Unknown: TypeAlias = Literal["code", "text", "live"]
"""How a URL is shown that neither a person nor a tool brought."""


@dataclass(frozen=True, slots=True)
class Link:
    """Show it as a link, with this label."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Code:
    """Show no link: the label as text if it says more than the URL, and the URL as code or as words."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Text:
    """Show it as text alone."""

    text: str


_LONGEST_HOST = 253
"""Characters of a host; anything longer is no host, and converting it to ASCII takes a microsecond a character."""
_LONGEST_TAIL = 120
"""A URL that neither the person nor a source brought may have this many characters after the host and still be a
link."""
_LONGEST_QUERY = 40
_LONGEST_WORD = 24
_LONGEST_MIXED = 11
"""Characters of a word of letters and digits that counts as harmless: a video id, but no key and no Base64 text."""
_WORD = re.compile(r"[^\W_]+")
_MIXED = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")
_CODED = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x1f\x7f]|://|@")


def carries_data(url: str) -> bool:
    """Return True if a URL could carry data out: it is long, or holds something that looks encoded."""
    if len(url) > _LONGEST_HOST + 3 * _LONGEST_TAIL:
        return True
    try:
        parts = split_address(url)
        odd = parts.username is not None or parts.port not in (None, 80, 443)
    except ValueError:
        return True
    query, tail = unquote(f"{parts.query}#{parts.fragment}"), unquote(parts.path)
    host = host_of(url)
    if odd or len(host) > _LONGEST_WORD * 3 or not PLAIN_HOST.fullmatch(host):
        return True
    if _CODED.search(tail.partition("@")[2] if scheme_of(url) == "mailto" else tail) or _CODED.search(query):
        return True
    if len(query) - 1 > _LONGEST_QUERY or len(tail + query) > _LONGEST_TAIL:
        return True
    words = _WORD.findall(f"{host} {tail} {query}")
    return any(len(word) > (_LONGEST_MIXED if _MIXED.search(word) else _LONGEST_WORD) for word in words)


def _key(url: str) -> str:
    """Return a key that is the same for different spellings of one URL."""
    url = html.unescape(url.strip())
    if url.lower().startswith("www."):
        url = "http://" + url
    if scheme_of(url) == "mailto":
        return "mailto:" + unquote(url[7:].partition("?")[0]).lower()
    try:
        parts = split_address(url)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url
    host = (parts.hostname or "").lower().rstrip(".")
    if not host.isascii() and len(host) <= _LONGEST_HOST:
        with suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    account = f"{parts.username}@" if parts.username else ""
    query = f"?{unquote(parts.query)}" if parts.query else ""
    return f"{account}{host}{port}{unquote(parts.path).rstrip('/')}{query}"


class LinkPolicy:
    """Knows which URLs may be links in one turn: those in the person's message and in tool results.

    All others are shown as `unknown` says; what could carry data away is a link in no case.
    """

    def __init__(self, known: Iterable[str] = (), unknown: Unknown = "code") -> None:
        self._known = {_key(url) for url in known}
        self.unknown: Unknown = unknown

    def learn(self, text: str, *, unless: Callable[[str], bool] = lambda address: False) -> None:
        """Allow every URL in `text` except those for which `unless` is true."""
        for found in BARE_URL.finditer(text):
            url = found.group()
            if unless(url):
                continue
            self._known.add(_key(url))
            self._known.add(_key(trim_url(url)))
        for at in re.finditer("@", text):
            mail = bare_mail(text[max(0, at.start() - MAIL_REACH) : at.start()], text, at.start())
            if mail and not unless(mail):
                self._known.add(_key("mailto:" + mail))

    def knows(self, url: str) -> bool:
        """Return True if the person or a tool brought `url`."""
        url = _whole(url)
        return scheme_of(url) in SCHEMES and _key(url) in self._known

    def allows(self, url: str) -> bool:
        """Return True if `url` may be a link."""
        url = _whole(url)
        if scheme_of(url) not in SCHEMES:
            return False
        return _key(url) in self._known or (self.unknown == "live" and bool(host_of(url)) and not carries_data(url))

    def decide(self, label: str, url: str, *, image: bool = False) -> Link | Code | Text:
        """Decide how a link (or an image) is shown."""
        if not url:
            return Text(label)
        same = label.strip() in ("", url, re.sub(r"^\w+:(//)?", "", url))
        if image or not self.allows(url):
            # The part before an @ in an address looks like its host.
            host = host_of(url) if "@" in url and scheme_of(url) != "mailto" else ""
            return Code("" if same and not host else f"{label} ({host})".strip() if host else label, url)
        known = self.knows(url)
        if hides_host(label, url) or not (known or same or host_of(url) in label.lower()):
            return Link(f"{label} ({host_of(url)})", url)
        return Link(label, url)


def _whole(url: str) -> str:
    return "http://" + url if url.lower().startswith("www.") else url
