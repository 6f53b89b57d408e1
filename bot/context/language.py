"""The language in which one person is answered, found with what they wrote before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.contract import JOB, MessageSent, StoreError
from bot.sentences import chinese, is_certain, language_of, say
from bot.store import Store
from tools.contract.languages import Language


@dataclass(frozen=True, slots=True)
class Admitted:
    """A message that is answered, and the language of the answer."""

    message: MessageSent
    language: Language

    def say(self, key: str, **values: object) -> str:
        """Return one of our sentences in that language."""
        return say(key, self.language, **values)


async def language_for(store: Store, message: MessageSent) -> Language:
    """Return the language to answer `message` in; earlier messages are looked up only where they can decide."""
    hint = message.sender.language
    # What follows a command is seldom a sentence: names, numbers and words for tools are no sign of English.
    said = "" if message.command not in ("", JOB) and not chinese(message.text) else message.text
    before: Sequence[str] = ()
    if not is_certain(said, hint):
        with suppress(StoreError):  # the guess from this message alone is better than no answer
            before = await store.people.list_questions(message.sender.id)
    return language_of(said, hint, before)
