"""Replies in Slack's streams, where no edit is left for their ends: what people see, whatever Slack does to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from adapters.slack.adapter import SlackAdapter, open_adapter
from adapters.slack.limits import CARD_BYTES, MOST_CARDS, STREAM_BYTES, STREAM_WINDOW, UPDATE_WINDOW
from adapters.slack.streams import in_markdown
from bot.contract.errors import DeliveryError, Full, MessageGone, RateLimited, Unclear
from bot.contract.messages import GROWS, Button, Control, MessageRef, Page, ReplyTarget, Status
from bot.contract.surface import Surface
from bot.pacing import Purpose
from bot.pacing.pacer import Pacer
from bot.reply.buttons import ReplyButtons
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from playground.faults import Fault
from playground.slack import SlackServer
from tests.adapters.slack.conftest import direct_target, settings_of, thread_target
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.surfaces import cost_of, show
from tools.contract.base import ToolStatus

SENTENCES = "".join(
    f"This is sentence number {number}, and it takes a moment to read. " for number in range(30)
).strip()
PARAGRAPHS = SENTENCES.replace("7, and it takes a moment to read. ", "7, and it takes a moment to read.\n\n")
CHINESE = "这是一个很长的句子，读起来需要一点时间。" * 40
BOLD = SENTENCES.replace("sentence number 7", "**sentence** number **seven of** all")
RICH = f"{SENTENCES}\n\n- **weight**\n- `code` & <angles>\n\nSee [the page](https://example.com/a). The end."
REFUSED = '{"ok": false, "error": "%s"}'


@pytest.fixture
def surface(slack: SlackServer, adapter: SlackAdapter) -> Surface:
    return adapter.surface(thread_target(slack))


def piece(body: str) -> Page:
    """A page that is to grow without an edit."""
    return Page(body, grows=True)


def end(body: str, *buttons: Button) -> Page:
    return Page(body, final=True, grows=True, buttons=buttons)


def methods(slack: SlackServer) -> list[str]:
    """What was called to show something, and how often in a row it was not refused."""
    shown = [call.method for call in slack.calls if call.method.startswith("chat.")]
    return [method.removeprefix("chat.") for method in shown]


def texts(slack: SlackServer) -> list[str]:
    return [message.text for message in slack.screen.of("C1", author="bot")]


def squeezed(text: str) -> str:
    return "".join(text.split())


async def pass_(clock: FakeClock, seconds: float) -> None:
    for _ in range(int(seconds * 10)):
        await clock.advance(0.1)


async def write(surface: Surface, clock: FakeClock, text: str, *, edits: int = 0, step: int = 40) -> None:
    """Let a reply be written where so many edits are left in this minute."""
    pacer = Pacer(clock)
    edit = cost_of(surface, Page("x"), MessageRef("1.2"))
    for _ in range(UPDATE_WINDOW.calls - edits):
        assert pacer.take(edit, Purpose.FINAL)
        pacer.answered(edit)
    buttons = ReplyButtons(whole=(Button(Control.GOOD, 1, "Good"),))
    async with ReplyStream(surface, pacer, Unrecorded(), clock, turn="t1", buttons=buttons) as reply:
        for at in range(0, len(text), step):
            reply.append(text[at : at + step])
            await pass_(clock, 1.0)
        reply.offer(buttons.whole)
        finishing = asyncio.create_task(reply.finish())
        async with asyncio.timeout(PATIENCE):
            while not finishing.done():
                await pass_(clock, 1.0)
        await finishing
    await pacer.close()


@pytest.mark.parametrize(
    "text", [SENTENCES, PARAGRAPHS, BOLD, CHINESE, "One word after the other " * 40 + "and no end"]
)
async def test_a_reply_without_an_edit_for_its_end_is_one_message_that_grows(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, text: str
) -> None:
    """Also one without a line break, and one without a full stop; its text is that of an edited message."""
    await write(adapter.surface(thread_target(slack)), clock, text)
    [streamed] = slack.screen.of("C1", author="bot")
    assert "chat.update" not in methods(slack) and methods(slack).count("startStream") == 1
    assert len(streamed.versions) > 2 and streamed.buttons == ["Good"] and not streamed.live

    await write(adapter.surface(thread_target(slack)), clock, text, edits=UPDATE_WINDOW.calls)

    whole = text.replace("**", "")
    assert texts(slack) == [whole, whole]
    assert len({message.versions[-1].html for message in slack.screen.of("C1")}) == 1
    assert slack.refusals == 0


@pytest.mark.parametrize("text", [PARAGRAPHS, RICH])
@pytest.mark.parametrize("method", ["startStream", "appendStream", "stopStream"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=200, body=REFUSED % "channel_type_not_supported"),
        Fault(status=200, body=REFUSED % "message_not_in_streaming_state"),
        Fault(status=200, body=REFUSED % "stopped_by_user"),
        Fault(status=200, body=REFUSED % "msg_too_long"),
        Fault(status=429, retry_after=3),
        Fault(status=503),
        Fault(drop="before"),
        Fault(drop="after"),
    ],
    ids=["type", "state", "stopped", "long", "limited", "away", "lost", "unanswered"],
)
async def test_whatever_a_stream_meets_the_whole_text_stands_once(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, text: str, method: str, fault: Fault
) -> None:
    slack.faults.add(f"chat.{method}", fault)

    await write(adapter.surface(thread_target(slack)), clock, text, edits=0, step=150)

    await write(adapter.surface(thread_target(slack)), clock, text, edits=UPDATE_WINDOW.calls, step=400)
    *pieces, edited = texts(slack)
    assert squeezed("".join(pieces)) == squeezed(edited)
    assert not any(message.live for message in slack.screen.of("C1"))


async def test_an_unclear_start_is_found_by_the_next_process_and_completed_in_place(
    slack: SlackServer, adapter: SlackAdapter, surface: Surface, clock: FakeClock
) -> None:
    target = thread_target(slack)
    slack.faults.add("chat.startStream", Fault(drop="after"))
    with pytest.raises(Unclear):
        await show(adapter.surface(target), piece("Some words."), None, "t1-0")

    async with open_adapter(settings_of(slack), clock) as other:
        next_one = other.surface(target)
        found = await next_one.find("t1-0")
        assert found is not None and found.form == GROWS
        at = await show(next_one, Page("Some words, and more.", final=True), found, "t1-0")
        assert await next_one.find("t1-0") == at, "now by its metadata"

    assert texts(slack) == ["Some words, and more."]
    assert at == MessageRef(found.id)


async def test_only_a_stream_of_ours_that_nobody_knows_is_taken_for_one_whose_start_was_unclear(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    """Not one that was stopped, nor one that was started here, nor a message of another program."""
    target = thread_target(slack)
    surface = adapter.surface(target)
    thread = str(target.data["thread"])
    at = await show(surface, piece("Some words."), None, "t1-0")
    assert await surface.find("t1-1") is None
    await show(surface, end("Some words."), at, "t1-0")
    slack.say("C1", "hello", person="U1", thread_ts=thread)

    assert await adapter.surface(target).find("t1-1") is None
    assert await adapter.surface(target).find("t1-0") == MessageRef(at.id)


async def test_where_slack_takes_no_stream_but_a_post_it_is_asked_once(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    slack.faults.add("chat.startStream", Fault(status=200, body=REFUSED % "channel_type_not_supported"), 9)

    for _ in range(2):
        surface = adapter.surface(thread_target(slack))
        assert (await show(surface, piece("Some words."), None)).form == "message"
        assert not surface.limits.grows
        await clock.advance(10.0)

    assert methods(slack) == ["startStream", "postMessage", "postMessage"]


async def test_a_start_that_is_refused_as_a_post_would_be_says_nothing_of_streams(
    slack: SlackServer, adapter: SlackAdapter
) -> None:
    target = thread_target(slack)
    slack.delete("C1", str(target.data["thread"]))
    with pytest.raises(DeliveryError):
        await show(adapter.surface(target), piece("Some words."), None)

    assert adapter.surface(thread_target(slack)).limits.grows


async def test_a_refused_start_is_a_post_and_none_is_tried_before_slack_says(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    surface = adapter.surface(thread_target(slack))
    slack.faults.add("chat.startStream", Fault(status=429, retry_after=30))

    assert (await show(surface, piece("Some words."), None)).form == "message"
    assert not surface.limits.grows
    await clock.advance(31.0)
    assert surface.limits.grows


async def test_no_more_streams_are_started_than_can_be_stopped_in_a_minute(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock
) -> None:
    started = []
    for _ in range(STREAM_WINDOW.calls):
        surface = adapter.surface(thread_target(slack))
        started.append((surface, await show(surface, piece("Some words."), None)))
    assert not surface.limits.grows
    await clock.advance(61.0)
    assert not surface.limits.grows, "their stops would come together"

    for one, at in started:
        await show(one, end("Some words."), at)
    assert not surface.limits.grows
    await clock.advance(61.0)

    assert surface.limits.grows
    assert slack.refusals == 0


@pytest.mark.parametrize("way", ["five minutes", "idle", "stop"])
async def test_a_stream_that_slack_ended_goes_on_as_a_message(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, way: str
) -> None:
    slack.scopes.add("assistant:write")
    slack.subscriptions.add("agent_session_stopped")
    target = thread_target(slack)
    surface = adapter.surface(target)
    at = await show(surface, piece("Some words."), None, "n")
    match way:
        case "five minutes":
            for number in range(5):
                await clock.advance(61.0)
                text = "Some words." + " And more." * (number + 1)
                if number < 4:
                    at = await show(surface, piece(text), at, "n")
        case "idle":
            await clock.advance(121.0)
        case _:
            slack.stop_session("C1", str(target.data["thread"]), "U1")

    with pytest.raises(DeliveryError) as caught:
        await show(surface, piece("Some words. And more. And more. And more. And more. And still more."), at, "n")
    assert type(caught.value) is DeliveryError, "it may be tried again"
    assert "chat.update" in cost_of(surface, piece("x"), at).budgets[0].scope
    at = await show(surface, Page("All words.", final=True), at, "n")

    assert texts(slack) == ["All words."]
    assert at.form == "message"


@pytest.mark.parametrize(
    "body",
    ["Other words.", "Some words. _Slanting_ ones.", "Some words.\nA line.", "Some words. See example.com for it."],
)
async def test_what_a_stream_cannot_show_is_refused_and_what_stands_stays(
    slack: SlackServer, surface: Surface, body: str
) -> None:
    at = await show(surface, piece("Some words."), None, "n")

    with pytest.raises(Full):
        await show(surface, end(body, Button(Control.GOOD, 1, "Good")), at, "n")

    [shown] = slack.screen.of("C1")
    assert (shown.text, shown.buttons, shown.live) == ("Some words.", [], False)
    assert await surface.find("n") == MessageRef(at.id)


async def test_a_stream_is_full_before_slack_says_so(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, piece("汉" * 3_300), None)

    with pytest.raises(Full):
        await show(surface, piece("汉" * 3_350), at)

    assert len("汉".encode()) * 3_350 > STREAM_BYTES
    assert texts(slack) == ["汉" * 3_300]


async def test_an_append_without_an_answer_is_not_made_again(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, piece("Some words."), None, "n")
    slack.faults.add("chat.appendStream", Fault(drop="after"))
    with pytest.raises(Unclear):
        await show(surface, piece("Some words. And more."), at, "n")
    assert cost_of(surface, piece("x"), at).repeats_safely

    await show(surface, piece("Some words. And more."), at, "n")

    assert texts(slack) == ["Some words. And more."]
    assert methods(slack)[-2:] == ["stopStream", "update"]


async def test_a_refused_append_is_made_again_and_a_deleted_stream_is_gone(
    slack: SlackServer, surface: Surface
) -> None:
    at = await show(surface, piece("Some words."), None, "n")
    slack.faults.add("chat.appendStream", Fault(status=429, retry_after=7))
    with pytest.raises(RateLimited) as caught:
        await show(surface, piece("Some words. And more."), at, "n")
    assert caught.value.scope in {budget.scope for budget in cost_of(surface, piece("x"), at).budgets}

    at = await show(surface, piece("Some words. And more."), at, "n")
    assert texts(slack) == ["Some words. And more."]

    slack.faults.add("chat.appendStream", Fault(status=200, body=REFUSED % "message_not_found"))
    with pytest.raises(MessageGone):
        await show(surface, piece("Some words. And more. And more."), at, "n")


async def test_a_stream_is_taken_back(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, piece("Some words."), None)

    await surface.remove(at)

    assert texts(slack) == []


async def test_a_stream_that_cannot_be_stopped_now_is_edited_later(slack: SlackServer, adapter: SlackAdapter) -> None:
    target = thread_target(slack)
    at = await show(adapter.surface(target), piece("Some words."), None)
    other = adapter.surface(target)
    slack.faults.add("chat.stopStream", Fault(status=429, retry_after=7))

    with pytest.raises(RateLimited):
        await show(other, Page("All words.", final=True), at)
    await show(other, Page("All words.", final=True), at)

    assert texts(slack) == ["All words."]


async def test_streams_are_for_threads_in_which_somebody_asked(slack: SlackServer, adapter: SlackAdapter) -> None:
    """Slack asks for both; and who only sees what is shown in private is shown nothing that grows."""
    data = thread_target(slack).data
    assert adapter.surface(ReplyTarget("slack", data)).limits.grows
    assert not adapter.surface(ReplyTarget("slack", {**data, "user": ""})).limits.grows
    assert not adapter.surface(ReplyTarget("slack", {**data, "private": True})).limits.grows
    assert not adapter.surface(direct_target(slack)).limits.grows


async def write_for(slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, text: str, seconds: float) -> None:
    """Let a reply be written for so long by a steady model, with no edit left when it begins."""
    surface, pacer = adapter.surface(thread_target(slack)), Pacer(clock)
    edit = cost_of(surface, Page("x"), MessageRef("1.2"))
    for _ in range(UPDATE_WINDOW.calls):
        assert pacer.take(edit, Purpose.FINAL)
        pacer.answered(edit)
    async with ReplyStream(surface, pacer, Unrecorded(), clock, turn="t1") as reply:
        step = int(len(text) * 4 / seconds) + 1
        for at in range(0, len(text), step):
            reply.append(text[at : at + step])
            await clock.advance(4.0)
            if at <= len(text) // 2 < at + step:
                reply.status("call-1", "Reading")
                await clock.advance(150.0)
                reply.clear_status()
                reply.ended("call-1", ToolStatus.COMPLETED)
        finishing = asyncio.create_task(reply.finish())
        async with asyncio.timeout(PATIENCE):
            while not finishing.done():
                await clock.advance(1.0)
        await finishing
    await pacer.close()


LONG = "\n\n".join(f"Paragraph {number}. {SENTENCES} Its end." for number in range(23))
LONG_CHINESE = "\n\n".join(CHINESE for _ in range(17))


@pytest.mark.parametrize(
    ("text", "seconds", "streams"),
    [(PARAGRAPHS * 2, 1_200.0, 3), (LONG, 120.0, 1), (LONG, 1_200.0, 4), (LONG_CHINESE, 1_200.0, 3)],
    ids=["20 minutes", "40 kB", "both", "both in Chinese"],
)
async def test_a_long_answer_without_an_edit_is_whole_in_several_streams(
    slack: SlackServer, adapter: SlackAdapter, clock: FakeClock, text: str, seconds: float, streams: int
) -> None:
    """Slack ends a stream after five minutes, after two without text, and takes about 10,600 bytes in each. What is
    a whole page before its call is granted is a post.
    """
    await write_for(slack, adapter, clock, text, seconds)

    shown = slack.screen.of("C1")
    assert squeezed("".join(texts(slack))) == squeezed(text)
    assert not any(message.live for message in shown)
    assert methods(slack).count("startStream") >= streams
    assert seconds < 1_200 or clock.now > 2_200
    assert text == PARAGRAPHS * 2 or len(text.encode()) > 40_000
    assert slack.refusals == 0


CARD = Status("Searching <rain> & wind", "call-1")
NEXT_CARD = Status("Counting", "call-2")


def done(card: Status, state: ToolStatus = ToolStatus.COMPLETED) -> Status:
    return replace(card, state=state)


async def test_what_tools_do_stands_in_cards_above_a_stream(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("Some words.", (CARD,), grows=True), None, "n")
    [shown] = slack.screen.of("C1")
    assert shown.cards == ["… Searching ‹rain› ＆ wind"]
    for cards in ((done(CARD), NEXT_CARD), (done(CARD), NEXT_CARD)):
        at = await show(surface, Page("Some words.", cards, grows=True), at, "n")
    assert methods(slack) == ["startStream", "appendStream"], "the same cards again are worth no call"
    failed = done(NEXT_CARD, ToolStatus.FAILED)
    at = await show(surface, Page("Some words. And more.", (done(CARD), failed), final=True, grows=True), at, "n")

    assert shown.cards == ["✓ Searching ‹rain› ＆ wind", "✗ Counting"]
    assert (texts(slack), at) == (["Some words. And more."], MessageRef(at.id))


@pytest.mark.parametrize("code", ["invalid_chunks", "invalid_arguments", "streaming_mode_mismatch"])
@pytest.mark.parametrize("method", ["startStream", "appendStream", "stopStream"])
async def test_a_refused_card_is_remembered_and_the_text_goes_on_without(
    slack: SlackServer, adapter: SlackAdapter, code: str, method: str
) -> None:
    slack.faults.add(f"chat.{method}", Fault(status=200, body=REFUSED % code))
    text = "Some words."
    surface = adapter.surface(thread_target(slack))
    at = await show(surface, Page(text, (CARD,), grows=True), None, "n")
    at = await show(surface, Page(text + " And more.", (done(CARD),), grows=True), at, "n")
    cards = (done(CARD), done(NEXT_CARD))
    at = await show(surface, Page(text + " And more. The end.", cards, final=True, grows=True), at, "n")
    assert texts(slack) == ["Some words. And more. The end."]
    assert surface.draw(Page(text, (CARD,), grows=True)) == surface.draw(Page(text, grows=True))

    other = adapter.surface(thread_target(slack))
    at = await show(other, Page(text, (CARD,), grows=True), None, "n")
    await show(other, Page(text + " The end.", (done(CARD),), final=True, grows=True), at, "n")

    second = slack.screen.of("C1")[-1]
    assert (second.text, second.cards) == ("Some words. The end.", [])
    assert sum(call.error == "" and bool(call.status) for call in slack.calls if call.method == f"chat.{method}") >= 1


async def test_a_card_alone_that_is_refused_costs_no_second_call(slack: SlackServer, surface: Surface) -> None:
    at = await show(surface, Page("Some words.", grows=True), None, "n")
    slack.faults.add("chat.appendStream", Fault(status=200, body=REFUSED % "invalid_chunks"))

    await show(surface, Page("Some words.", (CARD,), grows=True), at, "n")

    assert methods(slack) == ["startStream", "appendStream"]


async def test_cards_leave_a_stream_the_room_that_its_text_needs(slack: SlackServer, surface: Surface) -> None:
    cards = tuple(Status("找" * 99, f"call-{number}") for number in range(9))
    at = await show(surface, Page("Some words.", cards, grows=True), None, "n")
    text = "Some words. " + "汉" * ((STREAM_BYTES - 15) // 3)
    await show(surface, Page(text, tuple(map(done, cards)), final=True, grows=True), at, "n")

    [shown] = slack.screen.of("C1")
    assert shown.cards == [f"✓ {'找' * (CARD_BYTES // 3)}"] * MOST_CARDS and shown.text == text


PLAIN: Sequence[str] = (
    "Plain words, 3.5 of them; (a few) at 5:30 - and so on … 100 %!",
    "One paragraph.\n\nAnd another: 1 or 2.",
    "没有换行。也没有标记！",
    "No: *bold words*, *b* and \u200b*重点*\u200b内容",
)
NOT_PLAIN: Sequence[str] = (
    *(
        "*a",
        "a * b",
        "*重点。*内容",
        "*a _b_*",
        "a_b",
        "~a~",
        "`a`",
        "a < b",
        "a > b",
        "a & b",
        "[a]",
        "a\\",
        "a | b",
        "@here",
        "#general",
        "x^2",
    ),
    *(
        "see example.com",
        "https://x",
        ":smile:",
        "a\nb",
        "a\n\n\nb",
        " a",
        "a\n\n b",
        "- a",
        "+ a",
        "• a",
        "1. a",
        "2) a",
    ),
    *("===", "---"),
)


async def test_only_what_both_notations_show_alike_goes_into_a_stream(
    slack: SlackServer, surface: Surface, clock: FakeClock
) -> None:
    assert [text for text in PLAIN if not in_markdown(text)] == []
    assert [text for text in NOT_PLAIN if in_markdown(text)] == []

    for text in (*PLAIN[:-1], SENTENCES, PARAGRAPHS, BOLD, CHINESE, "It is **bold**, 有**重点**的."):
        at = await show(surface, piece(text), None)
        await show(surface, Page(text, final=True), None)
        streamed, posted = slack.screen.of("C1")[-2:]
        assert (at.form, streamed.text) == (GROWS, posted.text)
        assert streamed.versions[-1].html == posted.versions[-1].html
        await show(surface, end(text), at)
        await clock.advance(2.0)


async def test_what_a_stream_cannot_show_is_posted_at_once(slack: SlackServer, surface: Surface) -> None:
    assert (await show(surface, piece("See `code`."), None)).form == "message"

    assert methods(slack) == ["postMessage"]
