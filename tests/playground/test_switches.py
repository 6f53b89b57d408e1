"""Faults that are switched on from the page: the calls meet them, the answer arrives all the same."""

from __future__ import annotations

import aiohttp
import pytest

from playground.show import Playground
from playground.switches import KINDS
from tests.playground.conftest import NEEDS_BROWSER, Tab
from tests.playground.test_playground import Page
from tests.playground.test_scenes import answers

LIVE = pytest.mark.asyncio(loop_scope="module")
PLATFORMS = ("telegram", "slack", "discord")


@LIVE
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("kind", ["429", "500", "before", "after", "late"])
async def test_a_call_meets_it_once_and_the_answer_arrives(answering: Playground, platform: str, kind: str) -> None:
    await answering._connected(platform)
    before = len(answering.windows[platform].screen.messages)
    answering.switches.set(platform, kind, "once")
    assert answering.switches.told() == [{"platform": platform, "kind": kind, "how": "once"}]
    await answering.scenes.play("search", [platform])

    assert answering.switches.told() == [], "once is once"
    calls = [one["status"] for one in answering.wire.told(platform)["calls"]]
    assert (int(kind) if kind.isdecimal() else 0) in calls or kind in ("after", "late")
    assert "Sources" in "\n".join(one.text for one in answers(answering, platform, before))


@LIVE
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_message_delivered_twice_is_answered_once(answering: Playground, platform: str) -> None:
    await answering._connected(platform)
    before = len(answering.windows[platform].screen.messages)
    await answering.scenes.play("search", [platform])
    answering.switches.set(platform, "again", "once")
    await answering.scenes.play("tools", [platform])

    found = [one for one in answers(answering, platform, before) if "solar power grows" in one.text.lower()]
    assert len(found) == 1


@LIVE
async def test_a_model_that_breaks_off_is_asked_to_go_on(answering: Playground) -> None:
    await answering._connected("telegram")
    before = len(answering.windows["telegram"].screen.messages)
    answering.switches.set("telegram", "broken", "once")
    await answering.scenes.play("long", ["telegram"])

    assert answering.switches.told() == []
    assert len("".join(one.text for one in answers(answering, "telegram", before))) > 3000


async def test_what_is_no_fault_is_refused(playground: Playground) -> None:
    async with aiohttp.ClientSession() as session:
        page = Page(session, playground.url)
        for asked in (("irc", "429", "once"), ("slack", "rain", "once"), ("slack", "429", "never")):
            told = await page.does("fault", platform=asked[0], kind=asked[1], how=asked[2])
            assert (told["status"], told["problem"]) == (409, "there is no such fault")
        told = await page.does("fault", platform="slack", kind="again", how="once")
        assert told["problem"] == "there is no message that could be delivered again"


@NEEDS_BROWSER
async def test_every_fault_has_a_switch_that_stays_as_it_is_set(playground: Playground, tab: Tab) -> None:
    await tab.value("document.querySelector('#dockbar [data-kind=fault]').click()")
    switches = "[...document.querySelectorAll('#dock [role=switch]')]"
    assert await tab.value(f"{switches}.length") == len(KINDS) - 1
    checked = f"{switches}.filter((one) => one.ariaChecked === 'true').map((one) => one.id)"
    await tab.value("document.querySelector('#fault-429-switch').focus()")
    await tab.press("Enter")
    await tab.until(f"String({checked}) === 'fault-429-switch'")
    assert await tab.value("document.activeElement.id") == "fault-429-switch"
    assert playground.switches.told() == [{"platform": "telegram", "kind": "429", "how": "once"}]
    await tab.value("[...document.querySelectorAll('#dock .seg button')].at(-1).click()")
    await tab.until(f"String({checked}) === ''")
    await tab.value("[...document.querySelectorAll('#dock .seg button')][0].click()")
    await tab.until(f"String({checked}) === 'fault-429-switch'")
    await tab.press("Tab")
    await tab.value("document.querySelector('#fault-429-switch').click()")
    await tab.until(f"String({checked}) === ''")
    assert playground.switches.told() == [] and tab.errors == []
