"""Prepare a question's attachments: pictures for the model, the text of files, transcripts of recordings.

Attachments that cannot be read are announced as unread.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from bot.contract import (
    AUDIBLE,
    BotError,
    Clock,
    Enclosure,
    EnclosureKind,
    FileWithheld,
    MessageSent,
    Picture,
    TooLong,
    time_limit,
)
from bot.safety import Redact, enclosed_in, redact_nothing
from bot.store import Store
from bot.turn.listening import LISTEN_SECONDS, SPEECH_BYTES, Listener
from tools.contract.folders import temporary_folder
from tools.documents.kinds import DocumentUnreadable, Reason
from tools.documents.reading import Document
from tools.pictures import MOST_PIXELS, PictureMaker, is_picture, kind_of, look_at
from tools.sandbox.cell import SandboxFailed

log = logging.getLogger(__name__)

MOST_BROUGHT: Final = 10
"""Most attachments of one question: as many as platforms let people send at once."""
PICTURE_BYTES: Final = 4 * 1024 * 1024
"""The largest picture for a model: providers accept 5 MiB, some of them measured in Base64."""
PICTURES_BYTES: Final = 4 * 1024 * 1024
"""All pictures of a question: more in one request would hold up the other chats."""
SMALLEST_SHARE: Final = 256 * 1024
"""The least share of each picture in bytes; a picture over its share is made smaller."""
_LONGEST_SIDE: Final = 8000
"""The most pixels that providers accept on a side."""
FILE_BYTES: Final = 16 * 1024 * 1024
"""The largest file that the store keeps."""
MOST_CHARS: Final = 40_000
"""Characters of all files of a question that the model gets."""
READ_ON: Final = "read_file reads the rest."
"""The note to the model under a longer file; the tool is then offered, with later questions too."""
_ATTACHED: Final = frozenset({EnclosureKind.FILE, EnclosureKind.PICTURE})
"""The kinds of attachments of an attachment, as of an e-mail, that are read."""
_MARGIN: Final = 4_000
"""Further characters in which secrets are searched."""
BRING_SECONDS: Final = 40.0
"""The time for all attachments; after that the question is answered without the rest."""
HEAR_SECONDS: Final = LISTEN_SECONDS + 20.0
"""The same, if there is speech."""
_HEAD: Final = 16
_TOO_LARGE: Final = f"unread_{Reason.TOO_LARGE}"
_MOST: Final = {
    EnclosureKind.PICTURE: FILE_BYTES,
    EnclosureKind.FILE: FILE_BYTES,
    **dict.fromkeys(AUDIBLE, SPEECH_BYTES),
}
"""The largest size of each kind."""


class Fetch(Protocol):
    """`Platforms.fetch`."""

    async def __call__(self, platform: str, source: str, into: BinaryIO, most: int) -> Enclosure | None: ...


class Read(Protocol):
    """`DocumentReader.read`."""

    async def __call__(self, path: Path, name: str = "", media_type: str = "") -> Document: ...


class Make(Protocol):
    """`PictureMaker.make`."""

    async def __call__(self, content: bytes, most: int) -> tuple[str, bytes]: ...


class Attachments(Protocol):
    """Reads the attachments of questions."""

    async def bring(self, question: MessageSent, room: int = ...) -> tuple[MessageSent, tuple[Picture, ...]]:
        """See `AttachmentReader.bring`."""
        ...


@dataclass(eq=False, repr=False, kw_only=True)
class AttachmentReader:
    """Reads attachments; one object for the process."""

    store: Store
    fetch: Fetch
    read: Read
    clock: Clock
    listener: Listener
    redact: Redact = redact_nothing
    """Masks secrets in the text of files and transcripts."""
    make: Make = field(default_factory=lambda: PictureMaker().make)
    """Makes pictures fit for models; by default in a separate process."""

    async def bring(self, question: MessageSent, room: int = MOST_CHARS) -> tuple[MessageSent, tuple[Picture, ...]]:
        """Return the question with everything marked that the model will see, and its pictures.

        Args:
            room: characters of files that fit into the model's prompt.

        Raises:
            StoreError: the store fails now.
        """
        every = enclosed_in(question)
        # A former process's transcript is stored with the question, and paid for.
        brought = {id(one): one if one.heard else self.listener.look(_anew(one)) for one in every}
        wanted = [one for one in every if _can_be_brought(brought[id(one)])][:MOST_BROUGHT]
        known: dict[int, Enclosure] = {}
        found = await self._bring_all(question, wanted, known)
        attached = await self._bring_attached(question, [*known.values()], MOST_BROUGHT - len(wanted))
        pictures: list[Picture] = []
        room, left = min(room, MOST_CHARS), PICTURES_BYTES
        for one, came in zip(wanted, found, strict=True):
            if isinstance(came, Picture) and len(came.content) <= left:
                left -= len(came.content)
                pictures.append(came)
                brought[id(one)] = replace(known.get(id(one), one), stored=came.stored)
            elif isinstance(came, Enclosure):
                for name, inner in attached.get(one.source, ()) if came.brought else ():
                    shown = isinstance(inner, Picture) and len(inner.content) <= left
                    if isinstance(inner, Picture) and shown:
                        left -= len(inner.content)
                        pictures.append(inner)
                    came = replace(came, text=f"{came.text}\n\n{_written(name, inner, shown=shown)}")
                brought[id(one)] = came if came.kind in AUDIBLE else replace(came, text=_shortened(came.text, room))
                room = max(0, room - len(came.text))
            elif isinstance(came, Exception):
                raise came
            elif one.kind in AUDIBLE:
                brought[id(one)] = replace(one, problem="unheard_now")
        marked = replace(question, enclosed=tuple(brought[id(one)] for one in question.enclosed))
        if question.quoted is not None:
            enclosed = tuple(brought[id(one)] for one in question.quoted.enclosed)
            marked = replace(marked, quoted=replace(question.quoted, enclosed=enclosed))
        return marked, tuple(pictures)

    async def _bring_attached(
        self, question: MessageSent, known: Sequence[Enclosure], most: int
    ) -> dict[str, list[tuple[str, Picture | Enclosure | BaseException | None]]]:
        """Read the attachments of attachments, up to a number and `FILE_BYTES` in all; return for each file's source
        their names and outcomes."""
        every = [(one, inner) for one in known for inner in one.within]
        wanted: list[Enclosure] = []
        size = 0
        for _, inner in every:
            size += inner.size
            if len(wanted) < most and size <= FILE_BYTES and inner.kind in _ATTACHED and inner.source:
                wanted.append(inner)
        found = await self._bring_all(question, wanted, {})
        came = {id(inner): outcome for inner, outcome in zip(wanted, found, strict=True)}
        attached: dict[str, list[tuple[str, Picture | Enclosure | BaseException | None]]] = {}
        for one, inner in every:
            attached.setdefault(one.source, []).append((inner.name, came.get(id(inner))))
        return attached

    async def _bring_all(
        self, question: MessageSent, wanted: Sequence[Enclosure], known: dict[int, Enclosure]
    ) -> list[Picture | Enclosure | BaseException | None]:
        """Read everything in parallel; what takes too long is a `CancelledError`.

        Args:
            known: receives the platform's description of each file, known only once it is fetched.
        """
        if not wanted:
            return []
        seconds = HEAR_SECONDS if any(one.kind in AUDIBLE for one in wanted) else BRING_SECONDS
        seen = sum(one.kind is EnclosureKind.PICTURE or one.media_type.startswith("image/") for one in wanted)
        share = max(SMALLEST_SHARE, PICTURES_BYTES // max(1, seen))
        tasks = [asyncio.create_task(self._bring(question, one, share, known)) for one in wanted]
        try:
            async with time_limit(self.clock, seconds):
                await asyncio.wait(tasks)
        except TimeoutError:
            log.warning("%s: an attachment takes too long and is left out", question.chat)
        finally:
            for task in tasks:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
        return found

    async def _bring(
        self, question: MessageSent, one: Enclosure, share: int, known: dict[int, Enclosure]
    ) -> Picture | Enclosure | None:
        """Fetch a file, and read and store it, or transcribe it; return None if it cannot be fetched or has nothing for
        a model."""
        with temporary_folder() as folder:
            path = Path(folder) / "enclosed"
            try:
                with path.open("wb") as file:
                    told = await self.fetch(question.chat.platform, one.source, file, _MOST[one.kind])
                if told is not None:
                    known[id(one)] = one = replace(told, source=one.source)
                if one.kind in AUDIBLE:
                    heard = await self.listener.listen(path, one, str(question.chat))
                    return replace(heard, text=self.redact(heard.text))
                # A picture sent as a file, to keep its quality, is shown, too.
                seen = one.kind is EnclosureKind.PICTURE or is_picture(await asyncio.to_thread(_head_of, path))
                text = "" if seen else await self._text_of(path, one)
                content = await asyncio.to_thread(path.read_bytes)
                made = await self._made(content, share) if seen else None
            except (BotError, DocumentUnreadable, SandboxFailed, OSError) as error:
                log.warning("%s: a %s is left unread: %s", question.chat, one.kind, error)
                return replace(_anew(one), problem=_problem(one, error))
        put, scope = self.store.files.put, str(question.chat)
        if not seen:
            # A secret that is cut off at the end cannot be recognised.
            text = self.redact(text[: MOST_CHARS + _MARGIN])[: MOST_CHARS + 1]
            return replace(one, stored=await put(scope, one.name or "file", one.media_type, content), text=text)
        if made is None:
            log.info("%s: a picture is left unread: models do not accept its format", question.chat)
            return None
        media_type, shown = made
        # The sender's name for it may be that of another file in the chat.
        name = f"picture-{hashlib.sha256(content).hexdigest()[:12]}"
        if shown is not content:
            await put(scope, f"{name}-original{_ending(one)}", one.media_type, content)
        return Picture(await put(scope, f"{name}.{kind_of(shown[:_HEAD])[1]}", media_type, shown), media_type, shown)

    async def _made(self, content: bytes, share: int) -> tuple[str, bytes] | None:
        """Return a picture in a form that models accept, itself if it is one; None if it is not a picture.

        Raises:
            DocumentUnreadable, SandboxFailed: it is a decompression bomb by its header, or cannot be converted.
        """
        if not is_picture(content[:_HEAD]):
            return None
        media_type, look = kind_of(content[:_HEAD])[0], look_at(content)
        if look.width * look.height > MOST_PIXELS:
            raise DocumentUnreadable(Reason.TOO_LARGE)
        fits = bool(media_type) and len(content) <= PICTURE_BYTES and max(look.width, look.height) <= _LONGEST_SIDE
        if fits and len(content) <= share and not look.turned and not look.animated:
            return media_type, content
        try:
            return await self.make(content, share)
        except (DocumentUnreadable, SandboxFailed) as error:
            if not fits:
                # The formats that models accept are known: without the library it is too large, or damaged.
                other = {Reason.EXTRA_MISSING: Reason.TOO_LARGE, Reason.UNKNOWN_KIND: Reason.DAMAGED}
                reason = error.reason if isinstance(error, DocumentUnreadable) else None
                raise DocumentUnreadable(other[reason]) if media_type and reason in other else error from error
            log.warning("a picture goes to the model unchanged, possibly the wrong way up: %s", error)
            return media_type, content

    async def _text_of(self, path: Path, one: Enclosure) -> str:
        """Return the text of a file.

        Raises:
            DocumentUnreadable, SandboxFailed: it cannot be read, or not now.
        """
        text = (await self.read(path, one.name, one.media_type)).markdown
        if not text.strip():
            raise DocumentUnreadable(Reason.NOTHING_TO_READ)
        return text


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _ending(one: Enclosure) -> str:
    """Return the extension of a file's name if it is harmless."""
    ending = Path(one.name).suffix
    return ending if ending[1:].isalnum() and ending.isascii() and len(ending) < 8 else ""


def _anew(one: Enclosure) -> Enclosure:
    """Return an attachment without a former process's findings: all but its size may be different now."""
    too_large = one.kind not in AUDIBLE and one.size > _MOST.get(one.kind, one.size)
    return replace(one, stored=0, text="", problem=_TOO_LARGE if too_large else "")


def _can_be_brought(one: Enclosure) -> bool:
    return bool(one.source) and not one.problem and not one.heard and one.kind in _MOST


def _problem(one: Enclosure, error: Exception) -> str:
    """Return the key of the sentence that says why it stays unread; empty if there is no special reason."""
    if isinstance(error, FileWithheld):
        return f"unread_{error.why}"
    if isinstance(error, TooLong):
        return "unheard_large" if one.kind in AUDIBLE else _TOO_LARGE
    if isinstance(error, DocumentUnreadable) and error.reason not in (Reason.UNKNOWN_KIND, Reason.EXTRA_MISSING):
        return f"unread_{error.reason}"
    return "unheard_now" if one.kind in AUDIBLE else ""


def _written(name: str, came: Picture | Enclosure | BaseException | None, *, shown: bool) -> str:
    """Write the attachments of a file, to follow its own text."""
    if isinstance(came, Enclosure) and came.brought and not came.problem:
        return f"[attached: {name}]\n{came.text}"
    return f"[attached: {name}; {'shown as a picture' if shown else 'not read'}]"


def _shortened(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return f"{text[:room]}\n\n(Only the first {room:,} characters are shown; {READ_ON})"
