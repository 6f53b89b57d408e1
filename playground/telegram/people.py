"""The other side of the chat: what people do, and the updates that come of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from playground.telegram.call import Json
from playground.telegram.entities import Entity, Formatted, cut, fix
from playground.telegram.kinds import CAPTIONED, KINDS
from playground.telegram.media import document_json, photo_json, store
from playground.telegram.messages import MOST_TEXT
from playground.telegram.world import Chat, Message, Person, World

ALBUM = 10
"""The most that one album holds."""
ANONYMOUS_ADMIN: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
AS_CHANNEL: Json = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
LINKED_CHANNEL: Json = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
"""The users whom the service puts in the place of a sender that is a chat."""

MUSIC = frozenset({"audio/mpeg", "audio/mp3", "audio/mp4", "audio/m4a", "audio/x-m4a"})
"""What the service takes for music; any other sound that is chosen as a file is a document."""


class People:
    """What people can do in the chats of one bot. Chats and messages go by their numbers, as on the wire."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seconds = 3
        """How long what people record plays."""
        self._queries = 0
        self._albums = 0

    def person(self, id: int, first_name: str = "", *, username: str = "", language_code: str = "") -> Person:
        """Let a person exist, with a private chat of the same number; a known one is changed."""
        person = Person(id, first_name or f"Person {id}", username, language_code)
        self.world.people[id] = person
        chat = self.world.chats.setdefault(id, Chat(id, "private", person=person))
        chat.person = person
        return person

    def group(self, chat_id: int, title: str = "", *, forum: bool = False) -> Chat:
        """Let a group exist with the bot in it; a forum, or a number from -100…, is a supergroup."""
        assert chat_id < 0, "Groups have negative numbers"
        kind = "supergroup" if forum or chat_id < -1_000_000_000_000 else "group"
        chat = Chat(chat_id, kind, title or f"Group {-chat_id}", forum)
        self.world.chats[chat_id] = chat
        return chat

    def channel(self, chat_id: int, title: str = "") -> Chat:
        """Let a channel exist, of which the bot is no member."""
        return self.world.chats.setdefault(chat_id, Chat(chat_id, "channel", title or f"Channel {-chat_id}"))

    def upgrade(self, chat_id: int, to: int) -> Chat:
        """Turn a group into a supergroup with another number."""
        old = self.world.chats[chat_id]
        chat = self.group(to, old.title)
        old.upgraded_to = to
        service = {"from": self._somebody().json(), "chat": old.json(), "date": int(time.time())}
        number = self.world.next_number(old)
        self.world.updates.add("message", service | {"message_id": number, "migrate_to_chat_id": to})
        told = service | {"message_id": self.world.next_number(chat), "chat": chat.json()}
        self.world.updates.add("message", told | {"migrate_from_chat_id": chat_id})
        return chat

    def say(
        self,
        chat: int,
        text: str,
        *,
        person: int | Person | None = None,
        thread: int = 0,
        reply_to: int = 0,
        quote: str = "",
        reply_elsewhere: Person | Chat | str | None = None,
        as_chat: Chat | None = None,
        via: str = "",
        entities: Sequence[Entity] = (),
        files: Sequence[tuple[str, str, bytes]] = (),
    ) -> int:
        """Write a message, or send files with the text as caption, and return the id of the (last) update.

        Commands, mentions and addresses in the text become entities by themselves. 0 means that the bot does not
        hear of it: privacy mode keeps from it what a group's people say to each other, and a person who blocked it
        lets it hear nothing.

        Args:
            reply_elsewhere: whose message in some other chat is replied to; of that one only `quote` is seen here.
            as_chat: write in the name of the group itself (an anonymous admin) or of a channel.
            via: the name of an inline bot of which this is a result that the person chose.
        """
        extra: Json = {}
        if reply_elsewhere is not None:
            extra["external_reply"] = {"origin": self._origin(reply_elsewhere)}
        if as_chat is not None:
            extra["sender_chat"] = as_chat.json()
        if via:
            extra["via_bot"] = {"id": 7_700, "is_bot": True, "first_name": via, "username": f"{via}Bot"}
        return self._write(chat, text, person, thread, reply_to, quote, entities, files, extra)

    def send(
        self,
        chat: int,
        kind: str,
        caption: str = "",
        *,
        person: int | Person | None = None,
        thread: int = 0,
        reply_to: int = 0,
        author: Person | Chat | str | None = None,
    ) -> int:
        """Send something that is neither text nor a chosen file, and return the id of the update; 0 as in `say`.

        Args:
            kind: one of `playground.telegram.kinds.KINDS`.
            author: who sent it first, where it is forwarded.
        """
        assert not caption or kind in CAPTIONED, f"A {kind} has no caption"
        extra: Json = {} if author is None else {"forward_origin": self._origin(author)}
        return self._write(chat, caption, person, thread, reply_to, "", (), (), extra, KINDS[kind](self.world))

    def forward(
        self,
        chat: int,
        text: str,
        author: Person | Chat | str,
        *,
        person: int | Person | None = None,
        thread: int = 0,
        entities: Sequence[Entity] = (),
        files: Sequence[tuple[str, str, bytes]] = (),
        comment: str = "",
    ) -> int:
        """Forward what somebody wrote in any chat, and return the id of the (last) update; 0 as in `say`.

        Args:
            author: who wrote it; a name alone for somebody who hides his account, a chat for a channel's post or an
                anonymous admin's message.
            comment: words of one's own, which clients send before it as a message.
        """
        if comment:
            self.say(chat, comment, person=person, thread=thread)
        return self._write(chat, text, person, thread, 0, "", entities, files, {"forward_origin": self._origin(author)})

    def say_long(self, chat: int, text: str, *, person: int | Person | None = None) -> list[int]:
        """Write a text of any length as Telegram Desktop sends it, and return the ids of the updates; see `say`.

        It is cut at the limit, or better at the end of a paragraph, line or word in the second half before it; what is
        white there goes.
        """
        ids = []
        while text := text.strip():
            end = _cut_in(text, MOST_TEXT)
            ids.append(self.say(chat, text[:end].strip(), person=person))
            text = text[end:]
        return ids

    def paste(
        self,
        chat: int,
        blocks: Sequence[Json],
        *,
        person: int | Person | None = None,
        author: Person | Chat | str | None = None,
        reply_to: int = 0,
    ) -> int:
        """Send a rich message, as a paste of formatted text is, and return the id of the update; 0 as in `say`.

        It has blocks and neither text nor caption (Bot API 10.1).

        Args:
            author: who sent it first, where it is forwarded.
        """
        extra: Json = {} if author is None else {"forward_origin": self._origin(author)}
        rich: Json = {"rich_message": {"blocks": list(blocks)}}
        return self._write(chat, "", person, 0, reply_to, "", (), (), extra, rich)

    def channel_post(self, chat: int, text: str, channel: Chat) -> int:
        """Let a linked channel's post appear in its discussion group, where the service itself forwards it."""
        extra: Json = {"forward_origin": self._origin(channel), "sender_chat": channel.json()}
        return self._write(chat, text, None, 0, 0, "", (), (), extra | {"is_automatic_forward": True})

    def _write(
        self,
        chat: int,
        text: str,
        person: int | Person | None,
        thread: int,
        reply_to: int,
        quote: str,
        entities: Sequence[Entity],
        files: Sequence[tuple[str, str, bytes]],
        extra: Json,
        thing: Json | None = None,
    ) -> int:
        world = self.world
        place = self._chat(chat, person)
        sender = self._face(place, extra) or self._sender(place, person).json()
        if thread:
            place.threads.add(thread)
        target = world.messages[chat, reply_to] if reply_to else None
        quoted: Json = {"text": quote, "position": 0, "is_manual": True} if quote else {}
        result = fix(text, entities)
        contents: list[tuple[Json, list[tuple[str, str, bytes]]]] = [(result.json(), [])]
        caption = result.json("caption", "caption_entities") if text else {}
        if thing is not None:
            contents = [(thing | caption, [])]
        elif files:
            contents = [
                (self._file(*file) | (caption if index == 0 else {}), [file]) for index, file in enumerate(files)
            ]
        albums = self._album_of([content for content, _ in contents])
        update_id = 0
        for index, ((content, shown_files), album) in enumerate(zip(contents, albums, strict=True)):
            message = world.post(
                place,
                sender,
                content | album | extra,
                result if index == 0 else Formatted(""),
                thread=thread,
                reply=target,
                quote=quoted,
                files=shown_files,
            )
            if place.private or self._addressed(message, result):
                update_id = self._heard(place, "message", message.json())
        return update_id

    def edit(self, chat: int, message_id: int, text: str, *, entities: Sequence[Entity] = ()) -> int:
        """Let the author change a message of his own; the id of the update."""
        message = self.world.messages[chat, message_id]
        assert not message.own, "Only the bot edits its messages"
        assert "forward_origin" not in message.content, "Nobody edits what was forwarded"
        result = fix(text, entities)
        name = ("text", "entities") if "text" in message.content else ("caption", "caption_entities")
        kept = {key: value for key, value in message.content.items() if key not in name}
        message.content = kept | result.json(*name)
        message.edited = int(time.time())
        message.shown.versions.append(self.world.version(result, ""))
        self.world.screen.changed(message.shown)
        if message.chat.private or self._addressed(message, result):
            return self._heard(message.chat, "edited_message", message.json())
        return 0

    def delete(self, chat: int, message_id: int) -> None:
        """Delete any message; the service tells no bot about it."""
        self.world.remove(self.world.messages[chat, message_id])

    def press(self, chat: int, message_id: int, button: str, *, person: int | Person | None = None) -> int:
        """Press the button with this label or callback data under a message of the bot; the id of the update."""
        message = self.world.messages[chat, message_id]
        for row in message.keyboard.get("inline_keyboard", []):
            for one in row:
                if button in (one["text"], one.get("callback_data")) and "callback_data" in one:
                    self._queries += 1
                    query = str(4_000_000_000_000 + self._queries)
                    self.world.callbacks[query], self.world.pressed_in[query] = None, str(chat)
                    content: Json = {
                        "id": query,
                        "from": self._sender(message.chat, person).json(),
                        "message": message.json(),
                        "chat_instance": str(chat),
                        "data": one["callback_data"],
                    }
                    return self._heard(message.chat, "callback_query", content)
        raise LookupError(f"No button {button!r} under message {message_id} of chat {chat}")

    def react(self, chat: int, message_id: int, *emojis: str, person: int | Person | None = None) -> int:
        """Put reactions on a message in place of the person's earlier ones; 0 unless the bot asked for such updates."""
        message = self.world.messages[chat, message_id]
        content: Json = {
            "chat": message.chat.json(),
            "message_id": message_id,
            "user": self._sender(message.chat, person).json(),
            "date": int(time.time()),
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": emoji} for emoji in emojis],
        }
        # Outside private chats only administrators hear of reactions, and the bot is none.
        return self._heard(message.chat, "message_reaction", content) if message.chat.private else 0

    def stop_draft(self, chat: int, thread: int = 0) -> int:
        """Press Stop on the draft of a chat or topic; the id of the update."""
        place = self.world.chats[chat]
        draft = place.drafts.get(thread)
        if draft is None or not draft.can_stop:
            raise LookupError(f"No draft that can be stopped in chat {chat}")
        content: Json = {"chat": place.json(), "draft_id": draft.id}
        if thread:
            content["message_thread_id"] = thread
        if not draft.keep_on_stop:
            self.world.drop_draft(place, thread)
        return self._heard(place, "stopped_message_generation", content)

    def block(self, chat: int) -> int:
        """Let the person block the bot, or the group throw it out; the id of the `my_chat_member` update."""
        place = self.world.chats[chat]
        where = "group" if place.type == "group" else "supergroup"
        place.lost = "bot was blocked by the user" if place.private else f"bot was kicked from the {where} chat"
        return self._membership(place, "member", "kicked")

    def unblock(self, chat: int) -> int:
        """Undo `block`."""
        place = self.world.chats[chat]
        place.lost = ""
        return self._membership(place, "kicked", "member")

    def message_id(self, update_id: int) -> int:
        """The number of the message that an update is about."""
        update = self.world.updates.all[update_id]
        content: Json = next(value for key, value in update.items() if key != "update_id")
        return int((content.get("message") or content)["message_id"])

    def _membership(self, chat: Chat, before: str, after: str) -> int:
        def status(name: str) -> Json:
            member: Json = {"status": name, "user": self.world.bot_user}
            return member | {"until_date": 0} if name == "kicked" else member

        content: Json = {
            "chat": chat.json(),
            "from": (chat.person or self._somebody()).json(),
            "date": int(time.time()),
            "old_chat_member": status(before),
            "new_chat_member": status(after),
        }
        return self.world.updates.add("my_chat_member", content)

    def _heard(self, chat: Chat, kind: str, content: Json) -> int:
        return 0 if chat.lost else self.world.updates.add(kind, content)

    def _origin(self, author: Person | Chat | str) -> Json:
        """The MessageOrigin of something that `author` wrote elsewhere."""
        written: Json = {"date": int(time.time()) - 60}
        match author:
            case Person():
                return written | {"type": "user", "sender_user": author.json()}
            case Chat(type="channel"):
                return written | {"type": "channel", "chat": author.json(), "message_id": 1}
            case Chat():
                return written | {"type": "chat", "sender_chat": author.json()}
            case str():
                return written | {"type": "hidden_user", "sender_user_name": author}

    def _face(self, place: Chat, extra: Json) -> Json | None:
        """The user that the service names where a chat is the sender."""
        if "sender_chat" not in extra:
            return None
        if extra.get("is_automatic_forward"):
            return LINKED_CHANNEL
        return ANONYMOUS_ADMIN if extra["sender_chat"]["id"] == place.id else AS_CHANNEL

    def _chat(self, chat: int, person: int | Person | None) -> Chat:
        if chat not in self.world.chats:
            if chat > 0:
                self.person(chat)
            else:
                self.group(chat)
        return self.world.chats[chat]

    def _sender(self, chat: Chat, person: int | Person | None) -> Person:
        if isinstance(person, Person):
            return person
        if person is not None:
            return self.world.people.get(person) or self.person(person)
        return chat.person or self._somebody()

    def _somebody(self) -> Person:
        """Whoever speaks in a group when a test does not care."""
        return next(iter(self.world.people.values()), None) or self.person(1001, "Alice")

    def _file(self, name: str, media_type: str, content: bytes) -> Json:
        stored = store(self.world, name, media_type, content)
        if media_type.startswith("image/"):
            return photo_json(stored)
        plays: Json = {"duration": self.seconds, "mime_type": media_type}
        if media_type == "audio/ogg" or name.startswith("voice."):
            return {"voice": stored.json() | plays}
        if media_type in MUSIC:
            return {"audio": stored.json() | plays | {"file_name": name}}
        if name == "video_note.mp4":
            return {"video_note": stored.json() | {"length": 240, "duration": self.seconds}}
        return document_json(stored)

    def _album_of(self, contents: Sequence[Json]) -> list[Json]:
        """The album each content is in, if any: documents and music stand only with their like, and no more than ten
        in one; what people record for others to hear or see stands alone. Clients divide what is sent accordingly.
        """
        albums: list[Json] = []
        for kind, run in groupby(contents, _album_kind):
            left = len(list(run))
            while left:
                count = min(left, ALBUM)
                left -= count
                self._albums += 1
                together = bool(kind) and count > 1
                albums += [{"media_group_id": str(13_000_000_000 + self._albums)} if together else {}] * count
        return albums

    def _addressed(self, message: Message, result: Formatted) -> bool:
        """Whether privacy mode lets the bot hear a message in a group."""
        if self.world.bot["can_read_all_group_messages"]:
            return True
        if message.reply is not None and message.reply.own:
            return True
        name = f"@{self.world.bot['username']}".lower()
        for entity in result.entities:
            words = cut(result.text, entity.offset, entity.end).lower()
            if entity.type == "bot_command" and ("@" not in words or words.endswith(name)):
                return True
            if not self.world.mentions_pass:
                continue
            if entity.type == "mention" and words == name:
                return True
            if entity.type == "text_mention" and entity.extra["user"]["id"] == self.world.bot["id"]:
                return True
        return False


def _cut_in(text: str, limit: int) -> int:
    """Where a client ends the first part of a text; offsets of characters of the basic plane."""
    if len(text) <= limit:
        return len(text)
    half = limit // 2
    return next((at for end in ("\n\n", "\n", " ") if (at := text.rfind(end, half + 1, limit)) > 0), limit)


def _album_kind(content: Json) -> str:
    """What else can stand in an album with this; nothing if it stands in none."""
    return next((name for name in ("photo", "document", "audio") if name in content), "")
