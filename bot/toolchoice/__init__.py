"""Choose the tools that a question is offered."""

from __future__ import annotations

from bot.toolchoice.chooser import MOST_FOREIGN, Choice, Chooser, Room, small_model
from bot.toolchoice.named import NamedCall, named_call
from bot.toolchoice.presearch import pre_search
