"""What a person sees of a Discord message, as the model is told it: alarms and bots write in embeds and components."""

from __future__ import annotations

import pytest

from tests.adapters.discord.conftest import Stage
from tests.conftest import RawJson, RawObject

EMBED = {
    "title": "Disk full",
    "url": "https://g.example/1",
    "description": "on <:db:77> since *9:41*",
    "fields": [{"name": "Host", "value": "db-7"}],
    "author": {"name": "Grafana"},
    "footer": {"text": "Grafana v11"},
}
SEEN = "Grafana\nDisk full (https://g.example/1)\non :db: since *9:41*\nHost: db-7\nGrafana v11"
BUTTON = {"type": 2, "style": 5, "label": "Runbook", "url": "https://g.example/r"}
COMPONENTS: list[RawJson] = [
    {"type": 10, "content": "# Disk full"},
    {
        "type": 17,
        "components": [
            {"type": 9, "components": [{"type": 10, "content": "on db-7"}], "accessory": BUTTON},
            {"type": 14},
            {"type": 1, "components": [{"type": 2, "style": 1, "label": "Ack", "custom_id": "a"}]},
        ],
    },
    {"type": 12, "items": [{"media": {"url": "https://g.example/p.png"}, "description": "the curve"}]},
]
SEEN_COMPONENTS = "# Disk full\non db-7\nRunbook (https://g.example/r)\nthe curve"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ({"embeds": [EMBED]}, SEEN),
        ({"embeds": [{"description": "one"}, {}, {"fields": [{"name": "a", "value": "b"}]}]}, "one\n\na: b"),
        ({"components": COMPONENTS}, SEEN_COMPONENTS),
    ],
)
async def test_an_alarm_is_known_as_a_reply_a_forward_and_before_a_question(
    stage: Stage, written: RawObject, seen: str
) -> None:
    server = stage.server
    server.state.reads_all = True
    adapter = await stage.listen()
    direct, thread = server.direct(1), server.thread(stage.place, "alarms")

    for place in (stage.place, thread):
        alarm = server.say(place, "", webhook="Grafana", **written)
        server.say(place, f"{server.mention()} what is this?", person=1, reply_to=alarm)
        reader = adapter.earlier(await stage.mailbox.next())
        assert reader is not None
        earlier, _ = await reader.page(0.0, "")
        assert [one.text for one in earlier if one.text] == [seen]
    server.forward(direct, alarm, person=1)
    sent = await stage.mailbox.next()

    assert sent.quoted.forwarded and sent.quoted.text == seen


async def test_a_reply_that_mentions_whom_it_replies_to_brings_its_embeds(stage: Stage) -> None:
    """Discord withholds nothing of a message that mentions the bot."""
    server = stage.server
    await stage.listen()
    alarm = server.say(stage.place, server.mention(), webhook="Grafana", embeds=[EMBED])
    server.say(stage.place, f"{server.mention()} what is this?", person=1, reply_to=alarm)

    assert (await stage.mailbox.next()).quoted.text == SEEN


async def test_a_preview_of_a_link_is_no_word_of_a_person_but_is_seen_in_a_quote(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    preview = {"type": "article", "title": "Tea", "url": "https://t.example", "description": "A leaf."}
    asked = server.say(stage.place, f"{server.mention()} https://t.example", person=1, embeds=[preview])
    sent = await stage.mailbox.next()
    server.say(stage.place, f"{server.mention()} and?", person=2, reply_to=asked)
    second = await stage.mailbox.next()

    assert sent.text == "https://t.example"
    assert second.quoted.text == "https://t.example\n\nTea (https://t.example)\nA leaf."


async def test_components_without_words_are_named(stage: Stage) -> None:
    server = stage.server
    await stage.listen()
    said = server.say(stage.place, "", webhook="Grafana", components=[{"type": 14}])
    server.forward(server.direct(1), said, person=1)

    assert (await stage.mailbox.next()).quoted.text == "[components]"
