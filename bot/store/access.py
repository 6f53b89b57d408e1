"""Roles of people and chats, the pairing code, and rate-limited notices."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from bot.contract import MessageSent
from bot.store.incoming import incoming_from_json, incoming_to_json
from bot.store.queries import Queries
from bot.store.sql import Connection

ROLES = frozenset({"owner", "admin", "allowed", "blocked"})
_WRONG_CODES = 20
"""Wrong guesses after which a pairing code is void: six digits do not withstand a guesser for 15 minutes."""

_log = logging.getLogger(__name__)


CONSOLE = ""
"""The asker of the code that makes the first owner."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """A code that was right."""

    asker: str
    """The owner who requested it; `CONSOLE`: the first start."""
    asked: MessageSent | None = None
    """The message that requested it."""


class StoredRoles(Queries):
    """Roles by id, pairing and notices: people as settings write them (`telegram:123`), chats as `str(ChatId)`."""

    async def role_of(self, id: str) -> str | None:
        """Return `owner`, `admin`, `allowed`, `blocked`, or None if no role is set."""
        row = await self._readers.fetch_row("SELECT role FROM roles WHERE id = ?", (id,))
        return None if row is None else str(row[0])

    async def set_role(self, id: str, role: str | None) -> None:
        """Set a role; None removes it.

        Raises:
            ValueError: there is no such role.
        """
        if role is None:
            await self._writer.execute("DELETE FROM roles WHERE id = ?", (id,))
            return
        if role not in ROLES:
            raise ValueError(f"{role!r} is no role; those are {', '.join(sorted(ROLES))}")
        now = self._clock.wall()
        await self._writer.run(lambda db: _give(db, id, role, now))

    async def roles_of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the roles of those `ids` that have one."""
        wanted = list(ids)
        if not wanted:
            return {}
        marks = ", ".join("?" * len(wanted))
        return dict(await self._readers.fetch_rows(f"SELECT id, role FROM roles WHERE id IN ({marks})", wanted))

    async def list_roles(self) -> dict[str, str]:
        """Return all roles by id."""
        return dict(await self._readers.fetch_rows("SELECT id, role FROM roles ORDER BY id"))

    async def has_owner(self) -> bool:
        return await self._readers.fetch_row("SELECT 1 FROM roles WHERE role = 'owner' LIMIT 1") is not None

    async def set_pairing(
        self, code_hash: str, expires_wall: float, asked: MessageSent | None = None, *, keep: bool = False
    ) -> bool:
        """Make a pairing code valid until then, in place of an earlier one of the same asker; None: the console.

        Args:
            keep: keep an earlier one that is still valid.

        Returns:
            False if an earlier one is kept.
        """
        asker, message = (CONSOLE, None) if asked is None else (asked.sender.id, incoming_to_json(asked))
        changed = await self._writer.execute(
            "INSERT INTO pairing (asker, code_hash, expires, asked, wrong) VALUES (?, ?, ?, ?, 0) "
            "ON CONFLICT (asker) DO UPDATE SET code_hash = excluded.code_hash, expires = excluded.expires, "
            "asked = excluded.asked, wrong = 0 WHERE ? = 0 OR pairing.expires <= ?",
            (asker, code_hash, expires_wall, message, int(keep), self._clock.wall()),
        )
        return changed > 0

    async def awaits_owner(self) -> bool:
        """Return True while the console's code can still be used."""
        row = await self._readers.fetch_row(
            "SELECT 1 FROM pairing WHERE asker = ? AND expires > ?", (CONSOLE, self._clock.wall())
        )
        return row is not None

    async def use_pairing(self, code_hash: str, person: str, admins: Collection[str] = frozenset()) -> Pairing | None:
        """Make the person an owner if the code is right, unused and in time; None if it is not.

        After 20 wrong guesses a code is void. A code requested by an owner is worthless once they are not an owner.

        Args:
            admins: people who may appoint owners without having that role.
        """
        now = self._clock.wall()

        def work(db: Connection) -> Pairing | None:
            db.execute("DELETE FROM pairing WHERE expires <= ?", (now,))
            if (used := take_code(db, code_hash)) is not None:
                if used.asker not in (CONSOLE, *admins) and not _is_owner(db, used.asker):
                    return None
                _give(db, person, "owner", now)
                return used
            db.execute("UPDATE pairing SET wrong = wrong + 1")
            if db.execute("DELETE FROM pairing WHERE wrong >= ?", (_WRONG_CODES,)).rowcount:
                _log.warning("a pairing code is void after too many wrong guesses")
            return None

        return await self._writer.run(work)

    async def claim(self, key: str, seconds: float) -> bool:
        """Return True at most once per `seconds` for this key, also across restarts."""
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            # An end further away than one whole window was set before the clock was put back: it counts as past.
            done = db.execute(
                "INSERT INTO once (key, until) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET until = excluded.until "
                "WHERE once.until <= ? OR once.until > excluded.until",
                (key, now + seconds, now),
            )
            return done.rowcount > 0

        return await self._writer.run(work)

    async def prune(self) -> None:
        """Remove expired keys and codes."""
        now = self._clock.wall()
        await self._writer.execute("DELETE FROM once WHERE until <= ?", (now,))
        await self._writer.execute("DELETE FROM pairing WHERE expires <= ?", (now,))


def take_code(db: Connection, code_hash: str) -> Pairing | None:
    """Remove a code by its hash and return it; None if there is none, or another process removes it at the same
    time."""
    for asker, right in db.execute("SELECT asker, code_hash FROM pairing").fetchall():
        if hmac.compare_digest(right.encode(), code_hash.encode()):
            taken = "DELETE FROM pairing WHERE asker = ? AND code_hash = ? RETURNING asked"
            for (asked,) in db.execute(taken, (asker, right)).fetchall():
                return Pairing(asker, _message(asked))
    return None


def _give(db: Connection, id: str, role: str, now: float) -> None:
    db.execute(
        "INSERT INTO roles (id, role, since) VALUES (?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET role = excluded.role, since = excluded.since",
        (id, role, now),
    )


def _is_owner(db: Connection, id: str) -> bool:
    return db.execute("SELECT 1 FROM roles WHERE id = ? AND role = 'owner'", (id,)).fetchone() is not None


def _message(asked: str | None) -> MessageSent | None:
    """Read the message that requested a code; None for a later version's message, although the code is right."""
    try:
        message = None if asked is None else incoming_from_json(asked)
    except ValueError:
        return None
    return message if isinstance(message, MessageSent) else None
