"""Facts remembered about people and chats, and who may see them.

Facts belong to a person, in every chat, or to one chat. A group stores and uses only its own facts: what somebody said
in private is not for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.context.language import Admitted
from bot.contract import OURS, OUTSIDE, MessageSent, join_origins
from bot.safety import clean_name, defuse
from bot.store import Fact, StoredFacts

PINNED = 20
"""The model gets this many facts without asking, the newest ones."""
PINNED_CHARS = 300
"""Characters of each."""
LISTED = 100
_FORGET = re.compile(r"(?:forget|delete|remove|忘记|删除|忘記|刪除)?\s*#?(\d{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pinned:
    """The facts a model gets without asking for them."""

    lines: tuple[str, ...] = ()
    origin: str = OURS
    """The origin of the words in `lines`."""


class ChatFacts:
    """`tools.contract.base.Facts` as one turn may use them."""

    def __init__(self, facts: StoredFacts, question: MessageSent) -> None:
        self._facts = facts
        self._group = question.group
        self._scope = str(question.chat)
        self._person = question.sender.id

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners whose facts may be used here."""
        return (self._scope,) if self._group else (self._person, self._scope)

    async def remember(self, owner: str, text: str, *, outside: bool = False) -> int:
        owner = owner if owner in self.owners else self._scope
        return await self._facts.remember(owner, text, OUTSIDE if outside else self._person)

    async def recall(self, owners: tuple[str, ...], query: str, limit: int) -> list[tuple[int, str, str]]:
        return await self._facts.recall(self._restrict(owners), query, limit)

    async def forget(self, owners: tuple[str, ...], fact: int) -> bool:
        return await self._facts.forget(self._restrict(owners), fact)

    async def load_pinned(self) -> Pinned:
        """Return the newest facts, one a line, as data that cannot pass for instructions.

        A fact that words from outside led to is found by asking for it alone, or a page could speak in every later
        conversation.
        """
        found = await self._facts.list_newest(self.owners, PINNED, without=OUTSIDE)
        lines = tuple(defuse(clean_name(fact.text))[:PINNED_CHARS] for fact in found)
        return Pinned(lines, join_origins(fact.origin for fact in found))

    async def command(self, asked: Admitted, form: str) -> str:
        """Answer `/memory`: list everything with its number, or forget one."""
        argument = asked.message.text.strip()
        if not argument:
            return await self._list(asked, form)
        match = _FORGET.fullmatch(argument)
        if match is None:
            return asked.say("memory_usage", command=form.format(word="memory"))
        if await self._facts.forget(self.owners, int(match[1])):
            return asked.say("memory_forgotten", number=match[1])
        return asked.say("memory_no_such", number=match[1], command=form.format(word="memory"))

    async def _list(self, asked: Admitted, form: str) -> str:
        found = await self._facts.list_newest(self.owners, LISTED)
        if not found:
            return asked.say("memory_empty")
        lines = [f"- `{fact.id}` {clean_name(fact.text)}{self._mark(fact, asked)}" for fact in found]
        usage = asked.say("memory_usage", command=form.format(word="memory"))
        return "\n".join([asked.say("memory_listed"), "", *lines, "", usage])

    @staticmethod
    def _mark(fact: Fact, asked: Admitted) -> str:
        return f" *({asked.say('memory_outside')})*" if fact.origin == OUTSIDE else ""

    def _restrict(self, owners: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(owner for owner in owners if owner in self.owners) or (self._scope,)
