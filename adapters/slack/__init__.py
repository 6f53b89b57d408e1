"""Slack: `adapter` takes messages in, `surface` shows replies."""

from adapters.slack.adapter import check, open_adapter

__all__ = ["check", "open_adapter"]
