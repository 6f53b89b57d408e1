"""Roles of people and chats, the pairing code, and rate-limited notices."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable
from sqlite3 import Connection

from bot.store.queries import Queries

ROLES = frozenset({"owner", "admin", "allowed", "blocked"})
_WRONG_CODES = 20
"""Wrong guesses after which a pairing code is void: six digits do not withstand a guesser for 15 minutes."""

_log = logging.getLogger(__name__)


class Access(Queries):
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
        marks = ", ".join("?" * len(wanted))
        return dict(await self._readers.fetch_rows(f"SELECT id, role FROM roles WHERE id IN ({marks})", wanted))

    async def list_roles(self) -> dict[str, str]:
        """Return all roles by id."""
        return dict(await self._readers.fetch_rows("SELECT id, role FROM roles ORDER BY id"))

    async def has_owner(self) -> bool:
        return await self._readers.fetch_row("SELECT 1 FROM roles WHERE role = 'owner' LIMIT 1") is not None

    async def set_pairing(self, code_hash: str, expires_wall: float) -> None:
        """Make a pairing code valid until then, in place of an earlier one."""
        await self._writer.execute("REPLACE INTO pairing VALUES (1, ?, ?, 0)", (code_hash, expires_wall))

    async def use_pairing(self, code_hash: str, person: str) -> bool:
        """Make the person an owner if the code is right, unused and in time. A code is void after 20 wrong guesses."""
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            for right, expires, wrong in db.execute("SELECT code_hash, expires, wrong FROM pairing").fetchall():
                if hmac.compare_digest(right.encode(), code_hash.encode()) and now < expires:
                    db.execute("DELETE FROM pairing")
                    _give(db, person, "owner", now)
                    return True
                db.execute("UPDATE pairing SET wrong = wrong + 1")
                if wrong + 1 >= _WRONG_CODES or now >= expires:
                    db.execute("DELETE FROM pairing")
                    _log.warning("the pairing code is void: it expired, or was guessed wrong too often")
            return False

        return await self._writer.run(work)

    async def claim(self, key: str, seconds: float) -> bool:
        """Return True at most once per `seconds` for this key, also across restarts."""
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            # An end further away than one whole window was set before the clock was put back: it counts as past.
            done = db.execute(
                "INSERT INTO once VALUES (?, ?) ON CONFLICT DO UPDATE SET until = excluded.until "
                "WHERE until <= ? OR until > excluded.until",
                (key, now + seconds, now),
            )
            return done.rowcount > 0

        return await self._writer.run(work)

    async def prune(self) -> None:
        """Remove expired keys."""
        await self._writer.execute("DELETE FROM once WHERE until <= ?", (self._clock.wall(),))


def _give(db: Connection, id: str, role: str, now: float) -> None:
    db.execute("REPLACE INTO roles VALUES (?, ?, ?)", (id, role, now))
