"""What is offered while somebody types a slash command: the emulator's rules."""

from __future__ import annotations

import pytest

from playground.discord import DiscordServer
from playground.discord.world import Channel
from tests.conftest import RawJson, RawObject
from tests.playground.discord.conftest import Raw, Time

TOOL = {
    "name": "tool",
    "description": "Use a tool",
    "options": [
        {"type": 3, "name": "name", "description": "Which", "required": True, "autocomplete": True},
        {"type": 3, "name": "arguments", "description": "With what"},
    ],
}


@pytest.fixture
async def place(server: DiscordServer, raw: Raw) -> Channel:
    assert (await raw("PUT", f"/applications/{server.application_id}/commands", [TOOL])).status == 200
    return server.channel(20, 10, "general")


def choices(count: int, **changes: str) -> RawObject:
    return {"choices": [{"name": f"n{number}", "value": f"v{number}"} | changes for number in range(count)]}


async def test_choices_are_offered_and_nothing_is_posted(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = server.type_in("tool", {"arguments": "1", "name": "ca"}, "name", place, 1)

    answer = await raw.answer(made, 8, choices(25))

    told = server.interactions.told(made)
    assert (answer.status, told["type"]) == (200, 4)
    assert told["data"]["options"] == [
        {"name": "arguments", "type": 3, "value": "1"},
        {"name": "name", "type": 3, "value": "ca", "focused": True},
    ]
    assert made.choices is not None and len(made.choices) == 25 and server.screen.messages == []


@pytest.mark.parametrize(
    "wrong",
    [choices(26), {}, {"choices": "all"}, choices(1, name=""), choices(1, name="n" * 101), choices(1, value="v" * 101)],
)
async def test_choices_that_discord_refuses_are_refused(
    raw: Raw, server: DiscordServer, place: Channel, wrong: RawJson
) -> None:
    made = server.type_in("tool", {"name": ""}, "name", place, 1)

    refused = await raw.answer(made, 8, wrong)

    assert (refused.status, refused.code) == (400, 50035) and "choices" in refused.body["errors"]["data"]
    assert made.choices is None and not made.answered


async def test_typing_is_answered_by_choices_alone_and_these_answer_nothing_else(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    typed = server.type_in("tool", {"name": "c"}, "name", place, 1)
    used = server.slash("tool", {"name": "c"}, place, 1)

    for kind in (4, 5, 9):
        assert (await raw.answer(typed, kind, {"content": "x"})).code == 50035
    assert (await raw.answer(used, 8, choices(1))).code == 50035
    await raw.answer(typed, 8, choices(1))
    assert (await raw.hook("POST", typed, "", {"content": "x"})).code == 10015


async def test_choices_must_come_within_three_seconds(
    raw: Raw, server: DiscordServer, place: Channel, time: Time
) -> None:
    made = server.type_in("tool", {"name": "c"}, "name", place, 1)
    time.pass_(3.1)

    assert (await raw.answer(made, 8, choices(1))).code == 10062


async def test_only_options_that_ask_for_it_are_completed(server: DiscordServer, place: Channel) -> None:
    for written, focused in (({"arguments": "1"}, "arguments"), ({"what": "1"}, "name"), ({"name": "1"}, "what")):
        with pytest.raises(ValueError, match="nothing is offered"):
            server.type_in("tool", written, focused, place, 1)
    with pytest.raises(LookupError):
        server.type_in("other", {}, "name", place, 1)


@pytest.mark.parametrize(
    "option",
    [{"type": 5, "autocomplete": True}, {"type": 3, "autocomplete": True, "choices": [{"name": "a", "value": "a"}]}],
)
async def test_an_option_with_choices_or_that_is_not_written_cannot_be_completed(
    raw: Raw, server: DiscordServer, option: RawObject
) -> None:
    command = {**TOOL, "options": [{"name": "o", "description": "d"} | option]}

    refused = await raw("PUT", f"/applications/{server.application_id}/commands", [command])

    assert refused.code == 50035 and "autocomplete" in str(refused.body["errors"])
