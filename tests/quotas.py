"""Quotas for tests: none, but for what a test sets."""

from __future__ import annotations

from bot.settings import QuotaSettings

_NONE = dict.fromkeys(
    (
        "messages_per_minute",
        "tokens_per_day",
        "tokens_per_day_person",
        "money_per_day",
        "money_per_day_person",
        "money_per_day_workspace",
    ),
    0,
)


def quotas_of(**most: float) -> QuotaSettings:
    """Return settings without any quota but these."""
    return QuotaSettings.model_construct(None, **{**_NONE, **most})
