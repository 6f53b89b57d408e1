"""Which links may be links: only addresses that the person or a tool brought, and never a label that deceives."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from bot.addresses import BARE_URL, MAIL_REACH, SCHEMES, bare_mail, host_of, scheme_of, trim_url


@dataclass(frozen=True, slots=True)
class Link:
    """It may be a link, with this label."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Code:
    """It is no link: the label as text, if it says more than the address, and the address as code."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Text:
    """It is only text."""

    text: str


_LONGEST_HOST = 253
"""Characters; what is longer is none, and costs a microsecond each to spell in ASCII."""
_HOST = re.compile(r"(?<![\w.\-])(?:[\w\-]{1,63}\.)+[^\W\d_]{2,24}(?![\w\-@])")


def hides_host(label: str, url: str) -> bool:
    """Tell whether the label names a host that is not where the link leads."""
    host = host_of(url)
    named = [found.lower() for found in _HOST.findall(label)]
    return bool(named) and not any(host == name or host.endswith("." + name) for name in named)


def _key(url: str) -> str:
    """What two spellings of one address have in common."""
    url = html.unescape(url.strip())
    if url.lower().startswith("www."):
        url = "http://" + url
    if scheme_of(url) == "mailto":
        return "mailto:" + unquote(url[7:].partition("?")[0]).lower()
    try:
        parts = urlsplit(url)
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
    """The addresses of one turn that may be links: those in the person's message and in the tools' results."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = {_key(url) for url in known}

    def learn(self, text: str, *, unless: Callable[[str], bool] = lambda address: False) -> None:
        """Allow every address in `text` but those of which `unless` is true."""
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

    def allows(self, url: str) -> bool:
        """Tell whether `url` may be a link."""
        if url.lower().startswith("www."):
            url = "http://" + url
        return scheme_of(url) in SCHEMES and _key(url) in self._known

    def shown(self, label: str, url: str, *, image: bool = False) -> Link | Code | Text:
        """Decide how a link (or an image) is shown."""
        if not url:
            return Text(label)
        if image or not self.allows(url):
            return Code("" if label.strip() in (url, re.sub(r"^\w+:(//)?", "", url)) else label, url)
        if hides_host(label, url):
            return Link(f"{label} ({host_of(url)})", url)
        return Link(label, url)
