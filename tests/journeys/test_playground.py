"""A long evening in the playground: somebody who asks and asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot import app
from bot.settings import QuotaSettings, read
from bot.settings.configuration import configure, open_adapters
from playground.choices import NO_QUOTAS
from playground.model import Reply
from playground.show import Playground
from playground.windows import Place, Window
from tests.conftest import RawJson
from tests.patience import PATIENCE
from tests.swift import swift

NOBODY = ("/nowhere/parley",)
"""No bot as a child: it runs in this process, with the settings that the child would have."""
QUESTIONS = 200
AT_ONCE = 4
"""One person has five answers under way at most."""
HEAVY = {"prompt_tokens": 8_000, "completion_tokens": 60, "total_tokens": 8_060}
"""What a question counts in a conversation of some length, with every tool offered."""


@asynccontextmanager
async def evening(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: str
) -> AsyncIterator[tuple[Playground, app.App]]:
    """A playground, and the bot on its Slack."""
    now = asyncio.get_running_loop().time
    async with Playground(port=0, data=folder, command=NOBODY, environ={}, now=now) as shown:
        shown.model.scripted.words_per_second = 0
        common = {"PARLEY_ENV_FILE": "", "CODE_BACKEND": "off"}
        for name, value in {**shown.settings(folder), **common, **settings}.items():
            monkeypatch.setenv(name, value)
        configuration, stop = configure(), asyncio.Event()
        with swift(monkeypatch):
            async with app.App(configuration, open_adapters(configuration, ["slack"])) as bot:
                serving = asyncio.create_task(bot.serve(stop))
                async with asyncio.timeout(PATIENCE):
                    while bot.platforms.state["slack"] != "listening":
                        await asyncio.sleep(0.005)
                yield shown, bot
                stop.set()
                await serving


async def ask(window: Window, place: Place, question: str) -> None:
    """Write in a place, and wait for the answer that quotes it."""
    window.say(place.id, f"{place.mention} {question}".strip(), "")
    said = f"“{question}”"
    await window.screen.until(lambda screen: any(said in one.text for one in screen.messages[-20:]))


async def test_two_hundred_questions_are_all_answered_in_one_playground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each begins a thread and is offered no tools, so that asking takes little time; what it counts is set."""
    numbers = iter(range(QUESTIONS))
    async with evening(tmp_path, monkeypatch, TOOLS_OFF="*") as (shown, _):
        window = shown.windows["slack"]

        def script(body: RawJson) -> Reply:
            return replace(shown.model.scripted(body), usage=HEAVY)

        shown.model.script = script

        async def ask_on() -> None:
            for number in numbers:
                await ask(window, window.places[0], f"what about matter {number}?")

        await asyncio.gather(*(ask_on() for _ in range(AT_ONCE)))

    assert len(shown.model.requests) == QUESTIONS


async def test_the_scripted_model_counts_about_as_many_tokens_as_the_program_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with evening(tmp_path, monkeypatch) as (shown, bot):
        window = shown.windows["slack"]
        for question in ("what about the sea?", "那么山呢？", "and the rivers, all of them, one by one?"):
            await ask(window, window.places[1], question)
            assert 0.8 < bot.models.estimator("openai:scripted").factor < 1.25


def test_nobody_who_plays_meets_a_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is added to the program later."""
    for name, value in NO_QUOTAS.items():
        monkeypatch.setenv(name, value)

    assert not any(read(QuotaSettings).model_dump(exclude={"prices"}).values())
