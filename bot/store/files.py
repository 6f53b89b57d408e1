"""Files of a chat, deduplicated by content, and the state of their delivery."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from bot.contract import AssistantEntry, File, MessageRef
from bot.store.queries import Queries
from bot.store.records import AttachmentRecord, message_ref
from bot.store.sql import Connection
from bot.store.states import PageState
from bot.store.text import files_from_json
from tools.contract.base import ProducedFile, ToolError
from tools.contract.plaintext import to_plain

FILE_BYTES = 16 * 1024 * 1024
"""The largest file that is stored."""
SCOPE_BYTES = 64 * 1024 * 1024
"""All files of one scope; the oldest are dropped."""
_STEP_BYTES = 1 << 20
"""Bytes of files removed in one transaction, except for a single larger file."""


class StoredFiles(Queries):
    """`tools.contract.base.Files` in the database, and what the reply needs to send them."""

    async def put(self, scope: str, name: str, media_type: str, content: bytes) -> int:
        """Store a file and return its id; `read` finds the newest of a name.

        Raises:
            ToolError: it is longer than 16 MiB.
        """
        if len(content) > FILE_BYTES:
            raise ToolError(
                f"The file {name!r} has {len(content) / 2**20:.1f} MiB; at most {FILE_BYTES // 2**20} MiB are kept."
            )
        now = self._clock.wall()
        return await self._writer.run(lambda db: keep_file(db, scope, ProducedFile(name, media_type, content), now))

    async def read(self, scope: str, name: str) -> bytes | None:
        """Return the newest file of this name in the tool scope."""
        row = await self._readers.fetch_row(
            "SELECT b.content FROM files f JOIN blobs b ON b.digest = f.digest "
            "WHERE f.scope = ? AND f.name = ? ORDER BY f.id DESC LIMIT 1",
            (scope, to_plain(name)),
        )
        return None if row is None else bytes(row[0])

    async def get(self, id: int) -> File | None:
        """Return a file by its id."""
        row = await self._readers.fetch_row(
            "SELECT f.name, f.media_type, b.content FROM files f JOIN blobs b ON b.digest = f.digest WHERE f.id = ?",
            (id,),
        )
        return None if row is None else File(*row)

    async def save_attachment(
        self, turn: int, number: int, file: int, *, ref: MessageRef | None, state: PageState, nonce: str
    ) -> None:
        """Store the state of a file's delivery."""
        await self._writer.execute(
            "INSERT INTO attachments (turn, number, file, message, form, state, nonce) "
            "SELECT id, ?, ?, ?, ?, ?, ? FROM turns WHERE id = ? ON CONFLICT (turn, number) DO UPDATE SET "
            "file = excluded.file, message = excluded.message, form = excluded.form, state = excluded.state, "
            "nonce = excluded.nonce",
            (number, file, ref and ref.id, ref and ref.form, state, nonce, turn),
        )

    async def prune(self, seconds: float) -> int:
        """Remove files unused for that long, a few at a time, and unreferenced content.

        Returns:
            How many files were removed.
        """
        before = self._clock.wall() - seconds

        def work(db: Connection) -> int:
            room, old = _STEP_BYTES, list[int]()
            for id, size in db.execute("SELECT id, size FROM files WHERE at < ? ORDER BY at LIMIT 32", (before,)):
                if old and size > room:
                    break
                old.append(int(id))
                room -= size
            remove_files(db, old)
            return len(old)

        count = 0
        while removed := await self._writer.run(work):
            count += removed
        # An earlier version that died while deleting a chat left content behind.
        for (digest,) in await self._readers.fetch_rows(
            "SELECT digest FROM blobs WHERE NOT EXISTS (SELECT 1 FROM files WHERE files.digest = blobs.digest)"
        ):
            await self._writer.execute(_REMOVE_CONTENT, (digest, digest))
        return count


_REMOVE_CONTENT = "DELETE FROM blobs WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM files WHERE files.digest = ?)"


def keep_file(db: Connection, scope: str, file: ProducedFile, now: float) -> int:
    """Insert a file, unless it is already the newest of its name; known content is not written again."""
    digest = hashlib.sha256(file.content).digest()
    name, media_type, size = to_plain(file.name), to_plain(file.media_type), len(file.content)
    newest = db.execute(
        "SELECT id, digest, media_type FROM files WHERE scope = ? AND name = ? ORDER BY id DESC LIMIT 1", (scope, name)
    ).fetchall()
    for id, known, known_type in newest:
        if (bytes(known), known_type) == (digest, media_type):
            db.execute("UPDATE files SET at = ? WHERE id = ?", (now, id))
            return int(id)
    db.execute(
        "INSERT INTO blobs (digest, size, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (digest, size, file.content),
    )
    [(id,)] = db.execute(
        "INSERT INTO files (scope, name, media_type, digest, size, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (scope, name, media_type, digest, size, now),
    ).fetchall()
    kept = 0
    surplus: list[int] = []
    for other, length in db.execute("SELECT id, size FROM files WHERE scope = ? ORDER BY id DESC", (scope,)).fetchall():
        kept += length
        if kept > SCOPE_BYTES:
            surplus.append(int(other))
    remove_files(db, surplus)
    return int(id)


def keep_files(db: Connection, turn: int, files: Iterable[ProducedFile], now: float) -> list[int]:
    """Store a turn's files in its chat's scope, and return the ids; 0 for those that are too large."""
    rows = db.execute("SELECT c.chat FROM turns t JOIN chats c ON c.id = t.chat WHERE t.id = ?", (turn,)).fetchall()
    return [
        keep_file(db, scope, file, now) if len(file.content) <= FILE_BYTES else 0 for (scope,) in rows for file in files
    ]


def keep_pictures(db: Connection, turn: int, entry: AssistantEntry, now: float) -> AssistantEntry:
    """Store the pictures that a model made in a pass, and return the pass with the stored ones."""
    files = (ProducedFile(one.name, one.media_type, one.content) for one in entry.pictures)
    kept = zip(entry.pictures, keep_files(db, turn, files, now), strict=False)
    return replace(entry, pictures=tuple(replace(one, stored=id) for one, id in kept if id))


def load_pictures(db: Connection, entry: AssistantEntry) -> AssistantEntry:
    """Load a stored pass with the content of its pictures, as far as that is still stored."""
    ids = ",".join(str(one.stored) for one in entry.pictures)
    rows = db.execute(f"SELECT f.id, b.content FROM files f JOIN blobs b ON b.digest = f.digest WHERE f.id IN ({ids})")
    contents = dict(rows.fetchall())
    return replace(entry, pictures=tuple(replace(one, content=contents.get(one.stored, b"")) for one in entry.pictures))


def remove_files(db: Connection, ids: list[int]) -> None:
    """Delete files, and content that no other file refers to."""
    for id in ids:
        rows = db.execute("DELETE FROM files WHERE id = ? RETURNING digest", (id,)).fetchall()
        for (digest,) in rows:
            db.execute(_REMOVE_CONTENT, (digest, digest))


def produced_files(db: Connection, turn: int, passnumber: int, position: int) -> tuple[ProducedFile, ...]:
    """Return the files that a call produced, as far as they are still stored."""
    key = (turn, passnumber, position)
    row = db.execute("SELECT result FROM calls WHERE turn = ? AND pass = ? AND position = ?", key).fetchone()
    ids = list[int]() if row is None or row[0] is None else files_from_json(row[0])
    found = (
        db.execute(
            "SELECT f.name, f.media_type, b.content FROM files f JOIN blobs b ON b.digest = f.digest WHERE f.id = ?",
            (id,),
        ).fetchone()
        for id in ids
    )
    return tuple(ProducedFile(*file) for file in found if file is not None)


def attachments_of(db: Connection, turn: int) -> list[AttachmentRecord]:
    """The files of a turn's reply, in order."""
    rows = db.execute(
        "SELECT a.number, a.file, f.name, f.media_type, a.message, a.form, a.state, a.nonce "
        "FROM attachments a JOIN files f ON f.id = a.file WHERE a.turn = ? ORDER BY a.number",
        (turn,),
    )
    return [
        AttachmentRecord(number, file, name, media_type, message_ref(message, form), PageState(state), nonce)
        for number, file, name, media_type, message, form, state, nonce in rows
    ]
