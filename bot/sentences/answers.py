"""Texts in, under or in place of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "answered_elsewhere": (
        "There is no answer to show here: this was answered before, or together with another question.",
        "这里没有可显示的回答：它之前已经回答过，或与另一个问题一起回答了。",
        "這裡沒有可顯示的回答：它之前已經回答過，或與另一個問題一起回答了。",
    ),
    "busy": (
        "The model is overloaded right now. Please try again in a moment, or write {retry}. (Reference {id})",
        "模型现在很忙，请稍后再试，或发送 {retry}。（编号 {id}）",
        "模型目前忙碌中，請稍後再試，或輸入 {retry}。（編號 {id}）",
    ),
    "away": (
        "The model cannot be reached right now. Please try again in a moment, or write {retry}. (Reference {id})",
        "现在连接不到模型，请稍后再试，或发送 {retry}。（编号 {id}）",
        "目前無法連線到模型，請稍後再試，或輸入 {retry}。（編號 {id}）",
    ),
    "dropped": (
        "The model's answer broke off here. Write {retry} to ask again. (Reference {id})",
        "模型的回答在这里中断了。发送 {retry} 可以重新提问。（编号 {id}）",
        "模型的回答在這裡中斷了。輸入 {retry} 可以重新提問。（編號 {id}）",
    ),
    "replaced": (
        "(The model broke off here; another one continues.)",
        "（模型在这里中断了，由另一个模型继续。）",
        "（模型在這裡中斷了，由另一個模型接續。）",
    ),
    "slow": (
        "The model did not answer in time. Write {retry} to ask again. (Reference {id})",
        "模型没有及时回答。发送 {retry} 可以重新提问。（编号 {id}）",
        "模型未能及時回答。輸入 {retry} 可以重新提問。（編號 {id}）",
    ),
    "content_refused": (
        "The model's provider refuses to answer this, and it is not sent again. Please say it differently, or ask "
        "something else. (Reference {id})",
        "模型的服务商拒绝回答这个问题，这条内容以后不会再发送。请换一种说法，或问别的问题。（编号 {id}）",
        "模型的服務商拒絕回答這個問題，這則內容之後不會再送出。請換個說法，或問別的問題。（編號 {id}）",
    ),
    "no_money": (
        "The account that pays for the model is empty. The operator of this bot has to top it up (reference {id}).",
        "模型账户的余额已用完，需要机器人的管理员充值（编号 {id}）。",
        "模型帳戶的餘額已用完，需要機器人的管理員儲值（編號 {id}）。",
    ),
    "refused": (
        "The model is not set up correctly. The operator of this bot has to fix that (reference {id}).",
        "当前的模型配置无法使用，需要机器人的管理员处理（编号 {id}）。",
        "目前的模型設定無法使用，需要機器人的管理員處理（編號 {id}）。",
    ),
    "too_long": (
        "This message is too long for the model. Please shorten it, or send it in parts. (Reference {id})",
        "这条消息对模型来说太长了。请缩短，或分几次发送。（编号 {id}）",
        "這則訊息對模型來說太長了。請縮短內容，或分成幾則傳送。（編號 {id}）",
    ),
    "too_long_for_window": (
        "This message is too long for the model: about {tokens:token|tokens}, and the model takes {window} with my "
        "instructions. Please shorten it, or send it in parts. (Reference {id})",
        "这条消息对模型来说太长了：约 {tokens} 个 token，而模型连同其他内容最多接受 {window} 个。请缩短，或分几次发送。"
        "（编号 {id}）",
        "這則訊息對模型來說太長了：約 {tokens} 個 token，而模型連同其他內容最多接受 {window} 個。請縮短內容，"
        "或分成幾則傳送。（編號 {id}）",
    ),
    "window_too_small": (
        "The model takes only {window:token|tokens}, too few for my instructions. The operator of this bot has to "
        "choose another one (reference {id}).",
        "当前模型只接受 {window} 个 token，不足以工作，需要机器人的管理员更换模型（编号 {id}）。",
        "目前的模型只接受 {window} 個 token，不足以運作，需要機器人的管理員更換模型（編號 {id}）。",
    ),
    "too_much_found": (
        "What I looked up is too long for the model. Ask for less at a time. (Reference {id})",
        "查到的内容对模型来说太长了，请一次少问一些。（编号 {id}）",
        "查到的內容對模型來說太長了，請一次少問一些。（編號 {id}）",
    ),
    "empty": (
        "The model gave no answer. Write {retry} to ask again. (Reference {id})",
        "模型没有给出回答。发送 {retry} 可以重新提问。（编号 {id}）",
        "模型沒有給出回答。輸入 {retry} 可以重新提問。（編號 {id}）",
    ),
    "empty_after_tools": (
        "I used {tools}, but could not write an answer from the results. Write {retry} to ask again. (Reference {id})",
        "我使用了 {tools}，但没能根据结果写出回答。发送 {retry} 可以重新提问。（编号 {id}）",
        "我使用了 {tools}，但未能根據結果寫出回答。輸入 {retry} 可以重新提問。（編號 {id}）",
    ),
    "length": (
        "The answer stops here: the model reached its limit. Ask me to go on if you want more.",
        "回答到此为止：已达到模型的长度上限。需要的话可以让我继续。",
        "回答到此為止：已達模型的長度上限。如有需要，可以請我繼續。",
    ),
    "cut": (
        "The answer was cut here because it became too long.",
        "回答过长，已在此处截断。",
        "回答過長，已在此處截斷。",
    ),
    "rounds": (
        "I have used all the steps that one question may take, so something may be missing. Ask me to go on if it is.",
        "一个问题可用的步骤已用完，内容可能不完整。需要的话可以让我继续。",
        "一個問題可用的步驟已用完，內容可能不完整。如有需要，可以請我繼續。",
    ),
    "filtered": (
        "The model's provider withheld the rest of this answer.",
        "模型提供方隐藏了其余的回答。",
        "模型供應商隱藏了其餘的回答。",
    ),
    "listening": ("is listening…", "正在收听…", "正在收聽…"),
    "thinking": ("is thinking…", "正在思考…", "正在思考…"),
    "stopped": ("Stopped.", "已停止。", "已停止。"),
    "stopped_nothing": ("Nothing is being answered right now.", "当前没有正在进行的回答。", "目前沒有進行中的回答。"),
    "dropped_waiting": ("I dropped your waiting questions.", "已取消你排队中的提问。", "已取消你排隊中的提問。"),
    "button_stop": ("⏹ Stop", "⏹ 停止", "⏹ 停止"),
    "button_regenerate": ("🔄 Regenerate", "🔄 重新回答", "🔄 重新回答"),
    "button_continue": ("▶️ Continue", "▶️ 继续", "▶️ 繼續"),
    "button_speak": ("🔊", "🔊", "🔊"),
    "button_good": ("👍", "👍", "👍"),
    "button_bad": ("👎", "👎", "👎"),
    "button_pause": ("⏸ Pause {number}", "⏸ 暂停 {number}", "⏸ 暫停 {number}"),
    "button_resume": ("▶️ Resume {number}", "▶️ 恢复 {number}", "▶️ 恢復 {number}"),
    "button_delete": ("🗑 Delete {number}", "🗑 删除 {number}", "🗑 刪除 {number}"),
    "button_noted": ("Noted, thank you.", "已记录，谢谢。", "已記錄，謝謝。"),
    "button_begun": ("On it.", "好的。", "好的。"),
    "button_old": (
        "This button belongs to an older answer; there is a newer one.",
        "这个按钮属于一个较早的回答，不再有效。",
        "這個按鈕屬於較早的回答，不再有效。",
    ),
    "button_go_on": (
        "Go on exactly where your last answer stopped, and repeat nothing of it.",
        "请从你上一个回答停下的地方继续，不要重复。",
        "請從你上一個回答停下的地方繼續，不要重複。",
    ),
    "shutdown": (
        "I am restarting and will continue this answer in a moment.",
        "我正在重启，马上会继续这个回答。",
        "我正在重新啟動，稍後會繼續這個回答。",
    ),
    "late": (
        "⌛ You wrote this {wait} ago, while I was offline.",
        "⌛ 这是你 {wait}前写的，当时我不在线。",
        "⌛ 這是你 {wait}前寫的，當時我不在線上。",
    ),
    "failed": (
        "Something went wrong on my side and I could not answer (reference {id}). Please try again.",
        "我这边出了点问题，没能回答（编号 {id}）。请再试一次。",
        "我這邊出了點問題，無法回答（編號 {id}）。請再試一次。",
    ),
    "failed_for_good": (
        "I could not answer, and asking again does not help: the operator of this bot has to fix it (reference {id}).",
        "我没能回答，再问一次也没有用，需要机器人的管理员处理（编号 {id}）。",
        "我無法回答，再問一次也沒有用，需要機器人的管理員處理（編號 {id}）。",
    ),
    "store": (
        "I can't save messages right now, so I can't answer yet. I will go on as soon as I can. (Reference {id})",
        "我现在无法保存记录，暂时不能回答；恢复后会继续。（编号 {id}）",
        "我目前無法儲存紀錄，暫時不能回答；恢復後會繼續。（編號 {id}）",
    ),
    "delayed": (
        "The rest follows in {wait}: I cannot write here until then.",
        "其余内容将在{wait}后补上，在此之前我无法在这里发送消息。",
        "其餘內容將在{wait}後補上，在此之前我無法在這裡傳送訊息。",
    ),
    "answered_again": (
        "*↻ Asked again: the new answer is below.*",
        "*↻ 已重新回答，新的回答见下方。*",
        "*↻ 已重新回答，新的回答請見下方。*",
    ),
    "below": ("⬇️ The answer is below.", "⬇️ 回答见下方。", "⬇️ 回答請見下方。"),
    "sources": ("Sources", "来源", "資料來源"),
    "reminder": ("⏰ {text}", "⏰ {text}", "⏰ {text}"),
    "reminder_late": (
        "⏰ {text}\n\n(This was due {when}, while I could not write.)",
        "⏰ {text}\n\n（这条提醒原定于 {when}，当时我无法发送。）",
        "⏰ {text}\n\n（這則提醒原訂於 {when}，當時我無法傳送。）",
    ),
    "reminder_unasked": (
        "⏰ I was offline at {when}, so I did not answer this: {text}",
        "⏰ {when} 时我不在线，没有回答这个定时提问：{text}",
        "⏰ {when} 時我不在線上，沒有回答這個定時提問：{text}",
    ),
    "reminder_forbidden": (
        "Reminder {number} is paused: the operator of this bot no longer lets me answer you.",
        "提醒 {number} 已暂停：管理员不再允许我回答你。",
        "提醒 {number} 已暫停：管理員不再允許我回答你。",
    ),
    "reminder_missed": (
        "⏰ {text}\n\n(This was due several times since {when}, while I could not write. I send it only once.)",
        "⏰ {text}\n\n（这条提醒从 {when} 起多次到期，当时我无法发送，现在只补发这一次。）",
        "⏰ {text}\n\n（這則提醒從 {when} 起多次到期，當時我無法傳送，現在只補送這一次。）",
    ),
    "empty_question": ("What would you like to know?", "你想问什么？", "你想問什麼？"),
}
