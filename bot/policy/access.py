"""Who may talk to the bot. It is closed until the operator opens it, and uses ids that never change.

Access comes from lists of people, chats, workspaces and roles, from what owners allow in the chat (kept in the store),
or from `ALLOW_ALL=true`. Without any of these the start prints a pairing code: the first person who writes `/pair CODE`
becomes the owner. An owner adds other accounts by a code, too: `/link` in private shows it, `/pair CODE` from the other
account makes that account an owner.

Anybody who has such a code in time becomes an owner. It is protected so: only an owner gets one, only in private; it
works once, for 15 minutes, as long as that person is an owner; five guesses of one person are accepted, and 20 wrong
ones of everybody invalidate it; and the owner is told at once which account used it, with the command that undoes it
(`/forbid ID`).

| who, and where | may ask |
| --- | --- |
| a listed person, in private and in every group, listed or not | yes |
| the same in a group that is not listed, with `PEOPLE_IN_GROUPS=false` | no |
| somebody else in a group where a listed person asks | no |
| anybody in a listed chat, in its topics and threads too | yes |
| the same person in private, in another group, or with another bot in the same group | no |
| who may write in a listed private chat, in a group | no |
| a guest of another workspace in a listed Slack channel | no, until the guest or that workspace is listed |
| a guest whose workspace Slack does not name | only with `ALLOW_ALL` |
| a member of a listed workspace, server or role | yes; on Discord only there, as it tells of members nowhere else |
| anybody in direct messages of several people (Slack, Discord) | as in a group |
| bots, webhooks, a linked channel's posts (Telegram), the bot itself | never: adapters do not hand them on |
| anonymous admins, who writes as a channel (Telegram) | no: a chat is no person, as a sentence says |
| an inline bot's message for a person (Telegram) | as a forward of that person |
| one who forwards | as else, but the forwarded text runs no command (`Quoted.forwarded`) |
| one who edits, deletes, presses a button, or set a reminder now due | as one who writes there; no edit is a command |
| in a chat with `who` in `CHANNELS_FILE`: people named there | yes, also if listed nowhere else |
| anybody else there | no, whatever else is listed |
| whom `/forbid` names, and everybody in a chat that it names | no, whatever else is listed |
| admins and owners | yes, everywhere, else nobody could undo a `/forbid` |
| a stranger | only `/start`, `/whoami` and `/pair` |

A person's permission applies wherever the person is: otherwise a group would have to be opened to everybody in it for
one of them to ask. A chat's permission applies only in that chat, for that account, and not to guests of other
organisations: members share a Slack channel without asking the operator, whose list is older.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass, field

from bot.contract import ChatId, Clock, Incoming, MessageSent, Sender, identity
from bot.settings import EVERYBODY, ChannelsFile
from bot.store import CONSOLE, StoredRoles

log = logging.getLogger(__name__)

PAIRING_SECONDS = 15 * 60.0
_TRIES = 5
"""Wrong codes that one person may try within `PAIRING_SECONDS`."""
_HERE = frozenset({"here", "这里", "此聊天", "這裡", "這個聊天室"})
_GIVEN = frozenset({"owner", "admin", "allowed"})
"""Roles that an owner gives; `/forbid` gives `blocked`."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The outcome of a code that somebody wrote."""

    said: str
    """A key of `bot.sentences`."""
    wait: float = 0.0
    """Seconds until another code is accepted, if too many were wrong."""
    asked: MessageSent | None = None
    """The owner's message that requested the code; they should learn of its use."""


@dataclass(eq=False, repr=False, kw_only=True)
class Access:
    """Decides whether a delivery may begin a turn."""

    roles: StoredRoles
    clock: Clock
    allow_all: bool
    users: tuple[str, ...]
    chats: tuple[str, ...]
    admins: tuple[str, ...]
    groups: tuple[str, ...] = ()
    """Workspaces and roles as `Sender.groups` writes them."""
    channels: ChannelsFile = field(default_factory=ChannelsFile)
    """In a chat whose `who` it sets, only those and admins may write, whatever else is listed."""
    people_in_groups: bool = True
    """An entry for a person counts in groups as well."""

    def __post_init__(self) -> None:
        self._listed = frozenset((*self.users, *self.admins, *self.chats, *self.groups))
        self._wrong: dict[str, tuple[int, float]] = {}

    async def allows(self, incoming: Incoming) -> bool:
        """Return True if the sender may talk to the bot in this chat."""
        sender = incoming.sender
        roles = await self.roles.roles_of([sender.id, *identity.names_of(incoming.chat), *sender.groups])
        if sender.id in self.admins or roles.get(sender.id) in ("owner", "admin"):
            return True
        if "blocked" in roles.values():
            return False
        counts = ids_of(incoming)
        if (who := self.channels.channel_of(incoming.chat).who) is not None:
            return EVERYBODY in who.value or not counts.isdisjoint(who.value)
        if not self.people_in_groups and incoming.group:
            counts.discard(sender.id)
        listed = self._listed
        return self.allow_all or bool(counts & listed) or any(roles.get(id) == "allowed" for id in counts)

    async def move(self, former: ChatId, chat: ChatId) -> None:
        """Apply the operator's lists to a chat's new id, also after restarts."""
        self.channels.move(former, chat)
        named = str(former) in self.chats
        if named and await self.roles.role_of(str(chat)) is None:
            await self.roles.set_role(str(chat), "allowed")
        log.warning(
            "%s is now %s, as its platform says; everything stored of it was moved. Write the new id in "
            "ALLOWED_CHATS, TOOLS_FOR and CHANNELS_FILE if they name it",
            former,
            chat,
        )

    async def is_shut(self, chat: ChatId) -> bool:
        """Return True if only named people may write in a chat."""
        roles, who = await self.roles.roles_of(identity.names_of(chat)), self.channels.channel_of(chat).who
        return "blocked" in roles.values() or (who is not None and EVERYBODY not in who.value)

    async def is_admin(self, sender: Sender) -> bool:
        """Return True if the sender may do what concerns others."""
        return await self.is_admin_id(sender.id)

    async def is_admin_id(self, person: str) -> bool:
        """The same of a person's id."""
        return person in self.admins or await self.roles.role_of(person) in ("owner", "admin")

    async def is_closed(self) -> bool:
        """Return True if nobody may write to the bot yet, so that it waits for an owner."""
        named = self.allow_all or self._listed or self.channels.opens
        return not (named or await self.roles.has_owner())

    async def new_pairing_code(self, *, keep: bool = False) -> str | None:
        """Return a new pairing code if nobody could use the bot otherwise; else None.

        Args:
            keep: a code that another process showed stays valid, and "" is returned.
        """
        if not await self.is_closed():
            return None
        return await self._new_code(None, keep=keep)

    async def show_pairing_code(self, *, keep: bool = False) -> None:
        """Show the operator a new pairing code, if nobody could use the bot otherwise; see `new_pairing_code`."""
        code = await self.new_pairing_code(keep=keep)
        if code:
            how = (
                "Write /pair %s to your bot (in Slack: pair %s) to make yourself its owner (it works once, 15 minutes)"
            )
            log.warning(how, code, code)
        elif code is not None:
            log.warning("nobody may write yet: use the pairing code that another process showed when it started")

    async def link(self, message: MessageSent) -> tuple[str, dict[str, str]]:
        """Make a code that admits an owner's other account; the previous one of this owner becomes invalid.

        Returns:
            A key of `bot.sentences` and its values.
        """
        if not await self._is_owner(message.sender):
            return "owners_only", {}
        if message.group:
            return "in_private", {}
        return "link_code", {"code": await self._new_code(message)}

    async def _new_code(self, asked: MessageSent | None, *, keep: bool = False) -> str:
        digits = f"{secrets.randbelow(1_000_000):06d}"
        until = self.clock.wall() + PAIRING_SECONDS
        new = await self.roles.set_pairing(_digest(digits), until, asked, keep=keep)
        return f"{digits[:4]}-{digits[4:]}" if new else ""

    async def pair(self, message: MessageSent, code: str) -> Paired:
        """Make the sender an owner if the code is right; a code works once, and few guesses are accepted."""
        sender = message.sender
        if await self._is_owner(sender):
            return Paired("pair_already")
        if wait := self._wait_for_guess(sender):
            return Paired("pair_too_many", wait)
        # Counted before it is checked: guesses of one person in several chats at once are no more than in one.
        count, since = self._wrong.get(sender.id, (0, self.clock.monotonic()))
        self._wrong[sender.id] = (count + 1, since)
        used = await self.roles.use_pairing(_digest(code), sender.id, self.admins)
        if used is None:
            return Paired(await self._why_wrong(message))
        self._wrong.pop(sender.id, None)
        if used.asker == CONSOLE:
            log.info("%s is now the owner of this bot", sender.id)
            return Paired("paired")
        log.info("%s is now an owner of this bot, by a code that %s requested", sender.id, used.asker)
        return Paired("linked", asked=used.asked)

    def _wait_for_guess(self, sender: Sender) -> float:
        """Return the seconds until another guess of this person is accepted; 0: now."""
        now = self.clock.monotonic()
        self._wrong = {one: guess for one, guess in self._wrong.items() if now - guess[1] <= PAIRING_SECONDS}
        count, since = self._wrong.get(sender.id, (0, now))
        if count >= _TRIES:
            return since + PAIRING_SECONDS - now
        if sum(tries for tries, _ in self._wrong.values()) < 10 * _TRIES:
            return 0.0
        return min(since for _, since in self._wrong.values()) + PAIRING_SECONDS - now

    async def _why_wrong(self, message: MessageSent) -> str:
        """Return the sentence that helps somebody whose code failed."""
        if await self.is_closed():
            return "pair_wrong" if await self.roles.awaits_owner() else "pair_gone"
        return "pair_allowed" if await self.allows(message) else "pair_stranger"

    async def change(self, incoming: Incoming, argument: str, *, forbid: bool = False) -> tuple[str, dict[str, str]]:
        """Admit or exclude somebody: `/allow telegram:7`, `/allow telegram:7 admin`, `/forbid here`.

        Admins decide who may write; only owners decide who is an admin or owner.

        Returns:
            A key of `bot.sentences` and its values.
        """
        if not await self.is_admin(incoming.sender):
            return "admins_only", {}
        words = argument.replace("=", " ").split()
        role = "blocked" if forbid else words[1].lower() if len(words) > 1 else "allowed"
        if not words or len(words) > (1 if forbid else 2) or (not forbid and role not in _GIVEN):
            return "allow_usage", {"examples": identity.examples("person")}
        try:
            id = str(incoming.chat.place) if words[0].lower() in _HERE else identity.anything(words[0])
        except identity.MalformedIdError as problem:
            return problem.key, problem.values
        before = await self.roles.role_of(id)
        if not forbid and self._is_fixed(id, incoming.chat):
            return "allow_operator", {}
        high = id in self.admins or before in ("owner", "admin") or role in ("owner", "admin")
        if high and not await self._is_owner(incoming.sender):
            return "owners_only", {}
        if id == incoming.sender.id or (forbid and id in self.admins):
            return "allow_not_this", {"id": id}
        if role in ("owner", "admin") and not identity.is_person(id):
            return "allow_usage", {"examples": identity.examples("person")}
        await self.roles.set_role(id, role)
        log.info("%s made %s %s", incoming.sender.id, id, role)
        return ("forbidden" if forbid else "allowed"), {"id": id, "role": role}

    async def list_people(self) -> list[tuple[str, str]]:
        """Return every person and chat with a role as (id, role), those of the settings first."""
        settings = [(id, "admin") for id in sorted(self.admins)]
        settings += [(id, "allowed") for id in sorted(self._listed.difference(self.admins))]
        listed = dict(settings)
        return settings + [(id, role) for id, role in (await self.roles.list_roles()).items() if listed.get(id) != role]

    def _is_fixed(self, id: str, chat: ChatId) -> bool:
        """Return True for a chat whose writers are set in the operator's file: a permission given in the chat would
        change nothing."""
        return id in identity.names_of(chat) and self.channels.channel_of(chat).who is not None

    async def _is_owner(self, sender: Sender) -> bool:
        """Return True if the sender may appoint admins: an owner, or an admin named in the settings."""
        return sender.id in self.admins or await self.roles.role_of(sender.id) == "owner"


def ids_of(incoming: Incoming) -> set[str]:
    """Return the ids by which a list can name the writer: their own, their groups', and the chat's.

    A chat's id does not cover guests of other organisations in it.
    """
    sender, chat = incoming.sender, incoming.chat
    return {sender.id, *sender.groups} | (set() if sender.guest else set(identity.names_of(chat)))


def _digest(code: str) -> str:
    """Return the hash of a code, however its digits are written and separated."""
    return hashlib.sha256("".join(str(int(one)) for one in code if one.isdecimal()).encode()).hexdigest()
