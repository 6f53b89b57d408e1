"""Slash commands and buttons: three seconds for the first answer, fifteen minutes for the rest."""

from __future__ import annotations

import pytest

from playground.discord import DiscordServer, Limits
from playground.discord.interactions import Interaction
from playground.discord.world import Channel
from tests.conftest import RawJson
from tests.playground.discord.conftest import Raw, Time

ASK = {
    "name": "ask",
    "description": "Ask a question",
    "options": [{"type": 3, "name": "question", "description": "What to ask", "required": True}],
}


@pytest.fixture
async def place(server: DiscordServer, raw: Raw) -> Channel:
    answer = await raw("PUT", f"/applications/{server.application_id}/commands", [ASK])
    assert answer.status == 200
    return server.channel(20, 10, "general")


def ask(server: DiscordServer, place: Channel) -> Interaction:
    return server.slash("ask", {"question": "why?"}, place, 1)


async def test_the_first_answer_must_come_within_three_seconds(
    raw: Raw, server: DiscordServer, time: Time, place: Channel
) -> None:
    late, intime = ask(server, place), ask(server, place)
    time.pass_(2.9)
    assert (await raw.answer(intime, 5)).status == 200
    time.pass_(0.2)

    refused = await raw.answer(late, 5)

    assert (refused.status, refused.code, refused.text) == (404, 10062, "Unknown interaction")
    assert len(server.screen.messages) == 1


async def test_an_interaction_is_answered_once(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)
    await raw.answer(made, 4, {"content": "one"})

    refused = await raw.answer(made, 4, {"content": "two"})

    assert (refused.status, refused.code) == (400, 40060)
    assert refused.text == "Interaction has already been acknowledged."


async def test_an_id_or_token_nobody_gave_is_unknown(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)

    assert (await raw("POST", f"/interactions/{made.id}/wrong/callback", {"type": 5})).code == 10062
    assert (await raw("POST", f"/interactions/1/{made.token}/callback", {"type": 5})).code == 10062


async def test_the_receipt_of_a_deferral_names_the_placeholder(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)

    receipt = await raw.answer(made, 5)

    shown = server.screen.messages[0]
    assert receipt.body["interaction"] == {
        "id": made.id,
        "type": 2,
        "response_message_id": shown.id,
        "response_message_loading": True,
        "response_message_ephemeral": False,
    }
    assert receipt.body["resource"]["type"] == 5
    assert receipt.body["resource"]["message"]["interaction_metadata"]["user"]["id"] == "1"
    assert shown.live and shown.versions == [] and shown.author == "bot"


async def test_without_asking_for_it_there_is_no_receipt(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)

    answer = await raw("POST", f"/interactions/{made.id}/{made.token}/callback", {"type": 5})

    assert (answer.status, answer.body) == (204, "")


async def test_nothing_can_be_sent_before_the_first_answer(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)

    refused = await raw.hook("POST", made, "", {"content": "x"})

    assert (refused.status, refused.code, refused.text) == (404, 10015, "Unknown Webhook")


async def test_the_first_follow_up_takes_the_place_of_the_deferral(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    made = ask(server, place)
    await raw.answer(made, 5, {"flags": 64})

    first = await raw.hook("POST", made, "", {"content": "one"})
    second = await raw.hook("POST", made, "", {"content": "two"})

    shown = server.screen.messages
    assert [one.text for one in shown] == ["one", "two"]
    assert first.body["id"] == shown[0].id and not shown[0].live
    assert (shown[0].ephemeral, shown[1].ephemeral) == (True, False)
    assert second.body["id"] != first.body["id"]


async def test_a_person_reads_that_nothing_answered() -> None:
    async with DiscordServer(limits=Limits(answer_within=0.0)) as server:
        server.guild(10)
        place = server.channel(20, 10)
        server.interactions.begin(2, place, server.person(1), {"name": "ask"})

        await server.screen.until(lambda screen: screen.notices)

        assert server.screen.notices[0][1:] == ("20", "The application did not respond")


async def test_the_token_dies_after_fifteen_minutes(
    raw: Raw, server: DiscordServer, time: Time, place: Channel
) -> None:
    made = ask(server, place)
    await raw.answer(made, 5)
    time.pass_(899)
    alive = await raw.hook("PATCH", made, "/messages/@original", {"content": "still"})
    time.pass_(2)

    edit = await raw.hook("PATCH", made, "/messages/@original", {"content": "late"})
    follow = await raw.hook("POST", made, "", {"content": "late"})
    ordinary = await raw.edit(place, alive.body["id"], "by the bot's own token")

    for refused in (edit, follow):
        assert (refused.status, refused.code, refused.text) == (401, 50027, "Invalid Webhook Token")
    assert ordinary.status == 200
    assert server.screen.messages[0].text == "by the bot's own token"


async def test_another_application_has_no_webhook_here(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)

    assert (await raw("POST", f"/webhooks/99/{made.token}", {"content": "x"})).code == 10015
    assert (await raw("POST", f"/webhooks/{server.application_id}/wrong", {"content": "x"})).code == 50027


async def test_the_original_and_follow_ups_are_read_changed_and_deleted(
    raw: Raw, server: DiscordServer, time: Time, place: Channel
) -> None:
    made = ask(server, place)
    await raw.answer(made, 4, {"content": "first"})
    more = (await raw.hook("POST", made, "", {"content": "more"})).body["id"]

    assert (await raw.hook("GET", made, "/messages/@original")).body["content"] == "first"
    assert (await raw.hook("PATCH", made, f"/messages/{more}", {"content": "most"})).body["content"] == "most"
    assert (await raw.hook("DELETE", made, f"/messages/{more}")).status == 204
    gone = await raw.hook("PATCH", made, f"/messages/{more}", {"content": "x"})
    time.pass_(2)
    server.delete(server.screen.messages[0].id)
    original = await raw.hook("PATCH", made, "/messages/@original", {"content": "x"})

    assert (gone.status, gone.code) == (404, 10008)
    assert (original.status, original.code) == (404, 10008)


async def test_a_private_answer_is_reached_only_by_its_token(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)
    receipt = await raw.answer(made, 4, {"content": "psst", "flags": 64})
    id = receipt.body["interaction"]["response_message_id"]

    assert (await raw("GET", f"/channels/20/messages/{id}")).code == 10008
    assert (await raw("GET", "/channels/20/messages")).body == []
    assert (await raw.hook("GET", made, "/messages/@original")).body["content"] == "psst"
    assert server.screen.messages[0].ephemeral


async def test_where_the_bot_is_no_member_five_follow_ups_are_all(raw: Raw, time: Time, server: DiscordServer) -> None:
    await raw("PUT", f"/applications/{server.application_id}/commands", [ASK])
    server.guild(11, "Elsewhere", member=False)
    place = server.channel(25, 11)
    made = ask(server, place)
    await raw.answer(made, 4, {"content": "zero"})

    for number in range(5):
        time.pass_(2)
        assert (await raw.hook("POST", made, "", {"content": str(number)})).status == 200
    time.pass_(2)
    refused = await raw.hook("POST", made, "", {"content": "six"})

    assert (refused.status, refused.code) == (400, 40094)
    assert server.interactions.told(made)["authorizing_integration_owners"] == {"1": "1"}
    assert (await raw.send(place)).code == 50001
    time.pass_(2)
    assert (await raw.hook("PATCH", made, "/messages/@original", {"content": "on"})).status == 200


async def test_message_rules_hold_for_answers_too(raw: Raw, server: DiscordServer, place: Channel) -> None:
    long = await raw.answer(ask(server, place), 4, {"content": "x" * 2001})
    empty = await raw.answer(ask(server, place), 4, {"content": ""})
    update = await raw.answer(ask(server, place), 7, {"content": "x"})

    assert long.body["errors"]["data"]["content"]["_errors"][0]["code"] == "BASE_TYPE_MAX_LENGTH"
    assert empty.code == 50006
    assert update.body["errors"]["type"]["_errors"][0]["code"] == "BASE_TYPE_CHOICES"


async def test_an_edit_by_token_cannot_turn_previews_off(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)
    await raw.answer(made, 5, {"flags": 4})

    await raw.hook(
        "PATCH", made, "/messages/@original", {"content": "https://a.example <https://b.example>", "flags": 4}
    )

    assert [preview.url for preview in server.previews] == ["https://a.example"]


async def test_the_first_answer_can_turn_previews_off(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)
    await raw.answer(made, 4, {"content": "https://a.example", "flags": 4})

    await raw.hook("PATCH", made, "/messages/@original", {"content": "https://b.example"})

    assert server.previews == []


async def test_a_deferred_answer_pings_when_its_text_comes(raw: Raw, server: DiscordServer, place: Channel) -> None:
    made = ask(server, place)
    await raw.answer(made, 5)
    assert server.pings == []

    await raw.hook("PATCH", made, "/messages/@original", {"content": "@everyone <@1>"})

    assert [(ping.whom, ping.edit) for ping in server.pings] == [(("@everyone", "<@1>"), False)]


async def test_a_button_can_be_acknowledged_silently_and_its_message_edited(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    row = {"type": 1, "components": [{"type": 2, "style": 4, "label": "Stop", "custom_id": "stop"}]}
    sent = await raw.send(place, "working", components=[row])

    made = server.press(sent.body["id"], "stop", 1)
    receipt = await raw.answer(made, 6)
    await raw.hook("PATCH", made, "/messages/@original", {"content": "stopped", "components": []})

    assert receipt.body["interaction"]["type"] == 3 and "resource" not in receipt.body
    assert server.screen.messages[0].text == "stopped"
    with pytest.raises(LookupError, match="stop"):
        server.press(sent.body["id"], "stop", 1)


async def test_a_person_can_only_use_commands_that_are_registered(server: DiscordServer, place: Channel) -> None:
    with pytest.raises(LookupError, match="tell"):
        server.slash("tell", {}, place, 1)
    with pytest.raises(ValueError, match="question"):
        server.slash("ask", {}, place, 1)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": "Ask"}, "name"),
        ({"name": "ask me"}, "name"),
        ({"name": "a" * 33}, "name"),
        ({"name": None}, "name"),
        ({"description": ""}, "description"),
        ({"description": "d" * 101}, "description"),
        ({"description": None}, "description"),
        ({"type": 2, "name": "Ask this"}, "description"),
        ({"description_localizations": {"zh-Hant": "提問"}}, "description_localizations"),
        ({"description_localizations": {"zh-TW": "問" * 101}}, "description_localizations"),
        ({"description_localizations": {"zh-TW": ""}}, "description_localizations"),
        ({"name_localizations": {"zh-TW": "提 問"}}, "name_localizations"),
        (
            {"options": [{"type": 3, "name": "o", "description": "d", "description_localizations": {"zh": "x"}}]},
            "options",
        ),
        ({"options": [{"type": 3, "name": f"o{n}", "description": "d"} for n in range(26)]}, "options"),
        ({"options": [{"type": 99, "name": "o", "description": "d"}]}, "options"),
        ({"options": [{"type": 3, "name": "o", "description": "d"}] * 2}, "options"),
        (
            {
                "options": [
                    {"type": 3, "name": "may", "description": "d"},
                    {"type": 3, "name": "must", "description": "d", "required": True},
                ]
            },
            "options",
        ),
    ],
)
async def test_a_command_that_breaks_a_rule_is_refused_by_field(
    raw: Raw, server: DiscordServer, change: RawJson, where: str
) -> None:
    refused = await raw("PUT", f"/applications/{server.application_id}/commands", [ASK, {**ASK, "name": "b", **change}])

    assert (refused.status, refused.code) == (400, 50035)
    assert list(refused.body["errors"]) == ["1"] and where in refused.body["errors"]["1"]
    assert (await raw("GET", f"/applications/{server.application_id}/commands")).body == []


async def test_commands_belong_to_this_application_and_to_servers_it_is_in(raw: Raw, server: DiscordServer) -> None:
    server.guild(11, member=False)

    foreign = await raw("PUT", "/applications/99/commands", [ASK])
    elsewhere = await raw("PUT", f"/applications/{server.application_id}/guilds/11/commands", [ASK])

    assert (foreign.status, foreign.code) == (403, 20012)
    assert (elsewhere.status, elsewhere.code) == (403, 50001)


async def test_commands_keep_their_id_when_they_are_sent_again(raw: Raw, server: DiscordServer) -> None:
    path = f"/applications/{server.application_id}/commands"
    first = (await raw("PUT", path, [ASK])).body[0]

    again = (await raw("PUT", path, [{**ASK, "description": "Other"}])).body[0]
    twice = await raw("PUT", path, [ASK, ASK])

    assert (again["id"], again["description"]) == (first["id"], "Other") and again["version"] != first["version"]
    assert "must be unique" in str(twice.body["errors"])


async def test_translations_are_told_only_to_who_asks_for_them(raw: Raw, server: DiscordServer) -> None:
    path = f"/applications/{server.application_id}/commands"
    translated = {"description_localizations": {"zh-TW": "提問", "zh-CN": "提问"}}
    option = {"type": 3, "name": "question", "description": "What", **translated}
    await raw("PUT", path, [{**ASK, **translated, "options": [option]}])

    [bare] = (await raw("GET", path)).body
    [whole] = (await raw("GET", f"{path}?with_localizations=true")).body

    assert "description_localizations" not in {**bare, **bare["options"][0]}
    assert whole["description_localizations"] == whole["options"][0]["description_localizations"]
    assert whole["description_localizations"]["zh-TW"] == "提問"


async def test_names_in_other_scripts_are_names(raw: Raw, server: DiscordServer) -> None:
    commands = [{**ASK, "name": name} for name in ("提问", "спроси", "ถามคำ", "ask-me_now")]

    assert (await raw("PUT", f"/applications/{server.application_id}/commands", commands)).status == 200
