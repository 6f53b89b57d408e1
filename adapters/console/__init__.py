"""Parley in this terminal."""

from adapters.console.adapter import ConsoleAdapter

__all__ = ["ConsoleAdapter"]
