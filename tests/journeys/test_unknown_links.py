"""What people of each platform see of an address that the model knows by itself, as the operator chose."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path

import pytest

from playground.model import Reply
from tests.journeys.conftest import Start, World

person = runpy.run_path(str(Path(__file__).with_name("test_platforms.py")))["person"]
previews = runpy.run_path(str(Path(__file__).with_name("test_hostile.py")))["previews"]
WAYS = ("telegram", "slack direct", "discord direct")
DATA = "https://docs.example/?k=QWxpY2UncyBwYXNzd29yZA"
ANSWER = f"Read [the guide](https://docs.example/guide) or https://docs.example/faq now, never {DATA} please."


@pytest.mark.parametrize("unknown", ["code", "text", "live"])
async def test_an_address_nobody_brought_looks_as_the_operator_chose(unknown: str, world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(ANSWER, words_per_second=200)
    async with start("telegram", "slack", "discord", UNKNOWN_LINKS=unknown) as bot:
        answers = await asyncio.gather(*(person(world, way).ask(bot, "where is it explained?") for way in WAYS))

    for way, [message] in zip(WAYS, answers, strict=True):
        linked = {
            link
            for version in message.versions
            for link in ("https://docs.example/guide", "https://docs.example/faq", DATA)
            if f'href="{link.replace("&", "&amp;")}"' in version.html
        }
        live = {"https://docs.example/guide", "https://docs.example/faq"} if unknown == "live" else set()
        assert linked == live, way
        for host in ("(docs.example" if unknown != "code" else "(https://docs.example", "docs.example/faq"):
            assert host in message.text, (way, message.text)
        # Telegram makes a link of every host in plain words: there it stays code.
        coded = "<code>" in message.versions[-1].html
        assert coded == (unknown != "text" or way == "telegram"), (way, message.versions[-1].html)
    assert previews(world) == []
