"""Commands and presses that Discord posts, through the real library, the public address and the emulated service."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import pytest

from adapters.discord.adapter import DiscordAdapter, check
from bot.contract import ControlPressed, MessageSent, Page, SettingsError
from playground.discord.posts import SignedPosts, Signer
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage, Wait
from tests.web import HOSTILE, Web, serving, signer

STAMP, SIGNATURE = "X-Signature-Timestamp", "X-Signature-Ed25519"


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as web:
        yield web


@pytest.fixture
def discord(stage: Stage) -> Signer:
    return signer(stage.clock.wall)


@pytest.fixture
async def adapter(stage: Stage, web: Web, discord: Signer) -> AsyncIterator[DiscordAdapter]:
    async with DiscordAdapter(stage.settings(public_key=discord.public_key), stage.clock) as adapter:
        web.entrance = lambda platform: adapter.entrance if platform == "discord" else None
        await stage.listen(adapter)
        yield adapter
        await stage.stop()
        assert adapter.entrance is None


@pytest.fixture
async def posts(stage: Stage, web: Web, adapter: DiscordAdapter, discord: Signer) -> SignedPosts:
    made = await stage.server.deliver_to(f"{web.address}/discord", discord)
    assert made is not None
    return made


def signed(posts: SignedPosts, body: bytes) -> list[tuple[str, bytes]]:
    return [(name, value.encode()) for name, value in posts.headers(body).items()]


async def test_a_command_that_is_posted_is_stored_deferred_and_answered(
    stage: Stage, adapter: DiscordAdapter, posts: SignedPosts, wait: Wait
) -> None:
    made = stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)
    sent = await stage.mailbox.next()
    await wait(lambda: made.answered)
    surface = adapter.surface(sent.target)
    await surface.show(surface.draw(Page("A leaf.")), None, "n1")

    assert isinstance(sent, MessageSent) and sent.text == "what is tea?"
    assert stage.said()[-1] == "A leaf."
    await wait(lambda: posts.statuses == [202])


async def test_a_command_that_is_posted_before_the_gateway_is_known_is_stored(
    stage: Stage, web: Web, discord: Signer, wait: Wait
) -> None:
    asked = Fault(hold=asyncio.Event())
    stage.server.faults.add("GET /gateway/bot", asked)
    async with DiscordAdapter(stage.settings(public_key=discord.public_key), stage.clock) as adapter:
        web.entrance = lambda platform: adapter.entrance
        listening = asyncio.create_task(stage.listen(adapter))
        await wait(asked.reached.is_set)
        posts = await stage.server.deliver_to(f"{web.address}/discord", discord)
        stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)
        await wait(lambda: posts is not None and posts.statuses)
        assert asked.hold is not None
        asked.hold.set()
        await listening

        assert posts is not None and posts.statuses == [202]
        assert (await stage.mailbox.next()).text == "what is tea?"
        await stage.stop()


async def test_a_command_that_cannot_be_stored_is_left_unanswered(stage: Stage, posts: SignedPosts, wait: Wait) -> None:
    stage.mailbox.broken = True
    made = stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)
    await wait(lambda: stage.mailbox.refused and posts.statuses)
    await stage.stop()

    assert not made.answered


async def test_what_was_posted_twice_has_one_delivery(stage: Stage, web: Web, posts: SignedPosts, wait: Wait) -> None:
    made = stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)
    first = await stage.mailbox.next()
    await wait(lambda: made.answered)
    body = json.dumps(stage.server.interactions.told(made)).encode()
    assert await web.post("discord", signed(posts, body), body) == 202
    second = await stage.mailbox.next()

    assert first.delivery == second.delivery


async def test_mentions_still_come_over_the_gateway(stage: Stage, posts: SignedPosts) -> None:
    stage.server.say(stage.place, f"{stage.server.mention()} hello", person=1)

    assert (await stage.mailbox.next()).text == "hello"
    assert posts.statuses == []


async def test_an_address_that_does_not_check_who_posts_could_not_be_entered(
    stage: Stage, web: Web, adapter: DiscordAdapter
) -> None:
    with pytest.raises(ValueError, match="did not answer a PING"):
        await stage.server.deliver_to(f"{web.address}/discord", signer(stage.clock.wall))


@pytest.mark.parametrize("seconds", [301, -301])
async def test_what_was_signed_long_ago_is_refused(
    stage: Stage, web: Web, posts: SignedPosts, discord: Signer, seconds: float
) -> None:
    body = json.dumps({"type": 1}).encode()
    assert await web.post("discord", signed(posts, body), body) == 200
    discord.wall = lambda: stage.clock.wall() - seconds

    assert await web.post("discord", signed(posts, body), body) == 401


@pytest.mark.parametrize("name", [STAMP, SIGNATURE])
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: f"{len(value)} bytes {value[:9]!r}")
async def test_hostile_headers_prove_nothing(
    stage: Stage, web: Web, posts: SignedPosts, name: str, value: bytes
) -> None:
    body = json.dumps({"type": 1}).encode()
    headers = [(header, value if header == name else old) for header, old in signed(posts, body)]

    assert await web.post("discord", headers, body) in (400, 401)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"type": 2}', b'{"type": "2"}'])
async def test_what_cannot_be_read_is_left_out_alone(
    stage: Stage, web: Web, posts: SignedPosts, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert await web.post("discord", signed(posts, body), body) in (200, 202)
    stage.server.slash("ask", {"question": "hello"}, stage.place, 1)

    assert (await stage.mailbox.next()).text == "hello"
    assert "left out" in caplog.text


async def test_a_press_that_is_posted_is_stored(stage: Stage, web: Web, posts: SignedPosts) -> None:
    made = stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)
    await stage.mailbox.next()
    told = stage.server.interactions.told(made)
    pressed = told | {
        "id": str(int(made.id) + 1),
        "type": 3,
        "data": {"component_type": 2, "custom_id": "stop:7"},
        "message": {"id": "30", "channel_id": "20", "content": "", "author": told["member"]["user"], "attachments": []},
    }
    body = json.dumps(pressed).encode()
    await web.post("discord", signed(posts, body), body)

    assert isinstance(await stage.mailbox.next(), ControlPressed)


async def test_the_check_compares_the_key_and_names_the_address(
    stage: Stage, web: Web, posts: SignedPosts, discord: Signer
) -> None:
    async def found(key: str) -> list[tuple[bool, str]]:
        return [(one.well, one.text) for one in await check(stage.settings(public_key=key))]

    right, other = await found(discord.public_key.upper()), await found("0" * 64)
    await stage.server.deliver_to(None)
    nowhere = await found(discord.public_key)

    assert (True, f"its commands come by web, at {web.address}/discord") in right
    assert (False, "DISCORD_PUBLIC_KEY is another application's: copy it from General Information") in other
    assert (True, "its commands come over the gateway: no Interactions Endpoint URL is set") in nowhere


async def test_without_the_extra_it_is_one_sentence(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(SettingsError, match="pip install cryptography"):
        DiscordAdapter(stage.settings(public_key="0" * 64))
    DiscordAdapter(stage.settings())
