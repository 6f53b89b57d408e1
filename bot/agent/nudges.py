"""What the model reads between passes: after a call cut off, an announced search without a call, the last round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bot.model import CALL_FORMAT, as_json
from bot.sentences import any_of, simplified
from tools.contract.base import Json

LAST_PASS: Final = (
    "Answer now, from what you have: no further tool can be used in this turn. "
    "If something is still missing, say plainly what you could not find out. Write no tool call."
)

GO_ON: Final = (
    "Your answer above was interrupted. Go on exactly where it stops: repeat nothing, announce nothing, "
    "and do not mention the interruption."
)

CALL_CUT_OFF: Final = (
    "The call was cut off before it was complete, so it was not run. Write it again, shorter, or answer without it."
)

CALL_UNREADABLE: Final = (
    "The call you wrote could not be read, so it was not run. Call the tool again with arguments that are valid JSON, "
    f"written as {CALL_FORMAT}, or answer without it."
)

OUTCOME_UNKNOWN: Final = (
    "Error: the program was restarted during this call; its outcome is unknown. Do not repeat it; tell the person."
)
NOT_ENDED: Final = (
    "Error: the program was restarted before this call had a result. Call it again if it is still needed."
)


def describe_problem(name: str, problem: str, parameters: Mapping[str, Json]) -> str:
    """Return the model's text about a call that could not run as written: what was wrong, and the schema."""
    schema = as_json(dict(parameters))
    return (
        f"Error: the call of {name} was not run. {problem.rstrip()} "
        f"Its arguments must be one JSON object that fits this schema: {schema}. "
        "Correct the call, or answer without it."
    )


def remind_to_search(*, native: bool) -> str:
    """Return the reminder after a reply that announces a look-up, or claims one, and makes no call."""
    how = "call the tool" if native else f"write the call and nothing else, as {CALL_FORMAT}"
    return f"You spoke of looking something up, but made no call. If you need a tool, {how}; else answer now."


_MOST_ANNOUNCED: Final = 300
"""Characters of a reply that may be nothing but an announcement."""

_OPENERS: Final = """sure / sure thing / ok / okay / of course / certainly / absolutely / alright / all right /
    right / great / good question / great question / got it / understood / no problem / one moment / one moment please /
    one sec / one second / just a moment / just a second / just a sec / hold on / hang on / bear with me / please wait /
    give me a moment / give me a second / give me a sec / give me a minute / please hold on / thanks for asking"""
"""Phrases that can precede an announcement, any number of times."""

_INTENTS: Final = """let me / let's / i'll / i will / i shall / i'm going to / i am going to / i'm now going to /
    allow me to / i need to / i have to / i should / i want to / i'd better / first i'll / to answer this i'll /
    while i / to answer that i'll / to answer this i need to / to answer that i need to / i'm about to /
    i am about to"""

_VERBS: Final = """search / look / check / browse / google / find out / find / fetch / query / research / consult /
    verify / see what / pull up / get the latest / get the current / dig"""

_DOING: Final = "searching / looking / checking / browsing / googling / fetching / querying / researching"

_OPENERS_HAN: Final = """好的 / 好 / 当然 / 可以 / 没问题 / 明白 / 收到 / 了解 / 请稍候 / 请稍等 / 稍等 / 稍候 /
    稍等一下 / 请等一下 / 等一下 / 请您稍等 / 请稍等片刻"""

_INTENTS_HAN: Final = """让我 / 我来 / 我这就 / 我先 / 我现在 / 我马上 / 我将 / 我会 / 我需要 / 我要 / 我得 / 我去 /
    我帮 / 我为 / 我给 / 正在 / 马上 / 这就 / 现在 / 先 / 接下来我 / 帮"""

_VERBS_HAN: Final = "搜 / 查 / 检索 / 找 / 看看网上 / 上网 / 浏览 / 核实"

_ANNOUNCED: Final = re.compile(
    rf"(?:(?:{any_of(_OPENERS)})\b[,.!…:—– ]*+)*+(?:and |then )?"
    rf"(?:(?:{any_of(_INTENTS)})\b(?! know)[^.!?\n]{{0,40}}?\b(?:{any_of(_VERBS)})\b[^?:\n]*:?"
    rf"|(?:i'm|i am|now|currently)(?: now| currently| just)? (?:{any_of(_DOING)})\b[^?:\n]*:?"
    rf"|(?:{any_of(_DOING)})\b[^?:\n]*\b(?:now|for you|online|the web|the internet))"
    rf"|(?:(?:{any_of(_OPENERS_HAN)})[，,。！!、\s]*+)*+(?:{any_of(_INTENTS_HAN)})"
    rf"[^。！？?!\n]{{0,12}}?(?:{any_of(_VERBS_HAN)})[^？?:：\n]*[:：]?"
)

_THINGS: Final = r"(?:results?|matches|information|info|data|details|news|sources?|articles?|pages?|reports?|anything)"
"""What a search finds."""

_THINGS_HAN: Final = "(?:结果|信息|资料|数据|消息|新闻|记录|报道|文章|网页|内容)"

_LOOK_HAN: Final = "(?:搜索|搜寻|查询|检索|查找|查阅|搜|查|找)"

_CANNOT: Final = (
    r"(?:(?:could|can|did|was|am|were)(?: ?not|n't)|can't|(?:was|am|were|i'm) unable to|failed to)(?: able to)?"
)

_FOUND_NOTHING: Final = re.compile(
    rf"\b{_CANNOT} (?:find|locate|retrieve|obtain)\b[^.!?\n]{{0,60}}?\b{_THINGS}\b"
    rf"|\bno (?:[a-z]+ ){{0,3}}{_THINGS} (?:[a-z]+ ){{0,3}}(?:found|returned|turned up|came up)\b"
    rf"|\bfound (?:nothing|no (?:[a-z]+ ){{0,3}}{_THINGS})\b"
    r"|\b(?:my|the) (?:[a-z]+ )?search(?:es)? [a-z' ]{0,20}\b(?:no|nothing|empty|not|didn't)\b"
    rf"|(?:没有?|没能|未能?|无法|未曾)(?:能够|在网上|从网上)?{_LOOK_HAN}[到得出]?了?[^，。！？!?\n]{{0,20}}?{_THINGS_HAN}"
    rf"|{_LOOK_HAN}不到[^，。！？!?\n]{{0,20}}?{_THINGS_HAN}"
    r"|(?:搜索|检索|查询)(?:结果)?(?:为空|没有结果|无结果|没有返回|未返回)"
)

_SEARCHED: Final = re.compile(
    r"\bi(?:'ve| have)? (?:just |already )?(?:searched|googled|browsed|looked (?:it|this|that) up|checked online)\b"
    r"|\b(?:based on|according to|from) (?:my|the|these|recent|current|latest) (?:[a-z]+ )?search(?:es| results?)?\b"
    r"|我(?:已经?|刚刚?|刚才)?(?:帮你|为你|为您|在网上|上网)?(?:搜索|查询|检索|查找|搜|查)[了过]"
    r"|(?:根据|按照)(?:我的?|以上|最新|相关|网上|网络)?的?(?:搜索|检索|查询)(?:结果|到)"
)

_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s*(?=[^\s.!?。！？])|\n+")

_IF_WANTED: Final = re.compile(r"\b(?:if|once|when|unless|after) you\b|\byou can\b|如果|要是|需要的话")

_IF: Final = re.compile(r"\b(?:if|when|whenever|where|unless|in case)\b|如果|要是|假如|若")


def announces_search(text: str) -> bool:
    """Return True if a reply says that something will be looked up now, and nothing after that."""
    if len(text) > _MOST_ANNOUNCED:
        return False
    said = _SENTENCE_END.split(simplified(text).strip().rstrip(".… ").lower().replace("’", "'"))
    return _ANNOUNCED.fullmatch(said[-1]) is not None and not _IF_WANTED.search(said[-1])


def claims_search(text: str, *, results: bool) -> bool:
    """Return True if a reply claims that a search found something, or nothing.

    Args:
        results: the conversation contains results; then only "nothing was found" is such a claim.
    """
    if len(text) > _MOST_ANNOUNCED:
        return False
    said = _SENTENCE_END.split(simplified(text).lower().replace("’", "'"))
    claims = (_FOUND_NOTHING,) if results else (_FOUND_NOTHING, _SEARCHED)
    return any(claim.search(one) and not _IF.search(one) for one in said for claim in claims)
