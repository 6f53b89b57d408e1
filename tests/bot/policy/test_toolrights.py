"""Which tools a person may use: one rule for what is listed, offered, called by name, and run."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Unpack

import pytest

from bot.contract.errors import SettingsError
from bot.contract.messages import Quoted, Sender
from bot.policy.toolrights import Permit, find_misnamed
from bot.settings import CoreSettings, read
from playground.model import Reply
from tests.bot.conftest import InGroup, OpenRig, Rig, WhoAsks
from tests.patience import PATIENCE
from tools import current_time
from tools.calling.registry import ToolRegistry

ADA, BOB = "telegram:7", "telegram:8"
GROUP: InGroup = {"chat": "-50", "group": True}
SUM = ("calculator", {"expression": "6*7"})


def offered(it: Rig, number: int = -1) -> list[str]:
    """The tools that a model was offered."""
    return [tool["function"]["name"] for tool in it.model.requests[number].body.get("tools", ())]


def results(it: Rig) -> str:
    """What the last request told of calls."""
    messages = it.model.requests[-1].body["messages"]
    return "\n".join(str(one["content"]) for one in messages if one["role"] == "tool")


async def called(it: Rig, **more: Unpack[WhoAsks]) -> str:
    """What a model is told that calls the calculator, whatever it was offered."""
    it.model.reply(Reply(calls=(SUM,)), Reply("Well."))
    await it.say("What is it?", **more)
    return results(it)


async def test_a_tool_that_is_off_is_not_offered_not_listed_and_not_run(rig: OpenRig) -> None:
    async with rig(TOOLS_OFF="calculator,wiki*") as it:
        told = await called(it)

        assert offered(it) and not {"calculator", "wikipedia"} & {*offered(it, 0), *offered(it)}
        assert "There is no tool" in told and "42" not in told
        [listed] = await it.say("/tools")
        assert "calculator" not in listed and "current_time" in listed


async def test_a_name_that_is_no_tools_is_told_without_starting_a_server() -> None:
    registry = ToolRegistry([current_time.open_tool()])

    (said,) = await find_misnamed(registry, [("TOOLS_OFF", "curent_time"), ("TOOLS_OFF", "current_*")], 0.0)

    assert said == "TOOLS_OFF names 'curent_time', and there is no such tool; did you mean current_time?"


@pytest.mark.parametrize(
    "text",
    [
        "/tool calculator 6*7",
        "/tool calculator(6*7)",
        "tool calculator 6*7",
        "使用工具：calculator: 6*7",
        "calculator(6*7)",
        '{"name": "calculator", "args": {"expression": "6*7"}}',
    ],
)
@pytest.mark.parametrize(
    ("settings", "english", "chinese"),
    [
        ({"TOOLS_OFF": "calc*"}, "The tool calculator is switched off here.", "工具 calculator 在这里已停用。"),
        ({"TOOLS_FOR": f"calculator={BOB}"}, "You may not use the tool calculator here;", "不能使用工具 calculator"),
    ],
)
async def test_a_direct_call_of_it_is_answered_with_one_sentence(
    rig: OpenRig, text: str, settings: dict[str, str], english: str, chinese: str
) -> None:
    async with rig(**settings) as it:
        [said] = await it.say(text)

        assert (chinese if "使用" in text else english) in said and len(said.splitlines()) == 1
        assert not it.model.requests


async def test_a_wrong_name_leads_to_no_tool_that_is_closed(rig: OpenRig) -> None:
    async with rig(TOOLS_OFF="calculator") as it:
        [said] = await it.say("/tool calculater 6*7")

        assert "`calculator`" not in said


async def test_what_is_left_to_some_is_for_them_alone(rig: OpenRig) -> None:
    async with rig(TOOLS_FOR=f"calculator={ADA}") as it:
        assert "42" in await called(it)
        assert "calculator" in offered(it, 0)

        refused = await called(it, person=BOB, chat="8")

        assert "does not leave it to the person" in refused and "42" not in refused
        assert "calculator" not in offered(it, 2)
        assert "calculator" in (await it.say("/tools"))[0]
        assert "calculator" not in (await it.say("/tools", person=BOB, chat="8"))[0]


async def test_what_others_said_in_a_group_gives_nobody_a_right(rig: OpenRig) -> None:
    """Bob asks after Ada, quotes her and the bot's answer to her, and asks again; an admin repeats Bob's question."""
    async with rig(TOOLS_FOR=f"calculator={ADA}", ADMINS=ADA) as it:
        assert "42" in await called(it, **GROUP)
        for quoted in (None, Quoted(text="use calculator for 6*7", author="Ada"), Quoted(text="42", from_bot=True)):
            it.model.requests.clear()
            told = await called(it, person=BOB, quoted=quoted, **GROUP)
            # What Ada's own call came to stands before Bob's question; his own call is refused.
            assert "calculator" not in offered(it, 0) and "does not leave it" in told
        it.model.requests.clear()
        it.model.reply(Reply(calls=(SUM,)), Reply("Well."))

        await it.say("/retry", **GROUP)

        assert "calculator" not in offered(it, 0) and "does not leave it" in results(it)


@pytest.mark.parametrize(
    ("who", "person", "groups", "guest", "may"),
    [
        ("discord:role/5", "discord:8", ("discord:guild/1", "discord:role/5"), False, True),
        ("discord:role/5", "discord:8", ("discord:guild/1", "discord:role/6"), False, False),
        ("discord:1", "discord:8", ("discord:guild/1",), False, False),
        ("slack:T1", "slack:T1/U8", ("slack:T1",), False, True),
        ("telegram:42/-50", BOB, (), False, True),
        ("telegram:42/-50", BOB, (), True, False),
        ("telegram:42/-51", BOB, (), False, False),
        ("admins", ADA, (), False, True),
        ("admins", BOB, (), False, False),
        (f"{ADA},admins", BOB, (), False, False),
        (f"{ADA},{BOB}", BOB, (), False, True),
    ],
)
async def test_a_tool_may_be_left_to_people_roles_workspaces_chats_and_admins(
    rig: OpenRig, who: str, person: str, groups: tuple[str, ...], guest: bool, may: bool
) -> None:
    async with rig(TOOLS_FOR=f"calculator={who}", ADMINS=ADA) as it:
        told = await called(it, sender=Sender(id=person, groups=groups, guest=guest), **GROUP)

        assert ("42" in told) is may
        assert ("calculator" in offered(it, 0)) is may


async def test_who_becomes_an_admin_may_at_once(rig: OpenRig) -> None:
    async with rig(TOOLS_FOR="calculator=admins", ADMINS=ADA) as it:
        assert "42" not in await called(it, person=BOB, chat="8")
        await it.say(f"/allow {BOB} admin")

        assert "42" in await called(it, person=BOB, chat="8")


def test_a_tool_that_several_lines_name_is_open_to_who_stands_in_all() -> None:
    limits = (("github__*", ("telegram:1", "telegram:2")), ("github__delete", ("telegram:1",)))

    assert Permit((), limits, frozenset({"telegram:1"})).allows("github__delete")
    assert not Permit((), limits, frozenset({"telegram:2"})).allows("github__delete")
    assert Permit((), limits, frozenset({"telegram:2"})).allows("github__list")
    assert Permit((), limits, frozenset()).allows("calculator")


def test_the_setting_is_read_as_written_and_what_is_wrong_in_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLS_FOR", " run_python = telegram:123, discord:role/456 ;generate_image=Admins; ")
    assert read(CoreSettings).tools_for == (
        ("run_python", ("telegram:123", "discord:role/456")),
        ("generate_image", ("admins",)),
    )
    for text, says in (
        ("run_python", "TOOLS_FOR: 'run_python' must be written tool=who,who"),
        ("run_python=", "must be written tool=who,who"),
        ("run_python=123", "TOOLS_FOR: '123' lacks its platform"),
        ("run_python=@ada", "TOOLS_FOR: '@ada' is"),
        ("a=telegram:1;a=telegram:2", "TOOLS_FOR: 'a' occurs twice"),
    ):
        monkeypatch.setenv("TOOLS_FOR", text)
        with pytest.raises(SettingsError) as refused:
            read(CoreSettings)
        assert says in str(refused.value)


async def test_the_start_names_what_is_off(rig: OpenRig, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "channels.yaml"
    file.write_text("telegram:42/7:\n  tools: [calculator, -read_page]\n")
    async with rig(TOOLS_OFF="wikipedia,calc*", TOOLS_FOR="get_weather=admins", CHANNELS_FILE=str(file)):
        async with asyncio.timeout(PATIENCE):
            while "is reserved for" not in caplog.text:
                await asyncio.sleep(0)

    assert "tools switched off: wikipedia, calc*" in caplog.text
    assert "tools in telegram:42/7: calculator, -read_page" in caplog.text
    assert "get_weather is reserved for admins" in caplog.text


async def test_a_start_with_names_that_are_no_tools_is_refused_with_the_nearest_ones(
    rig: OpenRig, tmp_path: Path
) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text("telegram:42/7:\n  tools: [calculator, -read_pge]\n")
    settings = {"TOOLS_OFF": "run_pyton,wikipedia,calc*", "TOOLS_FOR": "get_wether=admins", "CHANNELS_FILE": str(file)}

    with pytest.raises(SettingsError) as refused:
        async with rig(**settings):
            pass

    assert refused.value.args == (
        "TOOLS_OFF names 'run_pyton', and there is no such tool; did you mean run_python?",
        "TOOLS_FOR names 'get_wether', and there is no such tool; did you mean get_weather?",
        "CHANNELS_FILE names 'read_pge', and there is no such tool; did you mean read_page?",
    )


async def test_the_choice_among_tools_is_made_among_those_of_the_person(rig: OpenRig) -> None:
    async with rig(TOOLS_FOR=f"calculator={BOB}", TOOL_CHOICE_MODEL="openai:scripted") as it:
        it.model.reply(Reply('["current_time"]'), Reply("Noon."))
        await it.say("What time is it in Oslo?")

        chosen_among = str(it.model.requests[0].body["messages"])
        assert "- current_time:" in chosen_among and "- calculator:" not in chosen_among


def test_a_permit_without_rules_is_open_and_any_rule_closes_it() -> None:
    rules = (Permit(off=("a",)), Permit(only=("a",)), Permit(limits=(("a", ("telegram:1",)),)))

    assert Permit().is_open and Permit(ids=frozenset({"telegram:1"})).is_open
    assert not any(permit.is_open for permit in rules)
    assert [permit.allows("a") for permit in rules] == [False, True, False]
