"""What becomes of one page that a platform does not take."""

from __future__ import annotations

import pytest

from bot.contract.errors import DeliveryError, Unrenderable
from bot.contract.messages import MessageRef
from bot.reply.pages import CAREFUL_BACKOFF, GIVE_UP_AFTER, PageNow
from bot.store import PageState


@pytest.fixture
def page() -> PageNow:
    return PageNow("turn t1: page 0", "t1-0")


def test_posts_of_unknown_outcome_are_made_less_and_less_often_and_end(
    page: PageNow, caplog: pytest.LogCaptureFixture
) -> None:
    """Each may leave one more beginning on the screen."""
    for _ in CAREFUL_BACKOFF:
        page.held_back(DeliveryError("no answer"))
        assert not page.done

    page.held_back(DeliveryError("no answer"))

    assert page.state == PageState.LOST
    assert "turn t1: page 0 could not be delivered: no answer" in caplog.text


def test_a_text_that_never_arrived_is_given_up_after_its_time(page: PageNow) -> None:
    page.since = 0.0
    assert page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER) > 0 and not page.done

    assert page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 1) == 0.0
    assert page.state == PageState.LOST


def test_an_end_that_an_edit_cannot_bring_goes_out_once_as_a_new_message(page: PageNow) -> None:
    page.since, page.ref = 0.0, MessageRef("m0")

    page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 1)
    assert page.ref is None
    assert (page.nonce, page.done) == ("t1-0-new", False)

    page.ref = MessageRef("m1")
    page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 2)
    assert page.state == PageState.LOST


def test_a_page_that_is_refused_even_plain_is_no_longer_tried(page: PageNow, caplog: pytest.LogCaptureFixture) -> None:
    page.vanished(Unrenderable("can't parse"))
    assert page.plain and not page.done

    page.vanished(Unrenderable("empty"))
    assert page.state == PageState.LOST
    assert "refused even as plain text: empty" in caplog.text


def test_a_page_that_stays_too_long_goes_out_plain_with_pauses(page: PageNow, caplog: pytest.LogCaptureFixture) -> None:
    assert [page.too_long(shrunk=True) for _ in range(8)] == [0.0] * 8
    assert not page.plain

    assert page.too_long(shrunk=True) > 0
    assert page.plain and "still too long after 9 cuts" in caplog.text


def test_a_page_that_cannot_be_cut_goes_out_plain_at_once(page: PageNow) -> None:
    assert page.too_long(shrunk=False) == 0.0
    assert page.plain
