"""Who may write to the bot, and how ids are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "stranger": (
        "I do not know you yet. The operator of this bot must add your id: {id}",
        "我还不认识你。需要机器人的管理员添加你的 ID：{id}",
        "我還不認識你。需要機器人的管理員加入你的 ID：{id}",
    ),
    "stranger_first": (
        "I do not know you yet. If this bot is yours, write {pair} and the code that its console showed when it "
        "started; otherwise its operator must add your id: {id}",
        "我还不认识你。如果这是你的机器人，请写 {pair} 和它启动时控制台显示的配对码；否则需要管理员添加你的 ID：{id}",
        "我還不認識你。如果這是你的機器人，請寫 {pair} 和它啟動時主控台顯示的配對碼；否則需要管理員加入你的 ID：{id}",
    ),
    "faceless": (
        "Here you write as a group or a channel, so I cannot tell who is asking. Please write as yourself.",
        "我只回答个人。你现在以群组或频道的身份发言，我不知道是谁在提问，请用自己的账号发送。",
        "我只回答個人。你現在以群組或頻道的身分發言，我不知道是誰在提問，請用自己的帳號傳送。",
    ),
    "paired": (
        "Welcome! You now own this bot.",
        "欢迎！你现在是这个机器人的主人，我会回答你。",
        "歡迎！你現在是這個機器人的擁有者，我會回答你。",
    ),
    "pair_wrong": (
        "This code is wrong. The right one is on the bot's console.",
        "这个配对码不对。正确的配对码显示在机器人的控制台上。",
        "這個配對碼不對。正確的配對碼顯示在機器人的主控台上。",
    ),
    "pair_gone": (
        "The code has expired. Restart the bot: its console then shows a new one.",
        "配对码已经失效。请重新启动机器人，控制台会显示新的配对码。",
        "配對碼已經失效。請重新啟動機器人，主控台會顯示新的配對碼。",
    ),
    "pair_already": (
        "You already own this bot. To add another account of yours, write {link} here and use its code there.",
        "你已经是这个机器人的主人。要添加你的另一个账号，请在这里发送 {link}，再到那边发送配对码。",
        "你已經是這個機器人的擁有者。要加入你的另一個帳號，請在這裡輸入 {link}，再到那邊輸入配對碼。",
    ),
    "pair_allowed": (
        "This code is wrong or has expired. You can write to me as before.",
        "这个配对码不对或已过期。你仍然可以像以前一样使用我。",
        "這個配對碼不對或已過期。你仍然可以像以前一樣使用我。",
    ),
    "pair_stranger": (
        "This code is wrong or has expired. If this bot is yours, write `/link` to it from the account that it knows, "
        "then {pair} and the new code here. Otherwise its operator must add your id: {id}",
        "这个配对码不对或已过期。如果这是你的机器人，请用它认识的账号发送 `/link`，再在这里发送 {pair} 和新的配对码；"
        "否则需要管理员添加你的 ID：{id}",
        "這個配對碼不對或已過期。如果這是你的機器人，請用它認識的帳號輸入 `/link`，再在這裡輸入 {pair} 和新的配對碼；"
        "否則需要管理員加入你的 ID：{id}",
    ),
    "pair_too_many": (
        "Too many wrong codes. Try again in {wait}.",
        "输错的次数太多。请在 {wait}后再试。",
        "輸錯的次數太多。請在 {wait}後再試。",
    ),
    "link_code": (
        "Within 15 minutes, write `/pair {code}` to me from your other account, on any platform (in Slack: `pair "
        "{code}`). That account then owns this bot, too. The code works once; show it to nobody.",
        "请在 15 分钟内用你的另一个账号（任何平台均可）向我发送 `/pair {code}`（在 Slack 中：`pair {code}`）。"
        "那个账号随后也是这个机器人的主人。配对码只能使用一次，请不要给别人看。",
        "請在 15 分鐘內用你的另一個帳號（任何平台皆可）向我輸入 `/pair {code}`（在 Slack 中：`pair {code}`）。"
        "那個帳號隨後也是這個機器人的擁有者。配對碼只能使用一次，請不要給別人看。",
    ),
    "link_used": (
        "{id} used your code and now owns this bot, too. If that was not you, write `{forbid} {id}` at once.",
        "{id} 使用了你的配对码，现在是这个机器人的主人。如果那不是你，请立即发送 `{forbid} {id}`。",
        "{id} 使用了你的配對碼，現在是這個機器人的擁有者。如果那不是你，請立即輸入 `{forbid} {id}`。",
    ),
    "linked": (
        "Welcome! This account now owns this bot, too.",
        "欢迎！这个账号现在也是机器人的主人，我会回答你。",
        "歡迎！這個帳號現在也是機器人的擁有者，我會回答你。",
    ),
    "pair_usage": (
        "Write {pair} and the code that the bot's console showed when it started.",
        "请写 {pair} 和机器人启动时控制台显示的配对码。",
        "請寫 {pair} 和機器人啟動時主控台顯示的配對碼。",
    ),
    "pair_usage_link": (
        "Write {pair} and the code that `/link` shows an owner of this bot in a private chat.",
        "请写 {pair} 和机器人的主人在私聊中发送 `/link` 得到的配对码。",
        "請寫 {pair} 和機器人的擁有者在私人聊天中輸入 `/link` 得到的配對碼。",
    ),
    "whoami": (
        "You: `{person}`\nThis chat: `{chat}`",
        "你：`{person}`\n此聊天：`{chat}`",
        "你：`{person}`\n此聊天室：`{chat}`",
    ),
    "not_yours": (
        "Only the person who asked, or an admin, may do that.",
        "只有提问者或管理员可以这样做。",
        "只有提問者或管理員可以這麼做。",
    ),
    "admins_only": (
        "Only an admin of this bot may do that here.",
        "在这里，只有机器人的管理员可以这样做。",
        "在這裡，只有機器人的管理員可以這麼做。",
    ),
    "owners_only": (
        "Only an owner of this bot may do that.",
        "只有机器人的主人可以这样做。",
        "只有機器人的擁有者可以這麼做。",
    ),
    "in_private": (
        "I only tell you that in a private chat.",
        "这些内容我只在私聊中告诉你。",
        "這些內容我只在私人聊天中告訴你。",
    ),
    "allowed": (
        "{id} can write to me now ({role}).",
        "{id} 现在可以使用我了（{role}）。",
        "{id} 現在可以使用我了（{role}）。",
    ),
    "forbidden": ("{id} can no longer write to me.", "{id} 现在不能再使用我了。", "{id} 現在不能再使用我了。"),
    "allow_usage": (
        "Write an id (as {examples}), or `here` for this chat; an owner may add `=admin` or `=owner`. {whoami} shows "
        "ids.",
        "请写出 ID（如 {examples}），或用 `here` 表示此聊天；主人可以加上 `=admin` 或 `=owner`。"
        "发送 {whoami} 可以查看 ID。",
        "請寫出 ID（如 {examples}），或用 `here` 代表這個聊天室；擁有者可以加上 `=admin` 或 `=owner`。"
        "輸入 {whoami} 可以查看 ID。",
    ),
    "allow_not_this": (
        "What {id} may do cannot be changed here.",
        "不能在这里更改 {id} 的权限。",
        "無法在這裡變更 {id} 的權限。",
    ),
    "people_nobody": ("Nobody has a role yet.", "还没有人被授予权限。", "還沒有人獲得權限。"),
    "id_written": (
        "{text!r} is written wrongly and would match nobody: write {right}.",
        "{text!r} 的写法不对，不会匹配任何人：请写成 {right}。",
        "{text!r} 的寫法不正確，不會對應到任何人：請寫成 {right}。",
    ),
    "id_platform": (
        "{text!r} lacks its platform: write {right}.",
        "{text!r} 缺少平台：请写成 {right}。",
        "{text!r} 缺少平台：請寫成 {right}。",
    ),
    "id_group": (
        "{text!r} is a group, not a person: groups are written {right}, as /whoami shows there, and belong in "
        "ALLOWED_CHATS.",
        "{text!r} 是群组，不是个人：群组写成 {right}（在群里发送 /whoami 可以看到），并列在 ALLOWED_CHATS 中。",
        "{text!r} 是群組，不是個人：群組寫成 {right}（在群組輸入 /whoami 可以看到），並列在 ALLOWED_CHATS 中。",
    ),
    "id_person": (
        "{text!r} is not a person's id. Write one as {examples}.",
        "{text!r} 不是个人的 ID。个人的 ID 写成：{examples}。",
        "{text!r} 不是個人的 ID。個人的 ID 寫成：{examples}。",
    ),
    "id_chat": (
        "{text!r} is not a chat. Write one as {examples}; /whoami shows it in that chat.",
        "{text!r} 不是聊天。聊天写成：{examples}，在该聊天中发送 /whoami 可以看到。",
        "{text!r} 不是聊天室。聊天室寫成：{examples}，在該聊天室輸入 /whoami 可以看到。",
    ),
    "id_channel": (
        "{text!r} is not a chat. Write one as {examples}; /whoami shows it in that chat. A platform's name with :* "
        "means all of its chats.",
        "{text!r} 不是聊天。聊天写成：{examples}（在该聊天中发送 /whoami 可以看到），"
        "平台名加 :* 表示该平台的所有聊天。",
        "{text!r} 不是聊天室。聊天室寫成：{examples}（在該聊天室輸入 /whoami 可以看到），"
        "平台名加 :* 表示該平台的所有聊天室。",
    ),
    "id_who": (
        "{text!r} is not an id. Write one as {examples}, or admins or everybody.",
        "{text!r} 不是任何人的 ID。请写成：{examples}，或 admins、everybody。",
        "{text!r} 不是任何人的 ID。請寫成：{examples}，或 admins、everybody。",
    ),
    "allow_operator": (
        "The operator of this bot decides who may write in this chat.",
        "谁可以在此聊天中使用我，由机器人的运行者决定。",
        "誰可以在這個聊天室使用我，由機器人的營運者決定。",
    ),
    "id_workspace": (
        "{text!r} is not a workspace or server. Write one as {examples}.",
        "{text!r} 不是工作区或服务器。请写成：{examples}。",
        "{text!r} 不是工作空間或伺服器。請寫成：{examples}。",
    ),
    "id_role": (
        "{text!r} is not a role. Write one as {examples}.",
        "{text!r} 不是身份组。请写成：{examples}。",
        "{text!r} 不是身分組。請寫成：{examples}。",
    ),
    "id_any": (
        "{text!r} is not an id. Write one as {examples}, or `here` for this chat.",
        "{text!r} 不是 ID。请写成：{examples}，或用 `here` 表示此聊天。",
        "{text!r} 不是 ID。請寫成：{examples}，或用 `here` 代表這個聊天室。",
    ),
}
