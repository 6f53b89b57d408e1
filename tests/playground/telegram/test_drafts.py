"""Drafts: a text that is there while it is written, and nowhere afterwards."""

from __future__ import annotations

import pytest
from telegram import Bot
from telegram.error import BadRequest, EndPointNotFound, InvalidToken

from playground.telegram import TelegramServer
from tests.playground.telegram.conftest import Clock, Raw


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


async def test_an_older_server_does_not_know_rich_messages(free: TelegramServer, bot: Bot) -> None:
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("sendRichMessage", api_kwargs={"chat_id": 7, "rich_message": {"markdown": "# Hi"}})


async def test_a_newer_server_takes_rich_messages_and_drafts(free: TelegramServer, raw: Raw) -> None:
    free.rich = True
    await raw("sendRichMessageDraft", chat_id=7, draft_id=1, rich_message={"html": "<h1>H</h1>"})
    assert free.screen.of("7")[0].text == "H"

    status, body = await raw("sendRichMessage", chat_id=7, rich_message={"markdown": "# Hi"})
    assert (status, body["result"]["rich_message"]) == (200, {"markdown": "# Hi"})
    edit = {"chat_id": 7, "message_id": body["result"]["message_id"]}
    assert (await raw("editMessageText", **edit, rich_message={"markdown": "# Ho"}))[0] == 200
    status, body = await raw("editMessageText", **edit, rich_message={"markdown": "# Ho"})
    assert status == 400 and "message is not modified" in body["description"]
    assert (await raw("sendRichMessage", chat_id=7, rich_message={"markdown": "a", "html": "b"}))[0] == 400
    assert (await raw("sendRichMessage", chat_id=7, rich_message={"markdown": "a" * 32_769}))[0] == 400

    assert [version.text for version in free.screen.of("7")[0].versions] == ["# Hi", "# Ho"]
