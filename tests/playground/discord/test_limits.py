"""How often: buckets with their headers, the overall limit, the ban, and the faults a test asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from playground.discord import DiscordServer, Limits, Window
from playground.discord.world import Channel
from playground.faults import Fault
from tests.playground.discord.conftest import Bot, Raw, Time


@pytest.fixture
def place(server: DiscordServer) -> Channel:
    return server.channel(20, 10, "general")


async def test_the_sixth_message_in_five_seconds_waits_for_the_window(
    raw: Raw, server: DiscordServer, time: Time, place: Channel
) -> None:
    for left in (4, 3, 2, 1, 0):
        sent = await raw.send(place)
        assert (sent.status, sent.headers["x-ratelimit-remaining"]) == (200, str(left))
        time.pass_(0.5)
    refused = await raw.send(place)
    elsewhere = await raw.send(server.channel(21, 10))
    time.pass_(2.499)
    early = await raw.send(place)
    time.pass_(0.001)
    again = await raw.send(place)

    assert refused.status == 429
    assert refused.body == {"message": "You are being rate limited.", "retry_after": 2.5, "global": False}
    assert refused.headers["retry-after"] == "3" and refused.headers["x-ratelimit-scope"] == "user"
    assert refused.headers["x-ratelimit-limit"] == "5" and refused.headers["x-ratelimit-reset-after"] == "2.500"
    assert elsewhere.status == 200
    assert elsewhere.headers["x-ratelimit-bucket"] == refused.headers["x-ratelimit-bucket"]
    assert (early.status, again.status) == (429, 200)
    assert server.refusals == 2
    assert [call.retry_after for call in server.calls if call.status == 429] == [2.5, 0.001]


async def test_edits_and_sends_of_a_channel_have_a_bucket_each(raw: Raw, place: Channel) -> None:
    sent = await raw.send(place)

    edits = [await raw.edit(place, sent.body["id"], str(number)) for number in range(6)]

    assert [edit.status for edit in edits] == [200] * 5 + [429]
    assert edits[0].headers["x-ratelimit-bucket"] != sent.headers["x-ratelimit-bucket"]


async def test_an_interaction_token_has_five_calls_in_two_seconds(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    command = {"name": "ask", "description": "Ask"}
    await raw("PUT", f"/applications/{server.application_id}/commands", [command])
    one, two = server.slash("ask", {}, place, 1), server.slash("ask", {}, place, 1)
    for made in (one, two):
        await raw.answer(made, 5)

    edits = [await raw.hook("PATCH", one, "/messages/@original", {"content": str(n)}) for n in range(6)]
    other = await raw.hook("PATCH", two, "/messages/@original", {"content": "x"})

    assert [edit.status for edit in edits] == [200] * 5 + [429]
    assert edits[5].body["retry_after"] == 2.0
    assert other.status == 200


async def test_old_messages_are_edited_seldom(raw: Raw, server: DiscordServer, time: Time, place: Channel) -> None:
    sent = await raw.send(place)
    time.pass_(3601)
    statuses = []
    for number in range(31):
        time.pass_(1)
        statuses.append(await raw.edit(place, sent.body["id"], str(number)))

    assert [answer.status for answer in statuses[:30]] == [200] * 30
    assert (statuses[30].status, statuses[30].code) == (429, 30046)


async def test_fifty_calls_a_second_are_all_and_interactions_do_not_count(session: aiohttp.ClientSession) -> None:
    async with DiscordServer(now=lambda: 5.0, limits=Limits(overall=Window(3, 1.0))) as server:
        headers = {"Authorization": f"Bot {server.token}"}
        answers = []
        for _ in range(4):
            async with session.get(f"{server.base_url}/users/@me", headers=headers) as answer:
                answers.append((answer.status, await answer.json()))
                scope = answer.headers.get("X-RateLimit-Scope")
        async with session.get(f"{server.base_url}/gateway") as answer:
            assert answer.status == 200

    assert [status for status, _ in answers] == [200, 200, 200, 429]
    assert answers[3][1]["global"] is True and scope == "global"
    assert Limits().overall == Window(50, 1.0)


async def test_too_many_refused_calls_ban_the_address(session: aiohttp.ClientSession) -> None:
    async with DiscordServer(now=lambda: 5.0, limits=Limits(invalid=Window(3, 600.0))) as server:
        for _ in range(3):
            async with session.get(f"{server.base_url}/users/@me") as answer:
                assert answer.status == 401
        async with session.get(
            f"{server.base_url}/users/@me", headers={"Authorization": f"Bot {server.token}"}
        ) as answer:
            banned, text, via = answer.status, await answer.text(), answer.headers.get("Via")

    assert (banned, text, via) == (429, "error code: 1015", None)
    assert Limits().invalid == Window(10_000, 600.0)


async def test_without_rates_nothing_comes_too_soon(session: aiohttp.ClientSession) -> None:
    async with DiscordServer(limits=False) as server:
        server.guild(10)
        server.channel(20, 10)
        for _ in range(60):
            async with session.post(
                f"{server.base_url}/channels/20/messages",
                json={"content": "x"},
                headers={"Authorization": f"Bot {server.token}"},
            ) as answer:
                assert answer.status == 200 and "X-RateLimit-Limit" not in answer.headers

        assert server.refusals == 0 and len(server.screen.of("20")) == 60


async def test_a_call_is_on_record_with_what_it_said(raw: Raw, server: DiscordServer, place: Channel) -> None:
    await raw.send(place, "hello")

    call = server.calls[-1]
    assert (call.name, call.channel, call.body, call.status, call.at) == (
        "POST /channels/{channel}/messages",
        "20",
        {"content": "hello"},
        200,
        1000.0,
    )


async def test_a_fault_answers_instead(raw: Raw, server: DiscordServer, place: Channel) -> None:
    name = "POST /channels/{channel}/messages"
    server.faults.add(name, Fault(status=500))
    server.faults.add(name, Fault(status=429, retry_after=1.5))

    broken, limited, fine = await raw.send(place), await raw.send(place), await raw.send(place)

    assert (broken.status, limited.status, fine.status) == (500, 429, 200)
    assert limited.body["retry_after"] == 1.5
    assert len(server.screen.of("20")) == 1


@pytest.mark.parametrize(("drop", "shown"), [("before", 0), ("after", 1)])
async def test_a_dropped_call_was_done_or_not(
    raw: Raw, server: DiscordServer, place: Channel, drop: str, shown: int
) -> None:
    server.faults.add("POST /channels/{channel}/messages", Fault(drop=drop))

    with pytest.raises(aiohttp.ClientError):
        await raw.send(place)

    assert len(server.screen.of("20")) == shown
    assert server.calls[-1].status == 0


async def test_a_held_call_is_done_when_it_is_let_go(raw: Raw, server: DiscordServer, place: Channel) -> None:
    fault = server.faults.add("POST /channels/{channel}/messages", Fault(hold=asyncio.Event()))
    held = asyncio.create_task(raw.send(place))
    await fault.reached.wait()
    assert server.screen.of("20") == []

    assert fault.hold is not None
    fault.hold.set()

    assert (await held).status == 200


async def test_a_held_answer_was_done_already(raw: Raw, server: DiscordServer, place: Channel) -> None:
    after = asyncio.Event()
    server.faults.add("POST /channels/{channel}/messages", Fault(hold_after=after))
    held = asyncio.create_task(raw.send(place))

    await server.screen.until(lambda screen: screen.of("20"))
    assert not held.done()
    after.set()

    assert (await held).status == 200


async def test_the_library_waits_out_a_429_as_long_as_it_is_told(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]], place: Channel
) -> None:
    bot = await start()
    server.faults.add("POST /channels/{channel}/messages", Fault(status=429, retry_after=0.01))

    await bot.get_partial_messageable(20).send("at last")

    assert [call.status for call in server.calls if call.method == "POST"] == [429, 200]
    assert server.screen.of("20")[0].text == "at last"
