"""The language in which one person is answered, found with what they wrote before."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contract import MessageSent, StoreError
from bot.sentences import chinese, is_certain, language_of
from bot.store import Store
from tools.contract.languages import Language


async def language_for(store: Store, message: MessageSent) -> Language:
    """Return the language to answer `message` in; earlier messages are looked up only where they can decide."""
    hint = message.sender.language
    # What follows a command is seldom a sentence: names, numbers and words for tools are no sign of English.
    said = "" if message.command and not chinese(message.text) else message.text
    before: Sequence[str] = ()
    if not is_certain(said, hint):
        try:
            before = await store.people.list_questions(message.sender.id)
        except StoreError:
            pass  # the guess from this message alone is better than no answer
    return language_of(said, hint, before)
