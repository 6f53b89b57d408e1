"""The files of a Slack message: their description in a payload, and how they are fetched.

A long text, which Slack's client offers to send as a snippet, is one, too. For some files an event contains only an id
(Slack Connect), and an e-mail or a canvas is not directly readable: those are requested with `files.info` when a turn
begins. See https://docs.slack.dev/reference/objects/file-object.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

import aiohttp

from adapters.download import download, is_of
from adapters.slack.client import Client
from adapters.slack.errors import error_code, translate
from adapters.slack.reading import Json, text_in
from bot.contract import (
    Clock,
    DeliveryError,
    Enclosure,
    EnclosureKind,
    FileWithheld,
    LogThrottle,
    TooLong,
    time_limit,
)

log = logging.getLogger(__name__)

_LARGE_PICTURE: Final = 16 * 1024 * 1024
"""Bytes."""
_ASKED: Final = "file:"
"""Prefix of the source of a file that is requested by its id; then follow the id, the sender, and whether it came
alone."""
_UNREAD: Final = "unread:"
"""Prefix of the source of a missing file; then follows the reason."""
_GONE: Final = {"tombstone": "deleted", "hidden_by_limit": "hidden"}
"""A file's mode → why it cannot be read."""
_REFUSED: Final = {
    "file_deleted": "deleted",
    "missing_scope": "right",
    **dict.fromkeys(("access_denied", "file_not_found", "not_visible"), "kept"),
}
"""Slack's answer to a request for a file → why it cannot be read."""
_ASK_FIRST: Final = "check_file_info"
"""The access to a file from another organisation: `files.info` tells the rest."""
_CANVAS: Final = frozenset({"canvas", "quip", "docs"})
_HTML: Final = "text/html"
_PAGES: Final = (b"<!doctype", b"<html")
"""The beginning of a complete page."""
_NAMED: Final = 20
"""Attachments of an e-mail, and people in it, that are named."""
_ATTACHED: Final = 10
"""Attachments of an e-mail that are read: as many as files of a message."""
_UNTITLED: Final = frozenset(
    {
        *("Untitled", "Ohne Titel", "Unbenannt", "Sin título", "Sans titre", "Senza titolo", "Sem título"),
        *("無題", "제목 없음", "无标题", "未命名", "無標題"),
    }
)
"""What Slack calls a snippet to which its writer gave no title: such a title is no part of the question."""
_PASTE_BYTES: Final = 64_000
"""A longer paste stays a file, which the model reads in parts."""
_PASTE_SECONDS: Final = 1.0
"""The longest that a message waits for its text; Slack allows three seconds for storing."""


def enclosed_in(message: Json, *, alone: bool = False) -> tuple[Enclosure, ...]:
    """Return the files of a message; for some Slack says only that they exist.

    Args:
        alone: the message has no text.
    """
    author = str(message.get("user") or message.get("author_id") or "")
    return tuple(read_file(file, author, alone) for file in message.get("files") or () if isinstance(file, Mapping))


def read_file(file: Json, author: str, alone: bool) -> Enclosure:
    """Return the description of a file.

    Args:
        author: who sent the message.
        alone: the message has no text.
    """
    name, media_type = str(file.get("name") or file.get("title") or ""), str(file.get("mimetype") or "")
    size = file.get("size")
    size = size if isinstance(size, int) and size > 0 else 0
    source = _source(file, author if not alone else f"{author}:alone", media_type, size)
    lasts = file.get("duration_ms")
    seconds = lasts / 1000 if isinstance(lasts, int) and lasts > 0 else 0.0
    if file.get("subtype") == "slack_audio":
        # Recorded in Slack, which names it itself. Another person's recording can be shared again.
        kind = EnclosureKind.VOICE if str(file.get("user") or author) == author else EnclosureKind.AUDIO
        return Enclosure(kind=kind, media_type=media_type, size=size, source=source, seconds=seconds)
    if _is_email(file) or _is_canvas(file):
        title = text_in(file, "subject") or text_in(file, "title") or name
        return Enclosure(kind=EnclosureKind.FILE, name=title, media_type=media_type, source=source)
    own = str(file.get("user") or author) == author
    return Enclosure.file(name, media_type, size, source, seconds, alone=alone and own)


def pasted_in(message: Json) -> Json | None:
    """Return the file that may be the text which its writer sent as a snippet, by itself; None if there is none."""
    files = _maps(message, "files")
    if len(files) != 1:
        return None
    unknown = files[0].get("file_access") == _ASK_FIRST and bool(files[0].get("id"))
    return files[0] if unknown or _is_pasted(files[0], message.get("user")) else None


def _is_pasted(file: Json, author: object) -> bool:
    """Return True for a text that its author wrote or pasted in Slack. Uploaded texts are snippets, too; their title is
    the file's name with its ending, which a title that somebody typed is not."""
    title, name = text_in(file, "title"), text_in(file, "name")
    size = file.get("size")
    return (
        (file.get("mode"), file.get("filetype")) == ("snippet", "text")
        and file.get("user") in (None, "", author)
        and (title != name or "." not in name)
        and (not isinstance(size, int) or size <= _PASTE_BYTES)
    )


def _source(file: Json, sent: str, media_type: str, size: int) -> str:
    """Return the source of a file, see `Files.fetch`."""
    if why := _GONE.get(str(file.get("mode") or "")):
        return f"{_UNREAD}{why}"
    access = str(file.get("file_access") or "")
    if access in _REFUSED:
        return f"{_UNREAD}{_REFUSED[access]}"
    if file.get("is_external"):
        return f"{_UNREAD}elsewhere"
    asked = access == _ASK_FIRST or _is_email(file) or _is_canvas(file) or media_type == _HTML
    if asked and file.get("id"):
        return f"{_ASKED}{file['id']}:{sent}"
    # Slack keeps a smaller copy of a large picture.
    smaller = file.get("thumb_1024") if size > _LARGE_PICTURE else None
    return str(smaller or file.get("url_private_download") or file.get("url_private") or "")


def _is_email(file: Json) -> bool:
    return "email" in (file.get("filetype"), file.get("mode"))


def _is_canvas(file: Json) -> bool:
    return not _CANVAS.isdisjoint({str(file.get("filetype") or ""), str(file.get("mode") or "")})


@dataclass(eq=False, repr=False, kw_only=True)
class Files:
    """Fetches files with the token of one workspace, which no other server sees."""

    web: Client
    http: aiohttp.ClientSession
    clock: Clock
    scopes: frozenset[str] | None

    def __post_init__(self) -> None:
        self._troubles = LogThrottle(log, self.clock)

    async def fetch(self, source: str, into: BinaryIO, most: int) -> Enclosure | None:
        """See `Adapter.fetch`."""
        if source.startswith(_UNREAD):
            raise FileWithheld("a file is not kept by Slack", why=source.removeprefix(_UNREAD))
        if not source.startswith(_ASKED):
            await self._download(source, into, most, refused=(_HTML,))
            return None
        id, _, sent = source.removeprefix(_ASKED).partition(":")
        author, _, alone = sent.partition(":")
        file = await self._ask(id)
        found = read_file({**file, "file_access": ""}, author, bool(alone))
        if found.source.startswith(_UNREAD):
            raise FileWithheld("a file is not kept by Slack", why=found.source.removeprefix(_UNREAD))
        if _is_email(file) and (text := file.get("plain_text") or file.get("preview_plain_text")):
            _write(f"{_head_of(file)}\n\n{text}", into, most)
            return replace(found, media_type="text/plain", within=_attached_to(file))
        address = str(file.get("url_private") or file.get("url_private_download") or "")
        if _is_canvas(file) or _is_email(file):
            # A part of a page: its beginning would not reveal its type.
            into.write(b"<!doctype html><html><body>")
            found = replace(found, media_type=_HTML, within=_attached_to(file))
        if found.media_type != _HTML:
            await self._download(_direct(file), into, most, refused=(_HTML,))
        elif _is_canvas(file):
            await self._download(address, into, most, never=_PAGES)
        else:
            await self._download(address, into, most, size=found.size)
        return found

    async def text(self, file: Json, author: str) -> str:
        """Fetch a snippet, below the title that its author gave it; return "" if it is none, or that fails: then it is
        a file like any other."""
        into = io.BytesIO()
        try:
            async with time_limit(self.clock, _PASTE_SECONDS):
                if file.get("file_access") == _ASK_FIRST:
                    file = await self._ask(str(file["id"]))
                    if not _is_pasted(file, author):
                        return ""
                await self.fetch(_direct(file), into, _PASTE_BYTES)
            title, text = text_in(file, "title"), into.getvalue().decode().strip()
            return text if title in _UNTITLED or not text else f"{title}\n\n{text}".strip()
        except Exception as error:  # noqa: BLE001 - whatever it is, the message is taken as it is
            log.warning("slack: a pasted text could not be read: %s", type(error).__name__)
            return ""

    async def _ask(self, id: str) -> Json:
        try:
            answer = await self.web.files_info(file=id)
        except Exception as error:
            code = error_code(error)
            if code in _REFUSED:
                raise self._withheld(_REFUSED[code], code) from None
            raise translate(error) from error
        file = answer.get("file")
        return file if isinstance(file, Mapping) else {}

    async def _download(
        self,
        address: str,
        into: BinaryIO,
        most: int,
        *,
        refused: tuple[str, ...] = (),
        never: tuple[bytes, ...] = (),
        size: int = 0,
    ) -> None:
        """Fetch a file. Slack's sign-in page, sent in its place, has another media type, is complete where a canvas is
        a part of a page, or has another size."""
        if not is_of(address, self.web.base_url, "slack.com"):
            raise DeliveryError("a file is not kept by Slack")
        bearer = {"Authorization": f"Bearer {self.web.token}"}
        try:
            await download(
                self.http,
                address,
                into,
                most,
                clock=self.clock,
                headers=bearer,
                proxy=self.web.proxy,
                refused=refused,
                never=never,
                size=size,
            )
        except DeliveryError:
            # Slack shows its sign-in page if the token may not read a file.
            if self.scopes is not None and "files:read" not in self.scopes:
                raise self._withheld("right", "missing_scope") from None
            raise

    def _withheld(self, why: str, code: str) -> FileWithheld:
        if why == "right":
            self._troubles.warn(
                "slack: files that people send cannot be read: add the scope files:read under OAuth & Permissions and "
                "install the app again"
            )
        return FileWithheld(f"Slack does not give a file ({code})", why=why)


def _direct(file: Json) -> str:
    return _source({**file, "file_access": ""}, "", "", 0)


def _head_of(file: Json) -> str:
    """Return the header of an e-mail, with the names of its attachments."""
    headers = file.get("headers")
    date = text_in(headers, "date") if isinstance(headers, Mapping) else ""
    lines = [("Subject", text_in(file, "subject")), ("From", _people(file, "from")), ("To", _people(file, "to"))]
    lines += [("Cc", _people(file, "cc")), ("Date", date)]
    names = [text_in(one, "filename") or "?" for one in _maps(file, "attachments")]
    count = file.get("original_attachment_count")
    total = max(len(names), count if isinstance(count, int) else 0)
    if total:
        named = ", ".join(names[:_NAMED]) + (", …" if total > len(names[:_NAMED]) else "")
        lines.append(("Attachments", f"{total} ({named})" if names else str(total)))
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def _attached_to(file: Json) -> tuple[Enclosure, ...]:
    """Return the attachments of an e-mail. They are not files of the workspace: each has its own address."""
    found = []
    for one in _maps(file, "attachments")[:_ATTACHED]:
        size = one.get("size")
        size = size if isinstance(size, int) and size > 0 else 0
        name, media_type = text_in(one, "filename"), text_in(one, "mimetype")
        found.append(Enclosure.file(name, media_type, size, text_in(one, "url")))
    return tuple(found)


def _people(file: Json, field: str) -> str:
    people = (text_in(one, "original") or text_in(one, "address") for one in _maps(file, field)[:_NAMED])
    return ", ".join(one for one in people if one)


def _maps(value: Json, field: str) -> list[Json]:
    found = value.get(field)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _write(text: str, into: BinaryIO, most: int) -> None:
    content = text.encode("utf-8", "replace")
    if len(content) > most:
        raise TooLong(f"an e-mail has {len(content):,} bytes", by=len(content) - most)
    into.write(content)
