"""Recognise questions that clearly need the web, to search before the first pass and save one (PRE_SEARCH).

A needless search costs the person's time and the operator's money, a missed one only a pass: when in doubt, none.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

from bot.sentences import any_of, phrases, simplified
from bot.toolchoice.index import ToolIndex
from bot.toolchoice.smalltalk import HELLO, HELLO_HAN, is_small_talk
from tools.contract.base import ToolCall, ToolSpec

SEARCH: Final = "search_web"
LONGEST: Final = 200
"""Characters of the longest question that is searched for: a longer message is mostly text to work on."""


_HELLO: Final = any_of(HELLO)


def _any(english: str, chinese: str) -> re.Pattern[str]:
    """Compile patterns separated by ` / `: English ones match whole words, Chinese ones anywhere."""
    han = "|".join(chinese.split())
    return re.compile(rf"\b(?:{'|'.join(phrases(english))})\b|{han}", re.IGNORECASE)


_FRESH: Final = _any(
    """latest / newest / breaking / headlines? / news / stock price / share price / price of / prices? (?:for|in) /
    how much does an? [\\w -]+ cost / how much is an? / how much is the new / exchange rate / who won /
    still alive / who (?:is|are) (?:winning|leading) / standings / weather / forecast / release date /
    release notes / box office / (?:been|was|were|just) released / comes? out / coming out / announced /
    election results? / trending / recent(?:ly)? /
    (?:final|live|match|game|nba|nfl|nhl|mlb|league) scores? / scores? (?:today|tonight|yesterday|last night|so far) /
    score of the / opening hours / up[- ]to[- ]date""",
    """最新 新闻 头条 热搜 股价 油价 金价 房价 价格 售价 多少钱 比分 赛果 谁赢 天气 汇率 发布(?:了|时间|日期|会)
    上映 票房 近况 最近(?:有|发生|的|怎么) 刚刚(?:发布|宣布|发生) 什么时候(?:发布|上市|上映|开售|举行) 还在世
    营业时间 选举结果 排行榜""",
)
"""Words that by themselves ask for something current."""
_NOW: Final = _any(
    """today / tonight / right now / currently / current / this (?:week|month|year|season) / yesterday /
    last night / as of now / nowadays / 20[2-9]\\d""",
    "今天 今晚 现在 目前 当前 如今 现任 本周 这周 本月 这个月 今年 昨天 昨晚 20[2-9]\\d年",
)
"""Words that ask for something current if the message also matches `_ASKS`."""
_ASKS: Final = re.compile(
    rf"^\W*(?:(?:{_HELLO}|so|and|please|ok),?\s+)*"
    r"(?:who(?:'s| is| was| are| were| won| has)|what(?:'s| is| are| was| were| happened)|which|"
    r"where (?:is|are|was|will)|when(?:'s| is| does| do| will| did)|how (?:many|much|high|big)|has|have there|"
    r"is (?:there|the)|are there|did)\b|"
    r"谁|哪[个家些位里]|什么|多少|几[个位家]|吗[？?]?$|是不是|有没有",
    re.IGNORECASE,
)
_WORK: Final = _any(
    """code / function / python / javascript / java / sql / regex / bash / css / html / script / algorithm /
    variable / compile / stack ?trace / traceback / exception / git / translate / translation / rewrite /
    rephrase / summari[sz]e / in (?:english|french|german|spanish|chinese|japanese) / proofread / write / draft /
    compose / poem / story / essay / joke / brainstorm / imagine / role-?play / pretend / slogan / email to /
    remind / explain / draw / fix / debug / errors? / \\w+error / definition / define / calculate /
    compute / convert / solve""",
    """代码 编程 函数 脚本 报错 正则 算法 翻译 怎么说 改写 润色 总结 概括 写(?:一|个|篇|首|封|段|份|作) 帮我写 作文
    写诗 故事 笑话 假设 扮演 提醒 解释 画 计算 算一下 换算 解方程 ```""",
)
"""Words that ask to work on a text or with numbers, which no search can do."""
_TALK: Final = _any(
    """you / your / yours / above / earlier / this (?:chat|conversation) / i / i'm / i've / my / me / mine / we /
    our / that's / that is / this is / it's""",
    "刚才 刚刚说 上面 前面 你 您 这(?:段|个)对话 之前说 我 咱 吃什么 穿什么 辛苦",
)
"""Words about this conversation or the people in it, of whom the web knows nothing."""
_SUM: Final = re.compile(r"^[\s\d.,+*/×÷^()%=?？-]+$|\d\s*[+*/×÷^]\s*\d|等于(?:多少|几)")
_POLITE: Final = _any(
    """(?:tell|show|give|get|find) (?:me|us) / let me know / i(?:'d| would) like to know / i want to know /
    (?:can|could|would|will) you / do you know / thank you""",
    "(?:告诉|帮|给|替|跟)(?:我们|咱们|我|咱) 我(?:想|要)(?:知道|了解|问)(?:一下)? 我国 你知道 "
    + " ".join(phrases(HELLO_HAN)),
)
"""Phrases that name the person or the bot only out of politeness; they are removed before `_TALK` is looked for."""
_OPENING: Final = re.compile(
    rf"^\W*(?:(?:{_HELLO}|please|ok|thanks|can you|could you|tell me|show me|give me|find out|look up|do you know|"
    r"i(?:'d| would) like to know|i want to know)\b[\s,:]*)+|"
    rf"^\W*(?:(?:{any_of(HELLO_HAN)}|请问|请帮我|请给我|请告诉我|麻烦|帮我|给我|告诉我|我想知道|我想了解|查一下|查查|搜一下|搜索一下|搜寻一下|看看|一下)"
    r"[\s，,：:]*)+",
    re.IGNORECASE,
)
"""Opening phrases that are cut off a question before it is sent to the search engine."""


_WEATHER_ONLY: Final = re.compile(
    r"(?:what|how|is|the|weather|forecast|like|for|s|today|tonight|tomorrow|now|will|be|it|right|this|week|weekend|please|"
    r"tell|me|about|\W|天气|预报|今天|明天|后天|现在|今晚|本周|周末|怎么样|怎样|如何|好吗|好不好|什么|的|是|吗|呢|请问|会)+",
    re.IGNORECASE,
)
"""Questions about the weather that name no place."""
_CLOCK: Final = frozenset({"#time", "#date", "#days", "time", "date"})
_BOOKS: Final = frozenset({"#encyclopedia"})
"""The topic of tools that know who somebody is but not what changed today: they do not prevent a search."""


def pre_search(question: str, specs: Sequence[ToolSpec], *, index: ToolIndex | None = None) -> ToolCall | None:
    """Return the search to make before the first pass; None unless the question clearly needs one.

    None also when another tool fits the question better: the model is to choose that one.

    Args:
        index: an index of these `specs`, where the caller has one.
    """
    text = " ".join(question.split())
    if not text or len(text) > LONGEST or not any(spec.name == SEARCH for spec in specs):
        return None
    plain = simplified(text)
    if is_small_talk(plain) or not _of_the_world(plain.lower()):
        return None
    index = index or ToolIndex(specs)
    # "The release date of …" is no question to a clock, "the date today" is.
    ignored = _BOOKS | _CLOCK if _FRESH.search(plain) else _BOOKS
    if index.about(_NOW.sub(" ", plain), ignored=ignored) - {SEARCH} or any(
        each.name != SEARCH for each in index.named(text)
    ):
        return None
    opening = _OPENING.match(plain)
    query = text[opening.end() if opening else 0 :].strip(" ?？!！。.，,") or text
    return ToolCall(f"call_{secrets.token_hex(6)}", SEARCH, {"query": query})


def _of_the_world(text: str) -> bool:
    """Return True if a lower-case question is about something current that the web knows."""
    impersonal = _POLITE.sub(" ", text)
    if _WORK.search(text) or _TALK.search(impersonal) or _SUM.search(text) or _WEATHER_ONLY.fullmatch(text):
        return False
    return bool(_FRESH.search(text) or (_NOW.search(text) and _ASKS.search(impersonal.strip())))
