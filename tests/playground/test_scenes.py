"""Every ready scene on every platform, with the real bot: what its steps promise stands on the screen in the end."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from playground.scenes import SCENES, Scenes
from playground.screen import Shown
from playground.show import Playground
from playground.windows import Impossible
from tests.conftest import RawJson
from tests.patience import slowed

pytestmark = [pytest.mark.first, pytest.mark.asyncio(loop_scope="module")]
PLATFORMS = ("telegram", "slack", "discord")


def answers(playground: Playground, name: str, since: int) -> list[Shown]:
    shown = playground.windows[name].screen.messages[since:]
    return [one for one in shown if one.author == "bot" and not one.deleted and not one.ephemeral]


@pytest.mark.parametrize("scene", [scene.id for scene in SCENES])
async def test_a_scene_ends_as_it_promises_on_every_platform(answering: Playground, scene: str) -> None:
    told: list[dict[str, RawJson]] = []
    windows = answering.windows
    before = {name: len(windows[name].screen.messages) for name in PLATFORMS}
    played = Scenes(windows, lambda kind, data: told.append({"kind": kind, **data}), answering.child.kill, _ready, 0.0)
    for name in PLATFORMS:
        await answering._connected(name)
    await played.play(scene, PLATFORMS)

    assert [one for one in told if one["kind"] == "note"] == []
    wanted = {
        "search": "Sources",
        "long": "The end.",
        "tools": "45",
        "edit": "Paris",
        "approval": "Allowed",
        "job": "take the second",
        "broken": "short pause",
        "kill": "The end.",
    }
    for name in PLATFORMS:
        text = "\n".join(one.text for one in answers(answering, name, before[name]))
        assert wanted[scene] in text, (name, text[-500:])
        assert "could not do it" not in text


async def _ready(platform: str) -> None:
    """It is connected already."""


async def test_the_first_words_stand_at_once_after_the_click(answering: Playground) -> None:
    for name in PLATFORMS:
        await answering._connected(name)
    before = {name: len(answering.windows[name].screen.messages) for name in PLATFORMS}
    waits: dict[str, float] = {}

    async def first(name: str, clicked: float) -> None:
        screen = answering.windows[name].screen
        await screen.until(lambda _: any(one.text for one in answers(answering, name, before[name])))
        waits[name] = time.monotonic() - clicked

    async with aiohttp.ClientSession() as page:
        clicked = time.monotonic()
        asked = {"id": "long", "platforms": list(PLATFORMS)}
        async with page.post(f"{answering.url}do/scene", json=asked) as answer:
            assert answer.status == 200
        async with page.post(f"{answering.url}do/scene", json=asked) as answer:
            assert answer.status == 409, "it plays already"
        await asyncio.gather(*(first(name, clicked) for name in PLATFORMS))
    await answering.scenes.close()

    assert max(waits.values()) < slowed(3.0), waits  # under 0.7 s each on two cores that others use, too


async def test_an_unknown_scene_is_refused(answering: Playground) -> None:
    with pytest.raises(Impossible, match="no such scene"):
        answering.scenes.play("dance", PLATFORMS)
    with pytest.raises(Impossible, match="no such scene"):
        answering.scenes.play("search", ["irc"])
