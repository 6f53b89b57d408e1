"""The page in a real browser: typed keys, a growing reply, Chinese input, and no error in its console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp

from playground.model.images import png
from playground.show import Playground
from tests.conftest import RawJson
from tests.playground.conftest import NEEDS_BROWSER, Tab, texts
from tests.playground.test_page_traps import axe

pytestmark = NEEDS_BROWSER


async def test_a_person_writes_with_the_keyboard_alone_and_sees_the_reply_grow(
    playground: Playground, tab: Tab
) -> None:
    await tab.send("Input.insertText", text="hello")
    await tab.press("Enter")
    await tab.until(f"{texts('telegram')}[0] === 'hello'")
    chat = playground.telegram.screen
    token = f"{playground.telegram.base_url}/bot{playground.telegram.token}"
    async with aiohttp.ClientSession() as bot:

        async def call(method: str, **body: RawJson) -> Any:
            async with bot.post(f"{token}/{method}", json={"chat_id": 1001, "parse_mode": "HTML", **body}) as answer:
                return (await answer.json())["result"]

        await call("sendChatAction", action="typing")
        await tab.until("document.querySelector('[data-skin=telegram] .under').textContent.includes('typing')")
        sent = await call("sendMessage", text="<b>First</b>")
        await tab.until(f"{texts('telegram')}[1] === 'First'")
        code = '<b>First</b> and <pre><code class="language-python">a &lt; b</code></pre>'
        await call("editMessageText", message_id=sent["message_id"], text=code)
        await tab.until("document.querySelector('[data-skin=telegram] pre code.language-python')")

    assert len(chat.messages) == 2
    edited = "document.querySelector('[data-skin=telegram] [data-who=bot] .meta .edited').textContent"
    assert await tab.value(edited) == "edited"
    assert await tab.value("document.querySelector('[data-skin=telegram] textarea').value") == ""
    assert tab.errors == []


async def test_enter_that_ends_a_chinese_composition_does_not_send(playground: Playground, tab: Tab) -> None:
    await tab.send("Input.imeSetComposition", text="ni", selectionStart=2, selectionEnd=2)
    await tab.send("Input.dispatchKeyEvent", type="rawKeyDown", key="Process", windowsVirtualKeyCode=229)
    await tab.send("Input.insertText", text="你好")
    assert playground.telegram.screen.messages == []
    await tab.press("Enter")
    await tab.until(f"{texts('telegram')}[0] === '你好'")

    assert [message.text for message in playground.telegram.screen.messages] == ["你好"]


async def test_a_slack_thread_opens_at_the_side_and_is_written_in(playground: Playground, tab: Tab) -> None:
    window = "document.querySelector('[data-skin=slack]')"
    await tab.value(f"{window}.querySelector('textarea').focus()")
    await tab.send("Input.insertText", text="question")
    await tab.press("Enter")
    await tab.until(f"{window}.querySelector('.msg')")
    first = playground.slack.screen.messages[0]
    assert first.text == "@parley question"
    await tab.value(f"{window}.querySelector('[data-act=thread]').click()")
    await tab.send("Input.insertText", text="more")
    await tab.press("Enter")
    await tab.until(f"{window}.querySelectorAll('.thread .msg').length === 2")

    assert playground.slack.screen.messages[1].thread == first.id
    assert await tab.value(f"{window}.querySelectorAll('.chat .msg').length") == 1
    assert "1 reply" in await tab.value(f"{window}.querySelector('.chat .replies').textContent")
    await tab.press("Escape")
    assert await tab.value(f"getComputedStyle({window}.querySelector('.thread')).display") == "none"
    assert await tab.value("document.activeElement.id") == "field-slack"
    assert tab.errors == []


async def test_what_is_written_in_a_thread_far_above_is_in_sight_and_so_is_its_answer(
    playground: Playground, tab: Tab
) -> None:
    window = "document.querySelector('[data-skin=slack]')"
    replies = f"[...{window}.querySelectorAll('.thread .msg')]"
    log = f"{window}.querySelector('.thread .log').getBoundingClientRect()"
    slack = playground.slack
    first = slack.say("C0GENERAL", "question")
    await tab.until(f"{window}.querySelector('[data-act=thread]')")
    await tab.value(f"{window}.querySelector('[data-act=thread]').click()")
    for number in range(30):
        slack.say("C0GENERAL", f"something else {number}")
    await tab.until(f"{window}.querySelectorAll('.chat .msg').length === 31")

    await tab.send("Input.insertText", text="more")
    await tab.press("Enter")
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {slack.bot_token}"}) as bot:
        for number, body in enumerate(("Well.", "Well. " * 300), 2):
            answer = {"channel": "C0GENERAL", "text": body, "thread_ts": first}
            async with bot.post(f"{slack.base_url}chat.postMessage", json=answer) as posted:
                assert (await posted.json())["ok"]
            await tab.until(f"{replies}.length === {number + 1}")
            end = f"{replies}.at(-1).getBoundingClientRect().bottom"
            await tab.until(f"{log}.top < {end} && {end} <= {log}.bottom + 1")

    assert tab.errors == []


async def test_hostile_text_is_shown_and_not_obeyed(playground: Playground, tab: Tab) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    say: dict[str, Callable[[], object]] = {
        "telegram": lambda: playground.telegram.say(1001, hostile),
        "slack": lambda: playground.slack.say("C0GENERAL", hostile),
        "discord": lambda: playground.windows["discord"].say(playground.windows["discord"].places[0].id, hostile, ""),
    }
    for name, write in say.items():
        write()
        await tab.until(f"{texts(name)}.length === 1")
        assert "onerror" in await tab.value(f"{texts(name)}[0]")

    assert await tab.value("document.querySelectorAll('main img, main script').length") == 0
    assert tab.errors == []


async def test_buttons_are_reached_and_named(playground: Playground, tab: Tab) -> None:
    assert "Scripted model" in await tab.value("document.querySelector('#model').innerText")
    controls = "[...document.querySelectorAll('button, textarea, summary')]"
    assert await tab.value(f"{controls}.filter((one) => !one.textContent.trim() && !one.ariaLabel).length") == 0
    await tab.value("document.querySelector('#kill').click()")
    await tab.until("document.querySelector('#note').textContent.includes('kill -9')")
    assert "pid" not in await tab.value("document.body.innerText")

    assert tab.errors == []


async def test_a_picture_stands_in_the_chat_without_an_empty_bubble(playground: Playground, tab: Tab) -> None:
    form = aiohttp.FormData({"chat_id": "1001"})
    form.add_field("photo", png("a fox"), filename="fox.png", content_type="image/png")
    token = f"{playground.telegram.base_url}/bot{playground.telegram.token}"
    async with aiohttp.ClientSession() as bot, bot.post(f"{token}/sendPhoto", data=form) as answer:
        assert answer.status == 200, await answer.text()
    message = "document.querySelector('[data-skin=telegram] .msg')"

    await tab.until(f"{message}?.querySelector('.media img')?.naturalWidth > 100")
    assert await tab.value(f"[{message}.querySelector('img').width, {message}.querySelector('img').height]") == [
        340,
        200,
    ]
    assert await tab.value(f"getComputedStyle({message}.querySelector('.body')).display") == "none"
    assert tab.errors == []


async def test_a_task_card_on_slack_says_how_long_its_task_took_once_it_has_ended(
    playground: Playground, tab: Tab
) -> None:
    slack = playground.slack
    direct = playground.windows["slack"].places[1].id
    root = slack.say(direct, "question")
    task = {"type": "task_update", "id": "1", "title": "Searched", "status": "in_progress"}
    cards = "[...document.querySelectorAll('[data-skin=slack] .thread .card')]"
    times = f"{cards}.map((one) => one.querySelector('time')?.innerText ?? '')"
    await tab.value("[...document.querySelectorAll('[data-skin=slack] .place')][1].click()")
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {slack.bot_token}"}) as bot:

        async def call(method: str, **body: RawJson) -> Any:
            async with bot.post(f"{slack.base_url}{method}", json={"channel": direct, **body}) as answer:
                told = await answer.json()
            assert told["ok"], told
            return told

        started = await call("chat.startStream", thread_ts=root, chunks=[task])
        await tab.until("document.querySelector('[data-skin=slack] .replies .more')")
        await tab.value("document.querySelector('[data-skin=slack] .replies .more').click()")
        await tab.until(f"{cards}.length === 1")
        assert await tab.value(times) == [""]
        await call("chat.appendStream", ts=started["ts"], chunks=[task | {"status": "complete"}])
        await tab.until(f"/^\\d+\\.\\d s$/.test({times}[0])")
        assert await axe(tab) == []

    assert tab.errors == []
