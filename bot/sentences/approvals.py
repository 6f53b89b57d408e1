"""The question whether a tool may run, and its outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "approval_head": (
        "🔐 **May I do this?** The tool `{name}` would run with exactly this:",
        "🔐 **可以这样做吗？**工具 `{name}` 将按以下内容运行：",
        "🔐 **可以這樣做嗎？**工具 `{name}` 將依以下內容執行：",
    ),
    "approval_head_outside": (
        "🔐 **May I do this?** This conversation contains text from outside, and what the tool `{name}` receives "
        "may reach others. It would run with exactly this:",
        "🔐 **可以这样做吗？**本对话含有外部文字，交给工具 `{name}` 的内容可能会传给他人。它将按以下内容运行：",
        "🔐 **可以這樣做嗎？**本對話含有外部文字，交給工具 `{name}` 的內容可能會傳給他人。它將依以下內容執行：",
    ),
    "approval_not_up": (
        "⚠️ The server of the tool `{name}` is still starting, so it was not done. Please allow it again in a moment.",
        "⚠️ 运行工具 `{name}` 的服务仍在启动，因此没有执行。请稍后再次允许。",
        "⚠️ 執行工具 `{name}` 的服務仍在啟動，因此沒有執行。請稍後再次允許。",
    ),
    "approval_changed": (
        "⚠️ The tool `{name}` has changed since this was allowed, so it was not done.",
        "⚠️ 工具 `{name}` 在您允许之后发生了变化，因此没有执行。",
        "⚠️ 工具 `{name}` 在您允許之後發生了變化，因此沒有執行。",
    ),
    "approval_cut": (
        "⚠️ This is too long to show here. The file `{file}` below contains all of it.",
        "⚠️ 内容太长，这里没有全部显示。完整内容见下方的文件 `{file}`。",
        "⚠️ 內容太長，這裡沒有全部顯示。完整內容見下方的檔案 `{file}`。",
    ),
    "approval_more": ("- …", "- …", "- …"),
    "approval_hidden": (
        "(hidden, {count:character|characters})",
        "（已隐藏，{count} 个字符）",
        "（已隱藏，{count} 個字元）",
    ),
    "approval_true": ("yes", "是", "是"),
    "approval_false": ("no", "否", "否"),
    "approval_nothing": ("(empty)", "（空）", "（空）"),
    "approval_left_out": (
        "⟪{count:character|characters} left out⟫",
        "⟪省略 {count} 个字符⟫",
        "⟪省略 {count} 個字元⟫",
    ),
    "approval_waits_asker": (
        "⏳ Only the person who asked, or an admin, can decide, within {wait}. Until then nothing is done.",
        "⏳ 只有提问者或管理员可以决定，限时 {wait}。在此之前什么都不会做。",
        "⏳ 只有提問者或管理員可以決定，限時 {wait}。在此之前什麼都不會做。",
    ),
    "approval_waits_admins": (
        "⏳ Only an admin of this bot can decide, within {wait}. Until then nothing is done.",
        "⏳ 只有机器人的管理员可以决定，限时 {wait}。在此之前什么都不会做。",
        "⏳ 只有機器人的管理員可以決定，限時 {wait}。在此之前什麼都不會做。",
    ),
    "approval_allowed": ("✅ Allowed.", "✅ 已允许。", "✅ 已允許。"),
    "approval_denied": ("🚫 Refused: it was not done.", "🚫 已拒绝：没有执行。", "🚫 已拒絕：沒有執行。"),
    "approval_expired": (
        "⌛ Nobody decided in time: it was not done.",
        "⌛ 没有人及时决定：没有执行。",
        "⌛ 沒有人及時決定：沒有執行。",
    ),
    "approval_withdrawn": (
        "✖️ This request was withdrawn: it was not done.",
        "✖️ 已不再询问：没有执行。",
        "✖️ 已不再詢問：沒有執行。",
    ),
    "approval_gone": (
        "This request is not open: nothing was done for this answer. Ask again for what you still want.",
        "没有这样一个待决定的请求：本次回答没有引起任何操作。如仍需要，请重新提问。",
        "沒有這樣一個待決定的請求：本次回答沒有引起任何操作。如仍需要，請重新提問。",
    ),
    "approval_yes": ("(Allowed with the button.)", "（已用按钮允许。）", "（已用按鈕允許。）"),
    "approval_no": ("(Refused with the button.)", "（已用按钮拒绝。）", "（已用按鈕拒絕。）"),
    "approval_by_word": ("(Answer yes or no.)", "（请回答“是”或“否”。）", "（請回答「是」或「否」。）"),
    "approval_note": (
        "The person is asked whether this may be done.",
        "正在询问是否可以这样做。",
        "正在詢問是否可以這樣做。",
    ),
    "button_allow": ("✅ Allow", "✅ 允许", "✅ 允許"),
    "button_deny": ("🚫 Refuse", "🚫 拒绝", "🚫 拒絕"),
}
