"""The texts of `/why` and `/context`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "why_nothing": ("Nothing was answered here yet.", "这里还没有回答过问题。", "這裡還沒有回答過問題。"),
    "why_own": (
        "The last answer was one of my fixed sentences: no model was asked.",
        "上一个回答是固定的提示，没有调用模型。",
        "上一個回答是固定的提示，沒有呼叫模型。",
    ),
    "why_model": (
        "The last answer came from **{model}** after {seconds} s. Model calls: {passes}.",
        "上一个回答来自 **{model}**：调用模型 {passes} 次，用时 {seconds} 秒。",
        "上一個回答來自 **{model}**：呼叫模型 {passes} 次，耗時 {seconds} 秒。",
    ),
    "why_no_tools": ("No tool was used.", "没有使用工具。", "沒有使用工具。"),
    "why_call": (
        "- **{name}** `{arguments}`: {status}, {seconds} s",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒",
    ),
    "why_call_paid": (
        "- **{name}** `{arguments}`: {status}, {seconds} s, {cost}",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒，{cost}",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒，{cost}",
    ),
    "why_thought": (
        "Its reasoning, {count:character|characters}, begins with:",
        "它的思考过程共 {count} 个字符，开头是：",
        "它的思考過程共 {count} 個字元，開頭是：",
    ),
    "thought": (
        "Reasoning, {count:character|characters}",
        "思考过程，共 {count} 个字符",
        "思考過程，共 {count} 個字元",
    ),
    "tools_used": ("Tools used", "使用的工具", "使用的工具"),
    "why_more": ("- and {count} more", "- 以及另外 {count} 次", "- 以及另外 {count} 次"),
    "why_pending": ("not begun", "未开始", "尚未開始"),
    "why_running": ("running", "运行中", "執行中"),
    "why_completed": ("completed", "完成", "完成"),
    "why_failed": ("failed", "失败", "失敗"),
    "why_timeout": ("took too long", "超时", "逾時"),
    "why_cancelled": ("cancelled", "已取消", "已取消"),
    "why_cached": ("known already, not run again", "已有结果，未再次运行", "已有結果，未再次執行"),
    "why_tokens": (
        "Tokens: {prompt} read ({cached} of them cached), {completion} written ({reasoning} of them reasoning).",
        "Token：读取 {prompt}（其中缓存 {cached}），生成 {completion}（其中思考 {reasoning}）。",
        "Token：讀取 {prompt}（其中快取 {cached}），產生 {completion}（其中思考 {reasoning}）。",
    ),
    "why_cost": ("Cost: about {cost}.", "费用：约 {cost}。", "費用：約 {cost}。"),
    "why_cost_unknown": (
        "Cost: unknown, because no price is known for this model.",
        "费用：未知，没有该模型的价格。",
        "費用：不明，沒有這個模型的價格。",
    ),
    "context": (
        "{model} sees the last {turns:turn|turns} of this chat word for word. With "
        "everything below, that is about {tokens:token|tokens} of {window}.",
        "{model} 会逐字看到此聊天最近的 {turns} 轮对话：连同以下内容约 {tokens} 个 token，最多可发送 {window} 个。",
        "{model} 會逐字看到這個聊天室最近的 {turns} 輪對話：連同以下內容約 {tokens} 個 token，最多可送出 {window} 個。",
    ),
    "context_left_out": (
        "Older turns that do not fit and are not in the summary yet: {turns}.",
        "另有 {turns} 轮较早的对话放不下，暂时也不在摘要中。",
        "另有 {turns} 輪較早的對話放不下，暫時也不在摘要中。",
    ),
    "context_facts": ("It also sees what I remember:", "还包括我记住的内容：", "還包括我記住的內容："),
    "context_summary": (
        "It sees this summary of the {turns:turn|turns} before these:",
        "更早的 {turns} 轮对话以这份摘要代替：",
        "更早的 {turns} 輪對話以這份摘要代替：",
    ),
}
