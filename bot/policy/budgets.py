"""Who pays, how much may be spent, and what was."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import LIMITS, ChatId, MessageSent, identity
from bot.settings import QuotaSettings
from bot.store import Amount

MINUTE, DAY = 60, 86_400
ANSWER_TOKENS = 1_000
"""The shortest limit on an answer that is worth a call, as long as nothing is known of the model."""
WISHED_TOKENS = 4_000
"""An answer is allowed this much, however few characters are wanted: models think before they write."""
PROMPT_MARGIN = 1.25
"""How far an estimate of a prompt may be from the server's count."""
EVERYBODY = "*"
OTHERS = "* but admins"


def count_at_once(quotas: QuotaSettings, tokens: int, dollars: float) -> int | None:
    """Return how many people may ask at once on a fresh day before one waits for another; None: any number.

    Args:
        tokens: those that a usual question takes.
        dollars: what it costs.
    """
    share = 1 - LIMITS.admin_share
    counts = [int(quotas.tokens_per_day * share / tokens)] if quotas.tokens_per_day else []
    if quotas.money_per_day and dollars:
        counts.append(int(quotas.money_per_day * share / dollars))
    return min(counts, default=None)


@dataclass(frozen=True, slots=True)
class Payer:
    """On whose quotas something is done."""

    person: str
    chat: ChatId
    admin: bool = False
    """May spend what is kept for admins."""
    turn: int = 0
    """Whose answer it pays for; 0: no turn's."""

    @property
    def keys(self) -> tuple[str, str, str]:
        """The person's, the chat's and everybody's; a chat's threads share one quota."""
        place = ChatId(self.chat.platform, self.chat.account, self.chat.chat)
        return f"person {self.person}", f"chat {place}", EVERYBODY

    @property
    def workspace(self) -> str:
        """The key of the workspace in which it is asked; "" where the account serves everybody, as a Telegram bot."""
        account = f"{self.chat.platform}:{self.chat.account}"
        return f"workspace {account}" if identity.is_workspace(account) else ""


@dataclass(frozen=True, slots=True)
class Day:
    """What somebody spent today, and may spend at most."""

    spent: Amount
    most: Amount


@dataclass(frozen=True, slots=True)
class Report:
    """Today, as a person or an admin is shown it."""

    person: Day
    chat: Day
    everybody: Day
    others: Day
    """Everybody but the admins."""
    resets_in: float
    """Seconds until the quotas start afresh."""
    tools: tuple[tuple[str, Amount], ...] = ()
    """What the person's part was paid for tools, as (tool, how often and how much)."""
    workspace: Day | None = None
    """That of everybody in the person's workspace, where it has a quota."""
    top: tuple[tuple[str, Amount], ...] = ()
    """Who spent most, as (person, amount); only for admins."""


def payer_of(message: MessageSent) -> Payer:
    """Who pays for what a message asks for, as somebody who is no admin; `Quotas.payer_for` knows better."""
    return Payer(message.sender.id, message.chat)
