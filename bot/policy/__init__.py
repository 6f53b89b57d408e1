"""Who may ask, and how much: access, quotas, prices."""

from __future__ import annotations

from bot.policy.access import Access
from bot.policy.budgets import (
    ANSWER_TOKENS,
    DAY,
    EVERYBODY,
    MINUTE,
    OTHERS,
    PROMPT_MARGIN,
    Day,
    Payer,
    Report,
    count_at_once,
    payer_of,
)
from bot.policy.metering import AgentMeter, DayPurse, meter
from bot.policy.once import Once, OncePer, may_be_told, once_in_chat, once_per_hour, once_per_person
from bot.policy.prices import Prices, read_prices
from bot.policy.quotas import Quotas, charge, once_per_window
from bot.policy.toolrights import Permit, ToolRights, check_tools, find_misnamed, try_tools
from bot.settings import ChannelsFile, read_channels
