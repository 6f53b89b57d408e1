"""Choose the tools that a question is offered."""

from __future__ import annotations

from bot.toolchoice.chooser import Chooser, NamedCall, named_call, pre_search, small_model
from bot.toolchoice.descriptions import ToolDescriber
from bot.toolchoice.scripts import simplified
from bot.toolchoice.smalltalk import any_of

__all__ = ["Chooser", "NamedCall", "ToolDescriber", "any_of", "named_call", "pre_search", "simplified", "small_model"]
