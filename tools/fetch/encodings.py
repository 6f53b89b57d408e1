"""Decode text whose encoding the server, the page or only its bytes reveal. It runs in the reading processes."""

from __future__ import annotations

import codecs
import re

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_FOREIGN = re.compile(rb"(?:[\x80-\xff][\t\x20-\x7f]{0,20}+){1,200}+")
"""A passage with characters beyond ASCII; in East Asian encodings their second halves may be ASCII."""
_GUESSED = 64 * 1024
"""Bytes from which an encoding is guessed."""
_MOST_GUESSES = 8
_BROKEN_SHARE = 10
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""Python codecs that no page uses; some take quadratic time."""


def decode_body(body: bytes, charset: str) -> str:
    """Decode `body` by the encoding that the server, the page or the bytes name."""
    names = [charset]
    for pattern in (_XML_CHARSET, _META_CHARSET):
        found = pattern.search(body[:4096])
        names.append(found[1].decode("ascii") if found else "")
    if body.startswith(b"\xef\xbb\xbf"):
        names.insert(0, "utf-8-sig")
    elif body.startswith((b"\xff\xfe", b"\xfe\xff")):
        names.insert(0, "utf-16")
    for name in names:
        # Like browsers: each is a part of the encoding as which it is read.
        name = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252"}.get(
            name.lower(), name
        )
        try:
            if name and codecs.lookup(name).name in _NO_CHARSETS:
                continue
            return body.decode(name, "replace") if name else body.decode("utf-8")
        except (LookupError, UnicodeError, TypeError, AttributeError):
            continue
    try:
        # The last characters may be missing if the page was cut.
        return body[:-4].decode("utf-8") + body[-4:].decode("utf-8", "replace")
    except UnicodeDecodeError:
        pass
    return body.decode(guess_encoding(body), "replace")


def guess_encoding(body: bytes) -> str:
    """Return the encoding of a text that does not name it, decided on all of it: the one with the fewest invalid bytes.
    A text that is UTF-8 except for a few bytes is UTF-8."""
    text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd") - body.count(b"\xef\xbf\xbd")
    if not broken or _BROKEN_SHARE * broken <= len(text) - len(text.encode("ascii", "ignore")) - broken:
        return "utf-8"
    from charset_normalizer import from_bytes

    named = [match.encoding for match in from_bytes(_foreign_passages(body))]
    candidates = dict.fromkeys([*named[:_MOST_GUESSES], "cp1252"])
    return min(candidates, key=lambda name: body.decode(name, "replace").count("\ufffd"))


def _foreign_passages(body: bytes) -> bytes:
    """Return passages from all over a text in which it is not ASCII, as many as a guess needs."""
    found = [body[max(0, one.start() - 20) : one.end()] for one in _FOREIGN.finditer(body)]
    step = max(1, sum(map(len, found)) // _GUESSED)
    return b"\n".join(found[::step])[: 2 * _GUESSED]
