"""Forms: what the emulator refuses, and what it sends when one is filled in."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from playground.slack import SlackServer
from tests.conftest import RawObject
from tests.playground.slack.conftest import Clock, Refusal

TEXT = {"type": "plain_text", "text": "Ask"}
FIELD = {"type": "plain_text_input", "action_id": "a"}
BLOCK = {"type": "input", "block_id": "b", "label": TEXT, "element": FIELD}


def view(**changes: object) -> RawObject:
    return {"type": "modal", "title": TEXT, "submit": TEXT, "blocks": [BLOCK]} | changes


@pytest.mark.parametrize(
    "broken",
    [
        view(type="home"),
        view(blocks=[]),
        view(title={"type": "plain_text", "text": "a" * 25}),
        view(submit=None),
        view(private_metadata="a" * 3001),
        view(callback_id="a" * 256),
        view(blocks=[BLOCK | {"label": {"type": "mrkdwn", "text": "a"}}]),
        view(blocks=[BLOCK | {"element": {"type": "button"}}]),
        view(blocks=[BLOCK | {"element": FIELD | {"max_length": 3001}}]),
        view(blocks=[BLOCK | {"element": FIELD | {"placeholder": {"type": "plain_text", "text": "a" * 151}}}]),
    ],
)
async def test_what_slack_refuses_is_refused(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal, broken: RawObject
) -> None:
    trigger = server.views.trigger("U1")
    assert await refusal(client.views_open(trigger_id=trigger, view=broken)) == "invalid_arguments"
    assert server.views.open == {}


async def test_a_trigger_opens_one_form_for_three_seconds(
    server: SlackServer, client: AsyncWebClient, refusal: Refusal, clock: Clock
) -> None:
    trigger, late = server.views.trigger("U1"), server.views.trigger("U1")
    await client.views_open(trigger_id=trigger, view=view())
    clock.pass_(3)

    refused = [await refusal(client.views_open(trigger_id=id, view=view())) for id in (trigger, late, "guess")]
    assert refused == ["exchanged_trigger_id", "expired_trigger_id", "invalid_trigger_id"]


async def test_a_form_is_sent_off_once_with_what_its_fields_take(server: SlackServer, client: AsyncWebClient) -> None:
    told = view(blocks=[BLOCK, {"type": "divider"}, BLOCK | {"block_id": "c", "optional": True}])
    answer = await client.views_open(trigger_id=server.views.trigger("U1"), view=told)
    id = answer["view"]["id"]
    sent = server.fill_in(id, {"b": "tea"})

    assert sent.payload["type"] == "view_submission" and sent.payload["user"]["id"] == "U1"
    assert [values["a"]["value"] for values in sent.payload["view"]["state"]["values"].values()] == ["tea", None]
    with pytest.raises(KeyError):
        server.fill_in(id, {"b": "tea"})


@pytest.mark.parametrize("written", [{}, {"b": "a" * 3_001}])
async def test_a_person_cannot_send_what_a_field_does_not_take(
    server: SlackServer, client: AsyncWebClient, written: dict[str, str]
) -> None:
    answer = await client.views_open(trigger_id=server.views.trigger("U1"), view=view())

    with pytest.raises(ValueError, match="does not take"):
        server.fill_in(answer["view"]["id"], written)
