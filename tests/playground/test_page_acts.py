"""What a person does with messages on the page, in a real browser: presses, changes, deletes, replies."""

from __future__ import annotations

import json

import aiohttp

from playground.show import Playground
from tests.playground.conftest import NEEDS_BROWSER, Tab, texts

pytestmark = NEEDS_BROWSER


IN_SIGHT = ".checkVisibility({ visibilityProperty: true })"
"""JavaScript for whether an element can be seen: a thread covers the chat where a pane is narrow."""
FIELD = f"[...root.querySelectorAll('textarea')].find((one) => one{IN_SIGHT})"


class Sight:
    """One platform's window in the browser."""

    def __init__(self, tab: Tab, name: str) -> None:
        self.tab, self.name = tab, name
        self.root = f"document.querySelector('[data-skin={name}]')"

    async def until(self, expression: str) -> None:
        """Wait until something holds of the window, which the expression calls `root`."""
        await self.tab.until(f"((root) => ({expression}))({self.root})")

    async def value(self, expression: str) -> object:
        return await self.tab.value(f"((root) => ({expression}))({self.root})")

    async def write(self, text: str, *, over: bool = False) -> None:
        """Type into the field, replacing its text or after it, and send it."""
        await self.value(f"{FIELD}.focus()")
        if over:
            await self.value(f"{FIELD}.select()")
        await self.tab.send("Input.insertText", text=text)
        await self.tab.press("Enter")
        await self.until(f"{FIELD}.value !== {json.dumps(text)}")

    async def act(self, label: str, text: str) -> None:
        """Use a control of the message that begins with a text, with the keyboard: it is not in sight before."""
        named = f"one.ariaLabel === '{label}: {text}' && one.closest('.msg'){IN_SIGHT}"
        button = f"[...root.querySelectorAll('.acts button')].find((one) => {named})"
        await self.until(button)
        await self.value(f"{button}.closest('.msg').focus()")
        await self.value(f"{button}.focus()")
        assert float(str(await self.value(f"getComputedStyle({button}.parentElement).opacity"))) == 1
        await self.tab.press("Enter")

    async def bodies(self) -> object:
        return await self.tab.value(texts(self.name))


async def test_a_reply_quotes_its_message_and_reaches_the_bot_as_one(playground: Playground, tab: Tab) -> None:
    for name in ("telegram", "discord"):
        sight = Sight(tab, name)
        await sight.write("first")
        text = "first" if name == "telegram" else "@Parley first"
        await sight.act("Reply", text)
        assert await sight.value("root.querySelector('.context').textContent.includes('Reply to Ada')")
        await sight.write("and second")
        await sight.until(f"[...root.querySelectorAll('.ref')].at(-1)?.lastElementChild?.textContent === '{text}'")
        await sight.until("root.querySelector('.context').hidden")
        first, second = playground.windows[name].screen.messages
        assert second.reply_to == first.id
    assert tab.errors == []


async def test_the_last_message_is_changed_with_the_arrow_key_and_escape_lets_go_of_it(
    playground: Playground, tab: Tab
) -> None:
    sight, field = Sight(tab, "telegram"), "root.querySelector('textarea')"
    await sight.write("a qestion")
    await sight.until("root.querySelectorAll('.msg').length === 1")
    await tab.press("ArrowUp")
    assert await sight.value(f"{field}.value") == "a qestion"
    assert await sight.value("root.querySelector('form .go').dataset.does") == "Save"
    await tab.press("Escape")
    assert await sight.value(f"{field}.value") == ""

    await tab.send("Input.insertText", text="half a sentence")
    await sight.act("Edit", "a qestion")
    await sight.write("a question", over=True)
    await sight.until("root.querySelector('.body').textContent.startsWith('a question')")
    assert await sight.value(f"{field}.value") == "half a sentence"
    assert await sight.value("root.querySelectorAll('[data-aimed]').length") == 0
    edits = [one for one in playground.telegram.world.updates.all.values() if "edited_message" in one]
    assert [one["edited_message"]["text"] for one in edits] == ["a question"]

    await sight.act("Edit", "a question")
    await tab.press("Enter")
    await sight.until(f"{field}.value === 'half a sentence'")
    assert len(playground.telegram.screen.messages[0].versions) == 2, "what stays as it was is no change"
    assert tab.errors == []


async def test_a_thread_whose_first_message_is_deleted_keeps_the_others(playground: Playground, tab: Tab) -> None:
    slack, sight = playground.slack, Sight(tab, "slack")
    first = slack.say("C0GENERAL", "question", person="U0ADA")
    slack.say("C0GENERAL", "more", person="U0ADA", thread_ts=first)
    await sight.until("root.querySelector('.replies .more')")
    await sight.act("Delete", "question")
    await sight.until("root.querySelector('[data-gone]')")
    assert await sight.bodies() == ["This message was deleted."]
    await sight.value("root.querySelector('.replies .more').click()")
    await sight.until("[...root.querySelectorAll('.thread .body')].at(-1)?.innerText === 'more'")
    assert tab.errors == []


async def test_the_bots_messages_can_be_replied_to_and_not_changed(playground: Playground, tab: Tab) -> None:
    discord = playground.discord
    channel = playground.windows["discord"].places[0].id
    posts = f"{discord.base_url}/channels/{channel}/messages"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bot {discord.token}"}) as bot,
        bot.post(posts, json={"content": "Hi"}) as posted,
    ):
        assert posted.status == 200
    sight = Sight(tab, "discord")
    await sight.until("root.querySelector('.acts button')")
    assert await sight.value("[...root.querySelectorAll('.acts button')].map((one) => one.title)") == [
        "Add a reaction",
        "Reply",
    ]
    message = discord.screen.messages[0]
    async with aiohttp.ClientSession() as page:
        for act in ("edit", "delete"):
            asked = {"platform": "discord", "chat": channel, "id": message.id, "text": "Ho"}
            async with page.post(f"{playground.url}do/{act}", json=asked) as answer:
                assert (answer.status, await answer.json()) == (409, {"problem": "only its author can do that"})
        gone = {"platform": "slack", "chat": "C0GENERAL", "id": "1", "text": "Ho"}
        async with page.post(f"{playground.url}do/edit", json=gone) as answer:
            assert (answer.status, await answer.json()) == (409, {"problem": "that message is gone"})
        mine = playground.telegram.message_id(playground.telegram.say(1001, "mine"))
        asked = {"platform": "telegram", "chat": "1001", "id": str(mine)}
        async with page.post(f"{playground.url}do/delete", json=asked) as answer:
            assert "tells no bot" in (await answer.json())["problem"]
    assert message.text == "Hi"
