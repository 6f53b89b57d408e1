"""The long answer of the scripted model in Chinese."""

from __future__ import annotations

LONG = """# 长回答怎样到达聊天

*这段文字是预先写好的：脚本模型每次都写同样的话，少一个字就会被发现。*

模型一个字一个字地写，聊天里出现的却是一条条消息，而每个平台都有自己的长度限制。这篇回答比一条消息长，所以会被分成几页：\
前一页写满了，后一页才开始，读者从不需要往回找。

## 1. 先存，再显示

收到的问题先写进数据库，然后才回答。进程被杀掉、机器断电，重新启动以后都会接着把话说完：

```python
async def answer(question: Question) -> None:
    # 先存下来，再一页一页地显示。
    await store.keep(question)
    async for words in model.ask(question):
        page.add(words)
        if page.full:
            await show(page)
            page = page.next()
    await show(page, last=True)
```

## 2. 三个平台，三种限制

| 平台 | 一条消息 | 修改的速度 | 表格 |
| :-- | --: | :-- | :-: |
| Telegram | 4096 字 | 每个聊天每秒一次 | 用等宽字体 |
| Slack | 12000 字 | 每分钟五十次 | 有 |
| Discord | 2000 字 | 五秒五次 | 用等宽字体 |

- 修改得太快，平台会拒绝，并说明要等几秒；
- 等待的时候，新写的字攒在一起，下一次一起显示；
- **最后一次修改必达**：拒绝几次都会再试。

## 3. 列表不会断在半路

1. 分页的地方优先选在段落之间，其次是句子之间，最后才是词与词之间。
2. 代码块跨页时，前一页关上，后一页重新打开，并保留语言的名字。
3. 表格跨页时，表头会再写一遍。
4. 中文、日文和韩文里没有空格，标点不会落在行首。

> 写得快不算本事，读得顺才算。
>
> > 读者每分钟读四百个字，机器只要不让他等就够了。

## 4. 一个小小的验算

一页两千字，读者一分钟读四百字，那么一页能读五分钟。模型一秒写五十个字，四十秒就写完了一页：
`2000 / 50 = 40`。剩下的四分多钟里，平台的限制再严，也来得及显示下一页。

```sql
SELECT platform, COUNT(*) AS turns, AVG(waited) AS waited
FROM turns
WHERE finished >= :since
GROUP BY platform
ORDER BY waited DESC;
```

## 5. 最后

请确认三件事：开头的标题还在，中间的代码块没有断开，结尾的这一行也在。

| 检查 | 结果 |
| :-- | :-: |
| 标题 | ✔️ |
| 代码块 | ✔️ |
| 结尾 | ✔️ |

**完。** 能读到这一行，说明回答完整地到了。🏁
"""
