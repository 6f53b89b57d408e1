"""What only Matrix does: a place in a stream, gaps, invitations, transactions, reactions as buttons, events made up."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from homeserver import Homeserver
from parley_matrix.adapter import MatrixAdapter, check
from scene import ADA, BOT, ROOM, TEAM, MatrixScene, open_scene, settings_for

from parley_chat.adapter import (
    Button,
    Control,
    ControlPressed,
    File,
    MessageSent,
    Page,
    RateLimited,
    SettingsError,
    TooLong,
    Unreachable,
)
from parley_chat.contract.suites import listening


@pytest.fixture
async def scene() -> AsyncIterator[MatrixScene]:
    async with open_scene() as opened:
        yield opened


async def test_the_next_process_goes_on_where_this_one_was_however_much_was_written_meanwhile(
    scene: MatrixScene,
) -> None:
    scene.say("from before the bot was here")
    async with listening(scene) as ear:
        await ear.asked(scene, "why does it rain?")
    missed = scene.say("why does it snow?")
    for number in range(180):
        scene.server.write(TEAM, ADA, {"msgtype": "m.notice", "body": f"line {number}"})
        scene.server.write(ROOM, BOT, {"msgtype": "m.notice", "body": f"line {number}"})
    async with listening(scene) as ear:
        told = await ear.next()
        while isinstance(told, MessageSent) and told.text == "why does it rain?":
            told = await ear.next()

    assert isinstance(told, MessageSent) and told.message_id == missed


async def test_an_invitation_is_accepted_also_one_from_before_the_first_start(scene: MatrixScene) -> None:
    for room in ("!first:example.org", "!later:example.org"):
        scene.server.add_room(room, ADA)
    scene.server.invite("!first:example.org", ADA, BOT)
    async with listening(scene) as ear:
        scene.server.invite("!later:example.org", ADA, BOT)
        await ear.asked(scene, "why does it rain?")

    assert all(BOT in scene.server.rooms[room].members for room in ("!first:example.org", "!later:example.org"))


async def test_an_event_that_somebody_made_up_holds_nothing_up(scene: MatrixScene) -> None:
    async with listening(scene) as ear:
        for odd in (
            {},
            {"msgtype": "m.text", "body": ["x"], "m.mentions": None},
            {"msgtype": "m.file", "body": "x", "url": {}, "info": {"size": "large"}},
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.replace", "event_id": {"a": 1}}},
            {"msgtype": "m.text", "body": "x", "m.relates_to": "m.replace"},
        ):
            scene.server.write(TEAM, ADA, odd)
            scene.server.write(TEAM, ADA, {"m.relates_to": odd}, "m.reaction")
        scene.server.write(TEAM, ADA, {"msgtype": "m.text", "body": "x", "m.mentions": {"user_ids": None}})
        told = await ear.asked(scene, "why does it rain?")

    assert told.text == "why does it rain?"


async def test_what_was_posted_under_a_nonce_is_posted_once_and_anew_if_it_was_deleted(scene: MatrixScene) -> None:
    surface = scene.surface
    drawn = surface.draw(Page("It rains.", final=True))
    refs = [await surface.show(drawn, None, "t1-0") for _ in range(2)]
    scene.delete(refs[0])
    again = [await surface.show(drawn, None, "t1-0") for _ in range(2)]

    assert refs[0] == refs[1] and again[0] == again[1] != refs[0]
    assert [one.id for one in scene.shown] == [again[0].id]


@pytest.mark.parametrize("key", ["👍", "👍\ufe0f"])
async def test_a_reaction_presses_the_button_that_its_sign_names(scene: MatrixScene, key: str) -> None:
    buttons = (Button(Control.GOOD, 7, "👍"), Button(Control.REGENERATE, 7, "🔄 Regenerate"))
    ref = await scene.surface.show(scene.surface.draw(Page("It rains.", buttons=buttons)), None, "t7-0")
    async with listening(scene) as ear:
        for sign in ("🎉", key):
            relation = {"rel_type": "m.annotation", "event_id": ref.id, "key": sign}
            scene.server.write(ROOM, ADA, {"m.relates_to": relation}, "m.reaction")
        press = await ear.next()

    assert isinstance(press, ControlPressed)
    assert (press.control, press.turn, press.message_id, press.sender.id) == (Control.GOOD, 7, ref.id, f"matrix:{ADA}")


async def test_two_buttons_with_one_sign_are_pressed_by_their_whole_labels(scene: MatrixScene) -> None:
    buttons = tuple(Button(Control.DELETE, 0, f"🗑️ {number}", str(number)) for number in (1, 2))
    await scene.surface.show(scene.surface.draw(Page("Reminders", buttons=buttons)), None, "t7-0")

    assert scene.shown[0].buttons == ["🗑️ 1", "🗑️ 2"]
    assert scene.signs_of(scene.shown[0].id) == ["🗑 1", "🗑 2"]


async def test_code_lists_and_quotes_are_read_as_they_were_written(scene: MatrixScene) -> None:
    body = "# Rain\n\n- a\n  - b\n\n> so\n\n```py\nif a < b:\n    c()\n```\n\n| n | m |\n|---|---|\n| 1 | 2 |"
    await scene.surface.show(scene.surface.draw(Page(body, final=True)), None, "t1-0")
    [shown] = scene.shown

    assert "<strong>Rain</strong>" in shown.versions[0].markup
    assert "• a\n  • b" in shown.text and "if a < b:\n    c()" in shown.text and "n | m\n--+--\n1 | 2" in shown.text
    assert '<pre><code class="language-py">if a &lt; b:\n    c()</code></pre>' in shown.versions[0].markup


async def test_a_limit_is_a_pause_and_a_file_that_is_too_large_is_not_sent() -> None:
    async with open_scene(rate=0.2, burst=2) as scene:
        for number in range(2):
            await scene.surface.show(scene.surface.draw(Page("It rains.")), None, f"t{number}-0")
        with pytest.raises(RateLimited) as told:
            await scene.surface.show(scene.surface.draw(Page("It rains.")), None, "t3-0")
        scene.server.upload_size = 10
        with pytest.raises(TooLong):
            await scene.surface.attach(File("a.txt", "text/plain", b"x" * 11), None, "t4-0")

    assert 4 <= told.value.retry_after <= 5


async def test_a_token_that_is_refused_and_a_server_that_is_not_there_are_told_apart() -> None:
    async with Homeserver() as server:
        with pytest.raises(SettingsError, match="MATRIX_TOKEN is refused"):
            await check(settings_for(server.url, "other"))
        server.tokens["token"] = BOT
        found = await check(settings_for(server.url))
    with pytest.raises(Unreachable, match="no connection to Matrix"):
        await MatrixAdapter(settings_for(server.url)).__aenter__()

    assert [one.text for one in found] == [f"the token works; the bot is {BOT}, in 0 rooms"]
