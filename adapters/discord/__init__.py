"""Discord: `adapter` takes messages in, `surface` shows replies."""

from adapters.discord.adapter import check, open_adapter

__all__ = ["check", "open_adapter"]
