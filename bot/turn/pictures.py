"""Bring the pictures of a question, so that the model sees them; what cannot be brought is announced as unread."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, Final, Protocol

from bot.contract import BotError, Clock, Enclosure, EnclosureKind, MessageSent, Picture, time_limit
from bot.store import Store

log = logging.getLogger(__name__)

MOST_PICTURES: Final = 10
"""Of one question: as many as platforms let people send at once."""
PICTURE_BYTES: Final = 5 * 1024 * 1024
"""The longest picture that every provider takes."""
FETCH_SECONDS: Final = 20.0
"""What all pictures of a question may take; then it is answered without the rest."""
_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF87a", "image/gif", "gif"),
    (b"GIF89a", "image/gif", "gif"),
)
_HEAD: Final = 16


class Fetch(Protocol):
    """`Platforms.fetch`."""

    async def __call__(self, platform: str, source: str, into: BinaryIO, most: int) -> None: ...


def kind_of(head: bytes) -> tuple[str, str]:
    """Return the media type and the file ending that the first bytes of a picture tell; empty for no picture.

    What a platform says of a file is what its sender said.
    """
    for sign, media_type, ending in _SIGNS:
        if head.startswith(sign):
            return media_type, ending
    return ("image/webp", "webp") if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ("", "")


class Pictures:
    """Brings pictures; one object for the process."""

    def __init__(self, store: Store, fetch: Fetch, clock: Clock) -> None:
        self._store = store
        self._fetch = fetch
        self._clock = clock

    async def bring(self, question: MessageSent) -> tuple[MessageSent, tuple[Picture, ...]]:
        """Return the question with its pictures marked that the model will see, and these.

        Raises:
            StoreError: the store does not work now.
        """
        quoted = question.quoted.enclosed if question.quoted is not None else ()
        wanted = [one for one in (*question.enclosed, *quoted) if one.kind is EnclosureKind.PICTURE and one.source]
        wanted = [one for one in wanted if one.size <= PICTURE_BYTES][:MOST_PICTURES]
        if not wanted:
            return question, ()
        tasks = [asyncio.create_task(self._bring(question, one)) for one in wanted]
        try:
            async with time_limit(self._clock, FETCH_SECONDS):
                await asyncio.wait(tasks)
        except TimeoutError:
            log.warning("%s: pictures take too long and are left out", question.chat)
        finally:
            for task in tasks:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
        brought: dict[int, Picture] = {}
        for one, picture in zip(wanted, found, strict=True):
            if isinstance(picture, Picture):
                brought[id(one)] = picture
            elif isinstance(picture, Exception):
                raise picture
        marked = replace(question, enclosed=_marked(question.enclosed, brought))
        if question.quoted is not None:
            marked = replace(marked, quoted=replace(question.quoted, enclosed=_marked(quoted, brought)))
        return marked, tuple(brought.values())

    async def _bring(self, question: MessageSent, one: Enclosure) -> Picture | None:
        """Fetch and store a picture; None where it cannot be had, or is none."""
        with tempfile.TemporaryFile() as file:
            try:
                await self._fetch(question.chat.platform, one.source, file, PICTURE_BYTES)
            except BotError as error:
                log.warning("%s: a picture is left unread: %s", question.chat, error)
                return None
            file.seek(0)
            content = file.read()
        media_type, ending = kind_of(content[:_HEAD])
        if not media_type:
            log.info("%s: what is called a picture is left unread: it is none that models take", question.chat)
            return None
        # Its sender's name for it could be that of another file of the chat.
        name = f"picture-{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
        stored = await self._store.files.put(str(question.chat), name, media_type, content)
        return Picture(stored, media_type, content)


def _marked(enclosed: Sequence[Enclosure], brought: dict[int, Picture]) -> tuple[Enclosure, ...]:
    return tuple(replace(one, stored=brought[id(one)].stored) if id(one) in brought else one for one in enclosed)
