"""Who pays, how much may be spent, and what was."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contract import ChatId, MessageSent, identity
from bot.settings import CoreSettings
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


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLimits:
    """The quotas; 0 is no limit. From the settings."""

    messages_per_minute: int = 20
    scheduled_per_day: int = 20
    tokens_person: int = 200_000
    tokens_chat: int = 0
    tokens_workspace: int = 0
    tokens_all: int = 2_000_000
    money_person: float = 0.0
    money_workspace: float = 0.0
    money_all: float = 0.0
    admin_share: float = 0.0
    """The part of what everybody may spend that only admins can."""

    @classmethod
    def from_settings(cls, core: CoreSettings) -> QuotaLimits:
        return cls(
            messages_per_minute=core.messages_per_minute,
            scheduled_per_day=core.scheduled_questions_per_day,
            tokens_person=core.tokens_per_day_person,
            tokens_chat=core.tokens_per_day_chat,
            tokens_workspace=core.tokens_per_day_workspace,
            tokens_all=core.tokens_per_day,
            money_person=core.money_per_day_person,
            money_workspace=core.money_per_day_workspace,
            money_all=core.money_per_day,
            admin_share=core.admin_share,
        )

    def count_at_once(self, tokens: int, dollars: float) -> int | None:
        """Return how many people may ask at once on a fresh day before one waits for another; None: any number.

        Args:
            tokens: those that a usual question takes.
            dollars: what it costs.
        """
        share = 1 - self.admin_share
        counts = [int(self.tokens_all * share / tokens)] if self.tokens_all else []
        if self.money_all and dollars:
            counts.append(int(self.money_all * share / dollars))
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
