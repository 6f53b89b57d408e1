"""Who may talk to the bot. Closed until the operator opens it, and by ids that never change.

A list of people, a list of chats, the roles kept in the store, or `ALLOW_ALL=true`. With none of these the start
prints a pairing code: who writes `/pair CODE` becomes the owner.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from typing import Protocol

from bot.clock import Clock
from bot.messages import ChatId, Incoming, Sender

log = logging.getLogger(__name__)

PAIRING_SECONDS = 15 * 60.0
_TRIES = 5
"""Wrong codes that one person may try within `PAIRING_SECONDS`."""


class Roles(Protocol):
    """What the store keeps of people and chats (`store.access`)."""

    async def role(self, id: str) -> str | None: ...

    async def set_role(self, id: str, role: str | None) -> None: ...

    async def any_owner(self) -> bool: ...

    async def set_pairing(self, code_hash: str, expires_wall: float) -> None: ...

    async def use_pairing(self, code_hash: str, person: str) -> bool: ...

    async def once(self, key: str, seconds: float) -> bool: ...


class Access:
    """Answers whether a delivery may begin a turn."""

    def __init__(
        self,
        roles: Roles,
        clock: Clock,
        *,
        allow_all: bool,
        users: tuple[str, ...],
        chats: tuple[str, ...],
        admins: tuple[str, ...],
    ) -> None:
        self._roles = roles
        self._clock = clock
        self._allow_all = allow_all
        self._users = frozenset(users) | frozenset(admins)
        self._chats = frozenset(chats)
        self._admins = frozenset(admins)
        self._wrong: dict[str, tuple[int, float]] = {}

    async def allowed(self, incoming: Incoming) -> bool:
        """This person may talk to the bot in this chat."""
        sender, chat = incoming.sender.id, incoming.chat
        if await self._roles.role(sender) == "blocked":
            return False
        if self._allow_all or sender in self._users or str(chat) in self._chats or _place(chat) in self._chats:
            return True
        if await self._roles.role(sender) in ("owner", "admin", "allowed"):
            return True
        return await self._roles.role(_place(chat)) == "allowed"

    async def admin(self, sender: Sender) -> bool:
        """This person may do what concerns others."""
        return sender.id in self._admins or await self._roles.role(sender.id) in ("owner", "admin")

    async def pairing_code(self) -> str | None:
        """A fresh code when nobody could use the bot otherwise; None when somebody can."""
        if self._allow_all or self._users or self._chats or await self._roles.any_owner():
            return None
        digits = f"{secrets.randbelow(1_000_000):06d}"
        code = f"{digits[:4]}-{digits[4:]}"
        await self._roles.set_pairing(_digest(code), self._clock.wall() + PAIRING_SECONDS)
        return code

    async def pair(self, sender: Sender, code: str) -> bool:
        """Make the sender the owner if the code is right; a code works once, and few guesses are heard."""
        now = self._clock.monotonic()
        count, since = self._wrong.get(sender.id, (0, now))
        if now - since > PAIRING_SECONDS:
            count, since = 0, now
        if count >= _TRIES or sum(tries for tries, _ in self._wrong.values()) >= 10 * _TRIES:
            return False
        if await self._roles.use_pairing(_digest(code.strip()), sender.id):
            await self._roles.set_role(sender.id, "owner")
            log.info("%s is the owner of this bot now", sender.id)
            return True
        self._wrong[sender.id] = (count + 1, since)
        return False

    async def first_refusal(self, sender: Sender) -> bool:
        """Whether this stranger is told today that the bot does not know them."""
        return await self._roles.once(f"stranger {sender.id}", 24 * 3600.0)


def _place(chat: ChatId) -> str:
    """The chat without its thread: what an operator lists."""
    return str(ChatId(chat.platform, chat.account, chat.chat))


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
