"""Photos and documents in both directions, and the download of what people sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.telegram.call import ApiError, Arguments, Json, Upload, bad_request
from playground.telegram.entities import Formatted, units
from playground.telegram.messages import formatted, keyboard, reply, spend
from playground.telegram.world import Chat, StoredFile, World

MOST_CAPTION = 1024
MOST_UPLOAD = 50 * 1024 * 1024
MOST_PHOTO = 10 * 1024 * 1024
MOST_DOWNLOAD = 20 * 1024 * 1024


def store(world: World, name: str, media_type: str, content: bytes) -> StoredFile:
    """Keep a file under a new id."""
    stored = StoredFile(f"file{len(world.files) + 1:06}", name, media_type, content)
    world.files[stored.id] = stored
    return stored


def size_of(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG, GIF or JPEG; (0, 0) for any other file."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) >= 24:
        return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    if content[:6] in (b"GIF87a", b"GIF89a") and len(content) >= 10:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    if content.startswith(b"\xff\xd8"):
        at = 2
        while at + 9 < len(content) and content[at] == 0xFF:
            if 0xC0 <= content[at + 1] <= 0xCF and content[at + 1] not in (0xC4, 0xC8, 0xCC):
                height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
                return int.from_bytes(width, "big"), int.from_bytes(height, "big")
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return 0, 0


def photo_json(stored: StoredFile) -> Json:
    width, height = size_of(stored.content)
    return {"photo": [stored.json() | {"width": width, "height": height}]}


def document_json(stored: StoredFile) -> Json:
    return {"document": stored.json() | {"file_name": stored.name, "mime_type": stored.media_type}}


def voice_json(stored: StoredFile, seconds: int) -> Json:
    return {"voice": stored.json() | {"duration": seconds, "mime_type": stored.media_type}}


def _check_voice(world: World, chat: Chat, content: bytes) -> None:
    """Voice notes are Opus in Ogg files; who wants none has said so."""
    if chat.id in world.no_voices:
        private = chat.id > 0
        raise bad_request(
            "user restricted receiving of voice messages"
            if private
            else "not enough rights to send voice notes to the chat"
        )
    if not content.startswith(b"OggS"):
        raise bad_request("VOICE_CONTENT_INVALID")


def _wanted(world: World, arguments: Arguments, field: str) -> StoredFile:
    """The file a call sends: a part of the request, or one the service knows already."""
    value = arguments.text(field)
    upload: Upload | None = arguments.uploads.get(value.removeprefix("attach://") if value else field)
    if upload is not None:
        if not upload.content:
            raise bad_request("file must be non-empty")
        if len(upload.content) > MOST_UPLOAD:
            raise ApiError(413, "Request Entity Too Large")
        return StoredFile("", upload.name, upload.media_type, upload.content)
    if not value:
        raise bad_request(f"there is no {field} in the request")
    if value.startswith(("http://", "https://")):
        # Nothing here leaves the machine, so every address is one that the service could not read.
        raise bad_request("failed to get HTTP URL content")
    known = world.files.get(value)
    if known is None:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return known


def _caption(arguments: Arguments) -> Formatted:
    result = formatted(arguments, "caption")
    if units(result.text) > MOST_CAPTION:
        raise bad_request("message caption is too long")
    return result


def _captioned(content: Json, caption: Formatted) -> Json:
    return content | (caption.json("caption", "caption_entities") if caption.text else {})


async def _send(world: World, arguments: Arguments, field: str) -> Json:
    chat = world.chat(arguments)
    stored = _wanted(world, arguments, field)
    if field == "photo":
        if len(stored.content) > MOST_PHOTO:
            raise bad_request("file is too big")
        if size_of(stored.content) == (0, 0):
            raise bad_request("IMAGE_PROCESS_FAILED")
    elif field == "voice":
        _check_voice(world, chat, stored.content)
    caption = _caption(arguments)
    thread = world.thread(chat, arguments)
    target = reply(world, chat, arguments)
    buttons: Mapping[str, Any] = keyboard(arguments)
    spend(world, chat)
    if not stored.id:
        stored = store(world, stored.name, stored.media_type, stored.content)
    match field:
        case "photo":
            content = photo_json(stored)
        case "voice":
            content = voice_json(stored, arguments.integer("duration"))
        case _:
            content = document_json(stored)
    message = world.post(
        chat,
        world.bot_user,
        _captioned(content, caption),
        caption,
        thread=thread,
        reply=target,
        keyboard=buttons,
        markup=arguments.text("caption"),
        files=[(stored.name, stored.media_type, stored.content)],
    )
    return message.json()


async def send_photo(world: World, arguments: Arguments) -> Json:
    return await _send(world, arguments, "photo")


async def send_document(world: World, arguments: Arguments) -> Json:
    return await _send(world, arguments, "document")


async def send_voice(world: World, arguments: Arguments) -> Json:
    return await _send(world, arguments, "voice")


async def get_file(world: World, arguments: Arguments) -> Json:
    stored = world.files.get(arguments.text("file_id"))
    if stored is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if len(stored.content) > MOST_DOWNLOAD:
        raise bad_request("file is too big")
    return stored.json() | {"file_path": stored.path}
