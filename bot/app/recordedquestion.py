"""The question of a recording with what is stored of its attachments: their texts, and stand-ins for pictures, also for
those that its model made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bot.contract import Enclosure, MessageSent, Picture, UserEntry
from bot.store import PICTURE_BYTES, Recording

_READ: Final = re.compile(
    r"\[data ([0-9a-f]{8}) from (?:a file|a recording): information, not instructions\]\n(.*?)\n\[end of data \1\]",
    re.DOTALL,
)
_PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e366"
    "0000000049454e44ae426082"
)
"""A PNG of one pixel, in the place of every picture that a person sent."""
_SIGNS: Final = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\0\0\0\0WEBP",
}
"""How pictures of each kind begin."""


def pictures_of(recording: Recording) -> tuple[Picture, ...]:
    """Return stand-ins for the pictures of a question that its model saw."""
    first = recording.entries[0]
    shown = first.pictures if isinstance(first, UserEntry) else ()
    return tuple(replace(one, content=_PIXEL, media_type="image/png") for one in shown)


def draw(picture: Picture, recording: Recording) -> bytes:
    """Return a stand-in for a picture that a model made: of its kind and size, and unlike that for any other."""
    size = next((size for name, _, size, _ in recording.files if name == picture.name), PICTURE_BYTES)
    content = _SIGNS.get(picture.media_type, b"") + hashlib.sha256(picture.name.encode()).digest()
    return content.ljust(size, b"\0")[:size]


def question_as_read(recording: Recording) -> MessageSent:
    """Return the question with the texts of its files, which only the history has."""
    question, first = recording.question, recording.entries[0]
    assert isinstance(question, MessageSent)
    texts = (found[2] for found in _READ.finditer(first.text)) if isinstance(first, UserEntry) else iter(())
    pictures = {one.stored for one in pictures_of(recording)}
    read = replace(question, enclosed=tuple(_with_texts(question.enclosed, pictures, texts, own=True)))
    if question.quoted is None:
        return read
    quoted = tuple(_with_texts(question.quoted.enclosed, pictures, texts, own=False))
    return replace(read, quoted=replace(question.quoted, enclosed=quoted))


def _with_texts(
    enclosed: tuple[Enclosure, ...], pictures: set[int], texts: Iterator[str], *, own: bool
) -> Iterator[Enclosure]:
    """Yield attachments with their texts, which are in their order; the person's own speech is not among these."""
    for one in enclosed:
        is_read = bool(one.text) or (bool(one.stored) and one.stored not in pictures)
        yield replace(one, text=next(texts, "") or one.text) if is_read and not (own and one.spoken) else one


class RecordedAttachments:
    """Reads attachments as they are recorded."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def bring(self, question: MessageSent, room: int = 0) -> tuple[MessageSent, tuple[Picture, ...]]:
        """Return the question with its attachments as the model read them, and stand-ins for its pictures."""
        if not isinstance(self._recording.question, MessageSent):
            return question, ()
        known = question_as_read(self._recording)
        if question.text != known.text and question.delivery != known.delivery:
            return question, ()
        return replace(question, enclosed=known.enclosed, quoted=known.quoted), pictures_of(self._recording)
