"""The Discord adapter as a whole: logging in, listening, registering, and what `parley doctor` says of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import discord
import pytest
from discord.gateway import DiscordWebSocket

from adapters.discord import adapter as adapter_module
from adapters.discord import client as client_module
from adapters.discord.adapter import DiscordAdapter, check
from adapters.discord.identifying import SECONDS
from bot.contract.errors import SettingsError, Unreachable
from bot.contract.messages import Page, ReplyTarget
from playground.discord.gateway import Connection
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage, Wait
from tests.conftest import RawObject
from tests.patience import PATIENCE
from tests.surfaces import show

PUT = "PUT /applications/{application}/commands"


def puts(stage: Stage) -> int:
    return sum(call.name == PUT for call in stage.server.calls)


async def test_surfaces_work_when_nothing_is_taken_in_any_more(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    await stage.stop()
    await stage.server.gateway.until_left()

    await show(surface, Page("Because", final=True), None)
    await show(adapter.surface(ReplyTarget("discord", {"channel": 20})), Page("hi", final=True), None)

    assert stage.said() == ["Because", "hi"]


async def test_a_cancellation_that_the_library_loses_is_repeated(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its websocket opens, up to Python 3.11."""
    lost: list[bool] = []
    connecting = asyncio.Event()

    async def connect(client: discord.Client, *, reconnect: bool) -> None:
        connecting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            lost.append(True)
        await asyncio.Event().wait()

    monkeypatch.setattr(discord.Client, "connect", connect)
    adapter = await stage.enter()
    listening = asyncio.create_task(adapter.listen(stage.mailbox))
    await asyncio.wait_for(connecting.wait(), PATIENCE)
    listening.cancel()

    await asyncio.wait({listening})
    assert listening.cancelled() and lost == [True]


async def test_an_event_after_the_end_is_left_out(stage: Stage) -> None:
    """The library tells that it is ready up to two seconds after its greeting, closed or not."""
    adapter = await stage.listen()
    await stage.stop()
    await adapter._client.close()

    adapter._client.dispatch("ready")


async def test_what_the_library_still_tells_when_listening_has_ended_is_left_out(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """It starts a task for each event that it has read, and that may run after the end."""
    adapter = await stage.listen()
    await stage.stop()

    adapter._client.dispatch("interaction", None)
    adapter._client.dispatch("raw_message_delete", discord.RawMessageDeleteEvent({"id": "5", "channel_id": "20"}))
    await stage.clock.settle()

    assert stage.mailbox.stored == [] and "left out" not in caplog.text


async def test_what_has_arrived_is_stored_before_listening_ends(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    stage.mailbox.held["hi"] = stored = asyncio.Event()
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)
    await wait(lambda: any(task.get_name().startswith("store") for task in asyncio.all_tasks()))

    stopping = asyncio.create_task(stage.stop())
    await stage.server.gateway.until_left()
    waiting = not stopping.done()
    stored.set()
    await stopping

    assert waiting
    assert stage.mailbox.texts == ["hi"]


async def test_only_the_first_connection_comes_without_a_wait(stage: Stage) -> None:
    """Discord allows one identification in five seconds."""
    adapter = await stage.listen()
    await stage.stop()
    again = asyncio.create_task(stage.listen(adapter))
    await stage.clock.sleeper()
    waiting = len(stage.server.gateway.identified)
    await stage.clock.advance(SECONDS)
    await again
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)

    assert (await stage.mailbox.next()).text == "hi"
    assert waiting == 1 and len(stage.server.gateway.identified) == 2


async def test_the_commands_are_registered_only_when_discord_knows_others(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    ask = next(one for one in stage.commands.values() if one["name"] == "ask")
    assert puts(stage) == 1
    assert ask["description_localizations"] == {"zh-CN": "向我提问", "zh-TW": "向我提問"}
    assert (ask["integration_types"], ask["contexts"]) == ([0, 1], [0, 1, 2])
    assert ask["options"][0]["required"]

    again = await stage.enter()
    await again._announce()
    asked = len(stage.server.calls)
    await again._announce()
    assert (puts(stage), len(stage.server.calls)) == (1, asked), "and not looked at again"

    ask["options"][0]["description"] = "old words"
    await (await stage.enter())._announce()
    await (await stage.enter())._announce()
    assert puts(stage) == 2


async def test_nothing_privileged_is_asked_for_and_nothing_is_kept(stage: Stage) -> None:
    adapter = await stage.listen()
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)
    await stage.mailbox.next()

    client = adapter._client
    assert stage.server.gateway.identified[0]["intents"] == (1 << 0) | (1 << 9) | (1 << 12)
    assert list(client.cached_messages) == []
    assert [member.id for guild in client.guilds for member in guild.members] == [int(stage.server.bot.id)]


async def test_nothing_is_said_of_voice(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord.VoiceClient, "warn_nacl", True)
    monkeypatch.setattr(discord.VoiceClient, "warn_dave", True)

    await stage.listen()

    assert "voice" not in caplog.text


async def test_another_program_with_the_token_is_named_at_once_and_counted(
    stage: Stage, wait: Wait, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = await stage.listen(), await stage.listen()
    assert one.account == other.account == str(stage.server.bot.id), "of which one process of ours listens"
    await stage.server.gateway.until_ready(2)
    for _ in range(2):
        stage.server.slash("ask", {"question": "why?"}, stage.place, 1)
    await wait(lambda: one.conflicts + other.conflicts == 2)

    # One of the two was told for each of them, and each says so once.
    lines = [record.getMessage() for record in caplog.records if "another program" in record.getMessage()]
    assert 1 <= len(lines) <= 2
    assert all("DISCORD_BOT_TOKEN" in line and "end it" in line for line in lines)


async def test_what_is_written_while_another_process_takes_over_comes_to_that(stage: Stage, wait: Wait) -> None:
    """In a server, too; what the first one has stored may come again, and a press is no matter for the second."""
    first = await stage.enter()
    first.shared = True
    await stage.listen(first)
    stage.server.say(stage.place, f"{stage.server.mention()} one", person=1)
    assert (await stage.mailbox.next()).text == "one"
    await stage.stop()
    left = first.session
    assert left
    await wait(lambda: stage.server.gateway.sessions == [])
    stage.server.say(stage.place, f"{stage.server.mention()} two", person=1)
    stage.server.slash("ask", {"question": "three"}, stage.place, 1)
    stage.server.say(stage.server.direct(2), "four", person=2)

    second = await stage.enter()
    second.shared, second.former = True, left
    await stage.listen(second)
    taken = [await stage.mailbox.next() for _ in range(2)]

    assert sorted(one.text for one in taken) == ["four", "two"]
    assert {one.text: one.group for one in taken} == {"two": True, "four": False}
    await wait(lambda: len(stage.server.gateway.sessions) == 1)


@pytest.mark.parametrize("former", ["nonsense", "[[]]", '[[0, 1, "unknown", 5, "URL"]]', '[[1, 2, "x", 5, "URL"]]'])
async def test_a_session_that_cannot_be_resumed_keeps_nobody_from_listening(
    stage: Stage, wait: Wait, former: str, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = await stage.enter()
    adapter.former = former.replace("URL", stage.server.gateway_url)
    await stage.listen(adapter)
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)

    assert (await stage.mailbox.next()).text == "hi"
    if "URL" in former:
        await wait(lambda: "what was written meanwhile may be missing" in caplog.text)


async def test_a_gateway_that_greets_in_an_odd_way_is_tried_again_by_the_caller(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = await stage.enter()
    op = Connection.op
    monkeypatch.setattr(
        Connection, "op", lambda self, number, body=None: op(self, number, {} if number == 10 else body)
    )
    with pytest.raises(Unreachable, match="KeyError in gateway"):
        await adapter.listen(stage.mailbox)
    monkeypatch.undo()

    await show(adapter.surface(ReplyTarget("discord", {"channel": 20})), Page("still here", final=True), None)
    stage.clock.now += SECONDS
    await stage.listen(adapter)
    stage.server.say(stage.place, f"{stage.server.mention()} hi", person=1)

    assert (await stage.mailbox.next()).text == "hi"
    assert stage.said() == ["still here"]


async def test_a_login_that_is_answered_in_an_odd_way_is_tried_again_by_the_caller(stage: Stage) -> None:
    for answer in ("<html>", "{}", "7"):
        stage.server.faults.add("GET /users/@me", Fault(answer=answer))
        with pytest.raises(Unreachable):
            await stage.enter()


async def test_a_wrong_token_is_a_setting_to_mend(stage: Stage) -> None:
    with pytest.raises(SettingsError, match="DISCORD_BOT_TOKEN"):
        async with DiscordAdapter(stage.settings(token="wrong")):
            pass


async def test_a_login_that_is_broken_off_leaves_no_connection_open(stage: Stage) -> None:
    held = stage.server.faults.add("GET /users/@me", Fault(hold=asyncio.Event()))
    adapter = DiscordAdapter(stage.settings(), stage.clock)
    entering = asyncio.create_task(adapter.__aenter__())
    await held.reached.wait()

    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering

    assert adapter._client.is_closed()
    assert held.hold is not None
    held.hold.set()


async def test_a_call_that_is_no_reply_waits_out_a_short_pause_and_reports_a_long_one(stage: Stage) -> None:
    """Such calls are the library's to repeat: logging in, and reading the list of commands."""
    stage.server.faults.add("GET /users/@me", Fault(status=429, retry_after=0.1))
    await stage.enter()

    stage.server.faults.add("GET /users/@me", Fault(status=429, retry_after=3_600))
    with pytest.raises(Unreachable, match="PauseAsked"):
        await stage.enter()


async def test_a_gateway_that_closes_for_good_names_its_code(stage: Stage) -> None:
    await stage.listen()
    assert stage.listening is not None

    await stage.server.gateway.drop(4013)

    with pytest.raises(SettingsError, match="code 4013"):
        await stage.listening


async def test_a_token_revoked_while_the_bot_runs_is_a_setting_to_mend(stage: Stage) -> None:
    adapter = await stage.enter()
    stage.server.gateway.token = "another"

    with pytest.raises(SettingsError, match="DISCORD_BOT_TOKEN"):
        await adapter.listen(stage.mailbox)


async def test_a_discord_that_does_not_answer_is_tried_again_by_the_caller(stage: Stage) -> None:
    settings = stage.settings()
    await stage.server.__aexit__(None, None, None)

    adapter = DiscordAdapter(settings)
    for _ in range(2):
        with pytest.raises(Unreachable):
            async with adapter:
                pass


async def test_a_gateway_that_does_not_answer_is_tried_again_by_the_caller(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discord.client.ExponentialBackoff.delay", lambda self: 0.0)
    adapter = await stage.enter()

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(type(stage.server), "gateway_url", property(lambda self: "ws://127.0.0.1:1/"))
        with pytest.raises(Unreachable):
            await adapter.listen(stage.mailbox)

    await show(adapter.surface(ReplyTarget("discord", {"channel": 20})), Page("still here", final=True), None)
    stage.clock.now += SECONDS
    await stage.listen(adapter)
    assert stage.said() == ["still here"]


async def test_discord_itself_is_reached_by_the_library_s_own_addresses(stage: Stage) -> None:
    await stage.enter()
    own = DiscordAdapter(stage.settings(base=adapter_module._DEFAULT_BASE))

    await own._find_gateway()

    assert str(DiscordWebSocket.DEFAULT_GATEWAY) == "wss://gateway.discord.gg/"
    assert own._base == "https://discord.com/api/v10"


async def test_the_doctor_says_how_to_invite_the_bot_and_what_is_registered(stage: Stage) -> None:
    settings = stage.settings()

    fresh = await check(settings)
    await stage.listen()
    known = await check(settings)

    texts = [finding.text for finding in fresh]
    assert all(finding.well for finding in fresh)
    assert stage.server.application_id in texts[0]
    assert f"client_id={stage.server.application_id}&scope=bot+applications.commands&permissions=" in texts[2]
    assert texts[3].endswith(f"client_id={stage.server.application_id}&scope=applications.commands&integration_type=1")
    assert texts[4].endswith("not registered yet: the start does that") and known[4].text.endswith("are registered")
    assert puts(stage) == 1


async def test_the_doctor_says_that_nobody_can_take_the_bot_along(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord.AppInfo, "user_integration_config", None)

    findings = await check(stage.settings())

    assert findings[3].verdict == "note" and "allow User Install" in findings[3].text


async def test_the_doctor_finds_that_commands_go_elsewhere(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord.Client, "application", property(lambda self: _pointing_elsewhere(self._application)))

    findings = await check(stage.settings())

    [wrong] = [finding.text for finding in findings if not finding.well]
    assert wrong.startswith("slash commands go to an HTTP address instead of the bot")


def _pointing_elsewhere(application: Any) -> Any:
    application.interactions_endpoint_url = "https://old.example/interactions"
    return application


async def test_an_event_that_cannot_be_read_is_left_out_alone(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the library, or by us: the gateway stays, and the next message is heard."""
    await stage.listen()
    body = {"content": "secret words", "channel_id": "20", "author": {"id": "1", "username": "ada"}}
    stage.server.gateway.publish("MESSAGE_CREATE", lambda reads_all: body)
    stage.server.say(stage.place, f"{stage.server.mention()} one", person=1)
    assert (await stage.mailbox.next()).text == "one"

    def fail(message: discord.Message, *given: object, **more: object) -> None:
        monkeypatch.undo()
        raise ValueError(message.content)

    monkeypatch.setattr(client_module, "message_sent", fail)
    stage.server.say(stage.place, f"{stage.server.mention()} secret words", person=1)
    stage.server.say(stage.place, f"{stage.server.mention()} two", person=1)
    assert (await stage.mailbox.next()).text == "two"

    assert len(stage.server.gateway.identified) == 1 and not stage.listening_ended
    lines = [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
    assert [("MESSAGE_CREATE" in line, "on_message" in line) for line in lines] == [(True, False), (False, True)]
    assert "secret words" not in caplog.text


def _always(body: RawObject) -> Callable[[bool], RawObject]:
    return lambda reads_all: dict(body)


async def test_a_part_that_the_library_cannot_read_is_cut_out_and_the_message_is_heard(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.listen()
    said = stage.server.say(stage.place, f"{stage.server.mention()} hello", person=1)
    await stage.mailbox.next()
    body = stage.server.state.told(stage.server.message(said), True) | {"guild_id": "10"}
    for odd in ({"id": "77", "reactions": [{"emoji": 5}]}, {"id": "78", "embeds": "odd"}):
        stage.server.gateway.publish("MESSAGE_CREATE", _always(body | odd))

    heard = [await stage.mailbox.next(), await stage.mailbox.next()]

    assert [(one.message_id, one.text) for one in heard] == [("77", "hello"), ("78", "hello")]
    lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [line.partition(":")[0] + line.partition(":")[2][:13] for line in lines] == [
        "discord 'reactions' ",
        "discord 'embeds' of ",
    ] and "hello" not in "".join(lines)


async def test_the_proxy_that_the_environment_names_is_used(
    stage: Stage, no_proxy_of_this_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator stands where the proxy does."""
    place = urlsplit(stage.server.base_url)
    monkeypatch.setenv("all_proxy", f"{place.scheme}://{place.netloc}")
    settings = stage.settings(base=f"http://discord.invalid{place.path}")

    # Entering logs in, and the name has no address.
    async with DiscordAdapter(settings, stage.clock) as adapter:
        assert adapter._client.user is not None
