"""Files and other things beside the text, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "file_too_large": (
        "The file {name} ({size}) is too large to be posted here.",
        "文件 {name}（{size}）太大，无法在这里发送。",
        "檔案 {name}（{size}）太大，無法在這裡傳送。",
    ),
    "file_unsure": (
        "I cannot tell whether the file {name} arrived here. Ask me for it again if it did not. (Reference {id})",
        "无法确定文件 {name} 是否已发送。如果没有收到，请让我再发一次。（编号 {id}）",
        "無法確定檔案 {name} 是否已送達。如果沒有收到，請讓我再傳一次。（編號 {id}）",
    ),
    "file_failed": (
        "The file {name} could not be posted here. (Reference {id})",
        "文件 {name} 无法在这里发送。（编号 {id}）",
        "檔案 {name} 無法在這裡傳送。（編號 {id}）",
    ),
    "unread": (
        "I cannot read this yet: {what}. Please tell me what matters in it.",
        "我还不能读取：{what}。请把重要的内容用文字告诉我。",
        "我還無法讀取：{what}。請用文字告訴我其中重要的內容。",
    ),
    "unread_beside": (
        "I cannot read this yet, so my answer ignores it: {what}.",
        "我还不能读取：{what}，以下回答没有考虑其中的内容。",
        "我還無法讀取：{what}，以下回答沒有參考其中的內容。",
    ),
    "unread_encrypted": (
        "This asks for a password, so I cannot read it: {what}. Please send it without one.",
        "文件有密码保护，我无法读取：{what}。请发送没有密码的版本。",
        "檔案有密碼保護，我無法讀取：{what}。請傳送沒有密碼的版本。",
    ),
    "unread_deleted": (
        "This was deleted, so I cannot read it: {what}. Please send it again.",
        "文件已被删除，我无法读取：{what}。请重新发送。",
        "檔案已被刪除，我無法讀取：{what}。請重新傳送。",
    ),
    "unread_hidden": (
        "This is too old for your workspace's plan, which hides it, so I cannot read it: {what}. Please send it again.",
        "你的工作区套餐已隐藏这个旧文件，我无法读取：{what}。请重新发送。",
        "你的工作空間方案已隱藏這個舊檔案，我無法讀取：{what}。請重新傳送。",
    ),
    "unread_elsewhere": (
        "This is kept by another service, so I cannot read it: {what}. Please upload the file itself.",
        "文件保存在其他服务中，我无法读取：{what}。请直接上传文件。",
        "檔案儲存在其他服務中，我無法讀取：{what}。請直接上傳檔案。",
    ),
    "unread_kept": (
        "I have no access to this, so I cannot read it: {what}. Please upload it to this conversation yourself.",
        "我没有读取权限：{what}。请在此对话中自行上传。",
        "我沒有讀取權限：{what}。請在此對話中自行上傳。",
    ),
    "unread_right": (
        "I am not allowed to read files here: {what}. The operator of this bot can change that.",
        "我在这里没有读取文件的权限：{what}。可以请机器人的管理员开启。",
        "我在這裡沒有讀取檔案的權限：{what}。可以請機器人的管理員開啟。",
    ),
    "unread_unmentioned": (
        "I am not shown the text of {what}, because it mentions a role with my name and not me. Please write it again: "
        "of the two entries with my name, choose the one that is not a role.",
        "我看不到{what}的内容，因为其中提及的是与我同名的身份组，而不是我。请重新发送：在两个同名的选项中，选择不是身份组的那一个。",
        "我看不到{what}的內容，因為其中提及的是與我同名的身分組，而不是我。請重新傳送：在兩個同名的選項中，選擇不是身分組的那一個。",
    ),
    "unread_damaged": (
        "This seems to be damaged, so I cannot read it: {what}. Please send it again.",
        "文件似乎已损坏，我无法读取：{what}。请重新发送。",
        "檔案似乎已損壞，我無法讀取：{what}。請重新傳送。",
    ),
    "unread_old_format": (
        "This is in an older format that I cannot read: {what}. Please save it as .docx, .xlsx, .pptx or PDF and send "
        "it again.",
        "这是我无法读取的旧格式：{what}。请另存为 .docx、.xlsx、.pptx 或 PDF 后重新发送。",
        "這是我無法讀取的舊格式：{what}。請另存為 .docx、.xlsx、.pptx 或 PDF 後重新傳送。",
    ),
    "unread_too_large": (
        "This is too large for me to read: {what}. Please send a smaller version, or the part that matters.",
        "内容太大，我无法读取：{what}。请发送较小的版本，或只发送重要的部分。",
        "內容太大，我無法讀取：{what}。請傳送較小的版本，或只傳送重要的部分。",
    ),
    "unread_too_long_to_read": (
        "Reading this took too long: {what}. Please send the part that matters.",
        "读取所需时间太长：{what}。请只发送重要的部分。",
        "讀取所需時間太長：{what}。請只傳送重要的部分。",
    ),
    "unread_nothing_to_read": (
        "I found no text in this: {what}. If its pages are pictures, please send them as pictures.",
        "我在其中没有找到文字：{what}。如果页面是图片，请以图片形式发送。",
        "我在其中沒有找到文字：{what}。如果頁面是圖片，請以圖片形式傳送。",
    ),
    "unheard_off": (
        "I cannot listen to this here: {what}. Please write what matters in it.",
        "我在这里无法收听：{what}。请把重要的内容写给我。",
        "我在這裡無法收聽：{what}。請把重要的內容寫給我。",
    ),
    "unheard_large": (
        "This is too large for me to listen to (at most 20 MB): {what}. Please write what matters in it.",
        "内容太大，我无法收听（上限 20 MB）：{what}。请把重要的内容写给我。",
        "內容太大，我無法收聽（上限 20 MB）：{what}。請把重要的內容寫給我。",
    ),
    "unheard_long": (
        "This is too long for me to listen to (at most 20 minutes): {what}. Please send it in parts, or write to me.",
        "录音太长，我无法收听（上限 20 分钟）：{what}。请分段发送，或写给我。",
        "錄音太長，我無法收聽（上限 20 分鐘）：{what}。請分段傳送，或寫給我。",
    ),
    "unheard_form": (
        "I could not understand this recording: {what}. Please record it again, or write to me.",
        "我无法识别这段录音：{what}。请重新录制，或写给我。",
        "我無法辨識這段錄音：{what}。請重新錄製，或寫給我。",
    ),
    "unheard_silent": (
        "I heard no words in this: {what}.",
        "我没有听到任何话语：{what}。",
        "我沒有聽到任何話語：{what}。",
    ),
    "unheard_spent": (
        "The quota for today is used up, so I could not listen to this: {what}. Please write to me.",
        "今天的额度已用完，我无法收听：{what}。请写给我。",
        "今天的額度已用完，我無法收聽：{what}。請寫給我。",
    ),
    "unheard_now": (
        "I could not listen to this just now: {what}. Please try again later, or write to me.",
        "我暂时无法收听：{what}。请稍后再试，或写给我。",
        "我暫時無法收聽：{what}。請稍後再試，或寫給我。",
    ),
    "pictures_unseen": (
        "(The model that answered cannot see pictures, so this answer ignores them.)",
        "（回答所用的模型看不到图片，因此没有考虑图片内容。）",
        "（回答所用的模型看不到圖片，因此沒有參考圖片內容。）",
    ),
    "kind_named": ("{kind} ({names})", "{kind}（{names}）", "{kind}（{names}）"),
    "one_file": ("a file", "一个文件", "一個檔案"),
    "more_file": ("{count} files", "{count} 个文件", "{count} 個檔案"),
    "one_picture": ("a picture", "一张图片", "一張圖片"),
    "more_picture": ("{count} pictures", "{count} 张图片", "{count} 張圖片"),
    "one_animation": ("an animation", "一个动图", "一個動態圖片"),
    "more_animation": ("{count} animations", "{count} 个动图", "{count} 個動態圖片"),
    "one_audio": ("a sound recording", "一段音频", "一段音訊"),
    "more_audio": ("{count} sound recordings", "{count} 段音频", "{count} 段音訊"),
    "one_voice": ("a voice message", "一条语音消息", "一則語音訊息"),
    "more_voice": ("{count} voice messages", "{count} 条语音消息", "{count} 則語音訊息"),
    "one_video": ("a video", "一段视频", "一段影片"),
    "more_video": ("{count} videos", "{count} 段视频", "{count} 段影片"),
    "one_video_note": ("a video message", "一条视频消息", "一則影片訊息"),
    "more_video_note": ("{count} video messages", "{count} 条视频消息", "{count} 則影片訊息"),
    "one_forward": ("a forwarded message", "一条转发的消息", "一則轉寄的訊息"),
    "more_forward": ("{count} forwarded messages", "{count} 条转发的消息", "{count} 則轉寄的訊息"),
    "one_message": ("your message", "你的消息", "你的訊息"),
    "more_message": ("{count} of your messages", "你的 {count} 条消息", "你的 {count} 則訊息"),
    "one_sticker": ("a sticker", "一个贴纸", "一張貼圖"),
    "more_sticker": ("{count} stickers", "{count} 个贴纸", "{count} 張貼圖"),
    "one_location": ("a location", "一个位置", "一個位置"),
    "more_location": ("{count} locations", "{count} 个位置", "{count} 個位置"),
    "one_contact": ("a contact", "一张名片", "一個聯絡人"),
    "more_contact": ("{count} contacts", "{count} 张名片", "{count} 個聯絡人"),
    "one_poll": ("a poll", "一个投票", "一個投票"),
    "more_poll": ("{count} polls", "{count} 个投票", "{count} 個投票"),
    "one_dice": ("a throw of dice", "一次骰子", "一次擲骰子"),
    "more_dice": ("{count} throws of dice", "{count} 次骰子", "{count} 次擲骰子"),
    "one_other": ("something of a kind I do not know", "一种我不认识的内容", "一種我不認識的內容"),
    "more_other": ("{count} things of kinds I do not know", "{count} 种我不认识的内容", "{count} 種我不認識的內容"),
}
