"""The gateway: who is told what, what is replayed, and how a connection ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from playground.discord import DiscordServer
from playground.discord.world import Channel
from tests.conftest import RawJson
from tests.playground.discord.conftest import Bot, Gate, Raw, Time

GUILDS, MESSAGES, DIRECT, CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15


@pytest.fixture
def place(server: DiscordServer) -> Channel:
    return server.channel(20, 10, "general")


async def test_ready_names_the_servers_and_then_brings_them(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    one = await gate()
    await one.identify(GUILDS)

    ready = await one.until("READY")
    guild = await one.until("GUILD_CREATE")

    assert ready["guilds"] == [{"id": "10", "unavailable": True}]
    assert ready["user"]["id"] == server.bot.id and ready["application"]["id"] == server.application_id
    assert ready["resume_gateway_url"] == server.gateway_url
    assert [channel["id"] for channel in guild["channels"]] == ["20"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"token": "wrong"}, 4004),
        ({"intents": CONTENT}, 4014),
        ({"intents": 1 << 1}, 4014),
        ({"intents": 1 << 40}, 4013),
        ({"shard": [2, 2]}, 4010),
    ],
)
async def test_a_client_that_may_not_come_in_is_told_why(
    gate: Callable[[], Awaitable[Gate]], body: RawJson, code: int
) -> None:
    one = await gate()

    await one.identify(**body)

    assert await one.closed() == code


@pytest.mark.parametrize(("op", "code"), [(99, 4001), (8, 4003), (3, 4003)])
async def test_an_operation_out_of_place_ends_the_connection(
    gate: Callable[[], Awaitable[Gate]], op: int, code: int
) -> None:
    one = await gate()

    await one.send(op, {})

    assert await one.closed() == code


async def test_nonsense_and_a_second_identify_end_the_connection(gate: Callable[[], Awaitable[Gate]]) -> None:
    one, two = await gate(), await gate()

    await one.socket.send_str("nonsense")
    await two.identify()
    await two.identify()

    assert await one.closed() == 4002
    assert await two.closed() == 4005


async def test_more_than_120_frames_a_minute_end_the_connection(gate: Callable[[], Awaitable[Gate]]) -> None:
    one = await gate()

    for _ in range(121):
        await one.send(1, None)

    assert await one.closed() == 4008


async def test_a_heartbeat_is_answered_unless_it_shall_not_be(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]]
) -> None:
    one = await gate()
    await one.send(1, None)
    assert (await one.take())["op"] == 11
    server.gateway.acknowledges = False

    await one.send(1, None)
    await one.identify()

    assert (await one.take())["t"] == "READY"


@pytest.mark.parametrize(
    ("text", "granted", "seen"),
    [("hello", 0, ""), ("hello", CONTENT, "hello"), ("<@{bot}> hello", 0, "<@{bot}> hello"), ("<@1> hello", 0, "")],
)
async def test_the_text_is_told_with_the_intent_or_to_whom_it_mentions(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel, text: str, granted: int, seen: str
) -> None:
    server.privileged_intents = granted
    one = await gate()
    await one.identify(MESSAGES | granted)
    await one.until("READY")

    server.say(place, text.format(bot=server.bot.id), person=1)
    told = await one.until("MESSAGE_CREATE")

    assert told["content"] == seen.format(bot=server.bot.id)
    assert told["guild_id"] == "10" and told["author"]["username"] == "Ada"
    assert [user["id"] for user in told["mentions"]] == ([] if text == "hello" else [told["mentions"][0]["id"]])


async def test_a_reply_to_the_bot_is_told_with_what_it_replies_to(
    server: DiscordServer, raw: Raw, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    sent = (await raw.send(place, "answer")).body["id"]
    one = await gate()
    await one.identify(MESSAGES)
    await one.until("READY")

    server.say(place, "and then?", person=1, reply_to=sent)
    loud = await one.until("MESSAGE_CREATE")
    server.say(place, "and then?", person=1, reply_to=sent, ping=False)
    quiet = await one.until("MESSAGE_CREATE")
    server.delete(sent)
    server.redeliver(quiet["id"])
    orphan = await one.until("MESSAGE_CREATE")

    assert (loud["content"], loud["referenced_message"]["content"]) == ("and then?", "answer")
    assert [user["id"] for user in loud["mentions"]] == [server.bot.id]
    assert (quiet["content"], quiet["mentions"], quiet["referenced_message"]["content"]) == ("", [], "answer")
    assert orphan["referenced_message"] is None


async def test_only_what_the_intents_ask_for_and_the_bot_can_see_is_told(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    hidden = server.channel(21, 10, member=False)
    one = await gate()
    await one.identify(DIRECT)
    await one.until("READY")

    server.say(place, server.mention(), person=1)
    server.say(hidden, server.mention(), person=1)
    server.say(server.direct(1), "direct")

    assert (await one.take())["d"]["content"] == "direct"


async def test_other_bots_and_webhooks_are_told_as_such(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    other = server.person(7, "Other", bot=True)
    one = await gate()
    await one.identify(MESSAGES)
    await one.until("READY")

    server.say(place, server.mention(), person=other)
    server.say(place, server.mention(), webhook="News")
    bot, hook = await one.until("MESSAGE_CREATE"), await one.until("MESSAGE_CREATE")

    assert bot["author"]["bot"] and "webhook_id" not in bot
    assert hook["webhook_id"] == hook["author"]["id"] and hook["author"]["username"] == "News"


async def test_one_event_can_be_delivered_again(
    server: DiscordServer, raw: Raw, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    await raw("PUT", f"/applications/{server.application_id}/commands", [{"name": "ask", "description": "Ask"}])
    one = await gate()
    await one.identify(MESSAGES)
    await one.until("READY")

    said, used = server.say(place, server.mention(), person=1), server.slash("ask", {}, place, 1)
    server.redeliver(said)
    server.redeliver(used.id)
    seen = [await one.take() for _ in range(4)]

    assert [(frame["t"], frame["d"]["id"]) for frame in seen] == [
        ("MESSAGE_CREATE", said),
        ("INTERACTION_CREATE", used.id),
        ("MESSAGE_CREATE", said),
        ("INTERACTION_CREATE", used.id),
    ]
    assert seen[1]["d"]["token"] == seen[3]["d"]["token"]
    with pytest.raises(LookupError):
        server.redeliver("5")


async def test_what_was_missed_is_replayed_in_order_on_resume(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    one = await gate()
    await one.identify(DIRECT)
    session = (await one.until("READY"))["session_id"]
    server.say(server.direct(1), "one")
    first = await one.take()
    await one.socket.close(code=4000)
    await server.gateway.until_left()
    server.say(server.direct(1), "two")
    server.say(server.direct(1), "three")

    two = await gate()
    await two.send(6, {"token": server.token, "session_id": session, "seq": first["s"]})
    frames = [await two.take() for _ in range(3)]

    assert [frame["d"].get("content", frame["t"]) for frame in frames] == ["two", "three", "RESUMED"]
    assert [frame["s"] for frame in frames] == [first["s"] + 1, first["s"] + 2, first["s"] + 3]


async def test_a_session_that_is_gone_cannot_be_resumed(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], time: Time
) -> None:
    one = await gate()
    await one.identify(DIRECT)
    session = (await one.until("READY"))["session_id"]
    await one.socket.close(code=4000)
    await server.gateway.until_left()
    two = await gate()
    time.pass_(301)

    await two.send(6, {"token": server.token, "session_id": session, "seq": 1})

    assert (await two.take())["op"] == 9
    assert (two.seen[-1]["op"], two.seen[-1]["d"]) == (9, False)


async def test_a_sequence_from_the_future_ends_the_resume(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]]
) -> None:
    one = await gate()
    await one.identify(DIRECT)
    session = (await one.until("READY"))["session_id"]
    two = await gate()

    await two.send(6, {"token": server.token, "session_id": session, "seq": 99})

    assert await two.closed() == 4007


async def test_a_client_can_be_sent_away_in_every_way(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]]
) -> None:
    one = await gate()
    await one.identify()
    await one.until("READY")

    server.gateway.reconnect()
    assert (await one.take())["op"] == 7
    server.gateway.invalidate(resumable=True)
    assert ((await one.take())["op"], one.seen[-1]["d"]) == (9, True)
    server.gateway.invalidate()
    assert ((await one.take())["op"], one.seen[-1]["d"]) == (9, False)
    await server.gateway.drop(4000)
    assert await one.closed() == 4000


async def test_the_library_identifies_anew_when_its_session_is_invalid(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    bot = await start()

    server.gateway.invalidate()
    await server.gateway.until_left()
    await server.gateway.until_ready()
    server.say(server.direct(1), "again")

    assert len(server.gateway.identified) == 2
    assert (await bot.next("message")).content == "again"


async def test_the_library_comes_back_after_a_lost_connection(
    server: DiscordServer, start: Callable[..., Awaitable[Bot]]
) -> None:
    bot = await start()

    await server.gateway.drop()
    await server.gateway.until_left()
    server.say(server.direct(1), "while away")

    assert (await bot.next("message")).content == "while away"
    assert server.gateway.resumed == 1


async def test_roles_are_told_with_what_a_member_does_and_at_once_only_with_the_intent(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]], place: Channel
) -> None:
    server.privileged_intents = 1 << 1
    one, informed = await gate(), await gate()
    await one.identify(MESSAGES | GUILDS)
    await informed.identify(1 << 1)
    await one.until("READY")
    await informed.until("READY")

    server.role(30, 10, "Readers")
    server.grant(30, 10, 1)
    server.say(place, server.mention(), person=1)
    made = await one.until("GUILD_ROLE_CREATE")
    said = await one.until("MESSAGE_CREATE")
    changed = await informed.until("GUILD_MEMBER_UPDATE")
    server.grant(30, 10, 1, take=True)
    server.say(place, server.mention(), person=1)

    assert made["guild_id"] == "10" and made["role"]["name"] == "Readers"
    assert said["member"]["roles"] == changed["roles"] == ["30"]
    assert changed["user"]["id"] == "1"
    assert "GUILD_MEMBER_UPDATE" not in [frame["t"] for frame in one.seen]
    assert (await one.until("MESSAGE_CREATE"))["member"]["roles"] == []
    with pytest.raises(LookupError, match="no role 31"):
        server.grant(31, 10, 1)


def server_on(server: DiscordServer, shard: int, of: int) -> Channel:
    """A channel in a server whose events that shard has."""
    guild = (of * 100 + shard) << 22
    server.guild(guild)
    return server.channel(200 + shard, guild)


async def test_a_shard_is_told_what_happens_in_its_servers_and_the_first_of_direct_messages(
    server: DiscordServer, gate: Callable[[], Awaitable[Gate]]
) -> None:
    server.gateway.max_concurrency = 2
    places = [server_on(server, number, 2) for number in range(2)]
    one, two = await gate(), await gate()
    for number, socket in enumerate((one, two)):
        await socket.identify(GUILDS | MESSAGES | DIRECT, shard=[number, 2])
    ready = [await socket.until("READY") for socket in (one, two)]

    server.say(places[1], f"{server.mention()} second", person=1)
    server.say(places[0], f"{server.mention()} first", person=1)
    server.say(server.direct(1), "alone", person=1)
    heard = [(await one.until("MESSAGE_CREATE"))["content"] for _ in range(2)]

    assert [body["shard"] for body in ready] == [[0, 2], [1, 2]]
    assert [len(body["guilds"]) for body in ready] == [2, 1]
    assert [text.removeprefix(f"{server.mention()} ") for text in heard] == ["first", "alone"]
    assert (await two.until("MESSAGE_CREATE"))["content"].endswith("second")


async def test_who_has_too_many_servers_must_be_sharded(
    server: DiscordServer, raw: Raw, gate: Callable[[], Awaitable[Gate]]
) -> None:
    server_on(server, 1, 2)
    server.gateway.most_guilds, server.gateway.shards = 1, 2
    one, two = await gate(), await gate()

    await one.identify()
    await two.identify(shard=[0, 2])
    told = (await raw("GET", "/gateway/bot")).body

    assert await one.closed() == 4011
    await two.until("READY")
    assert told["shards"] == 2 and told["session_start_limit"]["max_concurrency"] == 1


async def test_shards_identify_five_seconds_apart(
    server: DiscordServer, time: Time, gate: Callable[[], Awaitable[Gate]]
) -> None:
    one, two = await gate(), await gate()
    await one.identify(shard=[0, 2])
    await one.until("READY")

    await two.identify(shard=[1, 2])
    refused = await two.take()
    time.pass_(5.0)
    await two.identify(shard=[1, 2])
    await two.until("READY")
    await server.gateway.drop(4000, shard=1)

    assert (refused["op"], refused["d"]) == (9, False)
    await one.send(1, None)
    assert await two.closed() == 4000
    assert (await one.take())["op"] in (0, 11)
