"""The real bot behind the page, in a real browser: one for all of these tests, for starting it takes a while.

The first of them finds empty windows.
"""

from __future__ import annotations

import json

import pytest

from playground.model.images import png
from playground.show import Playground
from tests.playground.conftest import NEEDS_BROWSER, opened
from tests.playground.test_page_acts import Sight
from tests.playground.test_sending import attach, base64

# They wait for the platforms' rates most of their time.
pytestmark = [NEEDS_BROWSER, pytest.mark.first, pytest.mark.asyncio(loop_scope="module")]

PLATFORMS = ("telegram", "slack", "discord")


def said(name: str, text: str) -> str:
    """JavaScript for whether the bot has said something in a window."""
    bodies = f"[...document.querySelectorAll('[data-skin={name}] [data-who=bot] .body')]"
    return f"{bodies}.some((one) => one.textContent.includes({json.dumps(text)}))"


async def test_a_newcomer_presses_changes_and_deletes_with_the_real_bot_behind_the_page(
    answering: Playground, browser: str
) -> None:
    async with opened(browser, answering.url) as tab:
        await tab.until("[...document.querySelectorAll('.pane')].every((one) => one.dataset.link === 'connected')")
        for name in PLATFORMS:
            sight = Sight(tab, name)
            keys = "[...root.querySelectorAll('[data-who=bot] .keys button')]"
            await sight.write("hello")
            await sight.until(f"{keys}.length === 3")
            await sight.value(f"{keys}[1].click()")
            # Where the platform has messages for one person it is one, else a line above the field.
            told = "[...root.querySelectorAll('.aside, [data-ephemeral] .body')]"
            await sight.until(f"{told}.some((one) => one.textContent.includes('Noted, thank you.'))")

            mention = "" if name == "telegram" else ("@parley " if name == "slack" else "@Parley ")
            await sight.act("Edit", f"{mention}hello")
            await sight.write(f"{mention}long", over=True)
            answer = "root.querySelector('[data-who=bot] .body').textContent"
            await sight.until(f"!{answer}.includes('Hello!') && {answer}.length > 300")
            await sight.until("root.querySelector('[data-who=you] .edited')")
            if name != "telegram":
                await sight.act("Delete", f"{mention}long")
                await sight.until("!root.querySelector('[data-who=bot]:not([data-ephemeral])')")

    assert tab.errors == []


async def test_a_picture_is_sent_with_a_caption_and_the_real_bot_answers(answering: Playground, browser: str) -> None:
    async with opened(browser, answering.url) as tab:
        await tab.until("[...document.querySelectorAll('.pane')].every((one) => one.dataset.link === 'connected')")
        for name in PLATFORMS:
            await tab.value(attach(name, ("fox.png", "image/png", base64(png("a fox")))))
            await tab.until(f"document.querySelector('[data-skin={name}] .chips').textContent.includes('fox.png')")
            await tab.value(f"document.querySelector('[data-skin={name}] textarea').focus()")
            await tab.send("Input.insertText", text="look at this, please")
            await tab.press("Enter")
            window = f"document.querySelector('[data-skin={name}]')"
            await tab.until(f"{window}.querySelector('[data-who=you] .media img')?.naturalWidth > 100")
            await tab.until(said(name, "With your message came: picture"))
            assert await tab.value(f"{window}.querySelector('.chips').textContent.includes('fox.png')") is False
    assert tab.errors == []


async def test_what_is_heard_of_a_recording_says_that_nobody_listened(answering: Playground, browser: str) -> None:
    async with opened(browser, answering.url) as tab:
        await tab.until("[...document.querySelectorAll('.pane')].every((one) => one.dataset.link === 'connected')")
        window = "document.querySelector('[data-skin=telegram]')"
        record = f"{window}.querySelector('.record')"
        await tab.value(f"{record}.click()")
        await tab.until(f"{record}.ariaPressed === 'true'")
        await tab.value(f"{record}.click()")
        await tab.until(said("telegram", "nobody listens to what is recorded here"))
