"""Recognise messages that are only small talk, for which no tool is offered."""

from __future__ import annotations

import re
from typing import Final

from bot.toolchoice.scripts import simplified


def phrases(text: str) -> list[str]:
    """Return the phrases of a text in which ` / ` separates them."""
    return " ".join(text.split()).split(" / ")


def any_of(text: str) -> str:
    """Return a pattern that matches any of the phrases in `text`, the longest first."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases(text), key=len, reverse=True))


HELLO: Final = "hi / hello / hey"
"""Greetings that often stand before a question."""
HELLO_HAN: Final = "你好 / 您好"
"""Chinese greetings that often stand before a question."""
_GREETINGS: Final = f"""{HELLO} / {HELLO_HAN} /
    hiya / howdy / yo / greetings / good morning / good afternoon / good evening / morning / how are you doing /
    how are you today / how are you / what's up / 嗨 / 哈喽 / 早 / 早安 / 早上好 / 上午好 / 中午好 / 下午好 / 晚上好 /
    大家好 / 在吗 / 在不在 / 有人吗"""
_THANKS: Final = """thanks / thx / ty / cheers / thank you / much appreciated / that helps / well done / good job /
    great job / nice work / good bot / 谢谢 / 多谢 / 感谢 / 非常感谢 / 太感谢 / 谢啦 / 辛苦 / 你真棒"""
_ASSENT: Final = """ok / okay / great / cool / nice / perfect / lol / haha / got it / i see / sounds good /
    no problem / no worries / you're welcome / awesome / excellent / wonderful / amazing / understood / that's all /
    never mind / nevermind / all good / love it / good to know / 好的 / 好 / 嗯 / 太棒 / 太好 / 很好 / 真棒 / 厉害 /
    不错 / 明白 / 收到 / 没事 / 知道了 / 了解 / 懂了 / 没问题 / 不客气 / 哈哈 / 好滴 / 好嘞 / 赞 / 棒 / 不用了 /
    原来如此 / 完美"""
_FAREWELLS: Final = "good night / bye / goodbye / see you / 晚安 / 再见 / 拜拜"
_SMALL_TALK: Final = " / ".join((_GREETINGS, _THANKS, _ASSENT, _FAREWELLS))
_AFTER: Final = """there / again / all / everyone / you / bot / so much / very much / a lot / for that / for the help /
    for your help / for helping / for the info / mate / buddy / then / guys / 呀 / 啊 / 啦 / 了 / 吗 / 哦 / 哈 / 呢 /
    你 / 您 / 的帮助 / 你的帮助 / 您的帮助 / 老师 / 大家 / 喽"""
_PHRASE: Final = re.compile(rf"[\W_]*(?:({any_of(_SMALL_TALK)})|{any_of(_AFTER)})(?![a-z0-9])[\W_]*")


def is_small_talk(text: str) -> bool:
    """Return True if a message only greets, thanks, agrees or says goodbye."""
    text = simplified(text.strip().lower())
    place = 0
    while len(text) <= 60 and (phrase := _PHRASE.match(text, place)) is not None:
        if place == 0 and phrase.group(1) is None:
            return False
        place = phrase.end()
        if place == len(text):
            return True
    return False
