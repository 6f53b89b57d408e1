"""How the bot hears: long polling, the webhook, redelivery, and what privacy mode keeps back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from telegram import Bot, Update
from telegram.error import BadRequest, Conflict
from telegram.ext import Updater

from playground.faults import Fault
from playground.telegram import TelegramServer
from playground.telegram.kinds import KINDS
from tests.patience import PATIENCE
from tests.playground.telegram.conftest import Raw

FORUM = -1_001_234_567_890


async def test_a_message_reaches_the_real_updater_with_everything_parsed(free: TelegramServer) -> None:
    free.faults.add("getUpdates", Fault())
    next_poll = free.faults.add("getUpdates", Fault())
    update_id = free.say(7, "/ask@parley_test_bot 😀 hello")
    queue: asyncio.Queue[object] = asyncio.Queue()
    async with Updater(Bot(free.token, base_url=f"{free.base_url}/bot"), queue) as updater:
        await updater.start_polling(timeout=10)
        update = await asyncio.wait_for(queue.get(), PATIENCE)
        await next_poll.reached.wait()
        await updater.stop()

    assert isinstance(update, Update) and update.message is not None
    assert update.update_id == update_id
    assert update.message.parse_entities(["bot_command"]) == {update.message.entities[0]: "/ask@parley_test_bot"}
    assert update.message.from_user is not None and update.message.from_user.language_code == "en"
    assert update.message.message_id == free.message_id(update_id)


async def test_an_update_stays_until_an_offset_confirms_it(free: TelegramServer, bot: Bot) -> None:
    first, second = free.say(7, "one"), free.say(7, "two")

    assert [update.update_id for update in await bot.get_updates(limit=1)] == [first]
    assert [update.update_id for update in await bot.get_updates()] == [first, second]
    assert [update.update_id for update in await bot.get_updates(offset=second)] == [second]
    assert [update.update_id for update in await bot.get_updates()] == [second]
    assert list(await bot.get_updates(offset=second + 1)) == []


async def test_a_negative_offset_forgets_all_but_the_last(free: TelegramServer, bot: Bot) -> None:
    free.say(7, "one")
    second = free.say(7, "two")

    assert [update.update_id for update in await bot.get_updates(offset=-1)] == [second]
    assert len(await bot.get_updates()) == 1


async def test_an_update_can_come_twice_under_one_id(free: TelegramServer, bot: Bot) -> None:
    update_id = free.say(7, "once")
    await bot.get_updates(offset=update_id + 1)

    free.redeliver(update_id)

    assert [update.update_id for update in await bot.get_updates(offset=update_id + 1)] == [update_id]
    assert list(await bot.get_updates(offset=update_id + 1)) == []


async def polling(server: TelegramServer, bot: Bot) -> asyncio.Task[Any]:
    """A long poll that has arrived."""
    arrived = server.faults.add("getUpdates", Fault()).reached
    task = asyncio.create_task(bot.get_updates(timeout=20))
    await arrived.wait()
    return task


async def test_of_two_pollers_that_wait_the_older_meets_a_conflict_and_the_second_conflict_comes_late(
    free: TelegramServer, bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.telegram.updates.CONFLICT_SECONDS", 0.2)
    loop = asyncio.get_running_loop()
    async with Bot(free.token, base_url=f"{free.base_url}/bot") as other:
        first = await polling(free, bot)
        second = await polling(free, other)
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await first
        told = loop.time()
        third = await polling(free, bot)
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await second
        apart = loop.time() - told
        update_id = free.say(7, "hello")

        assert [update.update_id for update in await third] == [update_id]
        assert apart >= 0.2


async def test_a_poller_that_does_not_wait_leaves_the_other_alone(free: TelegramServer, bot: Bot) -> None:
    waiting = await polling(free, bot)
    async with Bot(free.token, base_url=f"{free.base_url}/bot") as other:
        assert list(await other.get_updates(timeout=0)) == []
        update_id = free.say(7, "hello")
        assert [update.update_id for update in await other.get_updates(timeout=20)] == [update_id]

    assert [update.update_id for update in await waiting] == [update_id], "what nobody confirmed, both are told"


async def test_allowed_updates_are_remembered(free: TelegramServer, bot: Bot) -> None:
    answer = await bot.send_message(7, "answer")
    assert free.react(7, answer.message_id, "👍") == 0
    await bot.get_updates(allowed_updates=["message_reaction"])

    assert free.say(7, "not wanted") == 0
    update_id = free.react(7, answer.message_id, "👍")

    [update] = await bot.get_updates()
    assert update.update_id == update_id
    assert update.message_reaction is not None and update.message_reaction.new_reaction[0].to_dict()["emoji"] == "👍"


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("just talking", False),
        ("hello @parley_test_bot", True),
        ("hello @somebody_else", False),
        ("/ask something", True),
        ("/ask@parley_test_bot", True),
        ("/ask@another_bot", False),
    ],
)
async def test_privacy_mode_lets_commands_and_mentions_through(free: TelegramServer, text: str, heard: bool) -> None:
    assert bool(free.say(-500, text, person=7)) is heard
    assert free.screen.of("-500", author="7")[0].text == text


async def test_privacy_mode_lets_replies_to_the_bot_through(free: TelegramServer, bot: Bot) -> None:
    answer = await bot.send_message(-500, "answer")

    assert free.say(-500, "and then?", person=7, reply_to=answer.message_id)
    [update] = await bot.get_updates()
    assert update.message is not None and update.message.reply_to_message is not None
    assert update.message.reply_to_message.from_user == bot.bot


async def test_topics_edits_and_albums_arrive_as_such(free: TelegramServer, bot: Bot) -> None:
    topic = free.say(FORUM, "/ask", person=7, thread=42)
    edited = free.edit(7, free.message_id(free.say(7, "one")), "two")
    free.say(7, "look", files=[("a.png", "image/png", png()), ("b.png", "image/png", png())])

    updates = {update.update_id: update for update in await bot.get_updates()}

    message = updates[topic].message
    assert message is not None and message.is_topic_message and message.message_thread_id == 42
    assert message.chat.is_forum
    change = updates[edited].edited_message
    assert change is not None and change.text == "two" and change.edit_date is not None
    photo, second = (update.message for update in list(updates.values())[-2:])
    assert photo is not None and photo.caption == "look" and photo.photo[0].width == 3
    assert second is not None and second.photo and second.caption is None
    assert photo.media_group_id == second.media_group_id != None  # noqa: E711


@pytest.mark.parametrize(
    ("sent", "albums"),
    [
        ("photo photo document document", [2, 2]),
        ("photo document", [1, 1]),
        ("photo photo document", [2, 1]),
        ("audio audio document", [2, 1]),
        ("voice voice", [1, 1]),
        ("photo " * 12, [10, 2]),
        ("photo " * 11, [10, 1]),
    ],
)
async def test_clients_divide_what_no_album_holds(free: TelegramServer, bot: Bot, sent: str, albums: list[int]) -> None:
    """Documents and music stand with their like alone, ten in an album; one alone is in none."""
    kinds = {
        "photo": ("a.png", "image/png", png()),
        "document": ("b.txt", "text/plain", b"b"),
        "audio": ("c.mp3", "audio/mpeg", b"ID3"),
        "voice": ("voice.ogg", "audio/ogg", b"OggS"),
    }
    free.say(7, "look", files=[kinds[kind] for kind in sent.split()])

    parts = [update.message for update in await bot.get_updates()]

    assert [part.caption for part in parts if part is not None] == ["look"] + [None] * (len(parts) - 1)
    seen: list[str | None] = []
    counts: list[int] = []
    for part in parts:
        assert part is not None
        if part.media_group_id and seen[-1:] == [part.media_group_id]:
            counts[-1] += 1
        else:
            counts.append(1)
        seen.append(part.media_group_id)
    assert counts == albums
    assert [bool(group) for group in seen] == [count > 1 for count in albums for _ in range(count)]


def png() -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (3).to_bytes(4, "big") + (2).to_bytes(4, "big")


async def test_blocking_is_told_and_then_there_is_silence(free: TelegramServer, bot: Bot) -> None:
    free.block(7)
    assert free.say(7, "can you hear me") == 0

    [update] = await bot.get_updates()

    assert update.my_chat_member is not None
    assert update.my_chat_member.new_chat_member.status == "kicked"


async def test_a_dropped_poll_loses_nothing(free: TelegramServer, bot: Bot) -> None:
    arrived = free.faults.add("getUpdates", Fault()).reached
    lost = asyncio.create_task(bot.get_updates(timeout=20))
    await arrived.wait()
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)

    update_id = free.say(7, "still here")

    assert [update.update_id for update in await bot.get_updates()] == [update_id]


class Hook:
    """A webhook that notes what it gets and answers what the test says."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[int] = []
        self.got: asyncio.Queue[tuple[int, str]] = asyncio.Queue()

    async def receive(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.got.put_nowait((body["update_id"], request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")))
        return web.Response(status=self.answers.pop(0) if self.answers else 200)

    async def next(self) -> tuple[int, str]:
        return await asyncio.wait_for(self.got.get(), PATIENCE)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/hook", hook.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    await runner.cleanup()


async def test_a_webhook_gets_each_update_with_the_secret_until_it_answers_2xx(
    free: TelegramServer, bot: Bot, hook: Hook
) -> None:
    hook.answers = [500, 403, 200]
    waiting = free.say(7, "before")
    await bot.set_webhook(hook.url, secret_token="s3cret-token")

    assert [await hook.next() for _ in range(3)] == [(waiting, "s3cret-token")] * 3
    second = free.say(7, "after")
    assert await hook.next() == (second, "s3cret-token")
    free.redeliver(waiting)
    assert await hook.next() == (waiting, "s3cret-token")

    info = await bot.get_webhook_info()
    assert (info.url, info.last_error_message) == (hook.url, "Wrong response from the webhook: 403 Forbidden")


async def test_polling_and_a_webhook_exclude_each_other(free: TelegramServer, bot: Bot, hook: Hook) -> None:
    await bot.set_webhook(hook.url)
    with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
        await bot.get_updates()

    await bot.delete_webhook()

    assert list(await bot.get_updates()) == []


@pytest.mark.parametrize(
    ("url", "secret", "error"),
    [
        ("http://bot.example/hook", "", "an https url must be provided for webhook"),
        ("https://bot.example/hook", "no spaces", "Secret token contains unallowed characters"),
        ("https://bot.example/hook", "x" * 257, "Secret token is too long"),
    ],
)
async def test_a_webhook_has_to_be_safe(bot: Bot, url: str, secret: str, error: str) -> None:
    with pytest.raises(BadRequest, match=error):
        await bot.set_webhook(url, secret_token=secret or None)


async def test_pressing_a_button_asks_the_bot_and_wants_an_answer(free: TelegramServer, bot: Bot, raw: Raw) -> None:
    keyboard = {"inline_keyboard": [[{"text": "Stop", "callback_data": "stop:1"}]]}
    _, body = await raw("sendMessage", chat_id=7, text="working", reply_markup=keyboard)
    free.press(7, body["result"]["message_id"], "Stop")

    [update] = await bot.get_updates()
    assert update.callback_query is not None and update.callback_query.data == "stop:1"
    await update.callback_query.answer("Stopped")

    assert free.world.callbacks[update.callback_query.id] == {"text": "Stopped", "show_alert": False}
    with pytest.raises(BadRequest, match="Query is too old"):
        await bot.answer_callback_query("12345")


async def test_what_is_forwarded_names_who_wrote_it_and_who_forwards(free: TelegramServer, bot: Bot) -> None:
    people = free.people
    news, friends = people.channel(-1_001_000_000_001, "News"), free.world.chats[-500]
    eve = people.person(666, "Eve")
    people.forward(7, "/allow telegram:666 admin", eve)
    for author in ("Mallory", news, friends):
        people.forward(7, "read this", author)

    first, *others = [update.message for update in await bot.get_updates()]

    assert first is not None and first.from_user is not None and first.from_user.id == 7
    assert first.text == "/allow telegram:666 admin" and first.entities[0].type == "bot_command"
    assert first.forward_origin is not None and first.forward_origin.to_dict()["sender_user"]["id"] == 666
    origins = [other.forward_origin.to_dict() for other in others if other is not None and other.forward_origin]
    assert [origin["type"] for origin in origins] == ["hidden_user", "channel", "chat"]
    assert origins[0]["sender_user_name"] == "Mallory"
    assert (origins[1]["chat"]["title"], origins[2]["sender_chat"]["title"]) == ("News", "Friends")


async def test_a_chat_that_writes_has_a_user_of_the_services_in_its_place(free: TelegramServer, bot: Bot) -> None:
    people, name = free.people, "@parley_test_bot"
    news, friends = people.channel(-1_001_000_000_001, "News"), free.world.chats[-500]
    people.say(-500, f"{name} an anonymous admin", as_chat=friends)
    people.say(-500, f"{name} in the name of a channel", as_chat=news)
    people.channel_post(-500, f"{name} a post", news)

    messages = [update.message for update in await bot.get_updates()]

    faces = [(one.from_user.id, one.from_user.is_bot) for one in messages if one and one.from_user]
    assert faces == [(1087968824, True), (136817688, True), (777000, False)]
    assert [one.sender_chat.title for one in messages if one and one.sender_chat] == ["Friends", "News", "News"]
    assert [bool(one and one.is_automatic_forward) for one in messages] == [False, False, True]
    assert free.screen.of("-500") == []


async def test_a_reply_to_another_chats_message_brings_only_what_was_quoted(free: TelegramServer, bot: Bot) -> None:
    eve = free.people.person(666, "Eve")
    free.people.say(7, "is this so?", reply_elsewhere=eve, quote="tea is blue")

    [update] = await bot.get_updates()

    message = update.message
    assert message is not None and message.text == "is this so?" and message.reply_to_message is None
    assert message.external_reply is not None and message.external_reply.origin.to_dict()["sender_user"]["id"] == 666
    assert message.quote is not None and message.quote.text == "tea is blue"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_neither_text_nor_a_file_is_read_whole_by_the_library(
    free: TelegramServer, bot: Bot, kind: str
) -> None:
    free.people.send(7, kind)

    [update] = await bot.get_updates()

    assert update.message is not None and getattr(update.message, kind) and not update.message.text
    assert update.message.effective_attachment in (getattr(update.message, kind), update.message.location)
    assert not update.message.api_kwargs and not getattr(update.message, kind).api_kwargs
