"""Who may ask, and how much: access, quotas, prices."""

from __future__ import annotations

from bot.policy.access import Access
from bot.policy.budgets import MINUTE, BudgetLimits, Budgets, Day, Payer, Report, paid_by, payer_of
from bot.policy.chatsfile import ChatsFile, read_chats
from bot.policy.metering import metered
from bot.policy.prices import Prices, read_prices
from bot.policy.purse import DayPurse
from bot.policy.toolrights import SERVERS_SECONDS, Permit, Permits, ToolRights, everything, misnamed

__all__ = [
    "MINUTE",
    "SERVERS_SECONDS",
    "Access",
    "BudgetLimits",
    "Budgets",
    "ChatsFile",
    "Day",
    "DayPurse",
    "Payer",
    "Permit",
    "Permits",
    "Prices",
    "Report",
    "ToolRights",
    "everything",
    "metered",
    "misnamed",
    "paid_by",
    "payer_of",
    "read_chats",
    "read_prices",
]
