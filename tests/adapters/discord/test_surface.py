"""A reply as people see it in Discord, while it is written and when it is whole."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import discord
import pytest

from adapters.discord.errors import translate
from adapters.discord.limits import CHANNEL_WINDOW, HOOK_WINDOW, LIMITS
from adapters.discord.surface import CALL_SECONDS
from bot.contract.errors import (
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    RightMissing,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
)
from bot.contract.messages import NEXT, File, MessageRef, Page, ReplyTarget, Status
from bot.contract.surface import Surface
from bot.pacing import Pacer
from playground.discord import DiscordServer
from playground.faults import Fault
from tests.adapters.discord.conftest import Stage, Wait
from tests.surfaces import cost_of, show

SEND = "POST /channels/{channel}/messages"
EDIT = "PATCH /channels/{channel}/messages/{message}"
HOOK_EDIT = "PATCH /webhooks/{application}/{token}/messages/{message}"
HOOK_LOOK = "GET /webhooks/{application}/{token}/messages/{message}"
FOLLOW_UP = "POST /webhooks/{application}/{token}"


def channel(reply_to: str | None = None, id: int = 20) -> ReplyTarget:
    return ReplyTarget("discord", {"channel": id, "group": True, "reply_to": int(reply_to) if reply_to else None})


def sent(stage: Stage, method: str) -> list[Any]:
    return [call for call in stage.server.calls if call.name == method]


# Messages of the bot


async def test_a_reply_points_at_its_question_and_grows_in_place(stage: Stage) -> None:
    adapter = await stage.enter()
    asked = stage.server.say(stage.place, "why?", person=1)
    surface = adapter.surface(channel(asked))

    ref = await show(surface, Page("Be**cau"), None, "t1-0")
    same = await show(surface, Page("Be**cause** of _rain_.", final=True), ref)
    await show(surface, Page("And wind.", final=True), None, "t1-1")

    first, second = stage.server.screen.of("20")
    assert same == ref and ref.id == first.id
    assert [version.text for version in first.versions] == ["Becau", "Because of rain."]
    assert (first.reply_to, second.reply_to) == (asked, "")
    assert second.text == "And wind."


async def test_a_reply_is_posted_though_its_question_is_gone(stage: Stage) -> None:
    adapter = await stage.enter()
    asked = stage.server.say(stage.place, "why?", person=1)
    stage.server.delete(asked)

    await show(adapter.surface(channel(asked)), Page("Because.", final=True), None)

    assert stage.said() == ["Because."]


async def test_a_reply_is_posted_where_the_history_may_not_be_read(stage: Stage) -> None:
    adapter = await stage.enter()
    asked = stage.server.say(stage.place, "why?", person=1)
    stage.server.deny(stage.place, "READ_MESSAGE_HISTORY")

    await show(adapter.surface(channel(asked)), Page("Because.", final=True), None)

    assert stage.said() == ["Because."]


async def test_a_page_sent_again_by_another_process_is_one_message_that_shows_the_newer_text(stage: Stage) -> None:
    """The first process died before it knew that its message had arrived; Discord knows it by its nonce."""
    first, second = await stage.enter(), await stage.enter()
    await show(first.surface(channel()), Page("Beca"), None, "t1-0")

    ref = await show(second.surface(channel()), Page("Because.", final=True), None, "t1-0")

    assert stage.said() == ["Because."]
    assert ref.id == stage.server.screen.of("20")[0].id
    bodies = [call.body for call in sent(stage, SEND)]
    assert all(len(body["nonce"]) <= 25 and body["enforce_nonce"] for body in bodies)
    assert bodies[0]["nonce"] == bodies[1]["nonce"]


async def test_each_page_has_a_nonce_of_its_own(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    await show(surface, Page("same", final=True), None, "t1-0")
    await show(surface, Page("same", final=True), None, "t1-1")
    await show(surface, Page("same", final=True), None)
    await show(surface, Page("same", final=True), None)

    assert stage.said() == ["same"] * 4


async def test_an_answer_goes_on_in_a_thread_that_somebody_archives_meanwhile(stage: Stage) -> None:
    """Nothing can be changed in an archived thread: openclaw #111148, discord-api-docs #2855."""
    thread = stage.server.thread(stage.place, "side talk")
    surface = (await stage.enter()).surface(channel(id=int(thread.id)))
    ref = await show(surface, Page("Beca"), None, "t1-0")

    stage.server.archive(thread)
    same = await show(surface, Page("Because"), ref, "t1-0")
    stage.server.archive(thread)
    await show(surface, Page("Because of rain.", final=True), ref, "t1-0")

    said = stage.server.screen.of(thread.id)
    assert same == ref and [one.text for one in said] == ["Because of rain."] and not thread.archived


async def test_a_message_that_is_not_needed_is_deleted_in_an_archived_thread(stage: Stage) -> None:
    thread = stage.server.thread(stage.place, "side talk")
    surface = (await stage.enter()).surface(channel(id=int(thread.id)))
    ref = await show(surface, Page("Beca"), None, "t1-0")

    stage.server.archive(thread)
    await surface.remove(ref)

    assert not stage.server.screen.of(thread.id)


async def test_an_archived_thread_that_is_locked_is_left_and_one_that_does_not_open_now_is_tried_again(
    stage: Stage,
) -> None:
    thread = stage.server.thread(stage.place, "side talk")
    surface = (await stage.enter()).surface(channel(id=int(thread.id)))
    ref = await show(surface, Page("Beca"), None, "t1-0")

    stage.server.archive(thread)
    stage.server.faults.add("PATCH /channels/{channel}", Fault(status=429, body='{"retry_after": 60.0}'))
    with pytest.raises(RateLimited):
        await show(surface, Page("Because", final=True), ref, "t1-0")
    stage.server.archive(thread, locked=True)
    with pytest.raises(Unreachable):
        await show(surface, Page("Because", final=True), ref, "t1-0")

    assert [one.text for one in stage.server.screen.of(thread.id)] == ["Beca"]


async def test_an_answer_with_a_link_that_discord_takes_for_harmful_is_shown_without_links(stage: Stage) -> None:
    """It was lost as a whole: modmailbot #730, discord-api-docs #5328."""
    adapter = await stage.listen()
    stage.server.state.harmful.add("bad.example")
    text = "See [the **page**](https://bad.example/a_b), https://good.example and `https://bad.example/c`."
    shown = "See the page (hxxps://bad[.]example/a_b), hxxps://good[.]example and hxxps://bad[.]example/c."
    surface = adapter.surface(channel())

    ref = await show(surface, Page("See"), None, "t1-0")
    await show(surface, Page(text), ref, "t1-0")
    await show(surface, Page(f"{text} **Mind** it.", final=True), ref, "t1-0")
    answer, _ = await stage.answer_to(adapter)
    await show(answer, Page(text, final=True), None)

    assert stage.said() == [f"{shown} Mind it.", shown]
    assert stage.server.screen.of("20")[0].versions[-1].html.count("<strong>") == 2


async def test_a_deleted_reply_is_noticed_and_can_be_posted_again(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    ref = await show(surface, Page("Because"), None, "t1-0")
    stage.server.delete(ref.id)

    with pytest.raises(MessageGone):
        await show(surface, Page("Because of rain.", final=True), ref, "t1-0")
    await show(surface, Page("Because of rain.", final=True), None, "t1-0")

    assert stage.said() == ["Because of rain."]
    # Nobody knows whether Discord forgets the nonce of a deleted message.
    assert len({call.body["nonce"] for call in sent(stage, SEND)}) == 2


async def test_what_the_tools_do_stands_below_the_text_and_goes(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    ref = await show(surface, Page("", (Status("🔎 Searching *rain*\nhttps://a.example/x"),)), None)
    early = stage.server.message(ref.id).content
    await show(surface, Page("It rains.", (Status("Reading…"), Status("Counting…"))), ref)
    during = stage.server.message(ref.id).content
    await show(surface, Page("It rains.", final=True), ref)

    assert early == "-# 🔎 Searching \\*rain\\* https\\://a.example/x"
    assert during == "It rains.\n-# Reading…\n-# Counting…"
    assert stage.said() == ["It rains."]


async def test_plain_text_is_shown_as_written(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    ref = await show(surface, Page("| a | b |\n| - | - |\n**[x](https://a.example)**", plain=True, final=True), None)

    assert stage.server.message(ref.id).content == "| a | b |\n| - | - |\n**[x](<https://a.example>)**"


@pytest.mark.parametrize("body", ["", " \n", "<!-- nothing -->", "[x]: https://a.example"])
async def test_an_empty_message_is_never_sent(stage: Stage, body: str) -> None:
    surface = (await stage.enter()).surface(channel())

    try:
        await show(surface, Page(body, final=True), None)
    except Unrenderable:
        pass

    assert all(call.body["content"].strip() for call in sent(stage, SEND))
    assert all(call.status == 200 for call in sent(stage, SEND))


async def test_a_page_that_is_too_long_says_by_how_much(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    with pytest.raises(TooLong) as told:
        await show(surface, Page("x" * (LIMITS.hard_length + 10), final=True), None)

    assert told.value.by == 10 and stage.said() == []
    await show(surface, Page("x" * LIMITS.hard_length, final=True), None)
    assert len(stage.said()[0]) == LIMITS.hard_length


HOSTILE = (
    "@everyone @here <@1> <@&30> see https://evil.example/?q=1 or [this](https://evil.example) "
    "![pic](https://evil.example/p.png) <https://ok.example>"
)


@pytest.mark.parametrize("plain", [False, True])
async def test_nobody_is_pinged_and_nothing_is_fetched(stage: Stage, plain: bool) -> None:
    """By no first message, no edit, no answer to a slash command, no later page and no file."""
    adapter = await stage.listen()
    stage.server.role(30, 10, "Readers")
    asked = stage.server.say(stage.place, "why?", person=1)
    stage.server.guild(11, member=False)
    answer, _ = await stage.answer_to(adapter)
    elsewhere, _ = await stage.answer_to(adapter, stage.server.channel(22, 11))

    for surface in (adapter.surface(channel(asked)), answer, elsewhere):
        for number in range(2):
            ref = await show(surface, Page(HOSTILE, plain=plain), None, f"t-{number}")
            await show(surface, Page(HOSTILE + " end.", (Status(HOSTILE),), plain=plain, final=True), ref)
        await surface.attach(File("@everyone.txt", "text/plain", b"x"), ref)

    assert stage.server.pings == [] and stage.server.previews == []
    written = [call.body for call in stage.server.calls if call.method == "POST" and (call.body or {}).get("content")]
    assert written and all(body["flags"] & 1 << 2 for body in written)
    assert all(
        call.body["allowed_mentions"]["parse"] == []
        for call in stage.server.calls
        if call.method in ("POST", "PATCH") and call.body and "content" in call.body
    )


async def test_a_file_follows_the_text(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    ref = await show(surface, Page("Look:", final=True), None, "t1-0")

    await surface.attach(File("plot.png", "image/png", b"PNG"), ref, "t1-f0")
    await surface.attach(File("plot.png", "image/png", b"PNG"), ref, "t1-f0")

    shown = stage.server.screen.of("20")
    assert [one.files for one in shown] == [[], [("plot.png", "image/png", b"PNG")]]


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    with pytest.raises(TooLong) as told:
        await surface.attach(File("big", "text/plain", b"x" * (LIMITS.attachment_bytes + 3)), None)

    assert told.value.by == 3 and sent(stage, SEND) == []


async def test_a_message_is_taken_back_once_and_twice(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    ref = await show(surface, Page("oops", final=True), None)

    await surface.remove(ref)
    await surface.remove(ref)

    assert stage.said() == []


async def test_typing_is_shown_and_its_failure_is_not(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())

    await surface.typing("is thinking…")
    stage.server.deny(stage.place, "SEND_MESSAGES")
    await surface.typing("is thinking…")

    assert [what for _, chat, what in stage.server.screen.notices if chat == "20"] == ["typing"]


async def test_typing_in_one_channel_never_uses_up_what_discord_allows_there(stage: Stage) -> None:
    """With its last call the library would hold the sign back until the window is over."""
    async with DiscordServer(now=stage.clock.monotonic) as strict:
        strict.guild(10)
        strict.channel(20, 10)
        stage.server, pacer = strict, Pacer(stage.clock)
        surface = (await stage.enter()).surface(channel())
        cost = surface.cost(None, None)

        granted = 0
        while granted < 10 and pacer.take(cost):
            granted += 1
        for _ in range(granted if granted < 5 else 0):
            await surface.typing("")

        assert 1 <= granted <= 4
        assert strict.refusals == 0
        await pacer.close()


async def test_nothing_is_reached_where_the_bot_may_not_write(stage: Stage) -> None:
    adapter = await stage.enter()
    server = stage.server
    denied, hidden, direct = server.channel(23, 10), server.channel(24, 10), server.direct(2)
    server.deny(denied, "SEND_MESSAGES")
    server.hide(hidden)
    server.block(2)

    for id in (denied.id, hidden.id, direct.id, "999"):
        with pytest.raises(Unreachable):
            await show(adapter.surface(channel("5", int(id))), Page("hi", final=True), None)
    server.kick(10)
    with pytest.raises(Unreachable):
        await show(adapter.surface(channel()), Page("hi", final=True), None)


@pytest.mark.parametrize(
    ("code", "error", "right"),
    [
        (50001, RightMissing, "View Channel"),
        (50013, RightMissing, "Send Messages"),
        (50007, Unreachable, "A word"),
        (50278, Unreachable, "A word"),
        (160005, Unreachable, "A word"),
        (999_001, Refused, "A word"),
    ],
)
async def test_what_discord_forbids_is_a_right_that_is_missing_unless_others_decide_it(
    stage: Stage, code: int, error: type[DeliveryError], right: str
) -> None:
    """An answer that nobody knows is asked once more before it is taken for one."""
    surface = (await stage.enter()).surface(channel())
    said = f'{{"message": "A word", "code": {code}}}'
    stage.server.faults.add(SEND, Fault(status=403, body=said), 3)

    with pytest.raises(error, match=right) as caught:
        await show(surface, Page("hi", final=True), None)
    with pytest.raises(DeliveryError) as of_file:
        await surface.attach(File("a.txt", "text/plain", b"x"), None)

    assert type(caught.value) is error and type(of_file.value) is error
    if isinstance(caught.value, Refused):
        assert isinstance(caught.value.lasting, RightMissing)


async def test_a_refused_token_may_be_one_odd_answer(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    stage.server.faults.add(SEND, Fault(status=401, body='{"message": "401: Unauthorized", "code": 0}'))

    with pytest.raises(Refused, match="DISCORD_BOT_TOKEN") as caught:
        await show(surface, Page("hi", final=True), None)

    assert isinstance(caught.value.lasting, RightMissing)


async def test_a_call_that_is_never_answered_ends_after_a_minute(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    never = stage.server.faults.add(SEND, Fault(hold=asyncio.Event()))

    showing = asyncio.create_task(show(surface, Page("hi", final=True), None))
    await never.reached.wait()
    await stage.clock.advance(CALL_SECONDS)

    with pytest.raises(Unclear):
        await showing


async def test_a_long_pause_comes_back_instead_of_being_slept_through(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    stage.server.faults.add(SEND, Fault(status=429, retry_after=40.0))

    with pytest.raises(RateLimited) as told:
        await show(surface, Page("hi", final=True), None)

    assert told.value.retry_after == 40.0


async def test_an_outcome_nobody_knows_is_called_so(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    for fault in (Fault(status=503), Fault(drop="after")):
        stage.server.faults.add(SEND, fault)

        with pytest.raises(Unclear):
            await show(surface, Page("hi", final=True), None, "t1-0")
    await show(surface, Page("hi", final=True), None, "t1-0")

    assert stage.said() == ["hi"]


async def test_a_connection_that_was_never_made_did_not_send_anything(stage: Stage) -> None:
    surface = (await stage.enter()).surface(channel())
    await stage.server.__aexit__(None, None, None)
    # The connection of the login is still open: that it is dead shows only when it is used.
    await surface.typing("is thinking…")

    with pytest.raises(DeliveryError) as told:
        await show(surface, Page("hi", final=True), None)

    assert type(told.value) is DeliveryError


def test_an_error_of_the_library_is_a_failed_delivery_and_one_of_reading_the_answer_leaves_open_whether() -> None:
    assert type(translate(discord.DiscordException("?"))) is DeliveryError
    for error in (KeyError("id"), discord.InvalidData("?"), TimeoutError()):
        assert type(translate(error)) is Unclear


async def test_the_library_never_sleeps_when_the_budget_is_kept(stage: Stage) -> None:
    """Progress leaves one call of every window unspent: with the last one the library returns late."""
    async with DiscordServer(now=stage.clock.monotonic) as strict:
        strict.guild(10)
        strict.channel(20, 10)
        strict.person(1)
        stage.server = strict
        adapter = await stage.listen()
        answer, _ = await stage.answer_to(adapter, strict.state.channels["20"])
        ordinary = adapter.surface(channel())

        for surface in (ordinary, answer):
            ref = None
            for number in range(3):
                post, edit = cost_of(surface, Page("x"), None), cost_of(surface, Page("x"), ref)
                windows = {post.budgets[0].windows[0], edit.budgets[0].windows[0]}
                assert windows <= {HOOK_WINDOW, CHANNEL_WINDOW}
                ref = await show(surface, Page(f"text {number}"), ref, "t1-0")
            await show(surface, Page("text 3"), ref)

        buckets = adapter._client.http._buckets.values()
        assert all(bucket.remaining >= 1 for bucket in buckets if bucket.limit > 1)
        assert strict.refusals == 0


# Answers to slash commands


async def test_the_answer_takes_the_place_of_thinking_and_grows(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)

    ref = await show(surface, Page("Be**cau"), None, "t1-0")
    await show(surface, Page("Be**cause**.", final=True), ref)

    shown = stage.server.screen.of("20")
    assert [version.text for version in shown[0].versions] == ["Becau", "Because."]
    assert len(shown) == 1 and not shown[0].live and ref.id == shown[0].id
    assert surface.limits.typing_seconds == 0
    assert cost_of(surface, Page("x"), ref).repeats_safely and cost_of(surface, Page("x"), None).repeats_safely


async def test_the_answer_to_a_command_is_paced_by_its_own_calls_alone(stage: Stage) -> None:
    """Twenty of them a second: each shows its first words as soon as they can be read, as if it were alone. One whose
    token has ended is a message, and shares the calls of all."""
    surface, _ = await stage.answer_to(await stage.listen())
    pacer = Pacer(stage.clock)
    drawn = surface.draw(Page("x"))
    budgets = (*surface.cost(drawn, None).budgets, *surface.cost(drawn, MessageRef("", NEXT)).budgets)
    assert len(set(budgets)) == 1 and not budgets[0].shared

    for number in range(100):
        of_one = tuple(replace(budget, scope=f"{budget.scope}{number}") for budget in budgets[:1])
        reader = pacer.enter(of_one)
        assert pacer.lasts(reader, "Green tea in Kyoto ")
        await stage.clock.advance(0.05)
    stage.clock.started += 900.0
    assert any(budget.shared for budget in surface.cost(drawn, MessageRef("", NEXT)).budgets)
    await pacer.close()


async def test_a_reply_waits_until_its_command_is_acknowledged(stage: Stage, wait: Wait) -> None:
    """Written earlier, it would find no answer slot, and "thinking…" would stand for ever."""
    server = stage.server
    adapter = await stage.listen()
    held = asyncio.Event()
    callback = server.faults.add("POST /interactions/{id}/{token}/callback", Fault(hold=held))
    server.slash("ask", {"question": "why?"}, stage.place, 1)
    surface = adapter.surface((await stage.mailbox.next()).target)
    await callback.reached.wait()

    showing = asyncio.create_task(show(surface, Page("Because.", final=True), None))
    await stage.clock.settle()
    held.set()
    await showing

    assert stage.said() == ["Because."]
    assert [call.status for call in sent(stage, HOOK_EDIT)] == [200]


async def test_later_pages_are_messages_that_can_be_repeated(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)

    await show(surface, Page("one", final=True), None, "t1-0")
    repeatable = cost_of(surface, Page("two"), None).repeats_safely
    ref = await show(surface, Page("two"), None, "t1-1")
    await show(surface, Page("two!", final=True), ref)

    assert stage.said() == ["one", "two!"]
    assert repeatable and sent(stage, SEND)[0].body["enforce_nonce"]


async def test_where_the_bot_is_no_member_later_pages_are_follow_ups_and_there_are_five(stage: Stage) -> None:
    server = stage.server
    adapter = await stage.listen()
    server.guild(11, "Elsewhere", member=False)
    surface, target = await stage.answer_to(adapter, server.channel(22, 11))

    await show(surface, Page("0", final=True), None, "t1-0")
    repeatable = cost_of(surface, Page("1"), None).repeats_safely
    for number in range(1, 6):
        ref = await show(surface, Page(f"{number}"), None, f"t1-{number}")
        await show(surface, Page(f"{number}.", final=True), ref)
    with pytest.raises(Unreachable):
        await show(surface, Page("6", final=True), None, "t1-6")

    assert not repeatable and not target.lasts
    assert stage.said("22") == ["0", "1.", "2.", "3.", "4.", "5."]
    assert sent(stage, SEND) == []


async def test_a_follow_up_that_may_have_arrived_is_not_made_again_by_the_library(stage: Stage) -> None:
    """A gateway's timeout does not say whether Discord acted, and follow-ups carry nothing to recognise them by."""
    adapter = await stage.listen()
    stage.server.guild(11, "Elsewhere", member=False)
    surface, _ = await stage.answer_to(adapter, stage.server.channel(22, 11))
    await show(surface, Page("0", final=True), None, "t1-0")
    stage.server.faults.add(FOLLOW_UP, Fault(status=504))

    with pytest.raises(Unclear):
        await show(surface, Page("1", final=True), None, "t1-1")

    assert len(sent(stage, FOLLOW_UP)) == 1


async def test_where_the_channel_is_closed_to_the_bot_later_pages_are_follow_ups(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    stage.server.deny(stage.place, "SEND_MESSAGES")

    await show(surface, Page("one", final=True), None, "t1-0")
    await show(surface, Page("two", final=True), None, "t1-1")

    assert stage.said() == ["one", "two"]


@pytest.mark.parametrize("known", [True, False], ids=["by our clock", "by Discord's refusal"])
async def test_after_fifteen_minutes_the_answer_goes_on_as_a_message(stage: Stage, known: bool) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    ref = await show(surface, Page("Beca"), None, "t1-0")
    stage.clock.now += 901
    if not known:
        stage.clock.started -= 901

    await show(surface, Page("Because", final=True), ref)
    await show(surface, Page("of rain", final=True), None, "t1-1")

    assert stage.said() == ["Because", "of rain"]
    assert [call.status for call in sent(stage, HOOK_EDIT)] == ([200] if known else [200, 401])


async def test_after_fifteen_minutes_of_thinking_the_answer_is_a_message(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    stage.clock.now += 901

    await show(surface, Page("Because", final=True), None, "t1-0")

    assert stage.said()[-1] == "Because"


async def test_after_fifteen_minutes_where_the_bot_is_no_member_nothing_can_be_said(stage: Stage) -> None:
    adapter = await stage.listen()
    stage.server.guild(11, member=False)
    surface, _ = await stage.answer_to(adapter, stage.server.channel(22, 11))
    ref = await show(surface, Page("Beca"), None)
    stage.clock.now += 901

    for at in (ref, None):
        with pytest.raises(Unreachable):
            await show(surface, Page("Because", final=True), at)


async def test_a_command_that_could_not_be_acknowledged_is_answered_as_a_message(stage: Stage, wait: Wait) -> None:
    server = stage.server
    adapter = await stage.listen()
    stage.mailbox.held["why?"] = stored = asyncio.Event()
    made = server.slash("ask", {"question": "why?"}, stage.place, 1)
    await wait(lambda: stage.clock._sleepers)
    # The whole process stood still for four seconds.
    stage.clock.now += 4
    stored.set()
    surface = adapter.surface((await stage.mailbox.next()).target)
    await wait(adapter._slots[int(made.id)].begun.is_set)

    await show(surface, Page("Because", final=True), None, "t1-0")

    assert made.answered == 0 and stage.said() == ["Because"]


@pytest.mark.parametrize("known", [True, False])
async def test_commands_acknowledged_too_late_are_answered_within_the_budget_of_messages(
    stage: Stage, wait: Wait, known: bool
) -> None:
    """Discord allows a bot fifty calls a second, whether or not it was known by then that there is no answer slot."""
    async with DiscordServer(now=stage.clock.monotonic) as strict:
        strict.guild(10)
        stage.server, pacer = strict, Pacer(stage.clock)
        places = [strict.channel(number, 10) for number in range(100, 160)]

        async def answer(surface: Surface) -> None:
            while True:
                cost = cost_of(surface, Page("Because"), None)
                while not pacer.take(cost):
                    await stage.clock.sleep(0.1)
                try:
                    await show(surface, Page("Because"), None, "t1-0")
                    return
                except RateLimited:
                    raise
                except DeliveryError:
                    continue
                finally:
                    pacer.answered(cost)

        strict.person(1)
        adapter = await stage.listen()
        stage.mailbox.held["why?"] = stored = asyncio.Event()
        asked = [strict.slash("ask", {"question": "why?"}, place, 1) for place in places]
        await wait(lambda: len(stage.clock._sleepers) == len(asked))
        # The whole process stood still for four seconds.
        stage.clock.now += 4
        stored.set()
        surfaces = [adapter.surface((await stage.mailbox.next()).target) for _ in asked]
        if known:
            await wait(lambda: all(slot.begun.is_set() for slot in adapter._slots.values()))
        answering = asyncio.gather(*(answer(surface) for surface in surfaces))
        while not answering.done():
            await stage.clock.advance(0.01)
        await answering

        assert strict.refusals == 0
        assert all(stage.said(place.id) == ["Because"] for place in places)
        await pacer.close()


async def test_another_process_goes_on_with_the_answer_from_stored_data_alone(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    ref = await show(surface, Page("Beca"), None, "t1-0")
    stored, at = target.to_json(), MessageRef.from_json(ref.to_json())
    again = (await stage.enter()).surface(ReplyTarget.from_json(stored))

    await show(again, Page("Because"), at)
    await show(again, Page("of rain", final=True), None, "t1-1")

    assert stage.said() == ["Because", "of rain"]


async def test_another_process_finds_the_answer_whose_arrival_nobody_noted(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    await show(surface, Page("Beca"), None, "t1-0")
    again = (await stage.enter()).surface(target)

    found = await again.find("t1-0")
    await show(again, Page("Because", final=True), found, "t1-0")

    assert found is not None and stage.said() == ["Because"]


async def test_another_process_writes_into_an_answer_that_was_only_begun(stage: Stage) -> None:
    adapter = await stage.listen()
    _, target = await stage.answer_to(adapter)
    again = (await stage.enter()).surface(target)

    assert await again.find("t1-0") is None
    await show(again, Page("Because", final=True), None, "t1-0")

    assert stage.said() == ["Because"]


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_comes_later_to_the_same_place_does_not_overwrite_the_answer(stage: Stage, restarted: bool) -> None:
    """A reminder that a slash command set, within the quarter of an hour."""
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    await show(surface, Page("I will remind you.", final=True), None, "t1-0")
    later = (await stage.enter() if restarted else adapter).surface(target)

    await show(later, Page("Tea!", final=True), None, "t2-0")

    assert stage.said() == ["I will remind you.", "Tea!"]


async def test_a_command_delivered_again_does_not_open_its_answer_again(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    await show(surface, Page("Because", final=True), None, "t1-0")
    stage.server.redeliver(str(target.data["interaction"]))
    await stage.mailbox.next()

    await show(adapter.surface(target), Page("later", final=True), None, "t2-0")

    assert stage.said() == ["Because", "later"]


async def test_a_deleted_answer_is_posted_again_as_a_message(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    ref = await show(surface, Page("Beca"), None, "t1-0")
    stage.server.delete(ref.id)

    with pytest.raises(MessageGone):
        await show(surface, Page("Because", final=True), ref)
    await show(surface, Page("Because", final=True), None, "t1-0")
    await show((await stage.enter()).surface(target), Page("Once more", final=True), None, "t3-0")

    assert stage.said() == ["Because", "Once more"]


async def test_thinking_that_somebody_deleted_does_not_swallow_the_answer(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    stage.server.delete(stage.server.screen.of("20")[0].id)

    await show(surface, Page("Because", final=True), None, "t1-0")

    assert stage.said() == ["Because"]


async def test_a_file_alone_takes_the_place_of_thinking(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)

    await surface.attach(File("a.txt", "text/plain", b"a"), None, "t1-f0")
    await surface.attach(File("b.txt", "text/plain", b"b"), None, "t1-f1")

    shown = stage.server.screen.of("20")
    assert [one.files[0][0] for one in shown] == ["a.txt", "b.txt"] and not shown[0].live


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_private_answer_to_a_question_that_all_saw_takes_thinking_away(stage: Stage, restarted: bool) -> None:
    adapter = await stage.listen()
    _, target = await stage.answer_to(adapter)
    private = ReplyTarget("discord", {**target.data, "private": True})

    for page in ("not for all", "nor this"):
        await show((await stage.enter() if restarted else adapter).surface(private), Page(page, final=True), None)

    shown = stage.server.screen.of("20")
    assert [(one.text, one.ephemeral) for one in shown] == [("not for all", True), ("nor this", True)]


async def test_a_file_of_a_private_answer_is_seen_by_who_asked_alone(stage: Stage) -> None:
    adapter = await stage.listen()
    _, target = await stage.answer_to(adapter)
    private = adapter.surface(ReplyTarget("discord", {**target.data, "private": True}))

    ref = await show(private, Page("not for all", final=True), None)
    await private.attach(File("a.txt", "text/plain", b"a"), ref, "t1-f0")

    assert [one.ephemeral for one in stage.server.screen.of("20")] == [True, True]


async def test_a_private_answer_leaves_what_a_former_process_has_written_for_all(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    await show(surface, Page("for all", final=True), None)
    private = ReplyTarget("discord", {**target.data, "private": True})

    await show((await stage.enter()).surface(private), Page("not for all", final=True), None)

    shown = stage.server.screen.of("20")
    assert [(one.text, one.ephemeral) for one in shown] == [("for all", False), ("not for all", True)]


async def test_where_the_answer_of_a_command_is_unknown_to_discord_it_is_a_message(stage: Stage) -> None:
    adapter = await stage.listen()
    _, target = await stage.answer_to(adapter)
    body = '{"code": 10015, "message": "Unknown Webhook"}'
    stage.server.faults.add(HOOK_LOOK, Fault(status=404, body=body), times=2)
    surface = (await stage.enter()).surface(target)

    assert await surface.find("n") is None
    await show(surface, Page("Because", final=True), None)

    assert stage.said()[-1] == "Because"
    assert [call.name for call in stage.server.calls][-1] == SEND


@pytest.mark.parametrize(("status", "code"), [(404, 10015), (401, 50027)])
async def test_an_answer_that_discord_does_not_know_yet_is_tried_again_in_its_place(
    stage: Stage, status: int, code: int
) -> None:
    """For some seconds Discord may not know what it has acknowledged: discord-api-docs #7220 and #6851."""
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    fault = Fault(status=status, body=f'{{"code": {code}, "message": "Unknown Webhook"}}')
    stage.server.faults.add(HOOK_EDIT, fault)

    with pytest.raises(DeliveryError) as caught:
        await show(surface, Page("Because", final=True), None)
    await show(surface, Page("Because", final=True), None)

    assert type(caught.value) is DeliveryError
    assert stage.said() == ["Because"] and not sent(stage, SEND)

    await stage.clock.advance(20.0)
    surface, _ = await stage.answer_to(adapter, question="and now?")
    await stage.clock.advance(20.0)
    stage.server.faults.add(HOOK_EDIT, fault)
    await show(surface, Page("For good", final=True), None)
    assert stage.said()[-1] == "For good" and len(sent(stage, SEND)) == 1


@pytest.mark.parametrize("known", [False, True], ids=["Discord says so", "the clock says so"])
async def test_an_answer_whose_token_has_ended_is_found_in_its_channel(stage: Stage, known: bool) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    stage.server.say(stage.place, "before", person=1)
    await show(surface, Page("Beca"), None, "t1-0")
    if known:
        target = ReplyTarget("discord", {**target.data, "until": stage.clock.wall()})
    else:
        body = '{"code": 50027, "message": "Invalid Webhook Token"}'
        stage.server.faults.add(HOOK_LOOK, Fault(status=401, body=body), times=1)
    again = (await stage.enter()).surface(target)

    found = await again.find("t1-0")
    await show(again, Page("Because", final=True), found, "t1-0")

    assert found is not None and stage.said()[-1] == "Because" and "Beca" not in stage.said()
    assert await again.find("t1-1") is None, "the next page stands nowhere yet"


async def test_what_only_one_person_sees_is_not_looked_for_in_the_channel(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, target = await stage.answer_to(adapter)
    await show(surface, Page("Beca"), None, "t1-0")
    ended = ReplyTarget("discord", {**target.data, "until": stage.clock.wall(), "private_answer": True})

    assert await (await stage.enter()).surface(ended).find("t1-0") is None


async def test_a_message_that_waits_is_marked_and_unmarked(stage: Stage) -> None:
    adapter = await stage.enter()
    asked = stage.server.say(stage.place, "why?", person=1)
    surface = adapter.surface(channel(asked))

    await surface.receipt(asked, True)
    marked = dict(stage.server.message(asked).reactions)
    await surface.receipt(asked, False)

    assert (list(marked), stage.server.message(asked).reactions) == (["👀"], {})
    stage.server.delete(asked)
    with pytest.raises(MessageGone):
        await surface.receipt(asked, True)


async def test_a_page_that_discord_finds_too_long_is_to_be_shorter(stage: Stage) -> None:
    too_long = {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}
    body = {"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": [too_long]}}}
    stage.server.faults.add(SEND, Fault(status=400, body=json.dumps(body)))

    with pytest.raises(TooLong) as caught:
        await show((await stage.enter()).surface(channel()), Page("x", final=True), None)

    assert caught.value.by > 0


async def test_an_answer_is_taken_back(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    ref = await show(surface, Page("oops", final=True), None)

    await surface.remove(ref)
    await surface.remove(ref)
    await surface.typing("is thinking…")

    assert stage.said() == []
    assert "typing" not in [what for _, _, what in stage.server.screen.notices]


async def test_thinking_is_taken_back_where_nothing_is_to_be_said(stage: Stage) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)

    await surface.remove(MessageRef("@original", "original"))

    assert stage.server.screen.of("20") == []
