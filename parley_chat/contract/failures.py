"""What every surface makes of what goes wrong: lost answers, gateways, limits, answers of another server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bot.contract import DeliveryError, File, Page, RateLimited, TooLong, Unclear, Unreachable, Unrenderable
from parley_chat.contract.scene import Call, Scene, cost_of, lacks, show

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
ODD_ANSWERS = ["<html>", "null", "[]", "7", "{}", '{"ok": true}', '{"ok": true, "result": {"id": []}}', '{"id": {}}']
"""What another server, or something on the way, says to a call that was done; not all of it is wrong everywhere."""
TABLE = File("table.csv", "text/csv", b"a,b\n")


async def outcome(call: Awaitable[object]) -> str:
    """How a call ended that was done, and answered in an odd way: `done`, or open."""
    try:
        await call
    except Unclear:
        return "open"
    return "done"


class FailureContract:
    """A surface is as careful as it must be when these pass; a subclass has a fixture `scene`."""

    async def test_an_edit_without_an_answer_may_be_applied_after_later_ones(self, scene: Scene) -> None:
        """What every reply has to live with, and what mends it: the same page once more, by way of a new surface."""
        whole = Page("It rains today.", final=True)
        ref = await show(scene.surface, Page("It"), None, "t1-0")
        applied = asyncio.Event()
        late = scene.late(Call.EDIT, applied)
        with pytest.raises(Unclear):
            await show(scene.surface, Page("It rains"), ref, "t1-0")
        ref = await show(scene.surface, whole, ref, "t1-0")
        before = scene.texts
        applied.set()
        await late.wait()
        overwritten = scene.texts

        await show((await scene.enter()).surface(scene.target), whole, ref, "t1-0")

        assert (before, overwritten, scene.texts) == (["It rains today."], ["It rains"], ["It rains today."])

    async def test_a_post_of_unknown_outcome_is_shown_once(self, scene: Scene) -> None:
        """By the way that its cost names: it is looked up, or sent once more under its name."""
        await show(scene.surface, Page("Before.", final=True), None, "t0-0")
        page, whole = Page("It rains"), Page("It rains today.", final=True)
        cost = cost_of(scene.surface, page, None)
        scene.garble("<html>")
        with pytest.raises(Unclear):
            await show(scene.surface, page, None, "t1-0")

        if cost.found_again:
            ref = await (await scene.enter()).surface(scene.target).find("t1-0")
        elif cost.repeats_safely:
            ref = await show(scene.surface, page, None, "t1-0")
        else:
            lacks("way to know whether a post arrived")
        assert ref is not None
        await show(scene.surface, whole, ref, "t1-0")

        assert scene.texts == ["Before.", "It rains today."]

    @pytest.mark.parametrize("status", [500, 502, 504])
    async def test_an_edit_that_a_gateway_answers_may_have_been_made(self, scene: Scene, status: int) -> None:
        ref = await show(scene.surface, Page("It"), None, "t1-0")
        scene.gateway(Call.EDIT, status)

        with pytest.raises(Unclear):
            await show(scene.surface, Page("It rains"), ref, "t1-0")

    @pytest.mark.parametrize(("named", "waited"), WAITS, ids=[str(named)[:9] for named, _ in WAITS])
    async def test_a_wait_is_a_number_whatever_the_platform_named(
        self, scene: Scene, named: str | None, waited: float
    ) -> None:
        told = []
        expected = []

        async def refused(which: Call, call: Awaitable[object]) -> None:
            own = scene.limit(which, named)
            expected.append(waited if own is None else own)
            with pytest.raises(RateLimited) as error:
                await call
            told.append(error.value.retry_after)

        ref = await show(scene.surface, Page("It"), None, "t1-0")
        await refused(Call.POST, show(scene.surface, Page("And"), None, "t1-1"))
        await refused(Call.EDIT, show(scene.surface, Page("It rains"), ref, "t1-0"))
        if scene.surface.limits.attachment_bytes:
            await refused(Call.FILE, scene.surface.attach(TABLE, ref, "t1-f0"))

        assert told == expected

    async def test_a_file_that_is_refused_for_good_is_not_to_be_tried_again(self, scene: Scene) -> None:
        """Whatever the platform's reason: only a wait it asks for, its own trouble and a broken connection pass."""
        if not scene.file_refusals:
            lacks("refusals of files")
        for reason in scene.file_refusals:
            scene.refuse_file(reason)
            try:
                await scene.surface.attach(TABLE, None, "t1-f0")
            except (TooLong, Unrenderable, Unreachable):
                continue
            except DeliveryError as error:
                pytest.fail(f"{reason}: {error!r} is tried again")
            pytest.fail(f"{reason}: the file was not refused")

    @pytest.mark.parametrize("answer", ODD_ANSWERS)
    async def test_an_edit_whose_answer_cannot_be_read_may_have_happened_and_is_made_again(
        self, scene: Scene, answer: str
    ) -> None:
        ref = await show(scene.surface, Page("It rains"), None, "t1-0")
        scene.garble(answer)

        first = await outcome(show(scene.surface, Page("It rains today."), ref, "t1-0"))
        await show(scene.surface, Page("It rains today. Bring a coat.", final=True), ref, "t1-0")

        assert scene.texts == ["It rains today. Bring a coat."]
        assert first == "open" or answer.startswith('{"ok"'), "nobody takes this for a yes"

    @pytest.mark.parametrize("answer", ODD_ANSWERS)
    async def test_a_post_whose_answer_cannot_be_read_may_have_happened(self, scene: Scene, answer: str) -> None:
        scene.garble(answer)

        assert await outcome(show(scene.surface, Page("It rains"), None, "t1-0")) == "open"
        assert scene.texts == ["It rains"]

    @pytest.mark.parametrize("answer", ODD_ANSWERS)
    async def test_whatever_else_is_answered_in_an_odd_way_is_no_error_of_ours(self, scene: Scene, answer: str) -> None:
        """Also the signs that nobody waits for, and the looks: what may be raised there is a `DeliveryError`."""
        ref = await show(scene.surface, Page("It rains"), None, "t1-0")
        files: list[Callable[[], Awaitable[object]]] = [
            lambda: scene.surface.attach(TABLE, ref, "t1-f0"),
            lambda: scene.surface.attach(File("plot.png", "image/png", b"png"), ref, "t1-f1"),
        ]
        looks: list[Callable[[], Awaitable[object]]] = [
            lambda: scene.surface.find("t9-9"),
            lambda: scene.surface.remove(ref),
        ]
        for call in [*(files if scene.surface.limits.attachment_bytes else ()), *looks]:
            scene.garble(answer)
            try:
                await call()
            except DeliveryError as error:
                assert type(error) in (Unclear, DeliveryError), error
            scene.recover()
        scene.garble(answer)
        await scene.surface.typing("is thinking…")
