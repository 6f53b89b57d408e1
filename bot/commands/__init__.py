"""What a command is answered with, and does."""

from __future__ import annotations

from bot.commands.answers import CommandAnswers
from bot.commands.newest import NewestAnswer

__all__ = ["CommandAnswers", "NewestAnswer"]
