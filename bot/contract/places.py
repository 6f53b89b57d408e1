"""A channel with all its threads, which one process serves at a time; written as its `ChatId`."""

from __future__ import annotations

from bot.contract.messages import ChatId


def is_within(chat: ChatId, within: str) -> bool:
    """Return True if the chat is on a platform, or in a place, that is given by its name."""
    return within in (chat.platform, str(chat.place))
