"""Waiting, quotas and usage, and what the operator is told of troubles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "seconds": ("{count:second|seconds}", "{count} 秒", "{count} 秒"),
    "minutes": ("{count:minute|minutes}", "{count} 分钟", "{count} 分鐘"),
    "hours": ("{hours} h {minutes} min", "{hours} 小时 {minutes} 分钟", "{hours} 小時 {minutes} 分鐘"),
    "days": ("{count:day|days}", "{count} 天", "{count} 天"),
    "alarm_deaf": (
        "⚠️ For the operator: no message reaches me from {platform}: {cause}.",
        "⚠️ 给管理员：我收不到 {platform} 的消息：{cause}。",
        "⚠️ 給管理員：我收不到 {platform} 的訊息：{cause}。",
    ),
    "alarm_mute": (
        "⚠️ For the operator: an answer could not be shown on {platform}: {cause}.",
        "⚠️ 给管理员：有一个回答无法显示在 {platform} 上：{cause}。",
        "⚠️ 給管理員：有一個回答無法顯示在 {platform} 上：{cause}。",
    ),
    "alarm_memory": (
        "⚠️ For the operator: memory is nearly used up, and the system may end me: {cause}.",
        "⚠️ 给管理员：内存快要用完，系统可能会结束我的进程：{cause}。",
        "⚠️ 給管理員：記憶體快要用完，系統可能會結束我的程序：{cause}。",
    ),
    "alarm_store": (
        "⚠️ For the operator: I cannot save anything, so I do not answer. {cause}",
        "⚠️ 给管理员：我无法保存任何内容，因此不能回答。{cause}",
        "⚠️ 給管理員：我無法儲存任何內容，因此不能回答。{cause}",
    ),
    "alarm_model": (
        "⚠️ For the operator: most questions get no answer: {cause}.",
        "⚠️ 给管理员：大部分问题得不到回答：{cause}。",
        "⚠️ 給管理員：大部分問題得不到回答：{cause}。",
    ),
    "alarm_readers": (
        "⚠️ For the operator: answers stall, and people wait for their next words: {cause}.",
        "⚠️ 给管理员：用户在回答中途要等很久才看到新的文字：{cause}。",
        "⚠️ 給管理員：使用者在回答中途要等很久才看到新的文字：{cause}。",
    ),
    "waiting": (
        "Received: “{text}”. It will be answered next.",
        "已收到：“{text}”，正在等待前面的回答。",
        "已收到：「{text}」，正在等待前面的回答。",
    ),
    "queue_full_person": (
        "Several of your messages already wait, so this one is not taken. Please send it again after their answers.",
        "你已有多条消息在排队，这一条没有被接收。请在得到它们的回答之后重新发送。",
        "你已有多則訊息在排隊，這一則沒有被接收。請在得到回答之後重新傳送。",
    ),
    "queue_full_chat": (
        "Many messages are already waiting in this chat. Please try again in a while.",
        "此聊天已有很多消息在排队，请稍后再试。",
        "這個聊天室已有許多訊息在排隊，請稍後再試。",
    ),
    "job_begun": ("I am working on it …", "正在处理……", "正在處理……"),
    "job_noted": ("The job takes it in.", "任务会采纳这一点。", "任務會採納這一點。"),
    "job_goes_on": (
        "What this job has done is kept: press Continue then, or write {job} and what is left to do.",
        "这项任务已完成的部分会保留：到时请按“继续”，或发送 {job} 和剩下要做的事。",
        "這項任務已完成的部分會保留：到時請按「繼續」，或傳送 {job} 和剩下要做的事。",
    ),
    "job_busy": (
        "A job is under way here already. Wait for it, or stop it first.",
        "这里已有一项任务正在进行。请等它完成，或先停止它。",
        "這裡已有一項任務正在進行。請等它完成，或先停止它。",
    ),
    "reminder_left_out": (
        "⏰ I skip this reminder's question: {text}\n\n{why}",
        "⏰ 这个提醒的提问我先不回答：{text}\n\n{why}",
        "⏰ 這個提醒的提問我先不回答：{text}\n\n{why}",
    ),
    "too_many_scheduled": (
        "Your reminders have reached today's limit of {limit:question|questions}.",
        "你的提醒今天的提问次数已用完（{limit} 次）。",
        "你的提醒今天的提問次數已用完（{limit} 次）。",
    ),
    "too_many": (
        "That is a lot of messages in one minute. Please wait a little.",
        "一分钟内的消息太多了，请稍等片刻。",
        "一分鐘內的訊息太多了，請稍候片刻。",
    ),
    "too_big": (
        "This message is too long for me: {length:character|characters}, and I read up to {limit}.",
        "这条消息太长了：共 {length} 个字符，我最多能读 {limit} 个。",
        "這則訊息太長了：共 {length} 個字元，我最多能讀 {limit} 個。",
    ),
    "spent_person": (
        "Your budget for today is used up. It resets in {wait}.",
        "你今天的用量已达上限，{wait}后重新计算。",
        "你今天的用量已達上限，{wait}後重新計算。",
    ),
    "spent_workspace": (
        "This workspace's budget for today is used up. It resets in {wait}.",
        "此工作区今天的用量已达上限，{wait}后重新计算。",
        "這個工作空間今天的用量已達上限，{wait}後重新計算。",
    ),
    "spent_all": (
        "Today's budget is used up. It resets in {wait}.",
        "我今天的总用量已达上限，{wait}后重新计算。",
        "我今天的總用量已達上限，{wait}後重新計算。",
    ),
    "spent_nobody": (
        "This question needs more than a whole day's budget. A shorter one may fit; the operator of this bot can "
        "allow more.",
        "这个问题所需的用量超过了一整天的上限。可以缩短问题再试，或请管理员提高上限。",
        "這個問題所需的用量超過一整天的上限。可以縮短問題再試，或請管理員提高上限。",
    ),
    "usage_head": (
        "**Today** (resets in {wait})",
        "**今日用量**（{wait}后重新计算）",
        "**今日用量**（{wait}後重新計算）",
    ),
    "usage_line": (
        "- {who}: {messages:question|questions}, {tokens}, {money}",
        "- {who}：{messages} 个问题，{tokens}，{money}",
        "- {who}：{messages} 個問題，{tokens}，{money}",
    ),
    "usage_tokens": ("{count:token|tokens}", "{count} 个 token", "{count} 個 token"),
    "usage_of": (
        "{spent} of {most} ({left} left)",
        "{spent}（共 {most}，剩余 {left}）",
        "{spent}（共 {most}，剩餘 {left}）",
    ),
    "usage_unpriced": ("cost unknown", "费用未知", "費用不明"),
    "usage_you": ("you", "你", "你"),
    "usage_chat": ("this chat", "此聊天", "這個聊天室"),
    "usage_workspace": ("this workspace", "此工作区", "這個工作空間"),
    "usage_all": ("everybody", "所有人", "所有人"),
    "usage_tools": ("- of this for tools: {tools}", "- 其中工具：{tools}", "- 其中工具：{tools}"),
    "usage_others": (
        "- not counting admins: {tokens}, {money}",
        "- 其中管理员以外：{tokens}，{money}",
        "- 其中管理員以外：{tokens}，{money}",
    ),
    "usage_top": ("Who used most:", "用量最多的人：", "用量最多的人："),
}
