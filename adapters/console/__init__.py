"""The terminal as a platform."""

from adapters.console.adapter import ConsoleAdapter, check, open_adapter

__all__ = ["ConsoleAdapter", "check", "open_adapter"]
