"""What every surface promises, whatever platform it writes to: one suite, asserted on what a person sees.

What happens to it arrives in `test_events.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from adapters import PLATFORMS
from bot.contract.errors import DeliveryError, MessageGone, RateLimited, TooLong, Unclear, Unreachable, Unrenderable
from bot.contract.messages import NEXT, Button, Control, File, MessageRef, Page, ReplyTarget, Status
from bot.pacing import Pacer
from bot.reply.record import Unrecorded
from bot.reply.stream import ReplyStream
from playground.faults import Fault
from tests.conftest import FakeClock
from tests.contract.scenes import SCENES, Scene
from tests.patience import PATIENCE
from tests.surfaces import cost_of, show

POSTS = {
    "telegram": ("sendMessage", "editMessageText", "sendDocument"),
    "slack": ("chat.postMessage", "chat.update", "files.completeUploadExternal"),
    "discord": (
        "POST /channels/{channel}/messages",
        "PATCH /channels/{channel}/messages/{message}",
        "POST /channels/{channel}/messages",
    ),
    "discord-answer": (
        "PATCH /webhooks/{application}/{token}/messages/{message}",
        "PATCH /webhooks/{application}/{token}/messages/{message}",
        "POST /channels/{channel}/messages",
    ),
}
"""What posts, edits and posts a file, as faults name it."""


@pytest.fixture(params=SCENES)
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    async with SCENES[request.param]() as scene:
        yield scene


def test_every_platform_has_a_scene() -> None:
    """But the terminal, in which nothing can be changed, deleted or pressed: `tests/adapters/console` has it."""
    assert {scene.partition("-")[0] for scene in SCENES} == PLATFORMS.keys() - {"console"}


async def grow(scene: Scene, *bodies: str, nonce: str = "t1-0") -> MessageRef:
    """Show a page as it grows; the last body is final."""
    ref = None
    for number, body in enumerate(bodies, 1):
        ref = await show(scene.surface, Page(body, final=number == len(bodies)), ref, nonce)
    assert ref is not None
    return ref


async def test_a_page_grows_in_one_message(scene: Scene) -> None:
    await grow(scene, "It", "It rains", "It rains **today**.")

    assert scene.texts == ["It rains today."]
    assert [version.text for version in scene.shown[0].versions] == ["It", "It rains", "It rains today."]
    assert not scene.shown[0].live


async def test_pages_stand_in_order(scene: Scene) -> None:
    for number in range(3):
        await grow(scene, f"page {number}", f"page {number}.", nonce=f"t1-{number}")

    assert scene.texts == ["page 0.", "page 1.", "page 2."]


PRIVATE = {"telegram": False, "discord": False, "discord-answer": True, "slack": True, "slack-direct": True}
"""Where a platform can show a message to the person who asked alone."""


@pytest.mark.parametrize("place", SCENES)
async def test_what_is_for_who_asked_is_shown_to_others_only_where_the_platform_cannot_help_it(place: str) -> None:
    async with SCENES[place]() as scene:
        target = ReplyTarget(scene.target.platform, {**scene.target.data, "private": True})
        surface = (await scene.enter()).surface(ReplyTarget.from_json(target.to_json()))
        pages = [Page(f"Only for *Ada* {number}", final=True) for number in range(3)]

        refs = [await show(surface, page, None, f"t1-{number}") for number, page in enumerate(pages)]

        shown = [(one.text, one.ephemeral) for one in scene.shown]
        assert shown == [(f"Only for Ada {number}", PRIVATE[place]) for number in range(3)]
        # It stands for good: whoever shows it again changes nothing.
        assert await show(surface, pages[0], refs[0], "t1-0") == refs[0]
        assert len(scene.shown) == 3 and not any(one.live for one in scene.shown)
        if PRIVATE[place]:
            assert surface.limits.typing_seconds == 0
            assert not any("thinking" in what for _, _, what in scene.screen.notices[-1:]) or place == "discord-answer"
        if place != "discord-answer":
            cost = cost_of(surface, pages[0], None)
            assert cost.budgets and cost.repeats_safely is not (PRIVATE[place] or place == "telegram")


@pytest.mark.parametrize("place", [name for name, private in PRIVATE.items() if private])
async def test_what_is_for_who_asked_goes_nowhere_else_when_its_way_is_closed(place: str) -> None:
    async with SCENES[place]() as scene:
        target = ReplyTarget(scene.target.platform, {**scene.target.data, "private": True})
        surface = (await scene.enter()).surface(target)
        if place == "discord-answer":
            scene.faults.add(
                "POST /webhooks/{application}/{token}", Fault(status=404, body='{"message": "gone", "code": 10015}')
            )
        else:
            refused = '{"ok": false, "error": "user_not_in_channel"}'
            scene.faults.add("chat.postEphemeral", Fault(status=200, body=refused))

        with pytest.raises(DeliveryError):
            await show(surface, Page("Only for Ada", final=True), None, "t1-0")

        assert not any(scene.texts)


async def test_showing_what_is_shown_already_is_no_error_and_no_change(scene: Scene) -> None:
    page = Page("the same", final=True)
    ref = await show(scene.surface, page, None, "t1-0")

    again = await show(scene.surface, page, ref, "t1-0")
    other = (await scene.enter()).surface(scene.target)
    await show(other, page, again, "t1-0")

    assert scene.texts == ["the same"]


STOP, GOOD = Button(Control.STOP, 12, "Stop"), Button(Control.GOOD, 12, "Good")


async def test_buttons_stand_below_a_page_and_go_with_an_edit_that_has_none(scene: Scene) -> None:
    ref = await show(scene.surface, Page("It", buttons=(STOP,)), None, "t1-0")
    assert [one.buttons for one in scene.shown] == [["Stop"]]
    ref = await show(scene.surface, Page("It rains", buttons=(STOP, GOOD)), ref, "t1-0")
    assert [one.buttons for one in scene.shown] == [["Stop", "Good"]]
    other = (await scene.enter()).surface(scene.target)
    await show(other, Page("It rains today.", final=True), ref, "t1-0")

    assert [one.buttons for one in scene.shown] == [[]]
    assert scene.texts == ["It rains today."]


async def test_buttons_alone_make_no_page_another_one_and_leave_its_text_as_it_is(scene: Scene) -> None:
    page = Page("# It *rains*\n\n" + "word " * (scene.surface.limits.page_length // 6), final=True)
    plain, pressable = scene.surface.draw(page), scene.surface.draw(replace(page, buttons=(STOP, GOOD)))
    assert plain == pressable

    await scene.surface.show(plain, None, "t1-0")
    await scene.surface.show(pressable, None, "t1-1")
    assert scene.shown[0].versions[-1].markup == scene.shown[1].versions[-1].markup
    assert scene.texts[0] == scene.texts[1]


DRAWN = (
    Page("It **rains"),
    Page("It **rains** in [Oslo](https://a.example)", (Status("Reading <a>…"),)),
    Page("It **rains** `today`.", final=True),
    Page("It **rains** on https://a.example", final=True, plain=True),
)


async def test_drawing_sends_nothing_and_gives_the_same_every_time(scene: Scene) -> None:
    other = (await scene.enter()).surface(scene.target)
    before = len(scene.calls)

    drawn = [scene.surface.draw(page) for page in DRAWN]
    ref = await scene.surface.show(drawn[0], None, "t1-0")
    await scene.surface.show(drawn[1], ref, "t1-0")
    between = len(scene.calls)

    for surface in (scene.surface, other):
        assert [surface.draw(page) for page in DRAWN] == drawn
    assert len(set(drawn)) == len(DRAWN)
    assert scene.surface.draw(Page("It **rains**")) == drawn[0], "it looks the same"
    with pytest.raises(TooLong):
        scene.surface.draw(Page("x" * (scene.surface.limits.hard_length + 1), plain=True))
    with pytest.raises(Unrenderable):
        scene.surface.draw(Page("", final=True))
    assert before < between == len(scene.calls)


async def test_a_reply_makes_no_call_for_what_looks_the_same(scene: Scene, clock: FakeClock) -> None:
    async with ReplyStream(scene.surface, Pacer(clock), Unrecorded(), clock, turn="t1", careful=False) as reply:
        reply.append("It **rains on the hills.")
        await scene.screen.until(lambda _: scene.texts == ["It rains on the hills."])
        before = len(scene.calls)
        reply.append("**")
        await clock.advance(10)

    assert scene.texts == ["It rains on the hills."] and reply.edits == 1
    assert len(scene.calls) == before


async def test_another_process_edits_the_same_message_from_stored_data(scene: Scene) -> None:
    ref = await show(scene.surface, Page("It rains"), None, "t1-0")
    stored = scene.target.to_json(), ref.to_json()

    other = (await scene.enter()).surface(ReplyTarget.from_json(stored[0]))
    await show(other, Page("It rains today.", final=True), MessageRef.from_json(stored[1]), "t1-0")

    assert scene.texts == ["It rains today."]


async def test_plain_text_is_shown_as_it_is_written(scene: Scene) -> None:
    await show(scene.surface, Page("2 < 3 && a_b_c = d", plain=True, final=True), None, "t1-0")

    assert scene.texts == ["2 < 3 && a_b_c = d"]


async def test_special_signs_stay_what_they_are(scene: Scene) -> None:
    await grow(scene, "2 < 3 & 5 > 4, snake_case_name, C:\\new, 50 * 2 * 3, `a<b>&c`")

    assert scene.texts == ["2 < 3 & 5 > 4, snake_case_name, C:\\new, 50 * 2 * 3, a<b>&c"]


async def test_a_page_may_break_off_anywhere(scene: Scene) -> None:
    """Text arrives in pieces: half a link, half a fence, half a table."""
    whole = (
        "# Rain\n\nIt **rains _hard_** in [Oslo](https://a.example/x_(y)) ~~now~~ `code`\n\n"
        "```python\nprint('<b>&')\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n"
        "- one\n  - two\n\n> said\n\n1. ✅ 你好 👩‍👩‍👧"
    )
    ref = await show(scene.surface, Page("# Rain"), None, "t1-0")

    for end in range(7, len(whole) + 1, 3):
        ref = await show(scene.surface, Page(whole[:end]), ref, "t1-0")
    await show(scene.surface, Page(whole, final=True), ref, "t1-0")

    assert len(scene.shown) == 1
    for word in ("Rain", "hard", "Oslo", "print('<b>&')", "你好 👩‍👩‍👧"):
        assert word in scene.texts[0]


async def test_what_the_tools_do_is_shown_and_goes(scene: Scene) -> None:
    ref = await show(scene.surface, Page("", (Status("🔎 Searching <rain> & *wind*"),)), None, "t1-0")
    early = scene.texts
    ref = await show(scene.surface, Page("It rains.", (Status("Reading…"),)), ref, "t1-0")
    during = scene.texts
    await show(scene.surface, Page("It rains.", final=True), ref, "t1-0")

    assert "🔎 Searching <rain> & *wind*" in early[0]
    assert "It rains." in during[0] and "Reading…" in during[0]
    assert scene.texts == ["It rains."]


async def test_a_deleted_message_is_noticed_and_the_text_can_be_posted_anew(scene: Scene) -> None:
    ref = await show(scene.surface, Page("It rains"), None, "t1-0")
    scene.delete(ref)

    with pytest.raises(MessageGone):
        await show(scene.surface, Page("It rains today.", final=True), ref, "t1-0")
    await show(scene.surface, Page("It rains today.", final=True), None, "t1-0")

    assert scene.texts == ["It rains today."]


@pytest.mark.parametrize("platform", POSTS)
async def test_an_edit_without_an_answer_may_be_applied_after_later_ones(platform: str) -> None:
    """What every reply has to live with, and what mends it: the same page once more, by way of a new surface."""
    edit, whole = POSTS[platform][1], Page("It rains today.", final=True)
    async with SCENES[platform]() as scene:
        ref = await show(scene.surface, Page("It"), None, "t1-0")
        applied = asyncio.Event()
        late = scene.faults.add(edit, Fault(drop="late", hold=applied))
        with pytest.raises(Unclear):
            await show(scene.surface, Page("It rains"), ref, "t1-0")
        ref = await show(scene.surface, whole, ref, "t1-0")
        before = scene.texts
        applied.set()
        await late.done.wait()
        overwritten = scene.texts

        await show((await scene.enter()).surface(scene.target), whole, ref, "t1-0")

        assert (before, overwritten, scene.texts) == (["It rains today."], ["It rains"], ["It rains today."])


@pytest.mark.parametrize("status", [500, 502, 504])
@pytest.mark.parametrize("platform", POSTS)
async def test_an_edit_that_a_gateway_answers_may_have_been_made(platform: str, status: int) -> None:
    async with SCENES[platform]() as scene:
        ref = await show(scene.surface, Page("It"), None, "t1-0")
        scene.faults.add(POSTS[platform][1], Fault(status=status))

        with pytest.raises(Unclear):
            await show(scene.surface, Page("It rains"), ref, "t1-0")


async def test_a_page_of_full_length_fits_and_a_longer_one_says_by_how_much(scene: Scene) -> None:
    limits = scene.surface.limits
    full = ("word " * limits.hard_length)[: limits.page_length - 1] + "x"
    over = "x" * (limits.hard_length + 7)

    with pytest.raises(TooLong) as told:
        await show(scene.surface, Page(over, final=True), None, "t1-0")
    before = [text for text in scene.texts if text]
    await show(scene.surface, Page(full, final=True), None, "t1-0")

    assert limits.page_length < limits.hard_length and limits.measure(full) == limits.page_length
    assert told.value.by == 7 and before == []
    assert scene.texts == [full]


@pytest.mark.parametrize("signs", ["*_~`|[]()<>&#-+.!\\ ", "<", "&", "👩‍👩‍👧", "*a* ", "https://a.example/?a&b "])
async def test_a_page_full_of_signs_is_shown_or_is_too_long(scene: Scene, signs: str) -> None:
    """Never refused for anything else: what is too long is cut again, by what it is told."""
    limits = scene.surface.limits
    body = "x" + signs * limits.hard_length
    length = limits.page_length
    for _ in range(12):
        page = Page(body[:length], final=True)
        try:
            await show(scene.surface, page, None, "t1-0")
            break
        except TooLong as error:
            assert error.by > 0
            length -= max(error.by, length // 8)

    assert len([text for text in scene.texts if text]) == 1


async def test_a_file_stands_below_the_text(scene: Scene) -> None:
    ref = await grow(scene, "Look:")

    after = await scene.surface.attach(File("table.csv", "text/csv", b"a,b\n"), ref, "t1-f0")

    assert [one.files for one in scene.shown] == [[], [("table.csv", "text/csv", b"a,b\n")]]
    # Slack tells the id of a file it was given, never that of the message it stands in.
    assert after.form == "file" or after.id == scene.shown[1].id


async def test_a_file_that_is_too_large_is_not_sent(scene: Scene) -> None:
    content = bytes(scene.surface.limits.attachment_bytes + 1)

    with pytest.raises(TooLong) as told:
        await scene.surface.attach(File("big.bin", "application/octet-stream", content), None, "t1-f0")

    assert told.value.by == 1
    assert not any(one.files for one in scene.shown)


DAY = 86_400.0
WAITS = [
    ("7", 7.0),
    ("2.5", 2.5),
    ('"7"', 7.0),
    ("86400", DAY),
    (None, 1.0),
    ('"abc"', 1.0),
    ('""', 1.0),
    ("null", 1.0),
    ("[1]", 1.0),
    ("NaN", 1.0),
    ("-5", 1.0),
    ("0", 0.1),
    ('"²"', 1.0),
    ("Infinity", DAY),
    ("1e300", DAY),
    ("1" + "0" * 400, DAY),
]
"""What a platform names as the seconds to wait, and what is waited."""


def too_many(platform: str, wait: str | None, everywhere: bool = False) -> Fault:
    """A refusal that names `wait`, byte for byte, where this platform writes it."""
    named = "" if wait is None else f', "retry_after": {wait}'
    headers = {} if wait is None else {"Retry-After": wait.strip('"').encode("ascii", "ignore").decode()}
    if platform == "telegram":
        parameters = "" if wait is None else f', "parameters": {{{named[2:]}}}'
        return Fault(status=429, body=f'{{"ok": false, "error_code": 429, "description": "Too Many"{parameters}}}')
    if platform == "slack":
        return Fault(status=429, body='{"ok": false, "error": "ratelimited"}', headers={"Retry-After": "", **headers})
    flag = ', "global": true' if everywhere else ""
    # The header names another wait, as the service rounds up; what counts is the body.
    headers = {"Via": "1.1 google"} | ({} if wait is None else {"Retry-After": "41"})
    return Fault(status=429, body=f'{{"message": "You are being rate limited."{named}{flag}}}', headers=headers)


@pytest.mark.parametrize(("named", "waited"), WAITS, ids=[str(named)[:9] for named, _ in WAITS])
@pytest.mark.parametrize("platform", POSTS)
async def test_a_wait_is_a_number_whatever_the_platform_named(platform: str, named: str | None, waited: float) -> None:
    post, edit, attach = POSTS[platform]
    if named in ("NaN", "Infinity") and platform != "slack":
        # Such a body is no JSON: what counts is the header, where there is one.
        waited = 1.0 if platform == "telegram" else 41.0
    async with SCENES[platform]() as scene:
        told = []

        async def refused(method: str, call: Awaitable[object]) -> None:
            scene.faults.add(method, too_many(platform, named))
            with pytest.raises(RateLimited) as error:
                await call
            told.append(error.value.retry_after)

        file = File("a.csv", "text/csv", b"a")
        if platform == "discord-answer":
            await refused(post, show(scene.surface, Page("It"), None, "t1-0"))
        ref = await show(scene.surface, Page("It"), None, "t1-0")
        if platform != "discord-answer":
            await refused(post, show(scene.surface, Page("And"), None, "t1-1"))
        await refused(edit, show(scene.surface, Page("It rains"), ref, "t1-0"))
        await refused(attach, scene.surface.attach(file, ref, "t1-f0"))

        assert told == [waited] * 3


@pytest.mark.parametrize("platform", ["discord", "discord-answer"])
async def test_a_pause_that_is_meant_for_everything_closes_the_whole_bot(platform: str) -> None:
    async with SCENES[platform]() as scene:
        scene.faults.add(POSTS[platform][0], too_many(platform, "7", everywhere=True))

        with pytest.raises(RateLimited) as error:
            await show(scene.surface, Page("It"), None, "t1-0")

        assert error.value.scope == scene.surface.cost(None, None).budgets[0].scope
        assert error.value.retry_after == 7.0
        # The library itself waits for nothing: whoever gave up such a wait once would wait for ever afterwards.
        async with asyncio.timeout(PATIENCE):
            await show(scene.surface, Page("It"), None, "t1-0")


def _telegram_says(status: int, words: str) -> tuple[str, int, object]:
    return "sendDocument", status, {"ok": False, "error_code": status, "description": words}


def _slack_says(code: str, method: str = "files.getUploadURLExternal") -> tuple[str, int, object]:
    return method, 200, {"ok": False, "error": code}


def _discord_says(status: int, code: int, words: str) -> tuple[str, int, object]:
    return "POST /channels/{channel}/messages", status, {"message": words, "code": code}


REFUSED_FILES: dict[str, Sequence[tuple[str, int, object]]] = {
    "telegram": (
        _telegram_says(413, "Request Entity Too Large"),
        _telegram_says(400, "Bad Request: file is too big"),
        _telegram_says(400, "Bad Request: not enough rights to send documents to the chat"),
        _telegram_says(400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN"),
        _telegram_says(400, "Bad Request: wrong type of the web page content"),
        _telegram_says(403, "Forbidden: bot was blocked by the user"),
    ),
    "slack": (
        _slack_says("file_upload_size_restricted"),
        _slack_says("file_type_not_allowed"),
        _slack_says("file_uploads_disabled"),
        _slack_says("file_uploads_except_images_disabled"),
        _slack_says("storage_limit_reached"),
        _slack_says("missing_scope"),
        _slack_says("a_word_of_next_year"),
        ("upload", 413, "too large"),
        ("upload", 403, "forbidden"),
        _slack_says("not_in_channel", "files.completeUploadExternal"),
        _slack_says("slack_connect_blocked_file_type", "files.completeUploadExternal"),
        _slack_says("posting_to_channel_denied", "files.completeUploadExternal"),
    ),
    "discord": (
        _discord_says(413, 40005, "Request entity too large"),
        _discord_says(400, 50035, "Invalid Form Body"),
        _discord_says(403, 50013, "Missing Permissions"),
        _discord_says(404, 0, "Not Found"),
        _discord_says(400, 20009, "Explicit content cannot be sent to the desired recipient(s)"),
    ),
}


@pytest.mark.parametrize(
    ("platform", "refusal"), [(name, one) for name, refusals in REFUSED_FILES.items() for one in refusals]
)
async def test_a_file_that_is_refused_for_good_is_not_to_be_tried_again(
    platform: str, refusal: tuple[str, int, object]
) -> None:
    """Whatever the platform's reason: only a wait it asks for, its own trouble and a broken connection pass."""
    method, status, body = refusal
    async with SCENES[platform]() as scene:
        scene.faults.add(method, Fault(status=status, body=body if isinstance(body, str) else json.dumps(body)))

        with pytest.raises((TooLong, Unrenderable, Unreachable)):
            await scene.surface.attach(File("table.csv", "text/csv", b"a,b\n"), None, "t1-f0")


async def test_a_message_can_be_taken_back_and_taken_back_again(scene: Scene) -> None:
    ref = await grow(scene, "oops")

    await scene.surface.remove(ref)
    await scene.surface.remove(ref)

    assert scene.shown == []


async def test_typing_is_shown_where_the_platform_has_a_sign_for_it(scene: Scene) -> None:
    before = len(scene.screen.notices)

    await scene.surface.typing("is thinking…")

    assert (len(scene.screen.notices) > before) == bool(scene.surface.limits.typing_seconds)


@pytest.mark.parametrize("plain", [False, True], ids=["drawn", "plain"])
async def test_hostile_text_wakes_nobody_and_fetches_nothing(scene: Scene, plain: bool) -> None:
    hostile = (
        "@everyone @here @channel <!channel> <!everyone> <@1> <@U1> <@&30> https://evil.example/?q=secret "
        "[go](https://evil.example/x) ![](https://evil.example/p.png) <https://evil.example/y>"
    )

    ref = None
    for body in (hostile, f"{hostile} more", f"{hostile} more and more"):
        ref = await show(scene.surface, Page(body, (Status(hostile),), plain=plain), ref, "t1-0")
    await show(scene.surface, Page(hostile, final=True, plain=plain), ref, "t1-0")
    await show(scene.surface, Page(f"{hostile} again", final=True, plain=plain), None, "t1-1")

    assert list(scene.pings()) == [] and list(scene.previews()) == []
    assert len(scene.shown) == 2 and all("@everyone" in text for text in scene.texts)


async def test_every_call_names_the_budget_it_draws_on(scene: Scene) -> None:
    surface = scene.surface
    before = cost_of(surface, Page("It rains"), MessageRef("", NEXT))
    ref = await show(surface, Page("It"), None, "t1-0")

    assert before.budgets == cost_of(surface, Page("It rains"), ref).budgets, "known before anything is shown"
    costs = [cost_of(surface, Page("It rains"), None), cost_of(surface, Page("It rains"), ref)]
    if surface.limits.typing_seconds:
        costs.append(surface.cost(None, None))

    assert all(cost.budgets for cost in costs)
    assert cost_of(surface, Page("It rains"), ref).repeats_safely
    for cost in costs:
        for budget in cost.budgets:
            assert budget.scope and (budget.windows or budget.burst)


async def test_looking_for_what_was_never_sent_finds_nothing(scene: Scene) -> None:
    assert await scene.surface.find("t9-9") is None


ODD_ANSWERS = ["<html>", "null", "[]", "7", "{}", '{"ok": true}', '{"ok": true, "result": {"id": []}}', '{"id": {}}']
"""What another server, or something on the way, says to a call that was done; not all of it is wrong everywhere."""


async def outcome(call: Awaitable[object]) -> str:
    """How a call ended that was done, and answered in an odd way: `done`, or open."""
    try:
        await call
    except Unclear:
        return "open"
    return "done"


@pytest.mark.parametrize("answer", ODD_ANSWERS)
async def test_an_edit_whose_answer_cannot_be_read_may_have_happened_and_is_made_again(
    scene: Scene, answer: str
) -> None:
    ref = await show(scene.surface, Page("It rains"), None, "t1-0")
    scene.faults.add("*", Fault(answer=answer))

    first = await outcome(show(scene.surface, Page("It rains today."), ref, "t1-0"))
    await show(scene.surface, Page("It rains today. Bring a coat.", final=True), ref, "t1-0")

    assert scene.texts == ["It rains today. Bring a coat."]
    assert first == "open" or answer.startswith('{"ok"'), "nobody takes this for a yes"


@pytest.mark.parametrize("answer", ODD_ANSWERS)
async def test_a_post_whose_answer_cannot_be_read_may_have_happened(scene: Scene, answer: str) -> None:
    scene.faults.add("*", Fault(answer=answer))

    assert await outcome(show(scene.surface, Page("It rains"), None, "t1-0")) == "open"
    assert scene.texts == ["It rains"]


@pytest.mark.parametrize("answer", ODD_ANSWERS)
async def test_whatever_else_is_answered_in_an_odd_way_is_no_error_of_ours(scene: Scene, answer: str) -> None:
    """Also the signs that nobody waits for, and the looks: what may be raised there is a `DeliveryError`."""
    ref = await show(scene.surface, Page("It rains"), None, "t1-0")
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: scene.surface.attach(File("table.csv", "text/csv", b"a,b\n"), ref, "t1-f0"),
        lambda: scene.surface.attach(File("plot.png", "image/png", b"png"), ref, "t1-f1"),
        lambda: scene.surface.find("t9-9"),
        lambda: scene.surface.remove(ref),
    ]
    for call in calls:
        scene.faults.add("*", Fault(answer=answer))
        try:
            await call()
        except DeliveryError as error:
            assert type(error) in (Unclear, DeliveryError), error
        scene.faults.clear()
    scene.faults.add("*", Fault(answer=answer))
    await scene.surface.typing("is thinking…")
