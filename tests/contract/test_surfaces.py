"""Our surfaces pass what `parley_chat.contract` asks of every one; below, what only some platforms know."""

from __future__ import annotations

import asyncio

import pytest

from adapters import PLATFORMS
from bot.contract import Page, RateLimited
from parley_chat.contract.failures import FailureContract
from parley_chat.contract.scene import Call, cost_of, show
from parley_chat.contract.surfaces import SurfaceContract, privately
from tests.contract.scenes import SCENES, discord, opened, slack
from tests.patience import PATIENCE

scene = pytest.fixture(params=SCENES)(opened)


class TestSurfaces(SurfaceContract):
    pass


class TestFailures(FailureContract):
    pass


def test_every_platform_has_a_scene() -> None:
    """But the terminal and the web, where nothing that was shown can be changed, deleted or pressed, and no service can
    refuse a call: `tests/adapters/console` and `tests/adapters/web` have them."""
    assert {name.partition("-")[0] for name in SCENES} == PLATFORMS.keys() - {"console", "web"}


async def test_a_private_post_of_slack_is_not_repeated_and_shows_no_sign() -> None:
    async with slack() as scene:
        surface = (await scene.enter()).surface(privately(scene.target))
        page = Page("Only for Ada", final=True)

        await show(surface, page, None, "t1-0")

        assert not cost_of(surface, page, None).repeats_safely
        assert not any("thinking" in what for _, _, what in scene.screen.notices)


@pytest.mark.parametrize("answer", [False, True])
async def test_a_pause_that_is_meant_for_everything_closes_the_whole_bot(answer: bool) -> None:
    async with discord(answer) as scene:
        scene.limit(Call.POST, "7", everywhere=True)

        with pytest.raises(RateLimited) as error:
            await show(scene.surface, Page("It"), None, "t1-0")

        assert error.value.scope == scene.surface.cost(None, None).budgets[0].scope
        assert error.value.retry_after == 7.0
        # The library itself waits for nothing: whoever gave up such a wait once would wait for ever afterwards.
        async with asyncio.timeout(PATIENCE):
            await show(scene.surface, Page("It"), None, "t1-0")
