"""What stands beside the chats and in their fields, with the real bot behind the page: bars, faults, completion."""

from __future__ import annotations

import aiohttp
import pytest

from playground.show import Playground
from tests.playground.conftest import NEEDS_BROWSER, Tab, opened
from tests.playground.test_page_acts import Sight
from tests.playground.test_page_traps import axe, resize
from tests.playground.test_scenes import answers

# They wait for the platforms' rates most of their time.
pytestmark = [NEEDS_BROWSER, pytest.mark.first, pytest.mark.asyncio(loop_scope="module")]

PLATFORMS = ("telegram", "slack", "discord")
CONNECTED = "[...document.querySelectorAll('.pane')].every((one) => one.dataset.link === 'connected')"


async def choose(tab: Tab, name: str) -> None:
    """Show a platform beside the chats."""
    buttons = "[...document.querySelectorAll('#dock .seg button')]"
    await tab.value(f"{buttons}.find((one) => one.innerText.toLowerCase() === '{name}').click()")


async def test_passes_and_calls_of_the_last_turn_are_bars_in_the_order_of_their_times(
    answering: Playground, browser: str
) -> None:
    """Also where the same is asked on all platforms at once: each shows its own."""
    async with opened(browser, answering.url) as tab:
        await tab.until(CONNECTED)
        await answering.scenes.play("search", PLATFORMS)
        await tab.value("document.querySelector('#dockbar [data-kind=turn]').click()")
        for name in PLATFORMS:
            await choose(tab, name)
            rows = "[...document.querySelectorAll('#dock .bars li')]"
            await tab.until(f"{rows}.length === 3 && document.querySelector('#dock h2').innerText === 'Turn'")
            names = await tab.value(f"{rows}.map((one) => one.querySelector('b').innerText)")
            assert names == ["Pass 1", "search_web", "Pass 2"], name
            words = await tab.value(f"{rows}.map((one) => one.querySelector('span').innerText)")
            assert all("first words at" in one for one in (words[0], words[2])), words
            last = "[...document.querySelectorAll('#dock .bars li:last-child .over')]"
            assert await tab.value(f"{last}.map((one) => +one.getAttribute('x')).every((x) => x > 0 && x < 100)")
            async with aiohttp.ClientSession() as page, page.get(f"{answering.url}turn/{name}") as answer:
                told = await answer.json()
            assert len(told["passes"]) == 2 and told["passes"][1]["end"] <= told["seconds"] + 0.1
            assert told["passes"][0]["end"] <= told["passes"][1]["at"]
        for scheme in ("light", "dark"):
            for width in (1440, 390):
                await resize(tab, width, 900, scheme)
                assert await axe(tab) == [], (scheme, width)
        assert tab.errors == []


async def test_the_tools_of_discord_are_offered_while_their_command_is_typed(
    answering: Playground, browser: str
) -> None:
    async with opened(browser, answering.url) as tab:
        await tab.until(CONNECTED)
        sight = Sight(tab, "discord")
        await tab.until("document.querySelector('#field-discord')")
        await sight.value("root.querySelector('textarea').focus()")
        await tab.send("Input.insertText", text="/tool calc")
        offered = "[...root.querySelectorAll('.complete [role=option] b')].map((one) => one.innerText)"
        await sight.until(f"String({offered}) === '/tool calculator'")
        assert await axe(tab) == []
        await tab.press("Enter")
        await sight.until("root.querySelector('textarea').value === '/tool calculator '")
        await sight.until("root.querySelector('.complete').hidden")
        await tab.send("Input.insertText", text="6*7")
        await tab.press("Enter")
        said = "[...root.querySelectorAll('[data-who=bot] .body')].map((one) => one.innerText).join()"
        await sight.until(f"{said}.includes('42')")
        assert not await sight.value("root.innerText.includes('is offered')")
        used = next(one for one in answering.discord.interactions.by_token.values() if one.kind == 2)
        assert {one["name"]: one["value"] for one in used.data["options"]} == {"name": "calculator", "arguments": "6*7"}
        assert tab.errors == []


async def test_a_late_call_and_a_second_delivery_are_switched_on_and_the_answer_stands_once(
    answering: Playground, browser: str
) -> None:
    async with opened(browser, answering.url) as tab:
        await tab.until(CONNECTED)
        await tab.value("document.querySelector('#dockbar [data-kind=fault]').click()")
        before = {name: len(answering.windows[name].screen.messages) for name in PLATFORMS}
        for name in PLATFORMS:
            await choose(tab, name)
            await tab.value("document.querySelector('#fault-late-switch').click()")
            await tab.until("document.querySelector('#fault-late-switch').ariaChecked === 'true'")
        await answering.scenes.play("search", PLATFORMS)
        await tab.until("document.querySelector('#fault-late-switch').ariaChecked === 'false'")
        for name in PLATFORMS:
            await choose(tab, name)
            await tab.value("document.querySelector('#fault-again-switch').click()")
        await answering.scenes.play("tools", PLATFORMS)

        for name in PLATFORMS:
            whole = [one for one in answers(answering, name, before[name]) if "Batteries follow the sun" in one.text]
            assert len(whole) == 1, name
        assert tab.errors == []
