"""Calls that no library would send, and the smaller refusals."""

from __future__ import annotations

import aiohttp
import pytest

from playground.telegram import TelegramServer
from playground.telegram.media import size_of
from tests.conftest import RawObject
from tests.playground.telegram.conftest import Raw


@pytest.mark.parametrize(
    ("method", "parameters", "error"),
    [
        ("sendMessage", {"text": "x"}, "chat_id is empty"),
        ("sendMessage", {"chat_id": "nobody", "text": "x"}, "chat not found"),
        ("sendMessage", {"chat_id": 7, "text": "x", "parse_mode": "BBCode"}, "unsupported parse_mode"),
        ("sendMessage", {"chat_id": 7, "text": "*x*", "parse_mode": "Markdown"}, "unsupported parse_mode"),
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": "[{"}, "can't parse reply markup JSON object"),
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": "[]"}, "object expected as reply markup"),
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": {"inline_keyboard": 1}}, "Array of Array"),
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": {"inline_keyboard": [1]}}, "an Array of Inline"),
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": {"inline_keyboard": [[{}]]}}, "text buttons"),
        (
            "sendMessage",
            {"chat_id": 7, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}},
            "text buttons",
        ),
        (
            "sendMessage",
            {"chat_id": 7, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "url": "b"}]]}},
            "BUTTON_URL_INVALID",
        ),
        ("editMessageText", {"chat_id": 7, "text": "x"}, "message identifier is not specified"),
        ("sendDocument", {"chat_id": 7}, "there is no document in the request"),
        ("sendPhoto", {"chat_id": 7, "photo": "https://a.example/b.png"}, "failed to get HTTP URL content"),
        ("sendPhoto", {"chat_id": 7, "photo": "unknown"}, "wrong file identifier/HTTP URL specified"),
        ("setMyCommands", {"commands": "{}"}, "expected an Array of BotCommand"),
        ("setMyCommands", {"commands": [{"command": "a", "description": "b"}] * 101}, "BOT_COMMANDS_TOO_MUCH"),
        ("setMyCommands", {"commands": [{"command": "a", "description": ""}]}, "BOT_COMMAND_DESCRIPTION_INVALID"),
        (
            "setMyCommands",
            {"commands": [{"command": "a", "description": "b"}], "language_code": "zh-TW"},
            "invalid language code specified",
        ),
        ("setWebhook", {"url": "https://"}, "invalid webhook URL specified"),
    ],
)
async def test_a_wrong_call_is_refused_and_noted(
    free: TelegramServer, raw: Raw, method: str, parameters: RawObject, error: str
) -> None:
    status, body = await raw(method, **parameters)

    assert (status, body["ok"], body["error_code"]) == (400, False, 400)
    assert body["description"].startswith("Bad Request: ")
    assert error in body["description"]
    assert (free.calls[-1].method, free.calls[-1].status) == (method, 400)
    assert free.screen.messages == []


@pytest.mark.parametrize("body", [b"{", b"[]"])
async def test_a_broken_body_is_refused(free: TelegramServer, body: bytes) -> None:
    url = f"{free.base_url}/bot{free.token}/sendMessage"
    async with aiohttp.ClientSession() as session:
        answer = await session.post(url, data=body, headers={"Content-Type": "application/json"})

        assert answer.status == 400


async def test_a_file_needs_the_token_and_has_to_exist(free: TelegramServer) -> None:
    async with aiohttp.ClientSession() as session:
        assert (await session.get(f"{free.base_url}/file/bot1:wrong/a/b")).status == 401
        assert (await session.get(f"{free.base_url}/file/bot{free.token}/a/b")).status == 404


async def test_a_person_who_comes_back_is_heard_again(free: TelegramServer, raw: Raw) -> None:
    free.block(7)
    free.unblock(7)

    assert free.say(7, "I am back")
    assert (await raw("sendMessage", chat_id=7, text="good"))[0] == 200


async def test_a_caption_is_edited_and_a_voice_message_is_one(free: TelegramServer, raw: Raw) -> None:
    update = free.say(7, "one", files=[("v.oga", "audio/ogg", b"OggS")])
    free.edit(7, free.message_id(update), "two")

    _, body = await raw("getUpdates")

    assert body["result"][0]["message"]["voice"]["mime_type"] == "audio/ogg"
    assert body["result"][1]["edited_message"]["caption"] == "two"


def test_the_size_of_a_picture_is_read_from_its_head() -> None:
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x02\x00\x03"

    assert size_of(jpeg + b"\0" * 8) == (3, 2)
    assert size_of(b"GIF89a" + b"\x03\x00\x02\x00") == (3, 2)
    assert size_of(b"text") == (0, 0)
