"""A scene that a stranger has only begun: what it does not define yet is skipped with its reason, and fails nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import cast
from unittest.mock import AsyncMock

import pytest

from parley_chat.adapter import Adapter, MessageRef, Page, Surface, SurfaceLimits, TooLong, Unrenderable
from parley_chat.contract.suites import (
    EventContract,
    FailureContract,
    QuoteContract,
    Scene,
    SurfaceContract,
    ThreadContract,
)
from playground.telegram import TelegramServer
from tests.contract.scenes import TelegramScene

EVENTS, SURFACE, QUOTES, THREADS = EventContract(), SurfaceContract(), QuoteContract(), ThreadContract()
LACKED: dict[str, Callable[[Scene], Awaitable[None]]] = {
    "buttons": SURFACE.test_buttons_stand_below_a_page_and_go_with_an_edit_that_has_none,
    "buttons drawn": SURFACE.test_buttons_make_a_page_another_one_and_leave_its_text_as_it_is,
    "private messages": SURFACE.test_what_is_for_who_asked_goes_nowhere_else_when_its_way_is_closed,
    "refusals of files": FailureContract().test_a_file_that_is_refused_for_good_is_not_to_be_tried_again,
    "channels of several people": EVENTS.test_what_people_say_to_each_other_is_no_question,
    "events of edits": EVENTS.test_a_change_of_a_text_is_told_with_all_of_the_new_text,
    "events of changes that nobody sees": EVENTS.test_a_change_that_no_reader_sees_is_none,
    "events of deletions": EVENTS.test_a_deletion_is_told_where_the_platform_tells_it,
    "buttons pressed": EVENTS.test_a_press_says_what_is_asked_of_which_turn_and_by_whom,
    "files": EVENTS.test_a_file_that_cannot_be_had_is_an_error_of_delivery,
    "quotes": QUOTES.test_what_a_program_wrote_is_read_where_somebody_asks_about_it,
    "forwards": QUOTES.test_what_a_program_wrote_is_read_where_it_is_forwarded_and_orders_nothing,
    "threads": THREADS.test_a_thread_belongs_to_its_channel_and_has_its_own_history,
}


class Begun(TelegramScene):
    """Only what every scene must have."""

    buttons = False
    refused = {}
    ask_in_thread = Scene.ask_in_thread
    say_to_others = Scene.say_to_others
    mention_later = Scene.mention_later
    edit = Scene.edit
    touch = Scene.touch
    send = Scene.send
    press = Scene.press
    quote = Scene.quote
    forward = Scene.forward


@pytest.fixture
async def begun() -> AsyncIterator[Begun]:
    async with TelegramServer(limits=False) as server, AsyncExitStack() as stack:
        server.person(1, "Ada")
        server.group(-50, "Friends", forum=True)
        scene = Begun(server, stack)
        scene.surface = (await scene.enter()).surface(scene.target)
        yield scene


@pytest.mark.parametrize("what", LACKED)
async def test_what_a_scene_lacks_is_skipped_with_its_reason(begun: Begun, what: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"has no {what.partition(' drawn')[0].partition(' pressed')[0]}$"):
        await LACKED[what](begun)


async def test_what_every_scene_has_is_enough_for_the_rest(begun: Begun) -> None:
    await EVENTS.test_people_and_chats_are_named_as_an_operator_lists_them(begun)
    await SURFACE.test_a_page_grows_in_one_message(begun)


def test_a_scene_that_lacks_what_every_platform_has_says_what() -> None:
    class Empty(Scene):
        pass

    with pytest.raises(TypeError, match=r"abstract methods .*garble.*say.*shown"):
        Empty()  # type: ignore[abstract]


def test_a_scene_whose_method_is_async_where_the_suites_call_it_is_refused_at_once() -> None:
    """Else its coroutine is never awaited, nothing happens, and thirty tests time out."""
    with pytest.raises(
        TypeError, match=r"^Awaited\.enter must be written `async def`; Awaited\.say must be written `def`$"
    ):

        class Awaited(Scene):
            async def say(self, text: str) -> str:  # type: ignore[override]
                return text

            def enter(self) -> Adapter:  # type: ignore[override]
                raise NotImplementedError


async def test_an_adapter_or_surface_that_is_async_in_the_wrong_places_is_named(begun: Begun) -> None:
    class Late:
        platform = "late"

        async def earlier(self, message: object) -> None:
            return None

        def typing(self, words: str) -> None:
            return None

    begun.surface = cast(Surface, Late())
    with pytest.raises(AssertionError, match=r"Late\.typing must be written `async def`"):
        await SURFACE.test_its_methods_are_async_where_they_are_awaited(begun)
    begun.enter = AsyncMock(return_value=Late())  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match=r"Late\.earlier must be written `def`"):
        await EVENTS.test_its_methods_are_async_where_they_are_awaited(begun)


async def test_a_surface_that_counts_bytes_is_cut_by_bytes(begun: Begun) -> None:
    """A page of signs with eighteen bytes each is cut until it fits, and not to nothing."""

    class Bytes:
        limits = SurfaceLimits(page_length=300, hard_length=400, measure=lambda text: len(text.encode()))
        shown: list[str] = []

        def draw(self, page: Page) -> Page:
            if not page.body:
                raise Unrenderable("empty")
            if (over := self.limits.measure(page.body) - 200) > 0:
                raise TooLong("too long", by=over)
            return page

        async def show(self, drawn: Page, at: MessageRef | None, nonce: str = "") -> MessageRef:
            self.shown.append(drawn.body)
            return MessageRef("1")

    surface = Bytes()
    begun.surface = cast(Surface, surface)
    with pytest.raises(AssertionError):  # nothing reached the emulator, which is not asked here
        await SURFACE.test_a_page_full_of_signs_is_shown_or_is_too_long(begun, "👩‍👩‍👧")

    assert [0 < len(text.encode()) <= 200 for text in surface.shown] == [True]
