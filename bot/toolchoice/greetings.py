"""Messages that are only a greeting, for which no tool is offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bot.toolchoice.scripts import simplified


def any_of(words: Sequence[str]) -> str:
    """Return a pattern that matches any of `words`, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_GREETINGS: Final = (
    *("hi", "hello", "hey", "hiya", "howdy", "yo", "greetings", "good morning", "good afternoon", "good evening"),
    *("good night", "morning", "bye", "goodbye", "see you", "how are you doing", "how are you today", "how are you"),
    *("what's up", "ok", "okay", "thanks", "thx", "ty", "cheers", "thank you", "great", "cool", "nice", "perfect"),
    *("well done", "lol", "haha", "got it", "i see", "sounds good", "no problem", "no worries", "you're welcome"),
    *("awesome", "excellent", "wonderful", "amazing", "good job", "great job", "nice work", "good bot", "understood"),
    *("that helps", "that's all", "never mind", "nevermind", "all good", "much appreciated", "love it", "good to know"),
    *("你好", "您好", "嗨", "哈喽", "早安", "早上好", "上午好", "中午好", "下午好", "晚上好", "晚安", "大家好"),
    *("早", "在吗", "在不在", "有人吗", "再见", "拜拜", "谢谢", "多谢", "感谢", "非常感谢", "太感谢", "谢啦"),
    *("辛苦", "好的", "好", "嗯", "太棒", "太好", "很好", "真棒", "你真棒", "厉害", "不错", "明白", "收到", "没事"),
    *("知道了", "了解", "懂了", "没问题", "不客气", "哈哈", "好滴", "好嘞", "赞", "棒", "不用了", "原来如此", "完美"),
)


_AFTER_GREETING: Final = (
    *("there", "again", "all", "everyone", "you", "bot", "so much", "very much", "a lot", "for that", "for the help"),
    *("for your help", "for helping", "for the info", "mate", "buddy", "then", "guys", "呀", "啊", "啦", "了", "吗"),
    *("哦", "哈", "呢", "你", "您", "的帮助", "你的帮助", "您的帮助", "老师", "大家", "喽"),
)


_PHRASE: Final = re.compile(rf"[\W_]*(?:({any_of(_GREETINGS)})|{any_of(_AFTER_GREETING)})(?![a-z0-9])[\W_]*")


def is_greeting(text: str) -> bool:
    """Return True if a message only greets, thanks or agrees, so that no tool is offered."""
    text = simplified(text.strip().lower())
    place = 0
    while len(text) <= 60 and (phrase := _PHRASE.match(text, place)) is not None:
        if place == 0 and phrase.group(1) is None:
            return False
        place = phrase.end()
        if place == len(text):
            return True
    return False
