"""The commands' descriptions, and the answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words

SENTENCES: Final[Mapping[str, Words]] = {
    "started": (
        "Hello! Write me a question; I can look things up and do sums. {help} shows what I understand.",
        "你好！直接向我提问吧，我可以查资料、做计算。发送 {help} 查看我能做什么。",
        "你好！直接向我提問吧，我可以查資料、做計算。輸入 {help} 看看我會做什麼。",
    ),
    "unknown_command": (
        "I do not know the command {word}. {help} shows those I know.",
        "我不认识命令 {word}。发送 {help} 查看可用命令。",
        "我不認識指令 {word}。輸入 {help} 查看可用的指令。",
    ),
    "new": ("A new conversation starts here.", "新的对话从这里开始。", "新的對話從這裡開始。"),
    "new_own": (
        "Your new conversation starts here. Other people's questions stay; an admin can write `{all}`.",
        "你的新对话从这里开始。其他人的提问会保留；管理员可以发送 `{all}`。",
        "你的新對話從這裡開始。其他人的提問會保留；管理員可以輸入 `{all}`。",
    ),
    "retry_nothing": ("There is no question to answer again.", "没有可以重新回答的问题。", "沒有可以重新回答的問題。"),
    "and": (", ", "、", "、"),
    "semicolon": ("; ", "；", "；"),
    "tool_which": (
        "Which tool? Write its name and what to do, for example `{command} calculator 1+2`. I have: {names}.",
        "要用哪个工具？请写出名称和参数，例如 `{command} calculator 1+2`。可用工具：{names}。",
        "要用哪個工具？請寫出名稱和參數，例如 `{command} calculator 1+2`。可用的工具：{names}。",
    ),
    "tool_unknown": (
        "I have no tool {name}. I have: {names}.",
        "没有名为 {name} 的工具。可用工具：{names}。",
        "沒有名為 {name} 的工具。可用的工具：{names}。",
    ),
    "tool_unknown_near": (
        "I have no tool {name}. Did you mean {names}?",
        "没有名为 {name} 的工具。你是不是想用：{names}？",
        "沒有名為 {name} 的工具。你是不是想用：{names}？",
    ),
    "tool_arguments": (
        "{name} was not run: {problems}. Write it as `{usage}`, or put the values in this order, separated by commas.",
        "没有运行 {name}：{problems}。请写成 `{usage}`，或按此顺序用逗号分隔各个值。",
        "沒有執行 {name}：{problems}。請寫成 `{usage}`，或依此順序用逗號分隔各個值。",
    ),
    "tool_off": ("The tool {name} is switched off here.", "工具 {name} 在这里已停用。", "工具 {name} 在這裡已停用。"),
    "tool_not_yours": (
        "You may not use the tool {name} here; the operator of this bot decides who may.",
        "你在这里不能使用工具 {name}，由机器人的管理员决定谁可以使用。",
        "你在這裡不能使用工具 {name}，由機器人的管理員決定誰可以使用。",
    ),
    "persona_now": (
        "These are this chat's instructions for me; `{command} off` removes them:",
        "这是此聊天给我的指示；发送 `{command} off` 可以取消：",
        "這是這個聊天室給我的指示；輸入 `{command} off` 可以取消：",
    ),
    "persona_none": (
        "This chat has no instructions of its own for me. Write `{command}` and what you want of me.",
        "此聊天没有给我专门的指示。发送 `{command}` 加上你的要求即可设置。",
        "這個聊天室沒有給我專屬的指示。輸入 `{command}` 加上你的要求即可設定。",
    ),
    "persona_given": (
        "The operator of this bot wrote instructions for this chat, too; they come first.",
        "机器人的运行者也为此聊天写了指示，优先于此聊天自己的指示。",
        "機器人的營運者也為這個聊天室寫了指示，優先於聊天室自己的指示。",
    ),
    "persona_set": (
        "From now on I follow these instructions in this chat. `{command} off` removes them.",
        "从现在起，我在此聊天中按这些指示回答。发送 `{command} off` 可以取消。",
        "從現在起，我在這個聊天室依這些指示回答。輸入 `{command} off` 可以取消。",
    ),
    "persona_off": (
        "This chat's own instructions are gone.",
        "此聊天的专门指示已取消。",
        "這個聊天室的專屬指示已取消。",
    ),
    "persona_long": (
        "These instructions have {length:character|characters}; at most {limit} fit. Please shorten them.",
        "这些指示有 {length} 个字符，最多 {limit} 个。请缩短。",
        "這些指示有 {length} 個字元，最多 {limit} 個。請縮短。",
    ),
    "busy_queue": (
        "A question that you send while I answer waits its turn.",
        "我正在回答时收到的新问题会排队等候。",
        "我正在回答時收到的新問題會排隊等候。",
    ),
    "busy_collect": (
        "Messages that you send within two seconds of each other become one question. I wait that long before I start.",
        "两秒内接连发送的内容算作一个问题；我会等这么久再开始回答。",
        "兩秒內接連傳送的內容算作一個問題；我會等這麼久再開始回答。",
    ),
    "busy_interrupt": (
        "Your new question stops the answer that I am writing for you.",
        "你发来新问题时，我会停止正在为你写的回答。",
        "你傳來新問題時，我會停止正在為你寫的回答。",
    ),
    "busy_steer": (
        "What you send while I work on your question is considered as soon as I read my tools' results; otherwise "
        "it waits its turn.",
        "我处理你的问题时，你发送的内容会在我读取工具结果时一并考虑；否则排队等候。",
        "我處理你的問題時，你傳送的內容會在我讀取工具結果時一併考慮；否則排隊等候。",
    ),
    "busy_modes": (
        "Change it with `{command} queue`, `{command} collect`, `{command} interrupt` or `{command} steer`.",
        "可用 `{command} queue`（排队）、`{command} collect`（合并）、`{command} interrupt`（打断）或 "
        "`{command} steer`（补充）来更改。",
        "可用 `{command} queue`（排隊）、`{command} collect`（合併）、`{command} interrupt`（打斷）或 "
        "`{command} steer`（補充）來更改。",
    ),
    "model_now": ("{model} answers in this chat.", "此聊天由 {model} 回答。", "這個聊天室由 {model} 回答。"),
    "model_given": (
        "{model} answers in this chat, as the operator of this bot chose.",
        "此聊天由 {model} 回答，这是机器人的运行者为此聊天选择的。",
        "這個聊天室由 {model} 回答，這是機器人的營運者為此聊天室選擇的。",
    ),
    "model_set": (
        "From now on {model} answers in this chat.",
        "此聊天从现在起由 {model} 回答。",
        "這個聊天室從現在起由 {model} 回答。",
    ),
    "model_choices": ("I can use: {choices}.", "可以使用：{choices}。", "可以使用：{choices}。"),
    "model_unknown": (
        "I cannot use {model} here. I can use: {choices}.",
        "这里不能使用 {model}。可以使用：{choices}。",
        "這裡無法使用 {model}。可以使用：{choices}。",
    ),
    "memory_listed": ("This is what I remember:", "我记住的内容：", "我記住的內容："),
    "memory_empty": ("I remember nothing here.", "我这里没有记住任何内容。", "我在這裡沒有記住任何內容。"),
    "memory_outside": (
        "noted beside text from outside; used only when looked up",
        "记住时对话中有外部内容，只在查找时使用",
        "記住時對話中有外部內容，只在查詢時使用",
    ),
    "memory_usage": (
        "Write `{command} forget N` to delete one.",
        "发送 `{command} forget N` 可以删除一条。",
        "輸入 `{command} forget N` 可以刪除一則。",
    ),
    "memory_forgotten": ("Fact {number} is forgotten.", "第 {number} 条已删除。", "第 {number} 則已刪除。"),
    "memory_no_such": (
        "I remember nothing with the number {number} here; `{command}` lists everything.",
        "这里没有编号为 {number} 的内容，发送 `{command}` 可以查看全部。",
        "這裡沒有編號 {number} 的內容，輸入 `{command}` 可以查看全部。",
    ),
    "reminders_listed": ("Your reminders here ({zone}):", "你在这里的提醒（{zone}）：", "你在這裡的提醒（{zone}）："),
    "reminders_none": (
        "You have no reminders here. Ask me for one: remind me every weekday at 8 to stretch.",
        "你在这里没有等待中的提醒。可以这样设置：每个工作日早上八点提醒我活动一下。",
        "你在這裡沒有等待中的提醒。可以這樣設定：每個工作日早上八點提醒我活動一下。",
    ),
    "reminders_page": (
        "Page {page} of {pages}. Write `{command} N` for another page.",
        "第 {page} 页，共 {pages} 页。发送 `{command} N` 查看其他页。",
        "第 {page} 頁，共 {pages} 頁。輸入 `{command} N` 查看其他頁。",
    ),
    "reminders_asks": ("question:", "提问：", "提問："),
    "reminders_paused": ("paused", "已暂停", "已暫停"),
    "reminders_usage": (
        "Write `{command} pause N`, `{command} resume N` or `{command} delete N`.",
        "发送 `{command} pause N` 暂停、`{command} resume N` 恢复、`{command} delete N` 删除。",
        "輸入 `{command} pause N` 暫停、`{command} resume N` 恢復、`{command} delete N` 刪除。",
    ),
    "reminders_pause": (
        "Reminder {number} is paused until you resume it.",
        "提醒 {number} 已暂停，恢复前不会发送。",
        "提醒 {number} 已暫停，恢復前不會傳送。",
    ),
    "reminders_resume": (
        "Reminder {number} continues: next {when}.",
        "提醒 {number} 已恢复，下一次：{when}。",
        "提醒 {number} 已恢復，下一次：{when}。",
    ),
    "reminders_delete": ("Reminder {number} is deleted.", "提醒 {number} 已删除。", "提醒 {number} 已刪除。"),
    "reminders_no_such": (
        "You have no reminder {number} here; `{command}` lists them.",
        "你在这里没有编号为 {number} 的提醒，发送 `{command}` 可以查看。",
        "你在這裡沒有編號 {number} 的提醒，輸入 `{command}` 可以查看。",
    ),
    "reminders_once": (
        "Reminder {number} comes only once; it can be deleted, not paused.",
        "提醒 {number} 只有一次，可以删除，不能暂停。",
        "提醒 {number} 只有一次，可以刪除，不能暫停。",
    ),
    "forget_sure": (
        "This permanently deletes everything stored about this chat: {turns:turn|turns}, reminders and files. Write "
        "`{command} yes` to confirm. What I remember about you stays; `{memory}` shows it.",
        "这会永久删除此聊天的全部记录：{turns} 轮对话、提醒和文件。确定的话请发送 `{command} yes`。"
        "我记住的关于你的内容会保留，可用 `{memory}` 查看。",
        "這會永久刪除這個聊天室的所有紀錄：{turns} 輪對話、提醒和檔案。確定的話請輸入 `{command} yes`。"
        "我記住的關於你的內容會保留，可用 `{memory}` 查看。",
    ),
    "export": (
        "Here is what is stored about this chat: {turns:question|questions} with the answers.",
        "这是此聊天保存的内容：{turns} 个提问及回答。",
        "這是這個聊天室保存的內容：{turns} 個提問及回答。",
    ),
    "export_own": (
        "Here are your questions in this chat, with their answers: {turns}. An admin can write `{all}` for "
        "everybody's.",
        "这是你在此聊天中的 {turns} 个提问及回答。管理员可以发送 `{all}` 导出所有人的。",
        "這是你在這個聊天室的 {turns} 個提問及回答。管理員可以輸入 `{all}` 匯出所有人的。",
    ),
    "export_left_out": (
        "The oldest {count} are missing: a file can have at most {size} MB here. The operator of this bot can "
        "export all.",
        "最早的 {count} 个未包含在内：这里的文件最大 {size} MB。机器人的管理员可以导出全部。",
        "最早的 {count} 個沒有包含在內：這裡的檔案最大 {size} MB。機器人的管理員可以匯出全部。",
    ),
    "export_nothing": (
        "Nothing is stored about this chat that I could export for you.",
        "此聊天没有可以为你导出的内容。",
        "這個聊天室沒有可以為你匯出的內容。",
    ),
    "export_usage": (
        "Write `{command}` for a Markdown file or `{command} json` for JSON; in a group, add `all` for everybody's "
        "questions.",
        "发送 `{command}` 得到 Markdown 文件，`{command} json` 得到 JSON；在群里加上 `all` 导出所有人的提问。",
        "輸入 `{command}` 取得 Markdown 檔案，`{command} json` 取得 JSON；在群組裡加上 `all` 匯出所有人的提問。",
    ),
    "forgotten": (
        "Everything stored about this chat is deleted: {turns:turn|turns}.",
        "此聊天的全部记录已删除：共 {turns} 轮对话。",
        "這個聊天室的所有紀錄已刪除：共 {turns} 輪對話。",
    ),
    "forgotten_soon": (
        "Another program is reading the database right now; the files are overwritten as soon as it is done.",
        "另一个程序正在读取这些数据，读取结束后，文件中的内容也会立即清除。",
        "另一個程式正在讀取這些資料，讀取結束後，檔案中的內容也會立即清除。",
    ),
    "command_start": ("say hello", "打招呼", "打招呼"),
    "command_help": ("show what I understand", "显示可用命令", "顯示可用的指令"),
    "command_new": ("begin a new conversation", "开始新的对话", "開始新的對話"),
    "command_stop": ("stop the answer being written", "停止正在写的回答", "停止正在寫的回答"),
    "command_retry": ("answer the last question again", "重新回答上一个问题", "重新回答上一個問題"),
    "command_job": (
        "do an hour's work, beside our conversation",
        "在我们聊天的同时完成一项长任务",
        "在我們聊天的同時完成一項長任務",
    ),
    "command_tool": ("use one tool at once", "直接使用一个工具", "直接使用一個工具"),
    "command_tools": ("list what I can use", "列出可用工具", "列出可用的工具"),
    "command_model": ("show or change the model of this chat", "查看或更换此聊天的模型", "查看或更換這個聊天室的模型"),
    "command_persona": (
        "show or set what I should be like in this chat",
        "查看或设置我在此聊天中的角色",
        "查看或設定我在這個聊天室的角色",
    ),
    "command_busy": (
        "what happens to a question while I answer another",
        "我正在回答时如何处理新问题",
        "我正在回答時如何處理新問題",
    ),
    "command_voice": (
        "hear the last answer, or every answer here from now on",
        "朗读上一个回答，或让此聊天的回答附带语音",
        "朗讀上一個回答，或讓這個聊天室的回答附上語音",
    ),
    "command_memory": (
        "show what I remember, or forget some of it",
        "查看或删除我记住的内容",
        "查看或刪除我記住的內容",
    ),
    "command_reminders": (
        "list your reminders here, or pause, resume or delete one",
        "查看、暂停、恢复或删除你在这里的提醒",
        "查看、暫停、恢復或刪除你在這裡的提醒",
    ),
    "command_context": ("show what I see of this chat", "查看我能看到的对话内容", "查看我能看到的對話內容"),
    "command_forget": ("delete everything stored about this chat", "删除此聊天的全部记录", "刪除這個聊天室的所有紀錄"),
    "command_export": (
        "export this chat as a file",
        "把此聊天保存的内容作为文件发送",
        "把這個聊天室保存的內容以檔案傳送",
    ),
    "command_why": ("show how the last answer came about", "查看上一个回答是怎么来的", "查看上一個回答是怎麼來的"),
    "command_whoami": ("show your id and this chat's", "显示你和此聊天的 ID", "顯示你和此聊天室的 ID"),
    "command_usage": ("show what you used today", "查看今天的用量", "查看今天的用量"),
    "command_pair": (
        "become an owner with the code from the console, or from another account of yours",
        "用控制台或你的另一个账号给出的配对码成为主人",
        "用主控台或你的另一個帳號給出的配對碼成為擁有者",
    ),
    "command_link": (
        "show a code that makes another account of yours an owner",
        "获取配对码，让你的另一个账号也成为主人",
        "取得配對碼，讓你的另一個帳號也成為擁有者",
    ),
    "command_allow": (
        "let somebody, or this chat, write to me",
        "允许某人或此聊天使用我",
        "允許某人或這個聊天室使用我",
    ),
    "command_forbid": (
        "keep somebody, or this chat, from writing to me",
        "禁止某人或此聊天使用我",
        "禁止某人或這個聊天室使用我",
    ),
    "command_people": ("list who may write to me", "列出可以使用我的人", "列出可以使用我的人"),
    "prompt_help": ("What can you do for me?", "你能为我做什么？", "你能為我做什麼？"),
    "prompt_news": ("What is in the news today?", "今天有什么新闻？", "今天有什麼新聞？"),
    "prompt_explain": (
        "Explain in a few sentences why the sky is blue.",
        "用几句话解释天空为什么是蓝色的。",
        "用幾句話解釋天空為什麼是藍色的。",
    ),
    "about_menu": ("Ask about this message", "询问这条消息", "詢問這則訊息"),
    "about_question": ("Your question", "你的问题", "你的問題"),
    "about_send": ("Ask", "提问", "提問"),
    "about_default": ("Explain this message.", "请解释这条消息。", "請解釋這則訊息。"),
    "command_ask": ("ask me anything", "向我提问", "向我提問"),
    "argument_ask": ("what you want to know", "你想问什么", "你想問什麼"),
    "argument_new": ("all: for everybody here", "all：对此处所有人生效", "all：對這裡的所有人生效"),
    "argument_job": ("what is to be done", "要完成的任务", "要完成的任務"),
    "argument_tool_name": ("the tool's name", "工具名称", "工具名稱"),
    "argument_tool": ("the tool's arguments", "工具的参数", "工具的參數"),
    "argument_model": ("provider:name", "提供方:模型名", "供應商:模型名稱"),
    "argument_persona": ("what I should be like, or off", "我应有的角色，或 off 取消", "我應有的角色，或 off 取消"),
    "argument_busy": (
        "queue, collect, interrupt or steer",
        "queue、collect、interrupt 或 steer",
        "queue、collect、interrupt 或 steer",
    ),
    "argument_export": (
        "json: as JSON; all: of everybody here",
        "json：JSON 格式；all：此处所有人的",
        "json：JSON 格式；all：這裡所有人的",
    ),
    "argument_voice": ("on or off: all answers here", "on 或 off：此处的全部回答", "on 或 off：這裡的所有回答"),
    "argument_memory": (
        "forget and a number, to delete that entry",
        "forget 加编号，删除那一条",
        "forget 加編號，刪除那一則",
    ),
    "argument_reminders": (
        "pause, resume or delete, and a number",
        "pause（暂停）、resume（恢复）或 delete（删除）加编号",
        "pause（暫停）、resume（恢復）或 delete（刪除）加編號",
    ),
    "argument_forget": ("yes, to really delete it", "yes：确认删除", "yes：確認刪除"),
    "argument_pair": ("the code", "配对码", "配對碼"),
    "argument_allow": ("an id, or here for this chat", "ID，或用 here 表示此聊天", "ID，或用 here 代表這個聊天室"),
    "argument_forbid": ("an id, or here for this chat", "ID，或用 here 表示此聊天", "ID，或用 here 代表這個聊天室"),
}
