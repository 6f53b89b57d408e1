"""Several gateway connections of one bot: each begins, breaks and comes back for itself."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest

from adapters.discord.adapter import DiscordAdapter, check
from adapters.discord.client import Client
from adapters.discord.identifying import SECONDS, Identifying
from bot.contract.errors import Unreachable
from bot.contract.messages import Page
from playground.discord.world import Channel
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage, Wait
from tests.conftest import FakeClock
from tests.surfaces import show

LISTENING = {"0": "listening", "1": "listening", "2": "listening"}


def place_on(stage: Stage, shard: int) -> Channel:
    """A channel in a server of that shard."""
    guild = (300 + shard) << 22
    stage.server.guild(guild, f"Server {shard}")
    return stage.server.channel(100 + shard, guild, "general")


async def listen(stage: Stage, wait: Wait, shards: int = 3) -> tuple[DiscordAdapter, list[Channel]]:
    """An adapter on so many shards that all listen, and a place on each."""
    stage.server.gateway.shards, stage.server.gateway.max_concurrency = shards, shards
    places = [place_on(stage, number) for number in range(shards)]
    adapter = await stage.listen()
    await wait(lambda: set(adapter.shards.values()) == {"listening"})
    return adapter, places


async def hears(stage: Stage, place: Channel, text: str) -> None:
    """What is said there arrives, and once."""
    stage.server.say(place, f"{stage.server.mention()} {text}", person=1)
    assert (await stage.mailbox.next()).text == text


async def test_each_shard_hears_its_own_servers_and_the_first_one_direct_messages(stage: Stage, wait: Wait) -> None:
    adapter, places = await listen(stage, wait)

    for number, place in enumerate(places):
        await hears(stage, place, f"on {number}")
    stage.server.say(stage.server.direct(1), "alone", person=1)
    assert (await stage.mailbox.next()).text == "alone"
    surface, _ = await stage.answer_to(adapter, places[2])
    await show(surface, Page("Because", final=True), None)

    assert sorted(body["shard"] for body in stage.server.gateway.identified) == [[0, 3], [1, 3], [2, 3]]
    assert stage.said("102") == ["Because"]
    await stage.stop()
    assert adapter.shards == {} and not adapter.listening and stage.server.gateway.sessions == []


async def test_a_shard_that_breaks_is_named_and_the_others_go_on(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter, places = await listen(stage, wait)
    http, back = adapter._gateway.of(301 << 22).http, asyncio.Event()
    connect = http.ws_connect

    async def later(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        await back.wait()
        return await connect(url, compress=compress)

    monkeypatch.setattr(http, "ws_connect", later)
    await stage.server.gateway.drop(shard=1)
    await wait(lambda: adapter.shards["1"] == "connecting")
    lost = dict(adapter.shards)
    listening = adapter.listening
    await hears(stage, places[0], "meanwhile")
    stage.server.say(places[1], f"{stage.server.mention()} missed", person=1)
    back.set()

    assert (await stage.mailbox.next()).text == "missed"
    await wait(lambda: adapter.shards == LISTENING)
    assert lost == {"0": "listening", "1": "connecting", "2": "listening"} and listening
    assert stage.server.gateway.resumed == 1 and len(stage.server.gateway.identified) == 3


async def test_one_of_several_shards_that_meets_what_nobody_expects_begins_afresh(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = discord.Client.connect
    tries: list[int | None] = []

    async def odd(client: discord.Client, *, reconnect: bool) -> None:
        tries.append(client.shard_id)
        if client.shard_id == 1 and tries.count(1) == 1:
            assert isinstance(client, Client)
            await client.on_ready()
            raise KeyError("words of the gateway")
        await connect(client, reconnect=reconnect)

    monkeypatch.setattr(discord.Client, "connect", odd)
    stage.server.gateway.shards, stage.server.gateway.max_concurrency = 2, 2
    place = place_on(stage, 1)
    adapter = await stage.listen()
    await wait(lambda: adapter.shards["0"] == "listening" and "KeyError" in adapter.shards["1"])
    broken = adapter.shards["1"]
    await stage.clock.advance(1.0)
    await stage.clock.advance(SECONDS)
    await wait(lambda: adapter.shards["1"] == "listening")
    await hears(stage, place, "again")

    assert broken.startswith("unreachable: KeyError") and "words" not in broken
    assert tries == [0, 1, 1]


async def test_a_session_that_begins_again_waits_for_its_turn(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(client: discord.Client, shard: int | None, *, initial: bool = False) -> None:
        """The library waits five seconds of its own clock."""

    monkeypatch.setattr(discord.Client, "before_identify_hook", at_once)
    adapter = await stage.listen()
    stage.server.gateway.invalidate()
    await stage.clock.sleeper()
    before = len(stage.server.gateway.identified)
    await stage.clock.advance(SECONDS)
    await wait(lambda: adapter.shards == {"0": "listening"})

    assert (before, len(stage.server.gateway.identified)) == (1, 2)


async def test_more_shards_are_opened_when_discord_asks_for_them(stage: Stage, wait: Wait) -> None:
    gateway = stage.server.gateway
    places = [place_on(stage, number) for number in range(2)]
    gateway.most_guilds = 2
    adapter = await stage.enter()
    with pytest.raises(Unreachable, match=r"more shards \(4011\)"):
        await adapter.listen(stage.mailbox)
    gateway.shards = gateway.max_concurrency = 2
    stage.clock.now += SECONDS

    await stage.listen(adapter)
    await wait(lambda: set(adapter.shards.values()) == {"listening"})

    for place in places:
        await hears(stage, place, f"in {place.id}")


async def test_a_lost_count_of_shards_is_one_until_discord_refuses_that(stage: Stage, wait: Wait) -> None:
    stage.server.faults.add("GET /gateway/bot", Fault(status=404))
    stage.server.gateway.shards = 3

    adapter = await stage.listen()

    await wait(lambda: adapter.shards == {"0": "listening"})
    assert "shard" not in stage.server.gateway.identified[0]


async def test_no_session_is_begun_where_discord_allows_none(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who begins more than a thousand in a day loses the token."""

    async def none_left(http: object) -> tuple[int, str, dict[str, int]]:
        return 2, "", {"total": 1000, "remaining": 1, "reset_after": 3_600_000, "max_concurrency": 1}

    adapter = await stage.enter()
    monkeypatch.setattr(discord.http.HTTPClient, "get_bot_gateway", none_left)
    with pytest.raises(Unreachable, match="1 further sessions in the next 60 minutes"):
        await adapter.listen(stage.mailbox)
    [wrong] = [one.text for one in await check(stage.settings()) if not one.well]

    assert "needs 2 gateway connections" in wrong and stage.server.gateway.identified == []


async def test_a_shard_that_cannot_log_in_leaves_no_other_open(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.server.gateway.shards = 3
    adapter = await stage.enter()
    logins: list[Client] = []
    login = Client.login

    async def second_fails(client: Client, token: str) -> None:
        logins.append(client)
        if len(logins) == 2:
            raise aiohttp.ClientError
        await login(client, token)

    monkeypatch.setattr(Client, "login", second_fails)
    with pytest.raises(Unreachable):
        await adapter.listen(stage.mailbox)

    assert all(client.is_closed() for client in logins) and not adapter._client.is_closed()


async def test_the_doctor_says_how_many_connections_there_are(stage: Stage) -> None:
    stage.server.gateway.shards = 3

    texts = [one.text for one in await check(stage.settings()) if one.well]
    stage.server.faults.add("GET /gateway/bot", Fault(status=404))
    [wrong] = [one.text for one in await check(stage.settings()) if not one.well]

    assert "it keeps 3 gateway connections (shards), 1000 of 1000 sessions are left until the next day" in texts
    assert wrong.startswith("how many connections Discord recommends")


async def test_what_is_posted_is_read_by_the_connection_that_knows_its_server(stage: Stage, wait: Wait) -> None:
    adapter, _ = await listen(stage, wait)
    gateway = adapter._gateway

    assert gateway.of(str(301 << 22)) is gateway._clients[(301) % 3]
    assert gateway.of(None) is adapter._client


async def test_sessions_begin_five_seconds_apart_but_for_those_that_discord_counts_apart(clock: FakeClock) -> None:
    identifying, begun = Identifying(clock), []
    identifying.concurrency = 2

    async def begin(shard: int) -> None:
        await identifying.wait(shard)
        begun.append((shard, clock.now - 1_000.0))

    for_all = [asyncio.create_task(begin(shard)) for shard in range(5)]
    await clock.settle()
    for_all[2].cancel()
    await clock.advance(4 * SECONDS)

    assert begun == [(0, 0.0), (1, 0.0), (3, SECONDS), (4, SECONDS)]
