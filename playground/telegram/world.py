"""Everything the service knows: people, chats, messages, files, and what the screen shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playground.faults import Faults
from playground.screen import Screen, Shown, Version
from playground.telegram.call import ApiError, Arguments, Json, bad_request
from playground.telegram.entities import Entity, Formatted, cut
from playground.telegram.limits import Flood, Limits
from playground.telegram.render import safe_html
from playground.telegram.updates import Updates

DRAFT_SECONDS = 30.0


class TelegramScreen(Screen):
    """A screen that also remembers what a reader does not see: fetched previews, and whom a message pings."""

    def __init__(self, now: Callable[[], float], expire: Callable[[], None]) -> None:
        super().__init__(now)
        self._expire = expire
        self.previews: list[str] = []
        """Addresses whose page the service would have fetched for a message of the bot, oldest first."""
        self.pings: list[tuple[str, str]] = []
        """(chat, name) for every mention in a message of the bot; people are told of each."""

    def of(self, chat: str, *, author: str = "bot", thread: str | None = None) -> list[Shown]:
        """The messages of one chat that still stand, without drafts whose time is over."""
        self._expire()
        return super().of(chat, author=author, thread=thread)


@dataclass(slots=True)
class Person:
    id: int
    first_name: str
    username: str = ""
    language_code: str = ""

    def json(self) -> Json:
        user: Json = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        if self.username:
            user["username"] = self.username
        if self.language_code:
            user["language_code"] = self.language_code
        return user


@dataclass(slots=True)
class Draft:
    id: int
    shown: Shown
    until: float
    can_stop: bool = False
    keep_on_stop: bool = False


@dataclass(slots=True)
class Chat:
    id: int
    type: str
    """`private`, `group`, `supergroup` or `channel`."""
    title: str = ""
    forum: bool = False
    person: Person | None = None
    threads: set[int] = field(default_factory=set)
    lost: str = ""
    """Why the bot may not write here any more, in the service's words; empty: it may."""
    upgraded_to: int = 0
    drafts: dict[int, Draft] = field(default_factory=dict)
    """By topic; 0 is the chat itself."""

    @property
    def private(self) -> bool:
        return self.type == "private"

    def json(self) -> Json:
        chat: Json = {"id": self.id, "type": self.type}
        if self.person is not None:
            chat["first_name"] = self.person.first_name
            if self.person.username:
                chat["username"] = self.person.username
        else:
            chat["title"] = self.title
        if self.forum:
            chat["is_forum"] = True
        return chat


@dataclass(slots=True)
class Message:
    """A message that stands in a chat."""

    id: int
    chat: Chat
    sender: Json
    shown: Shown
    content: Json
    """The fields beside the envelope: text and entities, or a file with its caption."""
    thread: int = 0
    topic: bool = False
    reply: Message | None = None
    quote: Json = field(default_factory=dict)
    keyboard: Json = field(default_factory=dict)
    date: int = 0
    edited: int = 0

    @property
    def own(self) -> bool:
        return bool(self.sender.get("is_bot")) and "sender_chat" not in self.content

    def json(self, *, deep: bool = True) -> Json:
        """The Message object; the one it replies to comes without its own reply, as the service sends it."""
        message: Json = {"message_id": self.id, "from": self.sender, "chat": self.chat.json(), "date": self.date}
        if self.thread:
            message["message_thread_id"] = self.thread
        if self.topic:
            message["is_topic_message"] = True
        if self.edited:
            message["edit_date"] = self.edited
        if self.reply is not None and deep:
            message["reply_to_message"] = self.reply.json(deep=False)
        if self.quote and deep:
            message["quote"] = self.quote
        message |= self.content
        if self.keyboard:
            message["reply_markup"] = self.keyboard
        return message


@dataclass(frozen=True, slots=True)
class StoredFile:
    id: str
    name: str
    media_type: str
    content: bytes

    @property
    def path(self) -> str:
        return f"documents/{self.id}/{self.name.replace('/', '_')}"

    def json(self) -> Json:
        return {"file_id": self.id, "file_unique_id": f"u{self.id}", "file_size": len(self.content)}


class World:
    """The state behind one token."""

    def __init__(self, now: Callable[[], float], limits: Limits | None, retry_seconds: float) -> None:
        self.now = now
        self.screen = TelegramScreen(now, self.expire)
        self.faults = Faults()
        self.flood = Flood(limits, now)
        self.updates = Updates(retry_seconds)
        self.drafts = True
        """Whether the server knows drafts; without them it answers 404, as one before Bot API 9.3."""
        self.mentions_pass = True
        """Whether mentions reach the bot in privacy mode: BotFather says so, Telegram's list and many reports say not.

        https://core.telegram.org/bots/features#privacy-mode, https://github.com/telegraf/telegraf/issues/545
        """
        self.bot: Json = {
            "id": 7000000001,
            "is_bot": True,
            "first_name": "Parley",
            "username": "parley_test_bot",
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
            "has_topics_enabled": False,
        }
        self.people: dict[int, Person] = {}
        self.chats: dict[int, Chat] = {}
        self.messages: dict[tuple[int, int], Message] = {}
        self.files: dict[str, StoredFile] = {}
        self.no_voices: set[int] = set()
        """Chats whose people take no voice messages."""
        self.callbacks: dict[str, Json | None] = {}
        """Pressed buttons by query id; the answer once there is one."""
        self.pressed_in: dict[str, str] = {}
        """The chat of each."""
        self.profile: dict[str, Any] = {}
        """What the bot said about itself: commands, descriptions, menu button."""
        self.reactions: dict[tuple[int, int], list[Json]] = {}
        self._numbers: dict[int, int] = {}
        self._drafts = 0

    @property
    def bot_user(self) -> Json:
        """The bot as the sender of a message."""
        return {key: self.bot[key] for key in ("id", "is_bot", "first_name", "username")}

    def next_draft(self) -> int:
        """A number for a draft on the screen; drafts have no message id."""
        self._drafts += 1
        return self._drafts

    def next_number(self, chat: Chat) -> int:
        """A message id: supergroups count for themselves, all other chats of a bot together."""
        counter = chat.id if chat.type == "supergroup" else 0
        self._numbers[counter] = self._numbers.get(counter, 0) + 1
        return self._numbers[counter]

    def chat(self, arguments: Arguments) -> Chat:
        """The chat that `chat_id` names, if the bot may write there.

        Raises:
            ApiError: empty, not found, upgraded, or the bot was blocked or removed.
        """
        name = arguments.text("chat_id")
        if not name:
            raise bad_request("chat_id is empty")
        chat = self.chats.get(arguments.integer("chat_id"))
        if chat is None:
            raise bad_request("chat not found")
        if chat.upgraded_to:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": chat.upgraded_to},
            )
        if chat.lost:
            raise ApiError(403, f"Forbidden: {chat.lost}")
        return chat

    def thread(self, chat: Chat, arguments: Arguments) -> int:
        """The topic that `message_thread_id` names; 0 for none."""
        thread = arguments.integer("message_thread_id")
        if thread and thread not in chat.threads:
            raise bad_request("message thread not found")
        return thread

    def post(
        self,
        chat: Chat,
        sender: Json,
        content: Json,
        formatted: Formatted,
        *,
        thread: int = 0,
        reply: Message | None = None,
        quote: Json | None = None,
        keyboard: Mapping[str, Any] | None = None,
        markup: str = "",
        files: list[tuple[str, str, bytes]] | None = None,
    ) -> Message:
        """Put a new message into the chat and on the screen."""
        number = self.next_number(chat)
        shown = Shown(
            id=str(number),
            chat=str(chat.id),
            author="bot" if sender["id"] == self.bot["id"] else str(sender["id"]),
            thread=str(thread or ""),
            versions=[self.version(formatted, markup)],
            files=files or [],
            reply_to=str(reply.id) if reply else "",
            buttons=button_texts(keyboard or {}),
        )
        message = Message(
            id=number,
            chat=chat,
            sender=sender,
            shown=shown,
            content=content,
            thread=thread,
            topic=bool(thread) and (chat.forum or chat.private),
            reply=reply,
            quote=quote or {},
            keyboard=dict(keyboard or {}),
            date=int(time.time()),
        )
        self.messages[chat.id, number] = message
        self.screen.add(shown)
        if message.own:
            self.ping(chat, formatted)
            self.drop_draft(chat, thread)
        return message

    def version(self, formatted: Formatted, markup: str) -> Version:
        return Version(self.now(), formatted.text, safe_html(formatted), markup)

    def ping(self, chat: Chat, formatted: Formatted) -> None:
        """Note whom a text of the bot mentions."""
        for entity in formatted.entities:
            if entity.type in ("mention", "text_mention"):
                self.screen.pings.append((str(chat.id), self.name(formatted, entity)))

    @staticmethod
    def name(formatted: Formatted, entity: Entity) -> str:
        if entity.type == "text_mention":
            return str(entity.extra["user"]["id"])
        return cut(formatted.text, entity.offset, entity.end)

    def remove(self, message: Message) -> None:
        """Take a message away, for everybody."""
        self.messages.pop((message.chat.id, message.id), None)
        message.shown.deleted = True
        self.screen.changed(message.shown)

    def drop_draft(self, chat: Chat, thread: int) -> None:
        """A draft gives way to the message, or to the draft, that comes after it in the same place."""
        draft = chat.drafts.pop(thread, None)
        if draft is not None:
            draft.shown.live = False
            draft.shown.deleted = True
            self.screen.changed(draft.shown)

    def expire(self) -> None:
        """Take away the drafts whose 30 seconds are over."""
        for chat in self.chats.values():
            for thread, draft in list(chat.drafts.items()):
                if draft.until <= self.now():
                    self.drop_draft(chat, thread)


def button_texts(keyboard: Mapping[str, Any]) -> list[str]:
    """The labels of an inline keyboard, row after row."""
    return [str(button.get("text", "")) for row in keyboard.get("inline_keyboard", []) for button in row]
