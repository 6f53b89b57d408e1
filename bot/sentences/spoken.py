"""Notices about spoken answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "voice_on": (
        "From now on I also speak my answers in this chat. `{command} off` ends that.",
        "我在此聊天中的回答会附带语音。发送 `{command} off` 可以关闭。",
        "我在這個聊天室的回答會附上語音。輸入 `{command} off` 可以關閉。",
    ),
    "voice_off": (
        "I only write my answers in this chat. Write `{command} on` to hear them, too.",
        "我在此聊天中只用文字回答。发送 `{command} on` 可以同时收到语音。",
        "我在這個聊天室只用文字回答。輸入 `{command} on` 可以同時收到語音。",
    ),
    "voice_unset": (
        "I cannot speak here: the operator of this bot has not set that up.",
        "我在这里不能用语音回答：机器人的管理员没有设置语音功能。",
        "我在這裡無法用語音回答：機器人的管理員沒有設定語音功能。",
    ),
    "voice_nothing": (
        "There is no answer here that I could speak. Write `{command}` to hear the next ones.",
        "这里没有可以朗读的回答。发送 `{command}` 可以收到之后回答的语音。",
        "這裡沒有可以朗讀的回答。輸入 `{command}` 可以收到之後回答的語音。",
    ),
    "voice_long": (
        "The rest is in the text.",
        "其余内容请看文字。",
        "其餘內容請看文字。",
    ),
    "voice_failed": (
        "I could not speak this answer. It is complete as text.",
        "刚才无法生成语音，文字回答是完整的。",
        "剛才無法產生語音，文字回答是完整的。",
    ),
    "voice_refused": (
        "The voice message to this answer could not be sent here. It is complete as text.",
        "语音消息无法在这里发送，文字回答是完整的。",
        "語音訊息無法在這裡傳送，文字回答是完整的。",
    ),
    "voice_unsure": (
        "A voice message to this answer may be missing. It is complete as text.",
        "可能缺少一条语音消息，文字回答是完整的。",
        "可能缺少一則語音訊息，文字回答是完整的。",
    ),
    "voice_spent": (
        "The quota for today is used up, so this answer is not spoken.",
        "今天的额度已用完，这个回答没有语音。",
        "今天的額度已用完，這個回答沒有語音。",
    ),
}
