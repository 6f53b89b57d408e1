"""The public address while strangers hold it: what the three platforms post is taken in all the same."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from slack_sdk.signature import SignatureVerifier

from adapters.discord.webhook import DiscordEntrance
from adapters.slack.webhook import SlackEntrance
from adapters.telegram.webhook import TelegramEntrance
from bot.contract import Entrance, SystemClock
from bot.operations.web import MOST_READING
from tests.patience import PATIENCE
from tests.web import Web, serving, signer

SECRET = "5" * 32
DISCORD = signer()
POSTED = 200


class Stored:
    """What the entrances take in."""

    def __init__(self) -> None:
        self.count = 0

    async def slack(self, payload: object) -> bool:
        self.count += 1
        return True

    telegram = slack

    def discord(self, interaction: object) -> None:
        self.count += 1


@pytest.fixture
def stored() -> Stored:
    return Stored()


@pytest.fixture
async def web(stored: Stored) -> AsyncIterator[Web]:
    async with serving() as web:
        clock = SystemClock()
        entrances: dict[str, Entrance] = {
            "telegram": TelegramEntrance(SECRET, stored.telegram),
            "slack": SlackEntrance(SECRET, clock, stored.slack),
            "discord": DiscordEntrance(DISCORD.public_key, clock, stored.discord),
        }
        web.entrance = entrances.get
        yield web


def forged(platform: str) -> list[str]:
    """Headers that anybody can write, of the right form."""
    stamp = str(int(time.time()))
    return {
        "telegram": ["X-Telegram-Bot-Api-Secret-Token: " + "0" * 64],
        "slack": ["X-Slack-Request-Timestamp: " + stamp, "X-Slack-Signature: v0=" + "0" * 64],
        "discord": ["X-Signature-Timestamp: " + stamp, "X-Signature-Ed25519: " + "0" * 128],
    }[platform]


def genuine(platform: str, body: bytes) -> list[str]:
    if platform == "telegram":
        return ["X-Telegram-Bot-Api-Secret-Token: " + SECRET]
    stamp = str(int(time.time()))
    if platform == "slack":
        signed = SignatureVerifier(SECRET).generate_signature(timestamp=stamp, body=body)
        return ["X-Slack-Request-Timestamp: " + stamp, f"X-Slack-Signature: {signed}"]
    return ["X-Signature-Timestamp: " + stamp, "X-Signature-Ed25519: " + DISCORD.sign(stamp.encode() + body).hex()]


def head(platform: str, headers: list[str], length: int) -> bytes:
    lines = [f"POST /parley/{platform} HTTP/1.1", "Host: bot.example", f"Content-Length: {length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


async def hold(web: Web, platform: str) -> asyncio.StreamWriter:
    """Begin a body that never comes."""
    _, writer = await asyncio.open_connection("127.0.0.1", web.port)
    writer.write(head(platform, forged(platform), 1_000))
    return writer


async def post(web: Web, platform: str, body: bytes) -> int:
    """Post as the platform does, with the body in a packet of its own."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
        writer.write(head(platform, genuine(platform, body), len(body)))
        await asyncio.sleep(0)
        writer.write(body)
        line = await reader.readline()
        writer.close()
    return int(line.split()[1]) if line else 0


@pytest.mark.parametrize("held", ["telegram", "slack", "discord"])
async def test_connections_that_strangers_hold_without_end_keep_no_platform_from_posting(
    held: str, web: Web, stored: Stored
) -> None:
    bodies = {
        "telegram": json.dumps({"update_id": 1, "message": {}}),
        "slack": json.dumps({"type": "event_callback"}),
        "discord": json.dumps({"type": 2}),
    }
    strangers = [await hold(web, held) for _ in range(2 * MOST_READING)]
    statuses = []
    for number in range(POSTED // len(bodies) + 1):
        for platform, body in bodies.items():
            statuses.append(await post(web, platform, body.encode()))
        strangers[number % len(strangers)].close()
        strangers[number % len(strangers)] = await hold(web, held)

    assert set(statuses) <= {200, 202} and stored.count == len(statuses) >= POSTED
    for writer in strangers:
        writer.close()


@pytest.mark.parametrize("signature", ["v0=", "v0=" + "0" * 63, "v1=" + "0" * 64, "v0=" + "G" * 64, "anything"])
async def test_a_signature_that_has_not_the_form_of_one_is_refused_before_its_body(web: Web, signature: str) -> None:
    stamp = str(int(time.time()))
    headers = ["X-Slack-Request-Timestamp: " + stamp, "X-Slack-Signature: " + signature]

    assert await web.send(head("slack", headers, 1_000)) == 401
