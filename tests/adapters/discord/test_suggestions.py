"""Completing the arguments of slash commands while a person types them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from adapters.discord.adapter import DiscordAdapter
from bot.contract import MessageSent, StoreError
from playground.discord.interactions import SLASH, Interaction
from tests.adapters.discord.conftest import Stage, Wait


class Suggested:
    """What the core suggests, and what it was asked."""

    def __init__(self, *found: str) -> None:
        self.found = found
        self.asked: list[MessageSent] = []

    async def __call__(self, typed: MessageSent) -> Sequence[str]:
        self.asked.append(typed)
        return self.found


async def listening(stage: Stage, suggest: Suggested | None) -> DiscordAdapter:
    adapter = await stage.enter()
    adapter.suggest = suggest
    return await stage.listen(adapter)


async def offered(wait: Wait, made: Interaction) -> list[str]:
    await wait(lambda: made.choices is not None)
    assert made.choices is not None
    return [one["value"] for one in made.choices]


async def test_what_is_typed_is_completed_and_nothing_of_it_is_a_message(stage: Stage, wait: Wait) -> None:
    suggest = Suggested("openai:gpt-5", "openai:gpt-5-mini")
    await listening(stage, suggest)

    made = stage.server.type_in("model", {"name": "gpt"}, "name", stage.place, 1)

    assert await offered(wait, made) == ["openai:gpt-5", "openai:gpt-5-mini"]
    [asked] = suggest.asked
    assert (asked.command, asked.text, asked.sender.id, asked.group) == ("model", "gpt", "discord:1", True)
    stage.server.slash("ask", {"question": "hello"}, stage.place, 1)
    assert (await stage.mailbox.next()).text == "hello"
    assert len(stage.mailbox.stored) == 1


async def test_only_the_option_that_is_typed_counts(stage: Stage, wait: Wait) -> None:
    suggest = Suggested("calculator")
    await listening(stage, suggest)

    made = stage.server.type_in("tool", {"arguments": "1+2", "name": "calc"}, "name", stage.place, 1)

    assert await offered(wait, made) == ["calculator"]
    assert suggest.asked[0].text == "calc"


async def test_no_more_and_no_longer_ones_are_offered_than_discord_takes(stage: Stage, wait: Wait) -> None:
    await listening(stage, Suggested("x" * 101, *(f"tool_{number}" for number in range(30))))

    made = stage.server.type_in("tool", {"name": ""}, "name", stage.place, 1)

    assert await offered(wait, made) == [f"tool_{number}" for number in range(25)]


async def test_where_nobody_suggests_the_list_is_empty(stage: Stage, wait: Wait) -> None:
    await listening(stage, None)

    assert await offered(wait, stage.server.type_in("tool", {"name": "c"}, "name", stage.place, 1)) == []


async def test_what_cannot_be_suggested_disturbs_nothing(
    stage: Stage, wait: Wait, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Suggested):
        async def __call__(self, typed: MessageSent) -> Sequence[str]:
            raise StoreError("secret words")

    caplog.set_level(logging.INFO)
    await listening(stage, Broken())
    made = stage.server.type_in("tool", {"name": "c"}, "name", stage.place, 1)
    await wait(lambda: "nothing could be suggested" in caplog.text)
    stage.server.slash("ask", {"question": "hello"}, stage.place, 1)

    assert (await stage.mailbox.next()).text == "hello"
    assert not made.answered and "secret words" not in caplog.text


@pytest.mark.parametrize("filled", [("name", "arguments"), ("arguments", "name")])
async def test_a_tool_is_read_before_what_it_is_given(stage: Stage, filled: Sequence[str]) -> None:
    await stage.listen()
    written = {"name": "calculator", "arguments": "1+2"}
    options = [{"name": one, "type": 3, "value": written[one]} for one in filled]
    ada = stage.server.person(1)
    stage.server.interactions.begin(SLASH, stage.place, ada, {"id": "1", "name": "tool", "type": 1, "options": options})

    sent = await stage.mailbox.next()

    assert (sent.command, sent.text) == ("tool", "calculator 1+2")


async def test_a_tool_that_takes_nothing_is_named_alone(stage: Stage) -> None:
    await stage.listen()
    stage.server.slash("tool", {"name": "current_time"}, stage.place, 1)

    assert (await stage.mailbox.next()).text == "current_time"
