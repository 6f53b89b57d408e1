"""What is shown next of a reply, and what is left over, follows from its text and from what was shown."""

from __future__ import annotations

import pytest

from bot.contract.errors import TooLong
from bot.contract.messages import MessageRef, Page
from bot.contract.surface import SurfaceLimits
from bot.reply.pages import ShownBefore, Stage, Standing
from bot.reply.pageset import PageSet
from bot.store import PageState

LIMITS = SurfaceLimits(40, 80, len, typing_seconds=0.0)
WORDS = "Some words that fill pages. "


@pytest.fixture
def pages() -> PageSet:
    return PageSet("t1", LIMITS)


def show(pages: PageSet, number: int, stage: Stage = Stage.SHOWN) -> None:
    """What the platform took."""
    pages.now(number).become(stage, Standing(MessageRef(f"m{number}"), pages.page(number)))


def test_nothing_is_next_before_there_is_something_to_read(pages: PageSet) -> None:
    assert pages.next() is None
    pages.status["c1"] = "Searching…"

    assert pages.next() == 0 and pages.begins(0)
    assert [one.text for one in pages.page(0).status] == ["Searching…"]
    # A platform may take it as a first post, or as one that grows.
    assert pages.beginning(0, final=True).status
    pages.begin_piece(0, grows=True)


def test_of_many_tools_at_once_the_newest_are_shown(pages: PageSet) -> None:
    for number in range(300):
        pages.begin_task(f"c{number}", f"Looking at {number}")

    assert [one.text for one in pages.page(0).status] == [f"Looking at {number}" for number in range(288, 300)]


def test_pages_are_shown_in_order_and_each_until_it_looks_as_it_should(pages: PageSet) -> None:
    pages.extend(WORDS * 5)
    order = []
    while (number := pages.next()) is not None:
        order.append(number)
        show(pages, number)
    assert order == sorted(order) and len(order) > 2 and pages.visible

    pages.extend("And more.")
    assert pages.next() == order[-1] and not pages.begins(order[-1])
    show(pages, order[-1])
    pages.finish()
    # The last one alone changes: it is final now.
    assert pages.next() == order[-1] and not pages.begins(order[-1]) and pages.page(order[-1]).final


def test_pages_that_the_text_no_longer_reaches_are_left_over(pages: PageSet) -> None:
    before = {number: ShownBefore(MessageRef(f"m{number}"), PageState.SHOWN) for number in range(3)}
    pages.restore(before, calm=False)
    pages.extend("Short.")
    pages.finish()

    assert pages.left_over() == [(1, MessageRef("m1")), (2, MessageRef("m2"))]
    assert pages.refs == {number: one.ref for number, one in before.items()}


def test_a_message_of_an_earlier_process_stays_until_there_is_something_in_its_place(pages: PageSet) -> None:
    pages.restore({0: ShownBefore(MessageRef("m0"), PageState.FINAL)}, calm=False)
    assert pages.next() is None
    pages.extend("Words to read, enough of them.")

    assert pages.next() == 0


def test_a_lost_page_is_left_alone_and_a_deleted_one_waits_for_the_end(pages: PageSet) -> None:
    pages.extend(WORDS * 3)
    pages.now(0).become(Stage.LOST)
    assert pages.next() == 1
    pages.now(1).become(Stage.GONE)
    assert pages.next() is None
    pages.finish()

    assert pages.next() == 1 and not pages.begins(1)


def test_a_page_that_is_too_long_is_cut_shorter_unless_a_later_one_stands(pages: PageSet) -> None:
    pages.extend(WORDS * 5)
    whole = pages.page(0).body
    pages.shorten(0, TooLong("too long", by=10))
    assert len(pages.page(0).body) < len(whole) and not pages.page(0).plain

    show(pages, 1)
    body = pages.page(0).body
    pages.shorten(0, TooLong("too long", by=10))
    # What stands behind it begins where it ended: it is shown without notation instead.
    assert pages.page(0) == Page(body=body, final=True, plain=True)


def test_a_page_that_grows_shows_whole_words_and_all_of_it_where_it_stands_still(pages: PageSet) -> None:
    pages.extend("Green tea in Kyo")
    assert pages.page(0) == Page("Green tea in ")

    pages.status["c1"] = "Searching…"
    assert pages.page(0).body == "Green tea in Kyo"
    pages.status.clear()
    pages.finish()

    assert pages.page(0) == Page("Green tea in Kyo", final=True)


def test_a_full_page_is_shown_to_its_last_letter(pages: PageSet) -> None:
    pages.extend("z" * 60)

    assert pages.page(0) == Page("z" * 40, final=True)


def test_a_word_that_stands_is_not_taken_back(pages: PageSet) -> None:
    """A tool has ended, and the model has not gone on yet."""
    pages.extend("Let me look")
    pages.status["c1"] = "Searching…"
    show(pages, 0)
    pages.status.clear()
    assert pages.page(0) == Page("Let me look")

    pages.extend("ing at it")

    assert pages.page(0) == Page("Let me looking at ")
