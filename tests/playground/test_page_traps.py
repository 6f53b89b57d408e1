"""What a page of chats gets wrong easily: widths, things off the screen, an end that is lost, names unheard."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from playground.show import Playground
from tests.conftest import RawJson
from tests.playground.conftest import NEEDS_BROWSER, Tab
from tests.playground.test_page_acts import IN_SIGHT, Sight

pytestmark = NEEDS_BROWSER

AXE = Path(__file__).parents[2] / ".real" / "node_modules" / "axe-core" / "axe.min.js"
CODE = f"<pre><code>{'wide = ' + ' + '.join(str(n) for n in range(200))}</code></pre>"
STOP: RawJson = {"inline_keyboard": [[{"text": "⏹ Stop", "callback_data": "stop"}]]}


async def telegram(playground: Playground, text: str, **more: RawJson) -> None:
    """Let the bot write on Telegram."""
    address = f"{playground.telegram.base_url}/bot{playground.telegram.token}/sendMessage"
    body = {"chat_id": 1001, "text": text, "parse_mode": "HTML", **more}
    async with aiohttp.ClientSession() as bot, bot.post(address, json=body) as answer:
        assert answer.status == 200, await answer.text()


async def slack(playground: Playground, **body: RawJson) -> None:
    """Let the bot write on Slack."""
    headers = {"Authorization": f"Bearer {playground.slack.bot_token}"}
    address = f"{playground.slack.base_url}chat.postMessage"
    async with aiohttp.ClientSession(headers=headers) as bot, bot.post(address, json=body) as answer:
        assert (await answer.json())["ok"]


async def resize(tab: Tab, width: int, height: int = 844, scheme: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    await tab.send("Emulation.setDeviceMetricsOverride", **size)
    await tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    await tab.until(f"innerWidth === {width}")


async def test_long_code_scrolls_in_its_message_and_widens_nothing(playground: Playground, tab: Tab) -> None:
    width = "[...document.querySelectorAll('.pane')].map((one) => one.getBoundingClientRect().width)"
    before = await tab.value(width)
    await telegram(playground, CODE)
    await slack(playground, channel="C0GENERAL", text="```" + "x" * 900 + "```")
    for name in ("telegram", "slack"):
        sight = Sight(tab, name)
        await sight.until("root.querySelector('pre')")
        inside = "root.querySelector('.log').scrollWidth <= root.querySelector('.log').clientWidth"
        assert await sight.value(inside), name
    assert await tab.value(width) == before
    await Sight(tab, "telegram").until("root.querySelector('pre').tabIndex === 0")


async def test_a_thread_on_a_phone_lies_on_the_screen(playground: Playground, tab: Tab) -> None:
    first = playground.slack.say("C0GENERAL", "question", person="U0ADA")
    playground.slack.say("C0GENERAL", "answer", person="U0LIN", thread_ts=first)
    sight = Sight(tab, "slack")
    await resize(tab, 390)
    await tab.value("document.querySelector('[data-view=slack]').click()")
    await sight.until("root.querySelector('.replies .more')")
    await sight.value("root.querySelector('.replies .more').click()")
    box = "root.querySelector('.thread').getBoundingClientRect()"
    assert await sight.value(f"{box}.left >= 0 && {box}.right <= 390 && {box}.width > 300")
    shown = f"[...document.querySelectorAll('.pane')].filter((one) => one{IN_SIGHT}).length"
    assert await tab.value(shown) == 1, "one platform at a time"
    await resize(tab, 320)
    assert await tab.value("document.documentElement.scrollWidth <= 320")
    await tab.value("document.querySelector('[data-view=slack]').focus()")
    await tab.press("ArrowRight")
    assert await Sight(tab, "discord").value(f"root{IN_SIGHT}")


async def test_the_time_stands_beside_the_last_words_and_never_over_them(playground: Playground, tab: Tab) -> None:
    sight = Sight(tab, "telegram")
    for number, text in enumerate(("Short.", "ספר אחד בעברית, בבקשה", CODE), 1):
        await telegram(playground, text)
        await sight.until(f"root.querySelectorAll('.msg').length === {number}")
        over = """((bubble) => {
            const time = bubble.querySelector('.meta time').getBoundingClientRect();
            const words = document.createRange();
            words.selectNodeContents(bubble.querySelector('.body'));
            const room = bubble.querySelector('.room');
            if (room) words.setEndBefore(room);
            return [...words.getClientRects()].some((one) => one.width > 1 && one.left < time.right - 1
                && one.right > time.left + 1 && one.top < time.bottom - 2 && one.bottom > time.top + 2);
        })([...root.querySelectorAll('.bubble')].at(-1))"""
        assert await sight.value(over) is False, text[:40]
    assert await sight.value("[...root.querySelectorAll('.bubble')].map((one) => one.dataset.fit)") == [
        "inline",
        "row",
        "row",
    ]


async def test_the_caret_never_stands_alone_on_a_line(playground: Playground, tab: Tab) -> None:
    sight = Sight(tab, "telegram")
    await telegram(playground, "word " * 40, reply_markup=STOP)
    await sight.until("root.querySelector('.caret')")
    alone = """(() => {
        const caret = root.querySelector('.caret').getBoundingClientRect();
        const words = document.createRange();
        words.setStart(root.querySelector('.body'), 0);
        words.setEndBefore(root.querySelector('.caret'));
        const last = [...words.getClientRects()].filter((one) => one.width > 4).at(-1);
        return Math.abs((caret.top + caret.bottom) / 2 - (last.top + last.bottom) / 2) > 8;
    })()"""
    for width in range(900, 1000, 7):
        await resize(tab, width)
        assert not await sight.value(alone), width

    discord, place = playground.discord, playground.windows["discord"].places[0].id
    stop = {"type": 2, "style": 4, "label": "⏹ Stop", "custom_id": "stop"}
    body = {"content": "-# Checking the weather", "components": [{"type": 1, "components": [stop]}]}
    address = f"{discord.base_url}/channels/{place}/messages"
    headers = {"Authorization": f"Bot {discord.token}"}
    async with aiohttp.ClientSession(headers=headers) as bot, bot.post(address, json=body) as answer:
        assert answer.status == 200, await answer.text()
    sight = Sight(tab, "discord")
    await sight.until("root.querySelector('.caret')")
    assert not await sight.value(alone)
    assert await sight.value("root.querySelector('.key').dataset.style") == "danger"


async def test_the_end_is_followed_when_the_dock_opens_and_left_alone_when_one_reads_above(
    playground: Playground, tab: Tab
) -> None:
    sight = Sight(tab, "telegram")
    for number in range(30):
        playground.telegram.say(1001, f"message {number} with some words that wrap when it becomes narrow")
    await sight.until("root.querySelectorAll('.msg').length === 30")
    log = "root.querySelector('.log')"
    below = f"{log}.scrollHeight - {log}.scrollTop - {log}.clientHeight"
    await sight.until(f"{below} < 2")
    await tab.value("document.querySelector('#dockbar [data-kind=wire]').click()")
    await tab.until("!document.querySelector('#dock').hidden")
    await sight.until(f"{below} < 2")
    await tab.press("Escape")
    await sight.value(f"{log}.scrollTop = 40")
    await sight.until("!root.querySelector('.newest').hidden")
    await telegram(playground, "And something new.")
    await sight.until("root.querySelectorAll('.msg').length === 31")
    assert await sight.value(f"{log}.scrollTop") == 40
    await sight.value("root.querySelector('.newest').click()")
    await sight.until(f"{below} < 2")


async def test_unread_counts_are_heard_and_do_not_replace_the_name(playground: Playground, tab: Tab) -> None:
    await slack(playground, channel=playground.windows["slack"].places[1].id, text="Good afternoon.")
    sight = Sight(tab, "slack")
    place = "[...root.querySelectorAll('.place')].find((one) => one.textContent.includes('unread'))"
    await sight.until(place)
    assert str(await sight.value(f"{place}.textContent")).replace("\n", "") == "Parley1 unread"
    assert await sight.value(f"{place}.ariaLabel") is None
    await sight.value(f"{place}.click()")
    await sight.until(f"!({place})")


async def test_sixty_messages_are_few_stops_before_the_field(playground: Playground, tab: Tab) -> None:
    for number in range(60):
        playground.telegram.say(1001, f"message {number}")
    sight = Sight(tab, "telegram")
    await sight.until("root.querySelectorAll('.msg').length === 60")
    stops = """[...root.querySelectorAll('a, button, [tabindex]')].filter((one) => one.tabIndex >= 0
        && one.checkVisibility() && one.compareDocumentPosition(root.querySelector('textarea')) & 4)"""
    assert int(str(await sight.value(f"{stops}.length"))) <= 8
    assert await sight.value(f"{stops}[0].textContent") == "Write on Telegram"
    await sight.value("root.querySelector('.log').focus()")
    await tab.press("ArrowUp")
    assert await sight.value("document.activeElement.querySelector('.body').innerText") == "message 59"
    await tab.press("ArrowUp")
    assert await sight.value("document.activeElement.querySelector('.body').innerText") == "message 58"
    assert await sight.value("document.activeElement.querySelectorAll('.acts [tabindex=\"0\"]').length") == 3


async def test_a_command_is_completed_with_the_keyboard(playground: Playground, tab: Tab) -> None:
    sight = Sight(tab, "slack")
    await sight.value("root.querySelector('textarea').focus()")
    await tab.send("Input.insertText", text="/pa")
    await sight.until("!root.querySelector('.complete').hidden")
    active = "root.querySelector('textarea').getAttribute('aria-activedescendant')"
    assert await sight.value(f"document.getElementById({active}).getAttribute('aria-selected')") == "true"
    await tab.press("Enter")
    assert await sight.value("root.querySelector('textarea').value") == "/parley "
    assert await sight.value("root.querySelector('.complete').hidden")
    assert playground.slack.screen.messages == []


async def test_somebody_else_writes_reacts_and_is_not_heard_without_a_mention(playground: Playground, tab: Tab) -> None:
    sight = Sight(tab, "discord")
    await sight.value("root.querySelector('.as').click(), root.querySelector('.at').click()")
    await sight.write("just among us")
    await sight.until("root.querySelector('.msg .note')?.textContent.startsWith('Not for the bot')")
    assert await sight.value("root.querySelector('.msg').dataset.who") == "lin"
    assert await sight.value("root.querySelector('.msg .name').textContent") == "Lin Wei"
    await sight.value("root.querySelector('.msg').focus(), root.querySelector('[data-act=react]').click()")
    await sight.value("root.querySelector('.sign').click()")
    await sight.until("root.querySelector('.react')?.getAttribute('aria-pressed') === 'true'")
    await sight.value("root.querySelector('.react').click()")
    await sight.until("!root.querySelector('.react')")
    assert tab.errors == []


async def axe(tab: Tab) -> RawJson:
    """What axe-core finds on the page as it is; nothing where it is not installed."""
    if not AXE.exists():
        return []
    await tab.value(f"{AXE.read_text(encoding='utf-8')}; 1")
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    where = "one.nodes.map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')"
    violations = "told.violations.map((one) => `${one.id}: ${WHERE}`)".replace("WHERE", where)
    found = f"axe.run(document, {json.dumps(rules)}).then((told) => {violations})"
    return await tab.value(found)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: tests/real/install puts it into .real/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_in_any_view(playground: Playground, tab: Tab, scheme: str) -> None:
    await telegram(
        playground, f"<b>Bold</b>, <a href='https://a.example'>a link</a>, <i>and</i> {CODE}", reply_markup=STOP
    )
    first = playground.slack.say("C0GENERAL", "question", person="U0ADA")
    await slack(playground, channel="C0GENERAL", text="*answer* `code`", thread_ts=first)
    for name in ("slack", "discord"):
        window = playground.windows[name]
        window.say(window.places[0].id, "among us", "", author="lin")
    await Sight(tab, "slack").until("root.querySelectorAll('.msg').length >= 2")
    await Sight(tab, "discord").until("root.querySelector('.msg')")
    for width in (1440, 1024, 390):
        for dock in ("", "wire", "turn", "fault"):
            await resize(tab, width, 900, scheme)
            open_now = "document.querySelector('#dockbar [aria-pressed=true]')?.dataset.kind ?? ''"
            if (now := await tab.value(open_now)) != dock:
                await tab.value(f"document.querySelector('#dockbar [data-kind={dock or now}]').click()")
                await tab.until(f"({open_now}) === {json.dumps(dock)}")
            assert await axe(tab) == [], (width, dock)
