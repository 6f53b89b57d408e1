"""A draft of an answer, between a real store and a platform in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.context import ChatOptions, Past, Pinned, user_entry
from bot.contract import SystemClock
from bot.policy import payer_of
from bot.reply import Replies
from bot.safety import LinkPolicy
from bot.settings import AnswerSettings
from bot.turn.draft import Draft, Progress
from bot.turn.loading import Known
from bot.turn.run import Run, TurnLimits
from bot.turn.story import Story
from tests.bot.conftest import Rig
from tests.bot.store.conftest import taken_in

MakeDraft = Callable[..., Awaitable[Draft]]


@pytest.fixture
def draft() -> MakeDraft:
    """`await draft(it, store_before)`: a draft of an answer, after `store_before(turn)` kept what was before."""

    async def make(it: Rig, before: Callable[[int], Awaitable[None]] | None = None, **more: Any) -> Draft:
        question, clock = it.message("Reckon 6*7"), SystemClock()
        turn = await taken_in(it.bot.store, question)
        await it.bot.store.turns.begin(turn, question.chat, question.sender.id)
        if before is not None:
            await before(turn)
        stored = await it.bot.store.turns.load(turn)
        surface, policy = it.bot.platforms.surface(question.target), LinkPolicy()
        reply = Replies(store=it.bot.store, pacer=it.bot.pacer, clock=clock).answer(
            surface, question.chat, stored, policy, "en"
        )
        payer, asked = payer_of(question), user_entry(question)
        known = Known(stored, ChatOptions(), Past(None, ()), Pinned(), payer, question, asked)
        options = AnswerSettings.model_construct(**more)
        run = Run(turn, question, "en", lambda: None, TurnLimits(60.0, attempts=1))
        return Draft(run, known, options, policy, reply, surface.limits, Progress(Story(clock)))

    return make
