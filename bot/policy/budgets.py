"""Who pays, how much they may spend, and how much they spent."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import LIMITS, ChatId, MessageSent, identity
from bot.settings import QuotaSettings
from bot.store import Amount

MINUTE, DAY = 60, 86_400
ANSWER_TOKENS = 1_000
"""The shortest limit on an answer that is worth a call, for an unknown model."""
WISHED_TOKENS = 4_000
"""An answer may have this much, however few characters are wanted: models think before they write."""
PROMPT_MARGIN = 1.25
"""How far an estimate of a prompt may be from the server's count."""
EVERYBODY = "*"
OTHERS = "* but admins"


def count_at_once(quotas: QuotaSettings, tokens: int, dollars: float) -> int | None:
    """Return how many people can ask at once on a fresh day before one waits for another; None: any number.

    Args:
        tokens: the tokens of a usual question.
        dollars: its cost.
    """
    share = 1 - LIMITS.admin_share
    counts = [int(quotas.tokens_per_day * share / tokens)] if quotas.tokens_per_day else []
    if quotas.money_per_day and dollars:
        counts.append(int(quotas.money_per_day * share / dollars))
    return min(counts, default=None)


@dataclass(frozen=True, slots=True)
class Payer:
    """The person on whose quotas something is done."""

    person: str
    chat: ChatId
    admin: bool = False
    """May spend the admins' reserve."""
    turn: int = 0
    """The turn that it pays for; 0: none."""

    @property
    def keys(self) -> tuple[str, str, str]:
        """The keys of the person, the chat and everybody; a chat's threads share one quota."""
        place = ChatId(self.chat.platform, self.chat.account, self.chat.chat)
        return f"person {self.person}", f"chat {place}", EVERYBODY

    @property
    def workspace(self) -> str:
        """The key of the workspace in which it is asked; "" if the account serves everybody, as a Telegram bot."""
        account = f"{self.chat.platform}:{self.chat.account}"
        return f"workspace {account}" if identity.is_workspace(account) else ""


@dataclass(frozen=True, slots=True)
class Day:
    """Somebody's usage today, and their limit."""

    spent: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class Report:
    """Today's usage, as a person or an admin sees it."""

    person: Day
    chat: Day
    everybody: Day
    others: Day
    """Everybody but the admins."""
    resets_in: float
    """Seconds until the quotas reset."""
    tools: tuple[tuple[str, Amount], ...] = ()
    """The tools' part of the person's usage, as (tool, how often and how much)."""
    workspace: Day | None = None
    """The usage of the person's workspace, if it has a quota."""
    top: tuple[tuple[str, Amount], ...] = ()
    """The people with the highest usage, as (person, amount); only for admins."""


def payer_of(message: MessageSent) -> Payer:
    """Return the payer for a message, without admin rights; `Quotas.payer_for` also knows admins."""
    return Payer(message.sender.id, message.chat)
