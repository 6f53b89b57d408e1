"""What every surface promises, whatever platform it writes to: one suite, asserted on what a person sees.

What goes wrong is in `failures.py`, what happens to a message in `events.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import pytest

from bot.contract import (
    NEXT,
    Button,
    Control,
    DeliveryError,
    File,
    MessageGone,
    MessageRef,
    Page,
    ReplyTarget,
    Status,
    Surface,
    TooLong,
    Unrenderable,
)
from bot.pacing import Pacer
from bot.reply import ReplyStream
from bot.reply.record import Unrecorded
from parley_chat.contract.clock import FakeClock
from parley_chat.contract.scene import Scene, awaited_amiss, cost_of, grow, lacks, show, until

STOP, GOOD = Button(Control.STOP, 12, "Stop"), Button(Control.GOOD, 12, "Good")
DRAWN = (
    Page("It **rains"),
    Page("It **rains** in [Oslo](https://a.example)", (Status("Reading <a>…"),)),
    Page("It **rains** `today`.", final=True),
    Page("It **rains** on https://a.example", final=True, plain=True),
)


def privately(target: ReplyTarget) -> ReplyTarget:
    """The same place for who asked alone, as another process reads it."""
    return ReplyTarget.from_json(ReplyTarget(target.platform, {**target.data, "private": True}).to_json())


class SurfaceContract:
    """A surface is finished when these pass; a subclass has a fixture `scene`."""

    async def test_its_methods_are_async_where_they_are_awaited(self, scene: Scene) -> None:
        assert awaited_amiss(type(scene.surface), Surface) == []

    async def test_a_page_grows_in_one_message(self, scene: Scene) -> None:
        await grow(scene, "It", "It rains", "It rains **today**.")

        assert scene.texts == ["It rains today."]
        assert [version.text for version in scene.shown[0].versions] == ["It", "It rains", "It rains today."]
        assert not scene.shown[0].live

    async def test_pages_stand_in_order(self, scene: Scene) -> None:
        for number in range(3):
            await grow(scene, f"page {number}", f"page {number}.", nonce=f"t1-{number}")

        assert scene.texts == ["page 0.", "page 1.", "page 2."]

    async def test_what_is_for_who_asked_is_shown_to_others_only_where_the_platform_cannot_help_it(
        self, scene: Scene
    ) -> None:
        surface = (await scene.enter()).surface(privately(scene.target))
        pages = [Page(f"Only for *Ada* {number}", final=True) for number in range(3)]

        refs = [await show(surface, page, None, f"t1-{number}") for number, page in enumerate(pages)]

        shown = [(one.text, one.ephemeral) for one in scene.shown]
        assert shown == [(f"Only for Ada {number}", scene.private) for number in range(3)]
        # It stands for good: whoever shows it again changes nothing.
        assert await show(surface, pages[0], refs[0], "t1-0") == refs[0]
        assert len(scene.shown) == 3 and not any(one.live for one in scene.shown)
        assert cost_of(surface, pages[0], None).budgets
        assert not scene.private or surface.limits.typing_seconds == 0

    async def test_what_is_for_who_asked_goes_nowhere_else_when_its_way_is_closed(self, scene: Scene) -> None:
        if not scene.private:
            lacks("private messages")
        surface = (await scene.enter()).surface(privately(scene.target))
        scene.close_private()

        with pytest.raises(DeliveryError):
            await show(surface, Page("Only for Ada", final=True), None, "t1-0")

        assert not any(scene.texts)

    async def test_showing_what_is_shown_already_is_no_error_and_no_change(self, scene: Scene) -> None:
        page = Page("the same", final=True)
        ref = await show(scene.surface, page, None, "t1-0")

        again = await show(scene.surface, page, ref, "t1-0")
        other = (await scene.enter()).surface(scene.target)
        await show(other, page, again, "t1-0")

        assert scene.texts == ["the same"]

    async def test_buttons_stand_below_a_page_and_go_with_an_edit_that_has_none(self, scene: Scene) -> None:
        if not scene.buttons:
            lacks("buttons")
        ref = await show(scene.surface, Page("It", buttons=(STOP,)), None, "t1-0")
        assert [list(one.buttons) for one in scene.shown] == [["Stop"]]
        ref = await show(scene.surface, Page("It rains", buttons=(STOP, GOOD)), ref, "t1-0")
        assert [list(one.buttons) for one in scene.shown] == [["Stop", "Good"]]
        other = (await scene.enter()).surface(scene.target)
        await show(other, Page("It rains today.", final=True), ref, "t1-0")

        assert [list(one.buttons) for one in scene.shown] == [[]]
        assert scene.texts == ["It rains today."]

    async def test_buttons_make_a_page_another_one_and_leave_its_text_as_it_is(self, scene: Scene) -> None:
        if not scene.buttons:
            lacks("buttons")
        page = Page("# It *rains*\n\n" + "word " * (scene.surface.limits.page_length // 6), final=True)
        plain, pressable = scene.surface.draw(page), scene.surface.draw(replace(page, buttons=(STOP, GOOD)))
        assert plain != pressable

        await scene.surface.show(plain, None, "t1-0")
        await scene.surface.show(pressable, None, "t1-1")
        assert scene.shown[0].versions[-1].markup == scene.shown[1].versions[-1].markup
        assert scene.texts[0] == scene.texts[1]

    async def test_drawing_sends_nothing_and_gives_the_same_every_time(self, scene: Scene) -> None:
        other = (await scene.enter()).surface(scene.target)
        before = scene.calls

        drawn = [scene.surface.draw(page) for page in DRAWN]
        ref = await scene.surface.show(drawn[0], None, "t1-0")
        await scene.surface.show(drawn[1], ref, "t1-0")
        between = scene.calls

        for surface in (scene.surface, other):
            assert [surface.draw(page) for page in DRAWN] == drawn
        assert len(set(drawn)) == len(DRAWN)
        assert scene.surface.draw(Page("It **rains**")) == drawn[0], "it looks the same"
        with pytest.raises(TooLong):
            scene.surface.draw(Page("x" * (scene.surface.limits.hard_length + 1), plain=True))
        with pytest.raises(Unrenderable):
            scene.surface.draw(Page("", final=True))
        assert before < between == scene.calls

    async def test_a_reply_makes_no_call_for_what_looks_the_same(self, scene: Scene) -> None:
        clock = FakeClock()
        async with ReplyStream(scene.surface, Pacer(clock), Unrecorded(), clock, turn="t1", careful=False) as reply:
            reply.append("It **rains on the hills.")
            await until(lambda: scene.texts == ["It rains on the hills."])
            reply.append("**")
            await clock.advance(10)

        assert scene.texts == ["It rains on the hills."] and reply.edits == 1
        assert len(scene.shown[0].versions) == 1

    async def test_another_process_edits_the_same_message_from_stored_data(self, scene: Scene) -> None:
        ref = await show(scene.surface, Page("It rains"), None, "t1-0")
        stored = scene.target.to_json(), ref.to_json()

        other = (await scene.enter()).surface(ReplyTarget.from_json(stored[0]))
        await show(other, Page("It rains today.", final=True), MessageRef.from_json(stored[1]), "t1-0")

        assert scene.texts == ["It rains today."]

    async def test_plain_text_is_shown_as_it_is_written(self, scene: Scene) -> None:
        await show(scene.surface, Page("2 < 3 && a_b_c = d", plain=True, final=True), None, "t1-0")

        assert scene.texts == ["2 < 3 && a_b_c = d"]

    async def test_special_signs_stay_what_they_are(self, scene: Scene) -> None:
        await grow(scene, "2 < 3 & 5 > 4, snake_case_name, C:\\new, 50 * 2 * 3, `a<b>&c`")

        assert scene.texts == ["2 < 3 & 5 > 4, snake_case_name, C:\\new, 50 * 2 * 3, a<b>&c"]

    async def test_a_page_may_break_off_anywhere(self, scene: Scene) -> None:
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

    async def test_what_the_tools_do_is_shown_and_goes(self, scene: Scene) -> None:
        ref = await show(scene.surface, Page("", (Status("🔎 Searching <rain> & *wind*"),)), None, "t1-0")
        early = scene.texts
        ref = await show(scene.surface, Page("It rains.", (Status("Reading…"),)), ref, "t1-0")
        during = scene.texts
        await show(scene.surface, Page("It rains.", final=True), ref, "t1-0")

        assert "🔎 Searching <rain> & *wind*" in early[0]
        assert "It rains." in during[0] and "Reading…" in during[0]
        assert scene.texts == ["It rains."]

    async def test_a_deleted_message_is_noticed_and_the_text_can_be_posted_anew(self, scene: Scene) -> None:
        ref = await show(scene.surface, Page("It rains"), None, "t1-0")
        scene.delete(ref)

        with pytest.raises(MessageGone):
            await show(scene.surface, Page("It rains today.", final=True), ref, "t1-0")
        await show(scene.surface, Page("It rains today.", final=True), None, "t1-0")

        assert scene.texts == ["It rains today."]

    async def test_a_page_of_full_length_fits_and_a_longer_one_says_by_how_much(self, scene: Scene) -> None:
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
    async def test_a_page_full_of_signs_is_shown_or_is_too_long(self, scene: Scene, signs: str) -> None:
        """Never refused for anything else: what is too long is cut again, by what it is told."""
        limits = scene.surface.limits
        body = "x" + signs * limits.hard_length
        length = limits.page_length
        for _ in range(12):
            fits = bisect_right(range(len(body)), length, key=lambda end: limits.measure(body[:end])) - 1
            page = Page(body[:fits], final=True)
            try:
                await show(scene.surface, page, None, "t1-0")
                break
            except TooLong as error:
                assert error.by > 0
                length -= max(error.by, length // 8)

        assert len([text for text in scene.texts if text]) == 1

    async def test_a_file_stands_below_the_text(self, scene: Scene) -> None:
        if not scene.surface.limits.attachment_bytes:
            lacks("files in replies")
        ref = await grow(scene, "Look:")

        after = await scene.surface.attach(File("table.csv", "text/csv", b"a,b\n"), ref, "t1-f0")

        assert [list(one.files) for one in scene.shown] == [[], [("table.csv", "text/csv", b"a,b\n")]]
        # Slack tells the id of a file it was given, never that of the message it stands in.
        assert after.form == "file" or after.id == scene.shown[1].id

    async def test_a_file_that_is_too_large_is_not_sent(self, scene: Scene) -> None:
        if not scene.surface.limits.attachment_bytes:
            lacks("files in replies")
        content = bytes(scene.surface.limits.attachment_bytes + 1)

        with pytest.raises(TooLong) as told:
            await scene.surface.attach(File("big.bin", "application/octet-stream", content), None, "t1-f0")

        assert told.value.by == 1
        assert not any(one.files for one in scene.shown)

    async def test_a_message_can_be_taken_back_and_taken_back_again(self, scene: Scene) -> None:
        ref = await grow(scene, "oops")

        await scene.surface.remove(ref)
        await scene.surface.remove(ref)

        assert scene.shown == []

    async def test_typing_is_shown_where_the_platform_has_a_sign_for_it(self, scene: Scene) -> None:
        before = scene.signs

        await scene.surface.typing("is thinking…")

        assert (scene.signs > before) == bool(scene.surface.limits.typing_seconds)

    @pytest.mark.parametrize("plain", [False, True], ids=["drawn", "plain"])
    async def test_hostile_text_wakes_nobody_and_fetches_nothing(self, scene: Scene, plain: bool) -> None:
        hostile = (
            "@everyone @here @channel <!channel> <!everyone> <@1> <@U1> <@&30> https://evil.example/?q=secret "
            "[go](https://evil.example/x) ![](https://evil.example/p.png) <https://evil.example/y>"
        )

        ref = None
        for body in (hostile, f"{hostile} more", f"{hostile} more and more"):
            ref = await show(scene.surface, Page(body, (Status(hostile),), plain=plain), ref, "t1-0")
        await show(scene.surface, Page(hostile, final=True, plain=plain), ref, "t1-0")
        await show(scene.surface, Page(f"{hostile} again", final=True, plain=plain), None, "t1-1")

        assert list(scene.pings) == [] and list(scene.previews) == []
        assert len(scene.shown) == 2 and all("@everyone" in text for text in scene.texts)

    async def test_every_call_names_the_budget_it_draws_on(self, scene: Scene) -> None:
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

    async def test_looking_for_what_was_never_sent_finds_nothing(self, scene: Scene) -> None:
        assert await scene.surface.find("t9-9") is None
