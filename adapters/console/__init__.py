"""The terminal as a platform."""

from adapters.console.adapter import ConsoleAdapter

__all__ = ["ConsoleAdapter"]
