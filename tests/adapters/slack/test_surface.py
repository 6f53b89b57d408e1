"""A reply on the emulated Slack: what people see of it, and what each failure becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.adapter import SlackAdapter, open_adapter
from adapters.slack.limits import LIMITS, LOOK_HISTORY_WINDOW, LOOK_REPLIES_WINDOW, RESPONSE_USES
from adapters.slack.surface import SlackSurface
from bot.contract.clock import SystemClock
from bot.contract.errors import (
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    RightMissing,
    TooLong,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
)
from bot.contract.messages import File, MessageRef, Page, ReplyTarget, Status
from bot.contract.surface import Surface
from bot.pacing import Purpose
from bot.pacing.pacer import Pacer
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from bot.reply.typingsign import TYPING_AFTER, TypingSign
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import direct_target, settings_of, thread_target, until
from tests.conftest import FakeClock
from tests.surfaces import cost_of, show

ANSWER = "An answer with `code`, **weight** and <angles> & signs."


def command_target(server: SlackServer, channel: str = "C2") -> ReplyTarget:
    """Where the answer to a command goes that was typed where the bot is no member."""
    url = server.command("/parley", "why?", channel, "U1").payload["response_url"]
    return ReplyTarget(
        "slack",
        {
            "team": server.team_id,
            "channel": channel,
            "thread": "",
            "user": "U1",
            "asked": "",
            "response_url": url,
            "until": FakeClock().wall() + 1_700,
            "lasts": False,
        },
    )


@pytest.fixture
def surface(slack: SlackServer, adapter: SlackAdapter) -> Surface:
    return adapter.surface(thread_target(slack))


async def test_a_page_is_posted_into_the_thread_and_edited_in_place(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("An answer"), None, "t1-0")
    at = await show(surface, Page("An answer with **we", status=(Status("looking <up>"),)), at)
    await show(surface, Page(ANSWER, final=True), at)

    (shown,) = slack.screen.of("C1")
    assert [version.text for version in shown.versions] == [
        "An answer",
        "An answer with we\n\nlooking <up>",
        "An answer with code, weight and <angles> & signs.",
    ]
    assert "<i>looking &lt;up&gt;</i>" in shown.versions[1].html
    assert shown.thread == slack.screen.of("C1", author="U1")[0].id


async def test_a_status_is_read_as_it_was_meant(slack: SlackServer, surface: Surface) -> None:
    await show(surface, Page("", (Status("find_files in *.py & ~/src"), Status("run `ls`"))), None)

    (shown,) = slack.screen.of("C1")
    assert shown.text.replace("\u200b", "") == "find_files in *.py & ~/src\nrun ‵ls‵"


async def test_the_answer_to_a_direct_message_stands_beside_it(slack: SlackServer, adapter: SlackAdapter) -> None:
    surface = adapter.surface(direct_target(slack))
    await show(surface, Page("hello"), None)
    await surface.typing("is thinking…")

    (shown,) = slack.screen.of(slack.direct("U1"))
    assert (shown.text, shown.thread) == ("hello", "")
    assert surface.limits.typing_seconds == 0
    assert "assistant.threads.setStatus" not in [call.method for call in slack.calls]


async def test_nobody_is_called_and_nothing_is_fetched(slack: SlackServer, surface: Surface) -> None:
    """Neither by the first post nor by an edit, neither by notation nor by a bare name."""
    hostile = (
        "<!channel> <@U1> @here @ann https://evil.example/?q=1 ![x](https://evil.example/x.png) [a](https://b.example)"
    )

    at = await show(surface, Page("first " + hostile), None)
    at = await show(surface, Page("second " + hostile), at)
    await show(surface, Page(hostile, final=True, plain=True), at)

    assert slack.pings == []
    assert slack.previews == []


async def test_a_status_stands_in_the_thread_until_the_first_words(slack: SlackServer, surface: Surface) -> None:
    thread = slack.screen.of("C1", author="U1")[0].id

    await surface.typing("正在思考…")
    before = slack.status("C1", thread)
    await show(surface, Page("words"), None)

    assert (before, slack.status("C1", thread)) == ("正在思考…", "")
    assert surface.limits.typing_seconds > 0


async def test_a_status_that_arrives_after_the_first_words_does_not_stay(
    slack: SlackServer, surface: Surface, clock: FakeClock
) -> None:
    """Slack removes a status with the next message, and keeps one that comes later: hermes-agent #24117."""
    thread = slack.screen.of("C1", author="U1")[0].id
    hold = asyncio.Event()
    late = slack.faults.add("assistant.threads.setStatus", Fault(hold=hold))
    sign = TypingSign(surface=surface, pacer=Pacer(clock), clock=clock, words="is thinking…")

    sign.begin(lambda: True, "typing")
    await clock.advance(TYPING_AFTER)
    await late.reached.wait()
    await show(surface, Page("Words.", final=True), None)
    hold.set()
    await until(lambda: slack.status("C1", thread))
    await sign.close()

    assert slack.status("C1", thread) == ""


async def test_a_status_that_is_refused_is_not_tried_again(slack: SlackServer, surface: Surface) -> None:
    slack.scopes.difference_update({"chat:write", "assistant:write"})

    await surface.typing("is thinking…")
    await surface.typing("is thinking…")

    assert [call.method for call in slack.calls].count("assistant.threads.setStatus") == 1


async def test_text_that_grows_by_escaping_is_refused_before_it_is_sent(slack: SlackServer, surface: Surface) -> None:
    before = len(slack.calls)

    with pytest.raises(TooLong) as caught:
        await show(surface, Page("<" * (LIMITS.hard_length // 4 + 100), plain=True), None)

    assert caught.value.by == 100  # of the page; as escaped it is 400 too long
    assert len(slack.calls) == before


async def test_a_page_as_long_as_allowed_can_be_edited(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("x"), None)
    await show(surface, Page("x" * LIMITS.hard_length, final=True), at)

    assert len(slack.screen.of("C1")[0].text) == LIMITS.hard_length


async def test_a_page_that_is_only_the_beginning_of_something_is_shown_as_it_stands(
    slack: SlackServer, surface: Surface
) -> None:
    await show(surface, Page("**"), None)

    assert [shown.text for shown in slack.screen.of("C1")] == ["**"]


async def test_a_message_that_waits_is_marked_once_and_unmarked_once(slack: SlackServer, adapter: SlackAdapter) -> None:
    target = thread_target(slack)
    surface, asked = adapter.surface(target), str(target.data["asked"])

    for waits in (True, True, False, False):
        await surface.receipt(asked, waits)
    slack.delete("C1", asked)

    with pytest.raises(MessageGone):
        await surface.receipt(asked, True)
    assert [words for _, _, words in slack.screen.notices] == ["reaction::eyes:", "reaction removed::eyes:"]


async def test_without_the_scope_for_reactions_no_message_is_marked(slack: SlackServer, surface: Surface) -> None:
    assert surface.receipt_cost(True) != surface.receipt_cost(False)
    slack.scopes.discard("reactions:write")

    async with open_adapter(settings_of(slack)) as adapter:
        assert adapter.surface(thread_target(slack)).receipt_cost(True) is None


async def test_a_deleted_message_is_gone(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("x"), None)
    slack.delete("C1", at.id)

    with pytest.raises(MessageGone):
        await show(surface, Page("xy"), at)


async def test_taking_back_what_is_gone_already_is_no_error(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("x"), None)

    await surface.remove(at)
    await surface.remove(at)

    assert slack.screen.of("C1") == []


async def test_a_pause_is_asked_for_by_the_method_that_was_refused(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("x"), None)
    slack.faults.add("chat.update", Fault(status=429, retry_after=7))
    slack.faults.add("chat.postMessage", Fault(status=429, retry_after=9))

    with pytest.raises(RateLimited) as update:
        await show(surface, Page("xy"), at)
    with pytest.raises(RateLimited) as post:
        await show(surface, Page("xy"), None)

    assert (update.value.retry_after, update.value.scope) == (7, f"slack:{slack.team_id}/chat.update")
    assert (post.value.retry_after, post.value.scope) == (9, f"slack:{slack.team_id}/channel/C1/post")
    assert update.value.scope in {budget.scope for budget in cost_of(surface, Page("x"), at).budgets}
    assert post.value.scope in {budget.scope for budget in cost_of(surface, Page("x"), None).budgets}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(status=503), Unclear),
        (Fault(status=500, body='{"ok": false, "error": "internal_error"}'), Unclear),
        (Fault(status=200, body='{"ok": false, "error": "fatal_error"}'), Unclear),
        (Fault(status=200, body="no json", headers={"Content-Type": "application/json"}), Unclear),
        (Fault(drop="before"), Unclear),
        (Fault(drop="after"), Unclear),
        (Fault(status=200, body='{"ok": false, "error": "is_archived"}'), Unreachable),
        (Fault(status=200, body='{"ok": false, "error": "token_revoked"}'), Refused),
        (Fault(status=200, body='{"ok": false, "error": "missing_scope"}'), RightMissing),
        (Fault(status=200, body='{"ok": false, "error": "edit_window_closed"}'), Uneditable),
        (Fault(status=200, body='{"ok": false, "error": "restricted_action_thread_locked"}'), Unreachable),
        (Fault(status=200, body='{"ok": false, "error": "restricted_action_of_next_year"}'), Unreachable),
        (Fault(status=200, body='{"ok": false, "error": "msg_too_long"}'), TooLong),
        (Fault(status=200, body='{"ok": false, "error": "no_text"}'), Unrenderable),
        (Fault(status=200, body='{"ok": false, "error": "something_new"}'), Refused),
    ],
)
async def test_every_failure_of_a_post_is_named_for_what_helps(
    slack: SlackServer, surface: Surface, fault: Fault, expected: type[DeliveryError]
) -> None:
    slack.faults.add("chat.postMessage", fault)

    with pytest.raises(DeliveryError) as caught:
        await show(surface, Page("x"), None)

    assert type(caught.value) is expected
    assert [call.method for call in slack.calls].count("chat.postMessage") == 1


async def test_without_a_connection_nothing_arrived_and_it_may_be_tried_again(slack: SlackServer) -> None:
    async with aiohttp.ClientSession() as session:
        web = AsyncWebClient(base_url="http://127.0.0.1:1/api/", session=session, retry_handlers=[])
        surface = SlackSurface(web, session, thread_target(slack), SystemClock())

        with pytest.raises(DeliveryError) as caught:
            await show(surface, Page("x"), None)

    assert type(caught.value) is DeliveryError


async def test_only_a_post_must_not_be_repeated_blindly(surface: Surface) -> None:
    assert not cost_of(surface, Page("x"), None).repeats_safely
    assert cost_of(surface, Page("x"), MessageRef("1.2")).repeats_safely


@pytest.mark.parametrize("place", [thread_target, direct_target])
async def test_a_post_that_lost_its_answer_is_found(
    slack: SlackServer, adapter: SlackAdapter, place: Callable[[SlackServer], ReplyTarget]
) -> None:
    target = place(slack)
    surface = adapter.surface(target)
    slack.faults.add("chat.postMessage", Fault(drop="after"))
    with pytest.raises(Unclear):
        await show(surface, Page("hello"), None, "turn-7-0")

    found = await surface.find("turn-7-0")

    assert found is not None
    assert found.id == slack.screen.of(str(target.data["channel"]))[0].id
    assert await surface.find("turn-7-1") is None


async def test_a_commands_answer_that_lost_its_way_is_found_in_the_channel(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    surface = adapter.surface(command_target(slack, "C1"))
    slack.faults.add("chat.postMessage", Fault(drop="after"))
    with pytest.raises(Unclear):
        await show(surface, Page("hello"), None, "turn-7-0")

    found = await surface.find("turn-7-0")

    assert found is not None and found.id == slack.screen.of("C1")[0].id


async def test_a_post_that_never_arrived_is_not_found(slack: SlackServer, surface: Surface) -> None:
    slack.faults.add("chat.postMessage", Fault(drop="before"))
    with pytest.raises(Unclear):
        await show(surface, Page("hello"), None, "turn-7-0")

    assert await surface.find("turn-7-0") is None


async def test_a_long_thread_is_looked_through_to_its_end(slack: SlackServer, adapter: SlackAdapter) -> None:
    target = thread_target(slack)
    for number in range(130):
        slack.say("C1", f"chatter {number}", person="U1", thread_ts=str(target.data["thread"]))
    surface = adapter.surface(target)
    at = await show(surface, Page("hello"), None, "n")

    assert await surface.find("n") == at


async def test_without_the_scope_to_read_nothing_can_be_known(slack: SlackServer, surface: Surface) -> None:
    slack.scopes.difference_update({"channels:history", "groups:history", "im:history"})

    assert await surface.find("n") is None
    assert [call.method for call in slack.calls].count("conversations.replies") == 1


async def test_a_whole_answer_is_posted_at_once_only_where_its_post_can_be_looked_up(slack: SlackServer) -> None:
    page = Page("An answer", final=True)
    async with open_adapter(settings_of(slack)) as adapter:
        assert cost_of(adapter.surface(thread_target(slack)), page, None).found_again
    slack.scopes.discard("channels:history")

    async with open_adapter(settings_of(slack)) as adapter:
        assert not cost_of(adapter.surface(thread_target(slack)), page, None).found_again
        assert cost_of(adapter.surface(direct_target(slack)), page, None).found_again


async def test_a_look_that_slack_does_not_answer_is_not_taken_for_a_no(
    slack: SlackServer, surface: Surface, clock: FakeClock
) -> None:
    slack.faults.add("conversations.replies", Fault(status=500), times=4)

    looking = asyncio.create_task(surface.find("n"))
    for pause in (0.5, 1.0, 2.0):
        await clock.sleeper()
        await clock.advance(pause)

    with pytest.raises(DeliveryError):
        await looking


@pytest.mark.parametrize("place", [thread_target, direct_target])
async def test_of_many_posts_of_unknown_outcome_no_more_are_looked_up_than_slack_allows_and_the_others_later(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, place: Callable[[SlackServer], ReplyTarget]
) -> None:
    surfaces = [adapter.surface(place(slack)) for _ in range(60)]

    first = await asyncio.gather(*(surface.find("n") for surface in surfaces), return_exceptions=True)
    await clock.advance(60.0)
    later = await surfaces[-1].find("n")

    assert type(first[-1]) is DeliveryError and later is None
    assert first.count(None) in (LOOK_REPLIES_WINDOW.calls, LOOK_HISTORY_WINDOW.calls)
    assert slack.refusals == 0


async def test_a_refused_look_is_not_repeated_before_slack_says(slack: SlackServer, surface: Surface) -> None:
    slack.faults.add("conversations.replies", Fault(status=429, retry_after=7))

    for _ in range(2):
        with pytest.raises(DeliveryError):
            await surface.find("n")

    assert [call.method for call in slack.calls].count("conversations.replies") == 1


async def test_another_process_goes_on_with_the_same_message(slack: SlackServer, adapter: SlackAdapter) -> None:
    """All that is kept is the target and the ref, as they are stored."""
    target = thread_target(slack)
    at = await show(adapter.surface(target), Page("An ans"), None)
    target_json, ref_json = target.to_json(), at.to_json()

    async with open_adapter(settings_of(slack)) as another:
        surface = another.surface(ReplyTarget.from_json(target_json))
        await show(surface, Page("An answer", final=True), MessageRef.from_json(ref_json))

    (shown,) = slack.screen.of("C1")
    assert [version.text for version in shown.versions] == ["An ans", "An answer"]


async def test_a_file_is_posted_into_the_thread(slack: SlackServer, surface: Surface) -> None:
    ref = await surface.attach(File("plot.png", "image/png", b"\x89PNG"), None)

    (shown,) = slack.screen.of("C1")
    assert shown.files == [("plot.png", "image/png", b"\x89PNG")]
    assert shown.thread
    assert ref.form == "file"


async def test_a_deleted_question_ends_its_reply_quietly(slack: SlackServer, adapter: SlackAdapter) -> None:
    target = thread_target(slack)
    slack.delete("C1", str(target.data["thread"]))

    with pytest.raises(Unreachable):
        await show(adapter.surface(target), Page("x"), None)


# Where a command was typed and the bot is no member


async def test_a_command_is_answered_where_the_bot_is_no_member(slack: SlackServer, adapter: SlackAdapter) -> None:
    """One early post and one replacement; what lies between is not shown and costs no use."""
    surface = adapter.surface(command_target(slack))

    at = await show(surface, Page("An"), None)
    for text in ("An answer", "An answer grows", "An answer grows and"):
        at = await show(surface, Page(text), at)
    await show(surface, Page("An answer grows and ends.", final=True), at)

    (shown,) = slack.screen.of("C2")
    assert [version.text for version in shown.versions] == ["An", "An answer grows and ends."]
    assert not shown.ephemeral
    assert [call.method for call in slack.calls].count("response_url") == 2


@pytest.mark.parametrize(("more", "uses"), [("", 1), (" It grows.", 2)])
async def test_a_reply_whose_words_were_held_back_is_completed_and_one_that_stands_costs_no_use(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, more: str, uses: int
) -> None:
    surface = adapter.surface(command_target(slack))
    async with ReplyStream(surface, Pacer(clock), Unrecorded(), clock, turn="t1", careful=False) as reply:
        reply.append("This is an answer.")
        await slack.screen.until(lambda screen: screen.of("C2"))
        reply.append(more)
        await clock.advance(10)

    assert [shown.text for shown in slack.screen.of("C2")] == ["This is an answer." + more]
    assert [call.method for call in slack.calls].count("response_url") == uses


async def test_a_page_fewer_than_there_are_uses_fits_and_no_more(slack: SlackServer, adapter: SlackAdapter) -> None:
    surface = adapter.surface(command_target(slack))
    at = await show(surface, Page("page"), None)
    await show(surface, Page("page 0", final=True), at)
    for number in range(1, RESPONSE_USES - 1):
        held = await show(surface, Page("page"), None)
        again = await show(surface, Page("page …"), held)
        await show(surface, Page(f"page {number}", final=True), again)

    with pytest.raises(Unreachable):
        await show(surface, Page("one too many", final=True), None)

    assert [shown.text for shown in slack.screen.of("C2")] == [f"page {number}" for number in range(RESPONSE_USES - 1)]
    assert [call.method for call in slack.calls].count("response_url") == RESPONSE_USES


async def test_another_process_replaces_the_answer_of_a_command(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    target = command_target(slack)
    at = await show(adapter.surface(target), Page("An ans"), None)

    async with open_adapter(settings_of(slack), clock) as another:
        surface = another.surface(ReplyTarget.from_json(target.to_json()))
        await show(surface, Page("An answer", final=True), MessageRef.from_json(at.to_json()))

    assert [shown.text for shown in slack.screen.of("C2")] == ["An answer"]


async def test_a_closed_slot_ends_the_reply(slack: SlackServer, adapter: SlackAdapter, clock: FakeClock) -> None:
    surface = adapter.surface(command_target(slack))
    at = await show(surface, Page("An ans"), None)
    await clock.advance(1_800)

    with pytest.raises(Unreachable):
        await show(surface, Page("An answer", final=True), at)


async def test_the_answer_of_a_command_is_taken_back_and_a_page_that_waits_costs_no_use(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    surface = adapter.surface(command_target(slack))
    at = await show(surface, Page("An"), None)
    held = await show(surface, Page("next"), None)

    await surface.remove(held)
    await surface.remove(at)
    await surface.remove(at)
    await clock.advance(1_800)

    assert slack.screen.of("C2") == []
    assert [call.method for call in slack.calls].count("response_url") == 3
    with pytest.raises(Unreachable):
        await surface.remove(at)


async def test_where_the_bot_is_no_member_a_file_is_refused_for_good(slack: SlackServer, adapter: SlackAdapter) -> None:
    surface = adapter.surface(command_target(slack))
    at = await show(surface, Page("An answer", final=True), None)

    with pytest.raises(Unrenderable):
        await surface.attach(File("plot.png", "image/png", b"\x89PNG"), at)


async def test_a_private_answer_to_a_command_appears_once_it_is_whole_and_stays(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    target = command_target(slack)
    surface = adapter.surface(replace(target, data={**target.data, "private": True}))

    held = await show(surface, Page("Your"), None)
    before = slack.screen.of("C2")
    at = await show(surface, Page("Your limits", final=True), held)
    await surface.remove(at)

    (shown,) = slack.screen.of("C2")
    assert (before, shown.text, shown.ephemeral) == ([], "Your limits", True)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(status=429, retry_after=7), RateLimited),
        (Fault(status=404, body='{"ok": false, "error": "used_url"}'), Unreachable),
        (Fault(status=410, body="gone"), Unreachable),
        (Fault(status=400, body="invalid_payload"), Refused),
        (Fault(status=502, body="<html>"), Unclear),
    ],
)
async def test_every_refusal_of_a_commands_answer_is_named_for_what_helps(
    slack: SlackServer, adapter: SlackAdapter, fault: Fault, expected: type[DeliveryError]
) -> None:
    surface = adapter.surface(command_target(slack))
    slack.faults.add("response_url", fault)

    with pytest.raises(DeliveryError) as caught:
        await show(surface, Page("An"), None)

    assert type(caught.value) is expected


@pytest.mark.parametrize(("drop", "left"), [("after", RESPONSE_USES - 1), ("", RESPONSE_USES)])
async def test_a_use_of_a_commands_answer_counts_only_if_it_may_have_arrived(
    slack: SlackServer, adapter: SlackAdapter, monkeypatch: pytest.MonkeyPatch, drop: str, left: int
) -> None:
    target = command_target(slack)
    surface = adapter.surface(target)
    if drop:
        slack.faults.add("response_url", Fault(drop=drop))
    else:
        monkeypatch.setattr(surface, "_address", "http://127.0.0.1:1/")
        slack.faults.add("chat.postMessage", Fault(status=200, body='{"ok": false, "error": "not_in_channel"}'))
    with pytest.raises(DeliveryError):
        await show(surface, Page("0", final=True), None)
    monkeypatch.undo()

    for number in range(left):
        await show(surface, Page(f"{number + 1}", final=True), None)
    with pytest.raises(Unreachable, match="used up"):
        await show(surface, Page("one too many", final=True), None)


async def test_a_command_is_answered_by_a_message_where_the_bot_is_a_member(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    surface = adapter.surface(command_target(slack, "C1"))

    at = await show(surface, Page("An"), None)
    await show(surface, Page("An answer"), at)

    assert [version.text for version in slack.screen.of("C1")[0].versions] == ["An", "An answer"]
    assert "response_url" not in [call.method for call in slack.calls]


async def test_a_slot_costs_no_budget_of_the_workspace(slack: SlackServer, adapter: SlackAdapter) -> None:
    surface = adapter.surface(command_target(slack))
    at = await show(surface, Page("An"), None)

    assert cost_of(surface, Page("x"), at).budgets == ()
    assert cost_of(surface, Page("x"), at).repeats_safely
    assert not cost_of(surface, Page("x"), None).repeats_safely


async def test_progress_at_our_pace_is_never_refused(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    """The budgets the surface names, kept by the pacer, keep the emulated limits."""
    surface = adapter.surface(thread_target(slack))
    pacer = Pacer(clock)
    at: MessageRef | None = None

    async def write() -> None:
        nonlocal at
        for number in range(80):
            cost = cost_of(surface, Page("x"), at)
            at = await pacer.call(cost, Purpose.FINAL, partial(show, surface, Page(f"words {number}"), at))

    writing = asyncio.create_task(write())
    while not writing.done():
        await clock.advance(0.5)
        await asyncio.sleep(0.001)
    await writing
    await pacer.close()

    assert slack.refusals == 0


async def test_an_answer_may_stand_in_pieces_only_where_an_unclear_post_can_be_found_again(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    assert adapter.surface(thread_target(slack)).limits.pieces
    assert not adapter.surface(command_target(slack)).limits.pieces

    slack.scopes.discard("channels:history")
    async with open_adapter(settings_of(slack), clock) as other:
        assert not other.surface(thread_target(slack)).limits.pieces
