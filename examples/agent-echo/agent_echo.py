"""An agent for Parley: a package of one module that answers with what it was asked, and counts its letters."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from parley_chat.agent import Call, Event, Question, Result, Text


class Echo:
    """Made once, when the bot starts; it answers all questions, many at the same time."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the answer to `question` as events."""
        asked = next(one.text for one in reversed(question.messages) if one.role == "user")
        call = Call(id="count", name="count_letters", arguments={"text": asked}, status="Counting", effects=False)
        yield call
        letters = sum(sign.isalpha() for sign in asked)
        yield Result(id=call.id, text=str(letters))
        yield Text(f"You wrote {letters} letters: {asked}")
