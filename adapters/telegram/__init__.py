"""Telegram: `adapter` takes messages in, `surface` shows replies."""

from adapters.telegram.adapter import check, open_adapter

__all__ = ["check", "open_adapter"]
