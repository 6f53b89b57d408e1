"""Every sentence of our own that a person may read, in English and Chinese.

A sentence is plain, says what happened and what helps, and holds no path, address, key or stack trace.
"""

from __future__ import annotations

import math
import re

_TABLE: dict[str, tuple[str, str]] = {
    "busy": (
        "The model is overloaded right now. Please try again in a moment, or write {retry}. (Reference {id})",
        "模型现在很忙，请稍后再试，或发送 {retry}。（编号 {id}）",
    ),
    "away": (
        "The model cannot be reached right now. Please try again in a moment, or write {retry}. (Reference {id})",
        "现在连接不到模型，请稍后再试，或发送 {retry}。（编号 {id}）",
    ),
    "dropped": (
        "The model's answer broke off here. Write {retry} to ask again. (Reference {id})",
        "模型的回答在这里中断了。发送 {retry} 可以重新提问。（编号 {id}）",
    ),
    "replaced": (
        "(The model broke off here; another one goes on.)",
        "（模型在这里中断了，由另一个模型继续。）",
    ),
    "slow": (
        "The model did not answer in time. Write {retry} to ask again. (Reference {id})",
        "模型没有及时回答。发送 {retry} 可以重新提问。（编号 {id}）",
    ),
    "refused": (
        "The model cannot be used as it is configured. Whoever runs this bot has to look at it (reference {id}).",
        "当前的模型配置无法使用，需要机器人的管理员处理（编号 {id}）。",
    ),
    "too_long": (
        "This message is too long for the model. Please shorten it, or send it in parts. (Reference {id})",
        "这条消息对模型来说太长了。请缩短，或分几次发送。（编号 {id}）",
    ),
    "too_long_for_window": (
        "This message is too long for the model: it is about {tokens} tokens, and the model takes {window} with all "
        "else it is told. Please shorten it, or send it in parts. (Reference {id})",
        "这条消息对模型来说太长了：约 {tokens} 个 token，而模型连同其他内容最多接受 {window} 个。请缩短，或分几次发送。"
        "（编号 {id}）",
    ),
    "window_too_small": (
        "The model takes only {window} tokens, too few for what I have to tell it. Whoever runs this bot has to choose "
        "another one (reference {id}).",
        "当前模型只接受 {window} 个 token，不足以工作，需要机器人的管理员更换模型（编号 {id}）。",
    ),
    "too_much_found": (
        "What I looked up is too long for the model. Ask for less at a time. (Reference {id})",
        "查到的内容对模型来说太长了，请一次少问一些。（编号 {id}）",
    ),
    "empty": (
        "The model gave no answer. Write {retry} to ask again. (Reference {id})",
        "模型没有给出回答。发送 {retry} 可以重新提问。（编号 {id}）",
    ),
    "empty_after_tools": (
        "I used {tools}, but could not make an answer of the results. Write {retry} to ask again. (Reference {id})",
        "我使用了 {tools}，但没能根据结果写出回答。发送 {retry} 可以重新提问。（编号 {id}）",
    ),
    "length": (
        "The answer stops here: the model reached its limit. Ask me to go on if you want more.",
        "回答到此为止：已达到模型的长度上限。需要的话可以让我继续。",
    ),
    "cut": (
        "The answer was cut here because it became too long.",
        "回答过长，已在此处截断。",
    ),
    "rounds": (
        "I have used all the steps that one question may take, so something may be missing. Ask me to go on if it is.",
        "一个问题可用的步骤已用完，内容可能不完整。需要的话可以让我继续。",
    ),
    "filtered": (
        "The model's provider withheld the rest of this answer.",
        "模型提供方隐藏了其余的回答。",
    ),
    "stopped": ("Stopped.", "已停止。"),
    "stopped_nothing": ("Nothing is being answered right now.", "当前没有正在进行的回答。"),
    "shutdown": (
        "I am being restarted and will go on with this answer in a moment.",
        "我正在重启，马上会继续这个回答。",
    ),
    "offline": (
        "I was offline when you wrote this. Please send it again.",
        "你写这条消息时我不在线，请再发一次。",
    ),
    "failed": (
        "Something went wrong on my side and I could not answer (reference {id}). Please try again.",
        "我这边出了点问题，没能回答（编号 {id}）。请再试一次。",
    ),
    "store": (
        "I cannot keep notes right now, so I cannot answer yet. I will go on as soon as I can. (Reference {id})",
        "我现在无法保存记录，暂时不能回答；恢复后会继续。（编号 {id}）",
    ),
    "waiting": (
        "Received: “{text}”. It waits for the answer before it.",
        "已收到：“{text}”，正在等待前面的回答。",
    ),
    "queue_full": (
        "Several of your messages are waiting already. Please wait for their answers.",
        "你已有多条消息在排队，请等待它们的回答。",
    ),
    "queue_full_chat": (
        "Many messages wait in this chat already. Please write again in a while.",
        "此聊天已有很多消息在排队，请稍后再试。",
    ),
    "too_many": (
        "That is a lot of messages in one minute. Please wait a little.",
        "一分钟内的消息太多了，请稍等片刻。",
    ),
    "spent_person": (
        "You have used up what I may spend for you today. It starts afresh in {wait}.",
        "你今天的用量已达上限，{wait}后重新计算。",
    ),
    "spent_chat": (
        "This chat has used up what I may spend on it today. It starts afresh in {wait}.",
        "此聊天今天的用量已达上限，{wait}后重新计算。",
    ),
    "spent_all": (
        "I have used up everything I may spend today. It starts afresh in {wait}.",
        "我今天的总用量已达上限，{wait}后重新计算。",
    ),
    "spent_nobody": (
        "This question needs more than I may spend in a whole day. A shorter one may fit; the operator can allow more.",
        "这个问题所需的用量超过了一整天的上限。可以缩短问题再试，或请管理员提高上限。",
    ),
    "usage_head": ("**Today** (starts afresh in {wait})", "**今日用量**（{wait}后重新计算）"),
    "usage_line": ("- {who}: {messages} questions, {tokens}, {money}", "- {who}：{messages} 个问题，{tokens}，{money}"),
    "usage_tokens": ("{count} tokens", "{count} 个 token"),
    "usage_of": ("{spent} of {most} ({left} left)", "{spent}（共 {most}，剩余 {left}）"),
    "usage_unpriced": ("cost unknown", "费用未知"),
    "usage_you": ("you", "你"),
    "usage_chat": ("this chat", "此聊天"),
    "usage_all": ("everybody", "所有人"),
    "usage_tools": ("- of it for tools: {tools}", "- 其中工具：{tools}"),
    "usage_others": ("- of it without admins: {tokens}, {money}", "- 其中管理员以外：{tokens}，{money}"),
    "usage_top": ("Who used most:", "用量最多的人："),
    "allowed": ("{id} may write to me now ({role}).", "{id} 现在可以使用我了（{role}）。"),
    "forbidden": ("{id} is kept from writing to me now.", "{id} 现在不能再使用我了。"),
    "allow_usage": (
        "Write an id (`telegram:123`, `slack:T1/U1`, `discord:456`), or `here` for this chat; an owner may add "
        "`=admin` or `=owner`. {whoami} shows ids.",
        "请写出 ID（`telegram:123`、`slack:T1/U1`、`discord:456`），或用 `here` 表示此聊天；主人可以加上 `=admin` 或 "
        "`=owner`。发送 {whoami} 可以查看 ID。",
    ),
    "id_written": (
        "{text!r} is not how this id is written and would match nobody: write {right}.",
        "{text!r} 的写法不对，不会匹配任何人：请写成 {right}。",
    ),
    "id_platform": (
        "{text!r} lacks its platform: write telegram:{number} or discord:{number}.",
        "{text!r} 缺少平台：请写成 telegram:{number} 或 discord:{number}。",
    ),
    "id_group": (
        "{text!r} is a group, not a person: a group is written telegram:BOT/{number}, as /whoami shows it there, and "
        "listed in ALLOWED_CHATS.",
        "{text!r} 是群组，不是个人：群组写成 telegram:BOT/{number}（在群里发送 /whoami 可以看到），并列在 "
        "ALLOWED_CHATS 中。",
    ),
    "id_person": (
        "{text!r} is no id of a person: write telegram:123, slack:T1/U1 or discord:456.",
        "{text!r} 不是个人的 ID：请写成 telegram:123、slack:T1/U1 或 discord:456。",
    ),
    "id_chat": (
        "{text!r} is no chat: write telegram:BOT/CHAT, slack:TEAM/CHANNEL or discord:APP/CHANNEL, as /whoami shows it "
        "in that chat.",
        "{text!r} 不是聊天：请写成 telegram:BOT/CHAT、slack:TEAM/CHANNEL 或 discord:APP/CHANNEL，在该聊天中发送 "
        "/whoami 可以看到。",
    ),
    "id_workspace": (
        "{text!r} is no workspace or server: write slack:T1 or discord:SERVER.",
        "{text!r} 不是工作区或服务器：请写成 slack:T1 或 discord:SERVER。",
    ),
    "id_role": ("{text!r} is no role: write discord:ROLE.", "{text!r} 不是身份组：请写成 discord:ROLE。"),
    "id_any": (
        "{text!r} is no id: write telegram:123, slack:T1/U1, discord:456, or `here` for this chat.",
        "{text!r} 不是 ID：请写成 telegram:123、slack:T1/U1、discord:456，或用 `here` 表示此聊天。",
    ),
    "allow_not_this": ("What {id} may do is not changed here.", "不能在这里更改 {id} 的权限。"),
    "people_nobody": ("Nobody has a role yet.", "还没有人被授予权限。"),
    "in_private": ("I tell you that in a private chat only.", "这些内容我只在私聊中告诉你。"),
    "too_big": (
        "This message is too long for me: {length} characters, and I read up to {limit}.",
        "这条消息太长了：共 {length} 个字符，我最多能读 {limit} 个。",
    ),
    "stranger": (
        "I do not know you yet. The operator of this bot must add your id: {id}",
        "我还不认识你。需要机器人的管理员添加你的 ID：{id}",
    ),
    "started": (
        "Hello! Write me a question; I can look things up and do sums. {help} shows what I understand.",
        "你好！直接向我提问吧，我可以查资料、做计算。发送 {help} 查看我能做什么。",
    ),
    "new": ("A new conversation begins here.", "新的对话从这里开始。"),
    "new_own": (
        "A new conversation begins here for you. What others asked stays; an admin may write `{all}`.",
        "你的新对话从这里开始。其他人的提问会保留；管理员可以发送 `{all}`。",
    ),
    "retry_nothing": ("There is no question to answer again.", "没有可以重新回答的问题。"),
    "not_yours": (
        "Only the person who asked, or an admin, may do that.",
        "只有提问者或管理员可以这样做。",
    ),
    "unknown_command": (
        "I do not know the command {word}. {help} shows those I know.",
        "我不认识命令 {word}。发送 {help} 查看可用命令。",
    ),
    "no_tools": ("No tools are available.", "没有可用的工具。"),
    "tool_which": (
        "Which tool? Write its name and what to do, for example `/tool calculator 1+2`. I have: {names}.",
        "要用哪个工具？请写出名称和参数，例如 `/tool calculator 1+2`。可用工具：{names}。",
    ),
    "tool_unknown": (
        "I have no tool {name}. I have: {names}.",
        "没有名为 {name} 的工具。可用工具：{names}。",
    ),
    "tool_unknown_near": (
        "I have no tool {name}. Did you mean {names}?",
        "没有名为 {name} 的工具。你是不是想用：{names}？",
    ),
    "tool_arguments": (
        "{name} was not run: {problems}. Write it as `{usage}`, or put the values in this order, parted by commas.",
        "没有运行 {name}：{problems}。请写成 `{usage}`，或按此顺序用逗号分隔各个值。",
    ),
    "model_now": ("This chat is answered by {model}.", "此聊天由 {model} 回答。"),
    "model_set": ("From now on this chat is answered by {model}.", "此聊天从现在起由 {model} 回答。"),
    "model_unknown": (
        "I cannot use {model} here. I can use: {choices}.",
        "这里不能使用 {model}。可以使用：{choices}。",
    ),
    "paired": (
        "Welcome. You are the owner of this bot now, and I answer you.",
        "欢迎！你现在是这个机器人的主人，我会回答你。",
    ),
    "pair_wrong": (
        "This code is not valid, or not any more. The operator's console shows the current one.",
        "这个配对码无效或已过期，请查看运行机器人的控制台。",
    ),
    "delayed": (
        "The rest follows in {wait}: I cannot write here until then.",
        "其余内容将在{wait}后补上，在此之前我无法在这里发送消息。",
    ),
    "sources": ("Sources", "来源"),
    "file_too_large": (
        "The file {name} ({size}) is too large to be posted here.",
        "文件 {name}（{size}）太大，无法在这里发送。",
    ),
    "file_unsure": (
        "I cannot tell whether the file {name} arrived here. Ask me for it again if it did not. (Reference {id})",
        "无法确定文件 {name} 是否已发送。如果没有收到，请让我再发一次。（编号 {id}）",
    ),
    "file_failed": (
        "The file {name} could not be posted here. (Reference {id})",
        "文件 {name} 无法在这里发送。（编号 {id}）",
    ),
    "reminder": ("⏰ {text}", "⏰ {text}"),
    "reminder_late": (
        "⏰ {text}\n\n(This was due {when}, when I could not write.)",
        "⏰ {text}\n\n（这条提醒原定于 {when}，当时我无法发送。）",
    ),
    "why_nothing": ("Nothing was answered here yet.", "这里还没有回答过问题。"),
    "why_model": (
        "The last answer came from **{model}**: model calls: {passes}, in {seconds} s.",
        "上一个回答来自 **{model}**：调用模型 {passes} 次，用时 {seconds} 秒。",
    ),
    "why_no_tools": ("No tool was used.", "没有使用工具。"),
    "why_call": (
        "- **{name}** `{arguments}`: {status}, {seconds} s",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒",
    ),
    "why_call_paid": (
        "- **{name}** `{arguments}`: {status}, {seconds} s, {cost}",
        "- **{name}** `{arguments}`：{status}，{seconds} 秒，{cost}",
    ),
    "why_more": ("- and {count} more", "- 以及另外 {count} 次"),
    "why_pending": ("not begun", "未开始"),
    "why_running": ("running", "运行中"),
    "why_completed": ("completed", "完成"),
    "why_failed": ("failed", "失败"),
    "why_timeout": ("took too long", "超时"),
    "why_cancelled": ("cancelled", "已取消"),
    "why_cached": ("known already, not run again", "已有结果，未再次运行"),
    "why_tokens": (
        "Tokens: {prompt} read ({cached} of them cached), {completion} written ({reasoning} of them thinking).",
        "Token：读取 {prompt}（其中缓存 {cached}），生成 {completion}（其中思考 {reasoning}）。",
    ),
    "why_cost": ("Cost: about {cost}.", "费用：约 {cost}。"),
    "why_cost_unknown": (
        "Cost: unknown, because no price is known for this model.",
        "费用：未知，没有该模型的价格。",
    ),
    "memory_listed": ("This is what I remember:", "我记住的内容："),
    "memory_empty": ("I remember nothing here.", "我这里没有记住任何内容。"),
    "memory_outside": (
        "kept beside text from outside; used only when it is looked up",
        "记住时对话中有外部内容，只在查找时使用",
    ),
    "memory_usage": ("Write `{command} forget N` to delete one.", "发送 `{command} forget N` 可以删除一条。"),
    "memory_forgotten": ("Fact {number} is forgotten.", "第 {number} 条已删除。"),
    "memory_no_such": (
        "I remember nothing with the number {number} here; `{command}` lists everything.",
        "这里没有编号为 {number} 的内容，发送 `{command}` 可以查看全部。",
    ),
    "context": (
        "{model} is told the last {turns} turns of this chat word for word: about {tokens} tokens with everything "
        "below, of {window} that may be sent.",
        "{model} 会逐字看到此聊天最近的 {turns} 轮对话：连同以下内容约 {tokens} 个 token，最多可发送 {window} 个。",
    ),
    "context_left_out": (
        "{turns} older turns do not fit, and are not in the summary yet.",
        "另有 {turns} 轮较早的对话放不下，暂时也不在摘要中。",
    ),
    "context_facts": ("What I remember is told too:", "还包括我记住的内容："),
    "context_summary": (
        "Of the {turns} turns before these it is told this summary:",
        "更早的 {turns} 轮对话以这份摘要代替：",
    ),
    "forget_sure": (
        "This deletes everything kept of this chat for good: {turns} turns, reminders and files. Write `{command} yes` "
        "to do it. What I remember about you stays; `{memory}` shows it.",
        "这会永久删除此聊天的全部记录：{turns} 轮对话、提醒和文件。确定的话请发送 `{command} yes`。"
        "我记住的关于你的内容会保留，可用 `{memory}` 查看。",
    ),
    "forgotten": (
        "Everything kept of this chat is deleted: {turns} turns.",
        "此聊天的全部记录已删除：共 {turns} 轮对话。",
    ),
    "unread": (
        "I cannot read this yet: {what}. Please write me what matters in it.",
        "我还不能读取：{what}。请把重要的内容用文字告诉我。",
    ),
    "unread_beside": (
        "I cannot read this yet, so my answer leaves it aside: {what}.",
        "我还不能读取：{what}，以下回答没有考虑其中的内容。",
    ),
    "kind_named": ("{kind} ({names})", "{kind}（{names}）"),
    "one_file": ("a file", "一个文件"),
    "more_file": ("{count} files", "{count} 个文件"),
    "one_picture": ("a picture", "一张图片"),
    "more_picture": ("{count} pictures", "{count} 张图片"),
    "one_animation": ("an animation", "一个动图"),
    "more_animation": ("{count} animations", "{count} 个动图"),
    "one_audio": ("a sound recording", "一段音频"),
    "more_audio": ("{count} sound recordings", "{count} 段音频"),
    "one_voice": ("a voice message", "一条语音消息"),
    "more_voice": ("{count} voice messages", "{count} 条语音消息"),
    "one_video": ("a video", "一段视频"),
    "more_video": ("{count} videos", "{count} 段视频"),
    "one_video_note": ("a video message", "一条视频消息"),
    "more_video_note": ("{count} video messages", "{count} 条视频消息"),
    "one_sticker": ("a sticker", "一个贴纸"),
    "more_sticker": ("{count} stickers", "{count} 个贴纸"),
    "one_location": ("a location", "一个位置"),
    "more_location": ("{count} locations", "{count} 个位置"),
    "one_contact": ("a contact", "一张名片"),
    "more_contact": ("{count} contacts", "{count} 张名片"),
    "one_poll": ("a poll", "一个投票"),
    "more_poll": ("{count} polls", "{count} 个投票"),
    "one_dice": ("a throw of dice", "一次骰子"),
    "more_dice": ("{count} throws of dice", "{count} 次骰子"),
    "one_other": ("something of a kind I do not know", "一种我不认识的内容"),
    "more_other": ("{count} things of kinds I do not know", "{count} 种我不认识的内容"),
    "why_own": (
        "The last answer was a sentence of my own: no model was asked.",
        "上一个回答是固定的提示，没有调用模型。",
    ),
    "empty_question": ("What would you like to know?", "你想问什么？"),
}


def chinese(text: str) -> bool:
    """Whether a person who writes `text` reads Chinese: a fifth of its letters are Han and none is kana."""
    letters = [sign for sign in text if sign.isalpha()]
    han = sum("\u4e00" <= sign <= "\u9fff" for sign in letters)
    kana = sum("\u3040" <= sign <= "\u30ff" for sign in letters)
    return bool(han) and not kana and han * 5 >= len(letters)


def language_of(text: str, hint: str = "") -> str:
    """`zh` or `en`: from what the person wrote, else from what the platform says of them."""
    if re.search(r"[^\W\d_]", text):
        return "zh" if chinese(text) else "en"
    return "zh" if hint.lower().startswith("zh") else "en"


def how_long(seconds: float, language: str) -> str:
    """A time to wait, as people say it: `40 seconds`, `5 minutes`, `3 h 20 min`."""
    minutes = math.ceil(seconds / 60)
    if seconds <= 90:
        return f"{math.ceil(seconds)} 秒" if language == "zh" else f"{math.ceil(seconds)} seconds"
    if minutes < 100:
        return f"{minutes} 分钟" if language == "zh" else f"{minutes} minutes"
    hours, rest = divmod(minutes, 60)
    return f"{hours} 小时 {rest} 分钟" if language == "zh" else f"{hours} h {rest} min"


def say(key: str, language: str, **values: object) -> str:
    """The sentence `key` in `language` (`zh` or `en`)."""
    english, han = _TABLE[key]
    return (han if language == "zh" else english).format(**values)
