"""The headings under which `/tools` lists the tools. Each tool's own file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "tools_finding": ("Finding out", "查资料", "查資料"),
    "tools_making": ("Working out and making", "计算与制作", "計算與製作"),
    "tools_keeping": ("Memory, time and reminders", "记忆、时间与提醒", "記憶、時間與提醒"),
    "tools_more": ("More", "其他", "其他"),
    "tools_foot": (
        "Just ask: I choose what fits. `{command}` with a name and what to do runs one directly.",
        "直接提问即可，我会自己选择。发送 `{command}` 加上名称和要做的事，可以直接使用某个工具。",
        "直接提問即可，我會自行選擇。輸入 `{command}` 加上名稱和要做的事，可以直接使用某個工具。",
    ),
    "tools_none": ("No tools are available.", "没有可用的工具。", "沒有可用的工具。"),
}
