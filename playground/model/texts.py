"""The words of the scripted model: the long answer, and the short ones in English and Chinese."""

from __future__ import annotations

from playground.model import chinese

GREETING = {
    "en": "Hello! I am the playground's **scripted model**: no AI, no account, no key. Everything around me is real. "
    "Write `help` to see what I can show.",
    "zh": "你好！我是演示场里的**脚本模型**：没有 AI，不要账号，也不要密钥；我周围的一切都是真的。"
    "写“帮助”看看我会什么。",
}
HELP = {
    "en": """Try one of these:

- `search the latest news about solar power`: a tool call, then an answer with sources
- `what is 17 * 23 + 4?`: the calculator
- `what time is it in Tokyo?`: the clock
- `plot sin(x) + x/3` or `run python print(2**100)`: code in a sandbox, and its picture
- `draw a red fox`: an image (a script paints it, no AI)
- `weather in Oslo`, `wikipedia Ada Lovelace`, `papers about suspension bridges`, `price of PEPE`: canned services
- `remind me in 10 seconds to stretch`
- `remember that I like green tea`, then `what do you remember about me?`
- `search the weather in Paris and calculate 37.5 * 1.2`: two tools at once
- `long`: an answer longer than one message, with code and tables
- `code`: a short answer with a code block
- `my name is Ada`, then `what is my name?`, then `what did I say before?`
- `think about bridges`: reasoning that stays hidden
- `/job compare the offers`: an hour's work (here half a minute) with a plan that is ticked off
- `break`: a connection that drops in mid-sentence, and an answer that goes on""",
    "zh": """可以试试：

- `搜索太阳能的最新新闻`：调用工具，然后给出带来源的回答
- `17 * 23 + 4 等于多少？`：计算器
- `东京现在几点？`：时钟
- `画函数 sin(x) + x/3` 或 `运行代码：print(2**100)`：在沙箱里运行代码，并画出图来
- `画一只红狐狸`：一张图片（由脚本画成，没有 AI）
- `北京天气`、`维基百科：长城`、`关于悬索桥的论文`、`PEPE 的价格`：预先准备好的服务
- `10秒后提醒我站起来`
- `记住我喜欢绿茶`，再问 `你记得我什么？`
- `搜索巴黎的天气并计算 37.5 * 1.2`：同时用两个工具
- `长文`：比一条消息还长的回答，有代码和表格
- `代码`：带代码块的短回答
- `我叫小明`，然后 `我叫什么？`，再问 `我刚才说了什么？`
- `想一想桥梁`：看不见的思考
- `/job 比较报价`：一小时的工作（这里只要半分钟），计划逐步打勾
- `断开`：说到一半时断开的连接，以及接着说完的回答""",
}
CODE = {
    "en": """Here is a function that counts words:

```python
from collections import Counter


def count_words(text: str) -> Counter[str]:
    return Counter(text.lower().split())


print(count_words("to be or not to be").most_common(2))
```

It prints `[('to', 2), ('be', 2)]`.""",
    "zh": """下面的函数统计每个字出现的次数：

```python
from collections import Counter


def count_characters(text: str) -> Counter[str]:
    return Counter(character for character in text if not character.isspace())


print(count_characters("知之为知之，不知为不知").most_common(2))
```

它会输出 `[('知', 4), ('之', 2)]`。""",
}
BREAK = {
    "en": "This sentence is about to be cut, because the connection to the model drops right about here; asked to go "
    "on, it completes the sentence, and a reader should see no more of that than a short pause.",
    "zh": "这句话马上就要断了，因为与模型的连接就在这里中断；要它继续，它就把这句话说完，读者看到的只是片刻的停顿。",
}
REASONING = {
    "en": "The person asks me to think. I am a script, so I only pretend: first the question, then the answer, and "
    "none of this may be seen in the chat.",
    "zh": "对方要我想一想。我是脚本，只是装作在想：先看问题，再给答案，这些都不该出现在聊天里。",
}
THOUGHT = {
    "en": "I have thought about it: you asked “{question}”, and a script can only answer with a script's words. "
    "The reasoning came before this sentence and stayed out of the chat.",
    "zh": "想好了：你问的是“{question}”，而脚本只能用脚本的话来回答。思考过程在这句话之前，并没有出现在聊天里。",
}
ECHO = {
    "en": "You wrote: “{question}”. I am a script and know no answer to that, but I remember it. Write `help` to see "
    "what I can show.",
    "zh": "你写的是：“{question}”。我只是脚本，答不上来，但我记住了。写“帮助”看看我会什么。",
}
HEARD = "These words are scripted: nobody listens to what is recorded here."
"""What is heard in every recording."""
SENT = {
    "en": "With your message came: {sent}. A model that sees would look at it; I am a script and only know that it is "
    "there.",
    "zh": "随消息收到：{sent}。能看图的模型会看它；我只是脚本，只知道它在。",
}
NOTED = {"en": "Nice to meet you, {name}. I will remember that.", "zh": "很高兴认识你，{name}。我记住了。"}
NAMED = {"en": "You told me your name is **{name}**.", "zh": "你告诉过我，你叫**{name}**。"}
NAMELESS = {"en": "You have not told me your name yet.", "zh": "你还没有告诉我你叫什么。"}
SAID = {"en": "Before this you said:", "zh": "在这之前你说过："}
SILENT = {"en": "This is the first thing you said to me here.", "zh": "这是你在这里对我说的第一句话。"}
FOUND = {"en": "This is what the search found:", "zh": "搜索结果如下："}
SOURCES = {"en": "Sources:", "zh": "来源："}
COMPUTED = {"en": "The calculator says: **{result}**", "zh": "计算结果：**{result}**"}
IMAGE = {"en": "Here is your image.", "zh": "图片来了。"}
RAN = {"en": "This is what the code came to:", "zh": "代码的运行结果："}
CLOCK = {"en": "The clock says: {result}", "zh": "现在的时间：{result}"}
FAILED = {"en": "`{tool}` could not do it: {result}", "zh": "`{tool}` 没有成功：{result}"}
PLAIN = {"en": "`{tool}` answered: {result}", "zh": "`{tool}` 的结果：{result}"}
UNARMED = {
    "en": "That would need the tool `{tool}`, which I was not given.",
    "zh": "这需要工具 `{tool}`，但没有提供给我。",
}

_LONG = """# How a long answer reaches a chat

*This text is canned: the scripted model writes the same words every time, so that a missing one is noticed.*

A model writes word by word. A chat shows messages, and every platform has its own idea of how long a message may be, \
how often it may change, and which marks make a word **bold**, *slanted* or `monospaced`. Between the two stands \
a writer that shows what is there, changes it in place, and begins a second message when the first one is full. 🚀

## 1. Words become edits

The simplest writer edits the message for every word. At fifty words a second this is refused after three edits; the \
second simplest queues its edits, and shows yesterday's text. The one that works keeps only the newest text:

```python
import asyncio
from collections.abc import Awaitable, Callable


class Newest:
    \"\"\"Shows the newest text as often as it may, and never an older one.\"\"\"

    def __init__(self, show: Callable[[str], Awaitable[None]], interval: float) -> None:
        self._show = show
        self._interval = interval
        self._text = ""
        self._changed = asyncio.Event()

    def append(self, piece: str) -> None:
        self._text += piece
        self._changed.set()

    async def run(self) -> None:
        while await self._changed.wait():
            self._changed.clear()
            await self._show(self._text)      # ← the whole page: a skipped edit loses nothing
            await asyncio.sleep(self._interval)
```

Three things are easy to get wrong:

1. The **last** edit is the one that matters. If it is refused, it has to be sent again.
2. An edit that changes nothing is an error on some platforms, and a success on others.
3. A person may delete the message while it is being written. 🗑️

> Whoever edits too often waits longest: a refusal costs three seconds, patience costs half of one.
> — an old note on rate limits

## 2. What each platform allows

| platform | longest message | edits in a minute | own notation | emoji |
| :-- | --: | --: | :-: | :-: |
| Telegram | 4,096 characters | about 60 in a chat | HTML | ✈️ |
| Slack | 4,000 characters in an edit | about 50 in a workspace | mrkdwn | 💬 |
| Discord | 2,000 characters | about 5 in 5 s | Markdown | 🎮 |
| 网页 | 没有限制 | 没有限制 | HTML | 🌐 |

A table has to stay whole, or repeat its header on the next page. Characters are counted differently, too: Telegram \
counts UTF-16 units, so that 👩‍👩‍👧‍👦 weighs eleven and a plain `a` weighs one.

### 2.1 The same rule in another language

```javascript
// A length as Telegram counts it, and a cut that never falls inside a grapheme.
export function cutAt(text, limit) {
  const segments = new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text);
  let page = "";
  for (const { segment } of segments) {
    if (page.length + segment.length > limit) break;
    page += segment;
  }
  return [page, text.slice(page.length)];
}

console.log(cutAt("家族 👩‍👩‍👧‍👦 família", 8));
```

## 3. 中文段落

流式输出的难点不在于“快”，而在于“稳”。模型每秒写出几十个词，而聊天平台每秒只允许修改一两次消息；如果每来一个字就修改一次，\
很快就会被限流，最后一次修改反而发不出去。正确的做法是：只保留最新的全文，到了允许的时刻再整体更新一次。这样，中间跳过的更新不会丢失任何内容，\
最后一次更新一定会到达。

- **长度**：一条消息放不下时，在段落、行、句子、词的边界处切开，绝不在一个汉字或表情的中间切开。
- **代码块**：切在代码块中间时，前一页要补上结束的三个反引号，后一页要重新打开并写上语言名称。
- **表格**：尽量整张放在一页里；实在放不下，就在下一页重复表头。
- **表情**：👍🏽、🇨🇳、👨‍💻 都是由多个码点组成的，要么完整出现，要么整个放到下一页。

“引号”、（括号）、《书名号》以及——破折号……都应该原样出现。数字 １２３ 与 123 也不应该被悄悄替换。

```sql
-- 每个聊天只保留最近五十条
SELECT chat, sequence, text
FROM messages
WHERE chat = 'telegram:42'
  AND deleted IS NULL
ORDER BY sequence DESC
LIMIT 50;
```

## 4. A shell, and marks that are no marks

```bash
#!/usr/bin/env bash
set -euo pipefail

for chat in telegram slack discord; do
  printf '%s\\n' "watching $chat"
  tail -n 1 "logs/${chat}.log" | grep --only-matching 'lag=[0-9.]*' || echo "no figures yet"
done
```

Outside of code, some characters look like marks and are none: snake_case_names, 2 * 3 * 4 = 24, a_b and c*d, \
a price of $5 & a discount of <10 %>, and an e-mail address such as nobody@example.com. A link, on the other hand, is \
one: [the words](https://words.example/long?answer=1&page=2).

## 5. A fence inside a fence

````markdown
Write code like this:

```python
print("three backticks inside four")
```

and close the outer fence with four.
````

And one made of tildes:

~~~json
{
  "reply": {"pages": 4, "whole": true},
  "fences": ["```", "~~~"],
  "names": ["Ada", "小明", "Жанна", "علي"]
}
~~~

## 6. Lists in lists

- The writer
  - keeps the newest text,
  - shows it when it may,
    - first words at once,
    - the rest at the platform's pace,
  - and always sends the last edit.
- The cutter
  1. looks for a paragraph,
  2. then for a line,
  3. then for a sentence,
  4. then for a word.
- The reader notices nothing. 🎉

## 7. 再来一段，检查分页

当回答跨越多条消息时，前面的消息一旦“封页”，就不再修改；只有最后一条还在变化。读者从上往下读，看到的内容不会跳动，也不会重复。\
如果程序在中途被强行终止，重新启动之后应该接着把剩下的内容写完，而不是从头再发一遍。这件事听起来简单，做起来却需要在每一步之前先把状态存好：\
先存，再发；发完，再存。这样即使停电，也最多只会多出一条可以识别的消息。

```rust
/// The next page border at or before `limit`, by paragraph, line, sentence, word.
fn border(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let head = &text[..floor(text, limit)];
    for mark in ["\\n\\n", "\\n", ". ", "。", " "] {
        if let Some(at) = head.rfind(mark) {
            return at + mark.len();
        }
    }
    head.len()
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
```

## 8. Figures

| at once | first words | lag at the end | refused | whole |
| --: | --: | --: | --: | :-: |
| 1 chat | 0.2 s | 0.1 s | 0 | ✅ |
| 20 chats | 0.5 s | 0.3 s | 0 | ✅ |
| 100 chats | 3.2 s | 3.5 s | 0 | ✅ |

The hundred share one bot and thirty calls a second, so that nobody can be faster than the platform; but nobody is \
forgotten, either. Completion comes before progress, and the stalest reply comes first.

### 8.1 A table that is wider than a phone

| step | who | what is stored before it | what a reader sees | what happens after a crash here |
| :-- | :-- | :-- | :-- | :-- |
| received | adapter | the delivery and its id | nothing | it is delivered again, and known |
| asked | model | the question and the history | typing… | the model is asked once more |
| first words | surface | the reference of the message | the first words | the message is found and continued |
| tools | registry | each call, before it runs | 🔎 Searching the web | finished calls keep their results |
| finished | surface | the whole answer | the whole answer | the last edit is sent again |

## 9. A few files more

A reader who asks for an example wants the whole file, not its middle, so here are three small ones in a row. First \
the styles of the page on which the three chats stand side by side:

```css
:root {
  color-scheme: light dark;
  --gap: clamp(0.5rem, 2vw, 1.5rem);
}

main {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
  gap: var(--gap);
}

.bubble.edited::after {
  content: "edited";
  opacity: 0.6;
}
```

Then a service that restarts what dies, and waits a little longer each time it dies again:

```yaml
services:
  parley:
    image: python:3.11-slim
    command: ["python", "-m", "bot", "run"]
    restart: unless-stopped
    environment:
      MODEL: "openai:scripted"
      LOG_LEVEL: info
    volumes:
      - ./data:/data   # the only thing worth keeping
```

And at last a difference, because plus and minus at the beginning of a line are no list:

```diff
-    await message.edit(text)            # refused, and never sent again
+    while not await shown(message, text):
+        await asyncio.sleep(pause)      # the last edit always lands
```

### 9.1 Numbers, mixed with words

1. On Monday the answer had 1,024 words, 3 tables and 1 picture.
2. On Tuesday it had 2,048 words, and the second message began in the middle of a list.
3. On Wednesday somebody wrote a table with a bar in it: `a | b`, which is why the cutter reads lines and not bars.

   A paragraph that belongs to the third point stands here, indented, and must not fall out of the list.

4. 星期四，回答全部改成了中文：两千零四十八个汉字，三张表格，没有一个字丢失。
5. Le vendredi, tout était en français, avec des accents où il en faut : é, è, ê, ç, œ.
6. В субботу ответ пришёл по-русски, а в воскресенье никто не спрашивал. 😴

> 一句话总结：**先存后发，整页更新，最后一次必达。**
>
> > In one sentence: *store first, show the whole page, and never lose the last edit.*

---

## 10. Where the marks end

A mark may be cut anywhere: **bold words that go on and on until a border falls between them and the rest of the \
sentence stands on the next page**, or ~~struck words~~, or `code with | a bar`, or ***all of it at once***. Each page \
has to close what it opened, and the next has to open it again.

最后，请确认三件事：开头的标题还在，中间的代码块没有断开，结尾的这一行也在。

| 检查 | 结果 |
| :-- | :-: |
| 标题 | ✔️ |
| 代码块 | ✔️ |
| 结尾 | ✔️ |

**The end.** If you can read this line, the answer arrived whole. 🏁
"""


def long_answer(language: str = "en") -> str:
    """Markdown longer than a message: headings, fences in several languages, tables, quotes and lists.

    The same text every time. It begins with a heading, and its last line begins with `**The end.**`, or `**完。**`. The
    English one has about 3,000 tokens.
    """
    return {"en": _LONG, "zh": chinese.LONG}[language].strip()
