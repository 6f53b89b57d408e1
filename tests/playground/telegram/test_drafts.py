"""Drafts: a text that is there while it is written, and nowhere afterwards."""

from __future__ import annotations

import pytest
from telegram import Bot
from telegram.error import BadRequest, InvalidToken

from playground.telegram import TelegramServer
from tests.playground.telegram.conftest import Clock


async def test_a_draft_grows_in_place_and_gives_way_to_the_message(free: TelegramServer, bot: Bot) -> None:
    await bot.send_message_draft(7, 1, "")
    await bot.send_message_draft(7, 1, "Hel")
    await bot.send_message_draft(7, 1, "<b>Hello</b>", parse_mode="HTML")

    [draft] = free.screen.of("7")
    assert draft.live
    assert [version.text for version in draft.versions] == ["Thinking…", "Hel", "Hello"]

    await bot.send_message(7, "Hello.")

    assert [(shown.text, shown.live) for shown in free.screen.of("7")] == [("Hello.", False)]
    assert draft.deleted


async def test_a_draft_lives_thirty_seconds_from_its_last_change(free: TelegramServer, bot: Bot, clock: Clock) -> None:
    await bot.send_message_draft(7, 1, "a")
    clock.pass_(29)
    await bot.send_message_draft(7, 1, "a")
    clock.pass_(29)
    assert len(free.screen.of("7")) == 1

    clock.pass_(1)

    assert free.screen.of("7") == []


async def test_another_draft_takes_the_place_of_the_first(free: TelegramServer, bot: Bot) -> None:
    await bot.send_message_draft(7, 1, "a")
    await bot.send_message_draft(7, 2, "b")

    assert [shown.text for shown in free.screen.of("7")] == ["b"]


async def test_drafts_are_for_private_chats_and_have_a_number(free: TelegramServer, bot: Bot) -> None:
    with pytest.raises(BadRequest, match="Textdraft_peer_invalid"):
        await bot.send_message_draft(-500, 1, "a")
    with pytest.raises(BadRequest, match="must be non-zero"):
        await bot.send_message_draft(7, 0, "a")
    with pytest.raises(BadRequest, match="Can't parse entities"):
        await bot.send_message_draft(7, 1, "<b>a", parse_mode="HTML")
    with pytest.raises(BadRequest, match="Message is too long"):
        await bot.send_message_draft(7, 1, "x" * 4097)


async def test_a_person_can_stop_a_draft(free: TelegramServer, bot: Bot) -> None:
    await bot.send_message_draft(7, 5, "long", api_kwargs={"can_stop": True})

    free.stop_draft(7)

    [update] = await bot.get_updates()
    assert update.api_kwargs["stopped_message_generation"]["draft_id"] == 5
    assert free.screen.of("7") == []


async def test_an_older_server_does_not_know_drafts(free: TelegramServer, bot: Bot) -> None:
    free.world.drafts = False
    with pytest.raises(InvalidToken, match="method not found"):
        await bot.send_message_draft(7, 1, "a")
