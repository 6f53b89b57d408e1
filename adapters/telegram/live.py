"""Keep Telegram from turning text into links: mentions, URLs, and anything that ends like a host name.

A bot cannot turn this off. Telegram leaves code alone, so such text is written as code; if no more entities fit, with
characters that look the same. See https://core.telegram.org/api/entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.markdown import Code, Inline, Styled, Text

_ENDINGS = (
    "com net org info biz name pro mobi app dev page site online store shop tech cloud live link click blog news wiki "
    "example club xyz top vip fun icu work world today zone media email agency space website host press games chat bot "
    "zip mov "
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd "
    "cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd "
    "ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg "
    "kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv "
    "mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa "
    "sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug "
    "uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw рф"
)
_REST = r"[^\s<>\"'`\ufffc]"
_LIVE = re.compile(
    rf"[a-z][a-z0-9+.\-]{{0,20}}://{_REST}*"
    r"|[\w.+\-]{1,64}+@[\w\-]++(?:\.[\w\-]++)++"
    r"|(?<!\w)@\w+"
    rf"|(?P<www>(?<![\w@./])www\.{_REST}+)",
    re.IGNORECASE,
)
_MARKS = ("@", "://", "www.")
"""Every match of `_LIVE` contains one of these; most texts contain none, and this check is much faster."""
_LABELS = re.compile(r"[\w\-]+(?:\.[\w\-]+)*")
_NO_HOST_AFTER = re.compile(r"[\w@./]")
_DASH = re.compile(r"-(?=[\w\-])")
_ENDING = re.compile(rf"\.(?:{_ENDINGS.replace(' ', '|')})\b", re.IGNORECASE)
_PATH = re.compile(rf"(?:[:/?#]{_REST}*)?")
_TRAILING = ".,;:!?)]}*_~"


def live_parts(text: str) -> Iterator[tuple[int, int]]:
    """Return the parts of `text` that Telegram would turn into links, as (start, end) in order."""
    nothing = (len(text), len(text))
    at = 0
    other = host = (-1, -1)
    low = text.lower()
    marked = any(mark in low for mark in _MARKS)
    while True:
        if other[0] < at:
            found = _LIVE.search(text, at) if marked else None
            other = found.span() if found else nothing
            is_www = found is not None and found["www"] is not None
        if host[0] < at:
            host = _host(text, at) or nothing
        start, end = host if host[0] < other[0] or (is_www and host[0] == other[0]) else other
        if start == len(text):
            return
        at = end
        yield start, max(start + len(text[start:end].rstrip(_TRAILING)), start + 1)


def _host(text: str, at: int) -> tuple[int, int] | None:
    """Return the next host from `at` on, with its path: labels separated by dots, the last label a known ending.

    It begins after a character that no address contains, or after a dash. However many dashes a run has, its labels are
    read once.
    """
    if not _ENDING.search(text, at):  # most texts have none, and this search is much faster
        return None
    for run in _LABELS.finditer(text, at):
        start = run.start()
        if _NO_HOST_AFTER.match(text, max(start - 1, 0), start):
            dash = _DASH.search(text, start, run.end())
            start = dash.end() if dash else run.end()
        if endings := list(_ENDING.finditer(text, start + 1, run.end())):
            end = endings[-1].end()
            path = _PATH.match(text, end)
            return start, path.end() if path else end
    return None


def defang(text: str) -> str:
    """Replace characters so that nothing becomes a link, for places where code is not possible."""
    shown: list[str] = []
    at = 0
    for start, end in live_parts(text):
        shown.append(text[at:start])
        shown.append(text[start:end].replace("@", "＠").replace("://", "∶//").replace(".", "․"))
        at = end
    return "".join([*shown, text[at:]])


def without_life(children: Sequence[Inline]) -> tuple[Inline, ...]:
    """Write everything in a paragraph that would become a link as code, also across styles."""
    words = _words(children)
    parts = list(live_parts(words))
    return tuple(_split(children, parts, [0])) if parts else tuple(children)


def _words(children: Sequence[Inline]) -> str:
    """Return the text of a paragraph, with one character for each piece in which Telegram searches nothing."""
    return "".join(
        child.text if isinstance(child, Text) else _words(child.children) if isinstance(child, Styled) else "\ufffc"
        for child in children
    )


def _split(children: Sequence[Inline], parts: Sequence[tuple[int, int]], place: list[int]) -> Iterator[Inline]:
    for child in children:
        match child:
            case Text(text):
                start, at = place[0], 0
                place[0] += len(text)
                for begin, end in parts:
                    low, high = max(begin - start, 0), min(end - start, len(text))
                    if low >= high:
                        continue
                    if low > at:
                        yield Text(text[at:low])
                    yield Code(text[low:high])
                    at = high
                if at < len(text):
                    yield Text(text[at:])
            case Styled(style, inner):
                yield Styled(style, tuple(_split(inner, parts, place)))
            case _:
                place[0] += 1
                yield child
