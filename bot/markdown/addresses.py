"""What counts as an address in Markdown, for everybody who looks for one.

The link filter decides about addresses before the parser makes links of them. If the two read differently, an address
that nobody allowed would become a link: so both use these functions.
"""

from __future__ import annotations

import re

from tools.contract.addresses import split_address

SCHEMES = ("http", "https", "mailto")

_ASCII = r"[A-Za-z0-9\-._~:/?#@!$&'()*+,;=%{}]"
_BEYOND = r"[^\x00-\x7f\s\u3000-\u303f\uff00-\uff65\u2010-\u2027]"
BARE_URL = re.compile(rf"(?:https?://|www\.(?=[A-Za-z0-9]))(?:{_ASCII}|(?<=[/=_%\-]){_BEYOND}+)+", re.IGNORECASE)
"""A web address in running text. Non-ASCII letters belong to it only at the beginning of a part of its path, because
Chinese puts no space after an address."""
_LOCAL = r"[A-Za-z0-9.+%_\-]"
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
_DOMAIN = rf"{_PART}(?:\.{_PART})*"
_MAILBOX = rf"[A-Za-z0-9]{_LOCAL}{{0,63}}@{_DOMAIN}"
MAIL_LINK = re.compile(rf"mailto:[A-Za-z0-9]{_LOCAL}{{0,63}}@[A-Za-z0-9.\-]+(?:\?[\w=&%+.\-]*)?", re.IGNORECASE)
"""A link to an e-mail address in running text, with the sentence's punctuation after it."""
ANGLE = re.compile(rf"<((?:https?|mailto):[^\s<>\x00-\x20]*|{_MAILBOX})>", re.IGNORECASE)
"""An address in angle brackets."""
MAIL_REACH = 65
"""Characters before an @ that may belong to an address, and one to see that it begins there."""
_BEFORE = re.compile(rf"{_LOCAL}{{1,{MAIL_REACH}}}\Z")
_AFTER = re.compile(_DOMAIN)


_TRAILING = frozenset(".,;:!?'*_~{}$&")


def trim_url(url: str) -> str:
    """Remove the punctuation of the sentence around a bare address."""
    end, spare = len(url), url.count(")") - url.count("(")
    while end:
        if url[end - 1] == ")" and spare > 0:
            spare -= 1
        elif url[end - 1] not in _TRAILING:
            break
        end -= 1
    return url[:end]


def bare_url(text: str, start: int, end: int | None = None) -> str:
    """The web address in running text that begins at `start`, without the punctuation after it; empty for none."""
    found = BARE_URL.match(text, start, len(text) if end is None else end)
    url = trim_url(found.group()) if found else ""
    scheme, colon, rest = url.partition("://")
    return url if rest or (scheme and not colon) else ""


def mail_link(text: str, start: int) -> str:
    """The link to an e-mail address in running text that begins at `start`; empty for none."""
    found = MAIL_LINK.match(text, start)
    return found.group().rstrip(".-") if found else ""


def bare_mail(before: str, text: str, at: int, end: int | None = None) -> str:
    """The e-mail address in running text around the @ at `text[at]`; empty for none.

    Args:
        before: the text before the @; its last `MAIL_REACH` characters are enough.
    """
    name = _BEFORE.search(before)
    domain = _AFTER.match(text, at + 1, len(text) if end is None else end)
    if name is None or domain is None or "." not in domain.group():
        return ""
    local = name.group().lstrip(".+%_-")
    return f"{local}@{domain.group()}" if 0 < len(local) < MAIL_REACH else ""


def scheme_of(url: str) -> str:
    """Return the scheme in lower case; empty if there is none."""
    head, colon, _ = url.strip().partition(":")
    return head.lower() if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]*", head) else ""


def host_of(url: str) -> str:
    """Return the host (of an e-mail address: its domain) in lower case; empty if there is none."""
    if scheme_of(url) == "mailto":
        return url.rpartition("@")[2].partition("?")[0].lower()
    try:
        return (split_address(url).hostname or "").lower()
    except ValueError:
        return ""


_HOST = re.compile(r"(?<![\w.\-])(?:[\w\-]{1,63}\.)+[^\W\d_]{2,24}(?![\w\-@])")


PLAIN_HOST = re.compile(r"(?:[a-z0-9\-]{1,63}\.)+[a-z]{2,24}")


def hides_host(label: str, url: str) -> bool:
    """Return True if the label names another host than the link's."""
    host = host_of(url)
    named = [found.lower() for found in _HOST.findall(label)]
    return bool(named) and not any(host == name or host.endswith("." + name) for name in named)
