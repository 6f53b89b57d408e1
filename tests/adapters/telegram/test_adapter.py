"""Telegram through the real library: what an update says to the bot, how it is fetched, and what a refusal means."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from telegram import Bot, Update
from telegram.error import Conflict
from telegram.request import HTTPXRequest

from adapters.settings import TelegramSettings
from adapters.telegram.adapter import TelegramAdapter, check
from adapters.telegram.updates import incoming, meant_for
from bot.contract.errors import (
    Contested,
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    RightMissing,
    SettingsError,
    TooLong,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
)
from bot.contract.messages import (
    ChatId,
    Control,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    File,
    Incoming,
    MessageEdited,
    MessageRef,
    MessageSent,
    Page,
    Quoted,
    ReplyTarget,
    Sender,
)
from bot.contract.surface import Deliver
from bot.network import trusted
from playground.faults import Fault
from playground.telegram import TelegramServer
from playground.telegram.world import Person
from tests.adapters.telegram.conftest import Inbox
from tests.conftest import FakeClock, RawJson, RawObject
from tests.surfaces import cost_of, show

ADA = 7
GROUP = -1_001_234_567_890
FORUM = -1_001_234_567_891


def settings_of(server: TelegramServer, token: str = "") -> TelegramSettings:
    return TelegramSettings(
        _env_file=None,  # type: ignore[call-arg]  # what pydantic-settings takes, unknown to mypy
        telegram_bot_token=SecretStr(token or server.token),
        telegram_api_base_url=server.base_url,
    )


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(limits=False) as running:
        running.person(ADA, "Ada", username="ada", language_code="en")
        running.group(GROUP, "Friends")
        running.group(FORUM, "Forum", forum=True)
        yield running


@pytest.fixture
async def adapter(server: TelegramServer, clock: FakeClock) -> AsyncIterator[TelegramAdapter]:
    async with TelegramAdapter(settings_of(server), clock) as entered:
        yield entered


class Reader:
    """Turns what people do on the emulator into what the core is told."""

    def __init__(self, server: TelegramServer, bot: Bot) -> None:
        self.server = server
        self.bot = bot

    def raw(self, id: int) -> RawObject:
        return copy.deepcopy(self.server.world.updates.all[id])

    def read(self, update: RawObject) -> Incoming | None:
        return incoming(Update.de_json(update, self.bot), self.bot)

    def sent(self, chat: int, text: str, **more: RawJson) -> Incoming | None:
        return self.read(self.raw(self.server.say(chat, text, person=ADA, **more)))

    def changed(self, text: str = "hello", chat: int = ADA, **message: RawJson) -> Incoming | None:
        """A message as somebody would send it, with fields of its own."""
        update = self.raw(self.server.say(chat, text, person=ADA))
        update["message"].update(message)
        return self.read(update)

    @property
    def name(self) -> str:
        return f"@{self.bot.username}"


@pytest.fixture
async def reader(server: TelegramServer) -> AsyncIterator[Reader]:
    # The library would read the certificates of this machine anew for each of the two.
    asks, polls = (HTTPXRequest(httpx_kwargs={"verify": trusted(httpx.create_ssl_context)}) for _ in range(2))
    async with Bot(server.token, f"{server.base_url}/bot", request=asks, get_updates_request=polls) as bot:
        yield Reader(server, bot)


def message_of(said: Incoming | None) -> MessageSent:
    assert isinstance(said, MessageSent)
    return said


# What an update says


def pressed(reader: Reader, **query: RawJson) -> Incoming | None:
    """A press under a message of Ada's chat, with fields of its own."""
    message = reader.raw(reader.server.say(ADA, "hello", person=ADA))["message"]
    person = {"id": ADA, "is_bot": False, "first_name": "Ada", "language_code": "en"}
    basis = {"id": "4", "from": person, "chat_instance": "1", "data": "stop:12", "message": message}
    return reader.read({"update_id": 9, "callback_query": basis | query})


async def test_a_press_says_what_and_of_which_turn_and_where_it_can_be_answered(reader: Reader) -> None:
    said = pressed(reader)

    assert isinstance(said, ControlPressed)
    assert (said.control, said.turn, said.group, said.awaited) == (Control.STOP, 12, False, True)
    assert (said.delivery, said.sender.id, said.chat.chat) == ("9", "telegram:7", "7")
    assert said.target.data["query"] == "4" and said.target.data["chat"] == 7


async def test_a_press_of_what_is_no_button_of_ours_is_left_alone(reader: Reader) -> None:
    assert pressed(reader, data="buy:now") is None
    assert pressed(reader, data="") is None
    assert pressed(reader, message=None) is None, "Telegram does not tell under what"


async def test_a_press_under_a_message_that_bots_see_no_longer_is_heard(reader: Reader) -> None:
    said = pressed(reader, message={"chat": {"id": GROUP, "type": "supergroup"}, "message_id": 4, "date": 0})

    assert isinstance(said, ControlPressed)
    assert (said.control, said.turn, said.group, said.chat.chat) == (Control.STOP, 12, True, str(GROUP))
    assert said.target.data == {"chat": GROUP, "thread": None, "reply_to": None, "group": True, "query": "4"}


async def test_a_press_is_answered_once_and_briefly(server: TelegramServer, adapter: TelegramAdapter) -> None:
    server.world.callbacks["4"] = None
    target = ReplyTarget("telegram", {"chat": 7, "group": False, "query": "4", "private": True})
    surface = adapter.surface(target)

    ref = await show(surface, Page("Only for you", final=True), None, "p")
    assert await show(surface, Page("again", final=True), ref, "p") == ref
    assert server.world.callbacks["4"] == {"text": "Only for you", "show_alert": False}
    assert surface.limits.typing_seconds == 0 and not cost_of(surface, Page("a"), ref).budgets
    with pytest.raises(TooLong):
        surface.draw(Page("x" * 201))

    late = adapter.surface(ReplyTarget("telegram", {**target.data, "query": "5"}))
    with pytest.raises(Unreachable):
        await show(late, Page("too late"), None, "p")
    server.faults.add(
        "answerCallbackQuery", Fault(status=500, body='{"ok": false, "error_code": 500, "description": "x"}')
    )
    with pytest.raises(DeliveryError):
        await show(surface, Page("a"), None, "p")


async def test_a_private_message(reader: Reader) -> None:
    said = message_of(reader.sent(ADA, "What is tea?"))

    assert said.chat == ChatId("telegram", str(reader.bot.id), "7")
    assert (said.text, said.command, said.group, said.quoted) == ("What is tea?", "", False, None)
    assert (said.sender.id, said.sender.name, said.sender.language) == ("telegram:7", "Ada", "en")
    assert said.target == ReplyTarget("telegram", {"chat": 7, "thread": None, "reply_to": None, "group": False})
    assert said.delivery.isdigit() and said.message_id and said.sent_at > 1e9


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("/new", "new", ""),
        ("/model openai:gpt-5", "model", "openai:gpt-5"),
        ("/nonsense now", "nonsense", "now"),
        ("/remind me of the tea", "", "/remind me of the tea"),
        ("/ask what is tea?", "", "what is tea?"),
        ("/etc/hosts is a file", "", "/etc/hosts is a file"),
    ],
)
async def test_a_command_and_its_argument(reader: Reader, text: str, command: str, argument: str) -> None:
    said = message_of(reader.sent(ADA, text))

    assert (said.command, said.text) == (command, argument)


async def test_in_a_group_only_what_is_meant_for_the_bot_is_heard(reader: Reader) -> None:
    said = message_of(reader.sent(GROUP, f"{reader.name} what is tea?"))

    assert (said.text, said.group) == ("what is tea?", True)
    assert said.target.data["reply_to"] == int(said.message_id)
    # Privacy mode keeps it from the bot; one whose operator switched that off must be as deaf.
    assert reader.server.say(GROUP, "hello all", person=ADA) == 0
    update = reader.raw(int(said.delivery))
    update["message"] |= {"text": "hello all", "entities": []}
    assert reader.read(update) is None


async def test_a_mention_counts_by_its_entity_never_by_its_letters(reader: Reader) -> None:
    mention = f"{reader.name} hello"
    update = reader.raw(reader.server.say(GROUP, mention, person=ADA))

    del update["message"]["entities"]
    assert reader.read(update) is None
    update["message"]["entities"] = [{"type": "code", "offset": 0, "length": len(reader.name)}]
    assert reader.read(update) is None
    update["message"]["entities"] = [{"type": "mention", "offset": 0, "length": len(reader.name)}]
    assert message_of(reader.read(update)).text == "hello"


@pytest.mark.parametrize("wide", [str, lambda name: "".join(chr(ord(sign) + 0xFEE0) for sign in name).upper()])
async def test_a_mention_of_full_width_is_one(reader: Reader, wide: Callable[[str], str]) -> None:
    update = reader.raw(reader.server.say(GROUP, f"{reader.name} hello", person=ADA))
    del update["message"]["entities"]
    name = wide(reader.name.removeprefix("@"))

    update["message"]["text"] = f"你好＠{name} 茶？"
    assert message_of(reader.read(update)).text == "你好 茶？"
    update["message"]["text"] = f"＠{name}"
    assert message_of(reader.read(update)).text == ""
    update["message"]["text"] = f"＠{name}2 茶？"
    assert reader.read(update) is None


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("why", "why", ""),
        ("persona answer in rhymes", "persona", "answer in rhymes"),
        ("persona non grata means what?", "", "persona non grata means what?"),
        ("new york in spring", "", "new york in spring"),
    ],
)
async def test_behind_a_mention_a_command_needs_no_slash(
    reader: Reader, text: str, command: str, argument: str
) -> None:
    said = message_of(reader.sent(GROUP, f"{reader.name} {text}"))

    assert (said.command, said.text) == (command, argument)


async def test_a_question_behind_ask_or_a_word_that_is_no_command_needs_no_mention_in_a_group(reader: Reader) -> None:
    bot = reader.name.removeprefix("@")

    assert message_of(reader.sent(GROUP, f"/ask@{bot} what is tea?")).text == "what is tea?"
    assert message_of(reader.sent(GROUP, f"/tell@{bot} me of tea")).text == f"/tell@{bot} me of tea"
    update = reader.raw(reader.server.say(GROUP, f"/tell@{bot} me of tea", person=ADA))
    for another in ("/tell@other_bot me of tea", "/tell me of tea"):
        update["message"]["text"] = another
        assert reader.read(update) is None


async def test_the_name_of_another_bot_is_no_mention(reader: Reader) -> None:
    update = reader.raw(reader.server.say(GROUP, f"{reader.name} hi", person=ADA))
    update["message"]["text"] = "@other_bot hi"
    update["message"]["entities"] = [{"type": "mention", "offset": 0, "length": 10}]

    assert reader.read(update) is None


async def test_a_mention_is_cut_out_where_it_stands_behind_emoji(reader: Reader) -> None:
    """Offsets count UTF-16 units, and 👋 is two of them."""
    said = message_of(reader.sent(GROUP, f"👋👋 {reader.name} 你好 👩‍👩‍👧"))

    assert said.text == "👋👋  你好 👩‍👩‍👧"


async def test_a_mention_without_a_name_counts_by_the_persons_number(reader: Reader) -> None:
    user = {"id": reader.bot.id, "is_bot": True, "first_name": "Parley"}
    update = reader.raw(reader.server.say(GROUP, f"{reader.name} hi", person=ADA))
    update["message"]["text"] = "Parley hi"
    update["message"]["entities"] = [{"type": "text_mention", "offset": 0, "length": 6, "user": user}]
    assert message_of(reader.read(update)).text == "hi"

    update["message"]["entities"][0]["user"]["id"] = 999
    assert reader.read(update) is None


async def test_a_part_that_the_library_cannot_read_is_cut_out_and_the_message_is_heard(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    """As a poll of an older server of one's own, alone or quoted."""
    poll = reader.raw(reader.server.people.send(ADA, "poll", person=ADA))["message"]
    for option in poll["poll"]["options"]:
        del option["persistent_id"]
    asked = reader.raw(reader.server.say(ADA, "secret words", person=ADA))
    asked["message"]["reply_to_message"] = poll | {"caption": "which tea?"}
    bold = reader.raw(reader.server.say(ADA, "hello", person=ADA))
    bold["message"]["entities"] = [{"type": "bold"}]

    said = [message_of(one) for one in meant_for(reader.bot, [asked, bold])]

    assert [one.text for one in said] == ["secret words", "hello"]
    assert said[0].quoted is not None and said[0].quoted.text == "which tea?"
    lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [line.split("'")[1] for line in lines] == ["reply_to_message.poll.options", "entities"]
    assert "words" not in caplog.text and "hello" not in caplog.text


async def test_an_update_that_cannot_be_read_is_left_out_alone(
    server: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    """The library reads no batch with such an update in it, so that it would come for ever, and nothing after it."""
    message = copy.deepcopy(server.world.updates.all[server.say(ADA, "one", person=ADA)]["message"])
    bad = server.world.updates.add("message", message | {"text": "secret words", "chat": 5})
    server.say(ADA, "two", person=ADA)
    inbox = Inbox()

    async with listening(adapter, inbox):
        await inbox.until(2)
        server.say(ADA, "three", person=ADA)
        await inbox.until(3)

    assert inbox.texts == ["one", "two", "three"]
    assert bad not in server.world.updates.waiting
    (line,) = [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
    assert str(bad) in line.getMessage() and "TypeError" in line.getMessage()
    assert "secret words" not in caplog.text


async def test_an_update_that_we_cannot_read_is_left_out_alone(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    bad = reader.raw(reader.server.say(ADA, "secret words", person=ADA))
    del bad["message"]["chat"]
    good = reader.raw(reader.server.say(ADA, "two", person=ADA))

    said = meant_for(reader.bot, [bad, good])

    assert [message_of(one).text for one in said] == ["two"]
    assert str(bad["update_id"]) in caplog.text and "secret words" not in caplog.text


async def test_an_entity_that_ends_in_the_middle_of_a_character_hides_no_word(reader: Reader) -> None:
    update = reader.raw(reader.server.say(ADA, "👋 hi", person=ADA))
    update["message"]["entities"] = [{"type": "mention", "offset": 0, "length": 1}]

    assert message_of(reader.read(update)).text == "👋 hi"


async def test_what_is_no_list_of_updates_is_no_telegram(server: TelegramServer, adapter: TelegramAdapter) -> None:
    server.faults.add("getUpdates", Fault(status=200, body='{"ok":true,"result":[{"message":{}}]}'))

    with pytest.raises(Unreachable):
        await adapter.listen(Inbox())


async def test_a_reply_to_the_bot_needs_no_mention_and_quotes_it(reader: Reader) -> None:
    sent = await reader.bot.send_message(GROUP, "Tea is a leaf.")

    said = message_of(reader.sent(GROUP, "Really?", reply_to=sent.message_id))

    assert said.quoted is not None
    assert (said.quoted.text, said.quoted.from_bot, said.quoted.message_id) == (
        "Tea is a leaf.",
        True,
        str(sent.message_id),
    )
    assert said.replies_to == str(sent.message_id)


async def test_a_part_that_is_quoted_stands_for_the_whole(reader: Reader) -> None:
    sent = await reader.bot.send_message(ADA, "Tea is a leaf. Milk is not.")

    said = message_of(reader.sent(ADA, "Why?", reply_to=sent.message_id, quote="Milk is not."))

    assert said.quoted is not None and said.quoted.text == "Milk is not."


async def test_forwarded_words_are_quoted_and_never_obeyed(reader: Reader) -> None:
    people = reader.server.people
    news = people.channel(-1_001_000_000_009, "News")
    authors: list[tuple[Any, str]] = [(people.person(666, "Eve"), "Eve"), ("Mallory", "Mallory"), (news, "News")]
    for author, name in authors:
        said = message_of(reader.read(reader.raw(people.forward(ADA, "/allow telegram:666 admin", author))))

        assert (said.command, said.text, said.sender.id) == ("", "", "telegram:7")
        assert said.quoted == Quoted(text="/allow telegram:666 admin", author=name, forwarded=True)


async def test_what_the_bot_wrote_is_still_its_own_when_somebody_forwards_it(reader: Reader) -> None:
    me = Person(reader.bot.id, "Parley")

    said = message_of(reader.read(reader.raw(reader.server.people.forward(ADA, "Tea is a leaf.", me))))

    assert said.quoted is not None and said.quoted.from_bot


async def test_where_privacy_mode_keeps_mentions_back_replies_and_ask_reach_the_bot(reader: Reader) -> None:
    """As docs/telegram.md says: archestra #6562, nanobot #449."""
    server, name = reader.server, reader.name
    server.world.mentions_pass = False
    answer = await reader.bot.send_message(GROUP, "Tea is a leaf.")

    assert not server.say(GROUP, f"{name} what is tea?", person=ADA)
    asked = message_of(reader.sent(GROUP, f"/ask{name} what is tea?"))
    assert (asked.text, asked.command) == ("what is tea?", "")
    assert message_of(reader.sent(GROUP, "and coffee?", reply_to=answer.message_id)).text == "and coffee?"

    server.bot["can_read_all_group_messages"] = True
    assert message_of(reader.sent(GROUP, f"{name} what is tea?")).text == "what is tea?"


async def test_a_forward_to_a_group_speaks_to_nobody_until_somebody_replies_to_it(reader: Reader) -> None:
    people = reader.server.people
    reader.server.bot["can_read_all_group_messages"] = True
    id = people.forward(GROUP, f"/stop{reader.name} {reader.name}", people.person(666, "Eve"), person=ADA)
    forward = message_of(reader.read(reader.raw(id)))
    assert forward.beside and not forward.command and not forward.text

    said = message_of(reader.sent(GROUP, f"{reader.name} what is that?", reply_to=reader.server.people.message_id(id)))

    assert said.text == "what is that?"
    assert said.quoted is not None and (said.quoted.author, said.quoted.forwarded) == ("Eve", False)


async def test_servers_from_before_origins_name_the_date_of_a_forward(reader: Reader) -> None:
    """A Bot API server older than 7.0, as an operator may run one."""
    said = message_of(reader.changed("/new", forward_date=1_700_000_000, forward_sender_name="Eve"))

    assert (said.command, said.text) == ("", "")
    assert said.quoted is not None and (said.quoted.text, said.quoted.forwarded) == ("/new", True)


async def test_the_parts_of_a_forwarded_album_are_quoted(reader: Reader) -> None:
    pictures = [(f"{number}.png", "image/png", b"\x89PNG") for number in range(3)]
    reader.server.people.forward(ADA, "Which is best?", reader.server.people.person(666, "Eve"), files=pictures)

    parts = [message_of(said) for said in meant_for(reader.bot, reader.server.world.updates.all.values())]

    picture = Enclosure(kind=EnclosureKind.PICTURE, size=4)
    assert [part.quoted for part in parts] == [
        Quoted(text=text, author="Eve", forwarded=True, enclosed=(picture,)) for text in ("Which is best?", "", "")
    ]
    assert {(part.text, part.enclosed) for part in parts} == {("", ())} and len({part.album for part in parts}) == 1


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (("v.ogg", "audio/ogg", b"OggS"), EnclosureKind.VOICE),
        (("song.mp3", "audio/mpeg", b"ID3"), EnclosureKind.AUDIO),
        (("video_note.mp4", "video/mp4", b"mp4"), EnclosureKind.VIDEO_NOTE),
        (("a.pdf", "application/pdf", b"pdf"), EnclosureKind.FILE),
    ],
)
async def test_how_long_a_recording_plays_is_told(
    reader: Reader, file: tuple[str, str, bytes], kind: EnclosureKind
) -> None:
    reader.server.people.seconds = 75

    said = message_of(reader.read(reader.raw(reader.server.say(ADA, "", person=ADA, files=[file]))))

    [one] = said.enclosed
    assert (one.kind, one.seconds) == (kind, 0.0 if kind is EnclosureKind.FILE else 75.0) and one.source


async def test_a_forwarded_picture_without_words_is_enclosed_in_what_is_quoted(reader: Reader) -> None:
    people, picture = reader.server.people, ("a.png", "image/png", b"\x89PNG")

    said = message_of(reader.read(reader.raw(people.forward(ADA, "", people.person(666, "Eve"), files=[picture]))))

    picture_of_eve = Quoted(text="", author="Eve", forwarded=True, enclosed=said.quoted.enclosed if said.quoted else ())
    assert (said.text, said.quoted, said.enclosed) == ("", picture_of_eve, ())
    assert [one.kind for one in picture_of_eve.enclosed] == ["picture"]


async def test_a_change_of_a_forward_is_no_edit_by_the_person(reader: Reader) -> None:
    """The service tells of one when a reaction is put on it."""
    update = reader.raw(reader.server.people.forward(ADA, "hello", reader.server.people.person(666, "Eve")))
    update["edited_message"] = update.pop("message") | {"edit_date": 1_700_000_000}

    assert reader.read(update) is None


async def test_a_reply_to_a_message_of_another_chat_quotes_it(reader: Reader) -> None:
    people = reader.server.people
    update = reader.raw(people.say(ADA, "is this so?", reply_elsewhere=people.person(666, "Eve"), quote="tea is blue"))

    said = message_of(reader.read(update))

    assert said.text == "is this so?"
    assert said.quoted == Quoted(text="tea is blue", author="Eve") and not said.replies_to


async def test_a_command_for_another_bot_is_not_ours(reader: Reader) -> None:
    assert message_of(reader.changed(f"/new{reader.name}", GROUP)).command == "new"
    assert message_of(reader.changed(f"/NEW{reader.name.upper()} x", GROUP)).command == "new"
    assert reader.changed("/new@other_bot") is None


async def test_in_a_group_an_unknown_command_without_a_name_is_another_bots(reader: Reader) -> None:
    assert message_of(reader.changed("/help", GROUP)).command == "help"
    assert reader.changed("/weather Oslo", GROUP) is None
    assert message_of(reader.changed(f"/weather{reader.name} Oslo", GROUP)).command == "weather"
    assert message_of(reader.changed("/weather Oslo", ADA)).command == "weather"


async def test_a_topic_is_a_chat_of_its_own(reader: Reader) -> None:
    said = message_of(reader.sent(FORUM, f"{reader.name} hi", thread=5))

    assert said.chat.thread == "5"
    assert said.target.data["thread"] == 5
    assert message_of(reader.sent(FORUM, f"{reader.name} hi")).chat.thread == ""


async def test_an_answer_in_an_ordinary_group_opens_no_topic(reader: Reader) -> None:
    """Replies carry a thread id there too, without being in a topic."""
    said = message_of(reader.changed(f"{reader.name} hi", GROUP, message_thread_id=99))

    assert (said.chat.thread, said.target.data["thread"]) == ("", None)


async def test_the_first_message_of_a_topic_is_no_quotation(reader: Reader) -> None:
    created = {"message_id": 5, "date": 1, "chat": {"id": FORUM, "type": "supergroup"}}
    created["forum_topic_created"] = {"name": "Tea", "icon_color": 7322096}

    said = message_of(reader.changed(f"{reader.name} hi", FORUM, reply_to_message=created, message_thread_id=5))

    assert said.quoted is None and not said.replies_to


async def test_a_topic_that_the_bot_opened_is_not_talk_to_the_bot(reader: Reader) -> None:
    """Every message of a topic replies to the message of its creation."""
    created = {
        "message_id": 5,
        "date": 1,
        "chat": {"id": FORUM, "type": "supergroup"},
        "from": {**BOTS, "id": reader.bot.id},
    }
    created["forum_topic_created"] = {"name": "Tea", "icon_color": 7322096}
    place = {"reply_to_message": created, "message_thread_id": 5, "is_topic_message": True}

    update = reader.raw(reader.server.say(FORUM, f"{reader.name} hi", person=ADA))
    update["message"] |= place | {"text": "hi all", "entities": []}

    assert reader.read(update) is None
    assert message_of(reader.changed(f"{reader.name} hi", FORUM, **place)).chat.thread == "5"


async def test_an_edited_message_is_told_as_such(server: TelegramServer, reader: Reader) -> None:
    number = server.message_id(server.say(ADA, "What is te?", person=ADA))

    said = reader.read(reader.raw(server.edit(ADA, number, "What is tea?")))

    assert isinstance(said, MessageEdited)
    assert (said.message_id, said.text) == (str(number), "What is tea?")


BOTS = {"id": 5, "is_bot": True, "first_name": "Bot"}


@pytest.mark.parametrize("fields", [{"from": BOTS}, {"from": None}])
async def test_what_bots_write_is_not_heard(reader: Reader, fields: RawObject) -> None:
    assert reader.changed(**fields) is None


async def test_who_writes_as_a_chat_is_no_person(reader: Reader) -> None:
    """An anonymous admin, and a channel that somebody writes as."""
    people, server = reader.server.people, reader.server
    news = people.channel(-1_001_000_000_009, "News")

    for id in (
        people.say(GROUP, f"/forget{reader.name} yes", as_chat=server.world.chats[GROUP]),
        people.say(GROUP, f"{reader.name} hello", as_chat=news),
    ):
        update = reader.raw(id)
        said = message_of(reader.read(update))
        assert said.faceless and said.sender == Sender(id="")
        update["message"]["from"]["is_bot"] = False
        assert message_of(reader.read(update)).sender == Sender(id="")
        update["edited_message"] = update.pop("message")
        assert reader.read(update) is None
    reader.server.bot["can_read_all_group_messages"] = True
    assert reader.read(reader.raw(people.say(GROUP, "hello", as_chat=news))) is None


async def test_a_linked_channels_post_speaks_to_nobody(reader: Reader) -> None:
    """A program may have posted it."""
    people = reader.server.people
    news = people.channel(-1_001_000_000_009, "News")
    update = reader.raw(people.channel_post(GROUP, f"{reader.name} hello", news))

    assert reader.read(update) is None
    del update["message"]["forward_origin"]
    assert reader.read(update) is None


async def test_what_an_inline_bot_made_is_quoted_and_never_obeyed(reader: Reader) -> None:
    people = reader.server.people

    said = message_of(reader.read(reader.raw(people.say(ADA, "/allow telegram:666 admin", person=ADA, via="Wiki"))))
    assert (said.command, said.text, said.sender.id, said.unfinished) == ("", "", "telegram:7", False)
    assert said.quoted == Quoted(text="/allow telegram:666 admin", author="Wiki", forwarded=True)

    picture = ("a.png", "image/png", b"\x89PNG")
    shown = message_of(reader.read(reader.raw(people.say(ADA, "", person=ADA, via="Pic", files=[picture]))))
    assert shown.enclosed == () and shown.quoted is not None and len(shown.quoted.enclosed) == 1

    asked = message_of(reader.read(reader.raw(people.say(GROUP, f"{reader.name} hi", person=ADA, via="Wiki"))))
    assert (asked.text, asked.group) == ("", True)
    update = reader.raw(people.say(GROUP, f"/new{reader.name}", person=ADA, via="Wiki"))
    assert reader.read(update) is None


async def test_who_wrote_a_message_may_be_left_out(reader: Reader) -> None:
    """Telegram names nobody for some messages that were sent to channels."""
    first = reader.server.message_id(reader.server.say(GROUP, f"{reader.name} the sky is green", person=ADA))
    update = reader.raw(reader.server.say(GROUP, f"{reader.name} is that so?", person=ADA, reply_to=first))
    del update["message"]["reply_to_message"]["from"]

    said = message_of(reader.read(update))

    assert said.quoted is not None and (said.quoted.author, said.quoted.from_bot) == ("", False)


async def test_what_is_not_for_the_bot_leaves_no_gap_in_a_batch(reader: Reader) -> None:
    raw = [reader.raw(reader.server.say(ADA, text, person=ADA)) for text in ("one", "two", "three")]
    raw[1]["channel_post"] = raw[1].pop("message")

    assert [message_of(said).text for said in meant_for(reader.bot, raw)] == ["one", "three"]


async def test_whoever_replies_to_a_channels_post_is_told_of_its_channel(reader: Reader) -> None:
    people = reader.server.people
    post = people.message_id(
        people.channel_post(GROUP, f"{reader.name} news", people.channel(-1_001_000_000_009, "News"))
    )

    said = message_of(reader.sent(GROUP, f"{reader.name} is that so?", reply_to=post))

    assert said.quoted is not None and said.quoted.author == "News"


@pytest.mark.parametrize(
    "kind", ["channel_post", "edited_channel_post", "business_message", "guest_message", "my_chat_member"]
)
async def test_other_sources_are_ignored(reader: Reader, kind: str) -> None:
    update = reader.raw(reader.server.say(ADA, "hello", person=ADA))
    content = update.pop("message")
    if kind == "my_chat_member":
        reader.server.block(ADA)
        update = list(reader.server.world.updates.all.values())[-1]
    else:
        update[kind] = content

    assert reader.read(update) is None


async def test_a_picture_says_its_caption_and_without_one_nothing(reader: Reader) -> None:
    picture = ("a.png", "image/png", b"\x89PNG")

    assert message_of(reader.sent(ADA, "What is this?", files=[picture])).text == "What is this?"
    assert message_of(reader.sent(ADA, "", files=[picture])).text == ""


async def test_what_says_nothing_at_all_is_not_heard(reader: Reader) -> None:
    update = reader.raw(reader.server.say(ADA, "x", person=ADA))
    del update["message"]["text"]
    update["message"]["pinned_message"] = update["message"] | {"text": "x"}

    assert reader.read(update) is None


async def test_each_part_of_an_album_says_to_which_it_belongs(reader: Reader) -> None:
    pictures = [(f"{number}.png", "image/png", b"\x89PNG") for number in range(3)]
    reader.server.say(ADA, "The first.", person=ADA, files=pictures)
    raw = list(reader.server.world.updates.all.values())
    raw[2]["message"]["caption"] = "The third."

    parts = [message_of(said) for said in meant_for(reader.bot, raw)]

    assert [(part.text, len(part.enclosed)) for part in parts] == [("The first.", 1), ("", 1), ("The third.", 1)]
    assert len({part.album for part in parts}) == 1 and parts[0].album and all(part.unfinished for part in parts)
    assert len({part.delivery for part in parts}) == 3


@pytest.mark.parametrize(
    ("text", "unfinished", "severed"),
    [
        ("word " * 409, False, False),
        ("word " * 410, True, False),
        ("x" * 4095, True, False),
        ("字" * 4096, True, True),
        ("🙂" * 2048, True, True),
    ],
)
async def test_a_text_of_more_than_half_the_limit_may_go_on(
    reader: Reader, text: str, unfinished: bool, severed: bool
) -> None:
    """Clients cut a long paste between a half of the limit and the limit, where a paragraph, line or word ends."""
    said = message_of(reader.sent(ADA, text))

    assert (said.unfinished, said.severed) == (unfinished, severed)


async def test_only_a_forward_an_album_and_a_long_text_may_go_on(reader: Reader) -> None:
    eve = reader.server.people.person(666, "Eve")
    forward = message_of(reader.read(reader.raw(reader.server.people.forward(ADA, "Tea is a leaf.", eve))))
    picture = message_of(reader.sent(ADA, "What is this?", files=[("a.png", "image/png", b"\x89PNG")]))

    assert (forward.unfinished, picture.unfinished, message_of(reader.sent(ADA, "hello")).unfinished) == (
        True,
        False,
        False,
    )


# Fetching


@asynccontextmanager
async def listening(adapter: TelegramAdapter, deliver: Deliver) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(adapter.listen(deliver))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_updates_arrive_in_order_each_once(server: TelegramServer, adapter: TelegramAdapter) -> None:
    inbox = Inbox()
    for number in range(5):
        server.say(ADA, f"early {number}", person=ADA)
    async with listening(adapter, inbox):
        await inbox.until(5)
        server.say(ADA, "late", person=ADA)
        await inbox.until(6)

    assert inbox.texts == [*(f"early {number}" for number in range(5)), "late"]


async def test_an_update_is_confirmed_only_after_it_was_stored(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    stored = asyncio.Event()
    begun = asyncio.Event()

    async def deliver(said: Incoming) -> None:
        begun.set()
        await stored.wait()

    id = server.say(ADA, "hello", person=ADA)
    async with listening(adapter, deliver):
        await begun.wait()
        assert id in server.world.updates.waiting
        arrived = server.faults.add("getUpdates", Fault()).reached
        stored.set()
        await arrived.wait()
        assert (
            id not in server.world.updates.waiting
            or int(server.calls_of("getUpdates")[-1].parameters["offset"]) == id + 1
        )


async def test_what_could_not_be_stored_is_fetched_again_and_named_once(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox(refusals=3)
    server.say(ADA, "one", person=ADA)
    async with listening(adapter, inbox):
        for _ in range(3):
            await clock.sleeper()
            await clock.advance(1.0)
        await inbox.until(1)

    assert (inbox.texts, inbox.tries) == (["one"], 4)
    assert caplog.text.count("could not be stored and will come again: locked") == 1


async def test_a_fault_of_our_own_in_storing_ends_listening_and_confirms_nothing(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    id = server.say(ADA, "hello", person=ADA)

    async def deliver(said: Incoming) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await adapter.listen(deliver)

    assert id in server.world.updates.waiting


async def test_a_webhook_that_was_set_once_is_removed(server: TelegramServer, adapter: TelegramAdapter) -> None:
    server.world.updates.webhook = {"url": "https://example.org/hook"}
    inbox = Inbox()
    async with listening(adapter, inbox):
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

    assert server.world.updates.webhook == {}


async def test_the_menu_of_commands_is_written_in_english_and_chinese(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    await adapter._announce()

    async with Bot(server.token, base_url=f"{server.base_url}/bot") as reader:
        english, chinese = await reader.get_my_commands(), await reader.get_my_commands(language_code="zh")
    assert ("new", "begin a new conversation") in [(one.command, one.description) for one in english]
    assert ("new", "开始新的对话") in [(one.command, one.description) for one in chinese]
    assert [one.command for one in english] == [one.command for one in chinese]


async def test_another_poller_is_named_at_once_and_counted(
    server: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    arrived = server.faults.add("getUpdates", Fault()).reached
    polling = asyncio.create_task(adapter.listen(Inbox()))
    await arrived.wait()

    async with Bot(server.token, base_url=f"{server.base_url}/bot") as other:
        taking_over = asyncio.create_task(other.get_updates(timeout=20))
        with pytest.raises(Contested, match="another program receives with the same TELEGRAM_BOT_TOKEN"):
            await polling
        heard = adapter.listening, adapter.conflicts
        again = asyncio.create_task(adapter.listen(Inbox()))
        with pytest.raises(Conflict):
            await taking_over
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)

    assert heard == (False, 1)
    [record] = [one for one in caplog.records if "another program" in one.getMessage()]
    assert "end it, or make another bot" in record.getMessage()
    assert server.token not in caplog.text


async def test_the_former_poll_of_a_process_of_ours_is_waited_for(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """For a minute; after that it is another program."""
    for _ in range(3):
        server.faults.add("getUpdates", Fault(status=409))
    adapter.take_over()
    inbox = Inbox()
    async with listening(adapter, inbox):
        server.say(ADA, "hello", person=ADA)
        await clock.sleeper()
        assert not adapter.listening
        for _ in range(3):
            await clock.sleeper()
            await clock.advance(1.0)
        await inbox.until(1)

        assert adapter.listening and adapter.conflicts == 0 and "another program" not in caplog.text
    assert adapter.account == server.token.partition(":")[0]

    await clock.advance(60.0)
    server.faults.add("getUpdates", Fault(status=409))
    with pytest.raises(Contested):
        await adapter.listen(Inbox())


async def test_a_webhook_that_another_program_sets_is_named_and_removed(
    server: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    arrived = server.faults.add("getUpdates", Fault()).reached
    polling = asyncio.create_task(adapter.listen(Inbox()))
    await arrived.wait()
    async with Bot(server.token, base_url=f"{server.base_url}/bot") as other:
        await other.set_webhook("https://example.org/hook")

    with pytest.raises(Contested):
        await polling
    inbox = Inbox()
    async with listening(adapter, inbox):
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)

    assert "terminated by setWebhook request" in caplog.text
    assert server.world.updates.webhook == {}


async def test_a_revoked_token_ends_the_platform_with_one_sentence(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    server.faults.add("getUpdates", Fault(status=401))

    with pytest.raises(SettingsError, match="TELEGRAM_BOT_TOKEN"):
        await adapter.listen(Inbox())


async def test_a_pause_in_receiving_is_told_and_seen(
    server: TelegramServer, adapter: TelegramAdapter, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults.add("getUpdates", Fault(status=429, retry_after=3600))
    inbox = Inbox()
    async with listening(adapter, inbox):
        await clock.sleeper()
        assert "telegram: nothing is received for 3600 s, as Telegram demands" in caplog.messages
        deaf = not adapter.listening
        await clock.advance(3600)
        server.say(ADA, "hello", person=ADA)
        await inbox.until(1)
        assert deaf and adapter.listening


@pytest.mark.parametrize("fault", [Fault(status=502), Fault(drop="before")], ids=["gateway", "dropped"])
async def test_a_server_in_trouble_is_unreachable_not_wrong(
    server: TelegramServer, adapter: TelegramAdapter, fault: Fault
) -> None:
    server.faults.add("getUpdates", fault)

    with pytest.raises(Unreachable):
        await adapter.listen(Inbox())


async def test_a_token_that_was_never_right_is_one_sentence_without_it(server: TelegramServer) -> None:
    with pytest.raises(SettingsError, match="TELEGRAM_BOT_TOKEN") as caught:
        async with TelegramAdapter(settings_of(server, "7000000001:WRONGwrongWRONG")):
            pass

    assert "WRONGwrong" not in str(caught.value)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with TelegramServer() as gone:
        settings = settings_of(gone)

    with pytest.raises(Unreachable):
        async with TelegramAdapter(settings):
            pass


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("hooked", [True, False])
async def test_the_check_names_the_bot_and_what_it_hears(server: TelegramServer, private: bool, hooked: bool) -> None:
    server.world.bot["can_read_all_group_messages"] = not private
    if hooked:
        async with Bot(server.token, base_url=f"{server.base_url}/bot") as bot:
            await bot.set_webhook("https://old.example/hook")

    findings = await check(settings_of(server))

    texts = [finding.text for finding in findings]
    assert all(finding.ok for finding in findings) and "the bot is @" in texts[0]
    assert any("mentions may not while privacy mode is on" in text for text in texts) == private
    assert any("a webhook is set" in text for text in texts) == hooked


# What a refusal means

REFUSALS = [
    (400, "Bad Request: can't parse entities: Unsupported start tag", Unrenderable),
    (400, "Bad Request: message to edit not found", MessageGone),
    (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
    (400, "Bad Request: message is too long", TooLong),
    (400, "Bad Request: chat not found", Unreachable),
    (403, "Forbidden: bot was blocked by the user", Unreachable),
    (403, "Forbidden: bot was kicked from the supergroup chat", Unreachable),
    (403, "Forbidden: bot is not a member of the channel chat", Unreachable),
    (403, "Forbidden: user is deactivated", Unreachable),
    (403, "Forbidden: bot can't initiate conversation with a user", Unreachable),
    (403, "Forbidden: the bot can't send messages to the bot", Unreachable),
    (403, "Forbidden: not enough rights to send text messages", RightMissing),
    (403, "Forbidden: a word of next year", Refused),
    (400, "Bad Request: text must be non-empty", Unrenderable),
    (400, "Bad Request: message can't be edited", Uneditable),
    (400, "Bad Request: TOPIC_CLOSED", Unreachable),
    (400, "Bad Request: CHAT_RESTRICTED", Unreachable),
    (400, "Bad Request: not enough rights to send text messages to the chat", RightMissing),
    (400, "Bad Request: need administrator rights in the channel chat", RightMissing),
    (400, "Bad Request: something new", Refused),
    (401, "Unauthorized", Refused),
    (409, "Conflict: another call", DeliveryError),
    (500, "Internal Server Error", DeliveryError),
]


DOT = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"
)


async def test_what_is_said_in_a_topic_that_was_deleted_is_said_in_the_chat(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    surface = adapter.surface(ReplyTarget("telegram", {"chat": ADA, "thread": 77}))

    with pytest.raises(DeliveryError, match="topic"):
        await show(surface, Page("x"), None)
    await show(surface, Page("x"), None)

    assert [one.text for one in server.screen.of(str(ADA))] == ["x"]


@pytest.mark.parametrize("picture", [True, False])
async def test_a_file_follows_its_group_and_leaves_a_topic_that_was_deleted(
    server: TelegramServer, adapter: TelegramAdapter, picture: bool
) -> None:
    """An answer may be a file alone: gatus #179, calendar-bot #23."""
    old, new = -60, -1_001_000_000_060
    server.group(old, "Friends")
    moved = adapter.surface(ReplyTarget("telegram", {"chat": old, "group": True}))
    thread = adapter.surface(ReplyTarget("telegram", {"chat": ADA, "thread": 77}))
    server.people.upgrade(old, new)
    file = File("dot.png", "image/png", DOT) if picture else File("a.csv", "text/csv", b"1,2")

    for surface, place in ((moved, new), (thread, ADA)):
        with pytest.raises(DeliveryError) as caught:
            await surface.attach(file, None)
        await surface.attach(file, None)
        assert type(caught.value) is DeliveryError
        assert [name for name, *_ in server.screen.of(str(place))[-1].files] == [file.name]


async def test_a_message_that_is_not_needed_is_deleted_in_the_group_as_it_is_now(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    old, new = -60, -1_001_000_000_060
    server.group(old, "Friends")
    surface = adapter.surface(ReplyTarget("telegram", {"chat": old, "group": True}))
    ref = await show(surface, Page("x"), None)
    server.people.upgrade(old, new)
    with pytest.raises(DeliveryError):
        await surface.remove(ref)
    await surface.remove(ref)

    assert str(new) in str(server.calls_of("deleteMessage")[-1].parameters["chat_id"])


@pytest.mark.parametrize(("status", "words", "error"), REFUSALS)
async def test_each_refusal_says_what_to_do_next(
    server: TelegramServer, adapter: TelegramAdapter, status: int, words: str, error: type[DeliveryError]
) -> None:
    surface = adapter.surface(ReplyTarget("telegram", {"chat": ADA}))
    body = f'{{"ok":false,"error_code":{status},"description":"{words}"}}'
    server.faults.add("sendMessage", Fault(status=status, body=body))

    with pytest.raises(DeliveryError) as caught:
        await show(surface, Page("hello"), None)

    assert type(caught.value) is error
    if isinstance(caught.value, Refused):
        assert isinstance(caught.value.lasting, RightMissing if status in (401, 403) else Unrenderable)


async def test_without_a_connection_nothing_arrived_and_it_may_be_tried_again(clock: FakeClock) -> None:
    async with AsyncExitStack() as stack:
        async with TelegramServer(limits=False) as server:
            adapter = await stack.enter_async_context(TelegramAdapter(settings_of(server), clock))

        with pytest.raises(DeliveryError, match="no connection") as caught:
            await show(adapter.surface(ReplyTarget("telegram", {"chat": ADA})), Page("hello"), None)

    assert type(caught.value) is DeliveryError


async def test_a_page_that_is_only_the_beginning_of_something_is_shown_as_it_stands(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    await show(adapter.surface(ReplyTarget("telegram", {"chat": ADA})), Page("**"), None)

    assert [shown.text for shown in server.screen.of(str(ADA))] == ["**"]


async def test_a_plain_page_full_of_addresses_makes_no_link(server: TelegramServer, adapter: TelegramAdapter) -> None:
    page = Page(" ".join(f"evil{number}.example" for number in range(101)), final=True, plain=True)

    await show(adapter.surface(ReplyTarget("telegram", {"chat": ADA})), page, None)

    (shown,) = server.screen.of(str(ADA))
    assert shown.text == page.body.replace(".", "․")
    assert "<a " not in shown.versions[-1].html


async def test_a_pause_is_as_long_as_telegram_says(server: TelegramServer, adapter: TelegramAdapter) -> None:
    surface = adapter.surface(ReplyTarget("telegram", {"chat": ADA}))
    server.faults.add("sendMessage", Fault(status=429, retry_after=17))

    with pytest.raises(RateLimited) as caught:
        await show(surface, Page("hello"), None)

    assert caught.value.retry_after == 17


async def test_a_post_whose_answer_is_lost_is_unclear_and_not_sent_twice(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    surface = adapter.surface(ReplyTarget("telegram", {"chat": ADA}))
    server.faults.add("sendMessage", Fault(drop="after"))

    with pytest.raises(Unclear):
        await show(surface, Page("hello"), None)

    assert not cost_of(surface, Page("hello"), None).repeats_safely
    assert len(server.screen.of(str(ADA))) == 1


async def test_an_edit_that_changes_nothing_is_a_success(server: TelegramServer, adapter: TelegramAdapter) -> None:
    target = ReplyTarget("telegram", {"chat": ADA})
    ref = await show(adapter.surface(target), Page("hello"), None)

    assert await show(adapter.surface(target), Page("hello"), ref) == ref


async def test_a_group_that_moved_is_written_to_where_it_is_now(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    server.group(-500, "Old")
    server.upgrade(-500, -1_009_999_999_999)
    surface = adapter.surface(ReplyTarget("telegram", {"chat": -500, "group": True}))

    with pytest.raises(DeliveryError):
        await show(surface, Page("hello"), None)
    await show(surface, Page("hello"), None)

    assert [shown.text for shown in server.screen.of("-1009999999999")] == ["hello"]


async def test_only_the_first_message_of_a_reply_in_a_group_points_at_the_question(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = server.message_id(server.say(GROUP, "/help", person=ADA))
    surface = adapter.surface(ReplyTarget("telegram", {"chat": GROUP, "group": True, "reply_to": number}))

    await show(surface, Page("one"), None)
    await show(surface, Page("two"), None)

    replies = [call.parameters.get("reply_parameters") for call in server.calls_of("sendMessage")]
    assert bool(replies[0]) and not replies[1]


async def test_a_picture_is_posted_as_one_and_anything_else_as_a_file(
    server: TelegramServer, adapter: TelegramAdapter
) -> None:
    surface = adapter.surface(ReplyTarget("telegram", {"chat": ADA}))

    refs = [
        await surface.attach(File("dot.png", "image/png", DOT), None),
        await surface.attach(File("a.csv", "text/csv", b"1,2"), None),
    ]

    assert all(isinstance(ref, MessageRef) for ref in refs)
    assert [call.method for call in server.calls if call.method in ("sendPhoto", "sendDocument")] == [
        "sendPhoto",
        "sendDocument",
    ]
