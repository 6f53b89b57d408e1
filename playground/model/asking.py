"""Which tools a question asks for, by plain rules: the part of the scripted model that looks like understanding.

A rule is a pattern and the call it makes. The first one that fits, and whose tool is offered, decides alone; without
one, a search, a sum and the clock are looked for, and may all be wanted at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from playground.model.reply import Body

TOOLS: Final = (
    *("search_web", "calculator", "current_time", "get_weather", "wikipedia", "search_papers", "token_price"),
    *("run_python", "generate_image", "remind_me", "remember", "recall", "forget"),
)
"""Everything that it may ask for."""

_TIME = re.compile(
    r"what(?:'s| is)? (?:the )?(?:time|date|day)|current (?:time|date)|\bthe time\b|today's date"
    r"|几点|几号|星期几|现在时间|什么时间|日期",
    re.I,
)
_SEARCH = re.compile(
    r"\b(search|look up|google|latest|news|weather|today|current(ly)?|recent(ly)?|price|who won|this (week|year))\b"
    r"|搜索|搜一下|查一下|查查|最新|新闻|天气|今天|最近|价格|多少钱",
    re.I,
)
_LEAD = re.compile(
    r"^\W*(please\s+)?(search( for)?|look up|google|find|请?搜索(一下)?|请?搜一下|请?查一下|查查)\s*", re.I
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}:\d{2}")
_SUM = re.compile(r"[(\d][\d\s.,()（）+\-−*/×÷^%]*[\d)）]")
_OPERATOR = re.compile(r"[\d)）]\s*(?:[+\-−*/×÷^%]|\*\*)\s*[(（\d]")
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "（": "(", "）": ")", ",": None})
_ZONES = {
    "tokyo": "Asia/Tokyo",
    "东京": "Asia/Tokyo",
    "beijing": "Asia/Shanghai",
    "北京": "Asia/Shanghai",
    "shanghai": "Asia/Shanghai",
    "上海": "Asia/Shanghai",
    "london": "Europe/London",
    "伦敦": "Europe/London",
    "paris": "Europe/Paris",
    "巴黎": "Europe/Paris",
    "new york": "America/New_York",
    "纽约": "America/New_York",
}
_FUNCTIONS = re.compile(r"\b(sin|cos|tan|exp|sqrt|log|pi)\b")
_DRAWABLE = re.compile(r"(?:\s|\d|[.x+*/()-]|\b(?:sin|cos|tan|exp|sqrt|log|pi)\b)+")
_PLOT = """import math
import struct
import zlib

points = [(n + 0.5) / 20 for n in range(-200, 200)]
values = [{function} for x in points]
try:
    import matplotlib.pyplot as plt
except ImportError:
    # Without matplotlib: a picture of 480 x 300 dots, written as PNG by hand.
    width, height = 480, 300
    rows = [bytearray(b"\\xff" * 3 * width) for _ in range(height)]
    low, high = min(values), max(values)

    def dot(across, down, colour):
        if 0 <= across < width and 0 <= down < height:
            rows[down][3 * across : 3 * across + 3] = colour

    def level(value):
        return round((height - 41) * (high - value) / ((high - low) or 1)) + 20

    for across in range(20, width - 20):
        dot(across, level(min(max(0, low), high)), b"\\x9a\\xa4\\xaf")
    for down in range(20, height - 20):
        dot(width // 2, down, b"\\x9a\\xa4\\xaf")
    before = level(values[0])
    for n, value in enumerate(values):
        across, down = 20 + round(n * (width - 40) / len(values)), level(value)
        for between in range(min(before, down), max(before, down) + 1):
            for thick in (0, 1):
                dot(across + thick, between, b"\\x69\\x41\\xc6")
                dot(across, between + thick, b"\\x69\\x41\\xc6")
        before = down

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open("plot.png", "wb") as picture:
        picture.write(b"\\x89PNG\\r\\n\\x1a\\n")
        picture.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        picture.write(chunk(b"IDAT", zlib.compress(b"".join(b"\\x00" + bytes(row) for row in rows))))
        picture.write(chunk(b"IEND", b""))
else:
    plt.plot(points, values)
    plt.grid(True)
    plt.title("{title}");
"""
"""A drawing by matplotlib where that is there, and by hand where it is not."""


def _plot(said: re.Match[str]) -> Body:
    title = said["what"].replace("^", "**").replace("²", "**2").replace("³", "**3").strip(" .?!。？！`")
    if "x" not in title or not _DRAWABLE.fullmatch(title):
        title = "sin(x)"
    function = _FUNCTIONS.sub(r"math.\1", title)
    return {"code": _PLOT.replace("{function}", function).replace("{title}", title)}


def _code(said: re.Match[str]) -> Body:
    return {"code": said["code"].strip("\n `") or "import sys\nprint(sys.version)"}


def _text(name: str) -> Callable[[re.Match[str]], Body]:
    """An argument that is what the pattern's only group has found."""
    return lambda said: {name: next(group for group in said.groups() if group).strip(" \"“”'`")}


def _remind(said: re.Match[str]) -> Body:
    found = {name: value for name, value in said.groupdict().items() if value}
    text = next(value for name, value in found.items() if name.startswith("text"))
    delay = next(value for name, value in found.items() if name.startswith("delay"))
    return {"text": text.strip(" .!。！"), "delay": delay.strip()}


def _forget(said: re.Match[str]) -> Body:
    return {"number": int(said[1] or said[2])}


_RULES: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Body]], ...] = tuple(
    (tool, re.compile(pattern, re.I | re.S), make)
    for tool, pattern, make in (
        (
            "remind_me",
            r"\bremind me in (?P<delay1>\d+ ?[a-z]+) (?:to|that|of|about) (?P<text1>.+)"
            r"|\bremind me (?:to|that|of|about) (?P<text2>.+) in (?P<delay2>\d+ ?[a-z]+)\W*$"
            r"|(?P<delay3>\d+ ?(?:秒钟?|分钟?|小时|天))[之以]?后提醒我(?P<text3>.+)",
            _remind,
        ),
        ("recall", r"\bwhat do you (?:remember|know) about me\b|你记得我?(?:的)?什么|你记住了什么", lambda said: {}),
        ("forget", r"\bforget (?:fact )?(?:number )?(\d+)|忘[记掉]?第?\s*(\d+)", _forget),
        (
            "remember",
            r"^\W*(?:please )?remember (?:that )?(.{3,}?)[.!]?$|^\W*请?记住[，,：:]?(.{2,}?)[。！]?$",
            _text("fact"),
        ),
        ("run_python", r"```(?:python|py)\n(?P<code>.+?)```", _code),
        ("run_python", r"\b(?:run|execute) (?:this )?(?:in )?(?:python|code)\b[:：]?(?P<code>.*)", _code),
        ("run_python", r"运行(?:\s*python|代码)[:：]?(?P<code>.*)", _code),
        ("run_python", r"\b(?:plot|draw a (?:plot|chart|graph)(?: of)?)\b(?P<what>.*)", _plot),
        ("run_python", r"画(?:出|一下|一?[张个幅]?(?:函数)?)?(?:图表|图像|曲线|函数)(?P<what>.*)", _plot),
        (
            "generate_image",
            r"^\W*(?:please )?(?:draw|paint)(?: me)? (.+?)[.!]?$|\b(?:image|picture|photo) of (.+?)[.!?]?$"
            r"|^\W*请?画(?:一?[只幅张个条朵座])?(.+?)[。！]?$",
            _text("prompt"),
        ),
        (
            "wikipedia",
            r"\bwikipedia\b(?:[:,]| about| on| for)? ([^?.!]{2,})"
            r"|(?:look up|search(?: for)?|what is|who (?:is|was)) ([^?.!]+?) (?:on|in) wikipedia"
            r"|维基(?:百科)?(?:上)?[：:，,]?(?:查一下|搜索)?\s*([^？?。]+)",
            _text("query"),
        ),
        (
            "search_papers",
            r"\b(?:papers?|articles|studies) (?:about|on|of) ([^?.!]+)|关于([^？?。]+?)的?论文|论文[：:]\s*([^？?。]+)",
            _text("query"),
        ),
        (
            "token_price",
            # Symbols are written in capitals; "the price of gold" is for the search.
            r"\bprice of (?:the )?(?:token )?\$?((?-i:[A-Z][A-Z0-9]{2,9}))\b"
            r"|\b((?-i:[A-Z][A-Z0-9]{2,9})) (?:token )?price\b|\b((?-i:[A-Z][A-Z0-9]{2,9}))\s*(?:代币)?的?价格",
            _text("token"),
        ),
        (
            "get_weather",
            r"^(?!\W*(?:please )?search\b).*\bweather (?:like )?(?:in|for|at) "
            r"([^?.!]+?)(?: (?:today|tomorrow|now|right now|this week))?[?.!]*$"
            r"|^(?!.*(?:搜|查))\W*(.+?)(?:今天|明天|现在)?的?天气",
            _text("place"),
        ),
    )
)


def asked_for(question: str, offered: Mapping[str, Body]) -> list[tuple[str, Body]]:
    """The calls a question needs, as far as `offered` (name → schema of the arguments) has their tools.

    Without any that is offered: what it would need, so that this can be said.
    """
    missing = []
    for tool, pattern, make in _RULES:
        said = pattern.search(question)
        if said is not None and tool in offered:
            return [(tool, make(said))]
        if said is not None:
            missing.append(tool)
    wanted = _found(question)
    calls = [(name, _arguments(name, value, offered[name])) for name, value in wanted if name in offered]
    return calls or [(name, {}) for name in (*missing, *(name for name, _ in wanted))]


def _found(question: str) -> list[tuple[str, str]]:
    """A search, a sum and the clock, each with its argument."""
    wanted = []
    expression = _expression(question)
    asks_time = bool(_TIME.search(question))
    if _SEARCH.search(question) and not asks_time:
        query = _LEAD.sub("", question).strip()
        wanted.append(("search_web", query or question))
    if expression:
        wanted.append(("calculator", expression))
    if asks_time:
        zone = next((zone for city, zone in _ZONES.items() if city in question.lower()), "")
        wanted.append(("current_time", zone))
    return wanted


def _expression(question: str) -> str:
    text = _DATE.sub(" ", question)
    for found in _SUM.findall(text):
        if _OPERATOR.search(found):
            return " ".join(found.translate(_SIGNS).replace("^", "**").split())
    return ""


def _arguments(name: str, value: str, schema: Body) -> Body:
    """`value` under the argument's own name: the schema's first string, else what the tool's name suggests."""
    usual = {"search_web": "query", "calculator": "expression", "current_time": "zone"}[name]
    properties: dict[str, Body] = schema.get("properties", {})
    if not value:
        return {}
    if usual in properties or not properties:
        return {usual: value}
    return {next((key for key, kind in properties.items() if kind.get("type") == "string"), usual): value}
