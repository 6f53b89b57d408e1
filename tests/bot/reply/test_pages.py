"""What becomes of one page that a platform does not take."""

from __future__ import annotations

import pytest

from bot.contract.errors import DeliveryError, Unrenderable
from bot.contract.messages import MessageRef, Page
from bot.reply.pages import CAREFUL_BACKOFF, GIVE_UP_AFTER, PageNow, ShownBefore, Stage, Standing
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

    assert page.stage is Stage.LOST
    assert "turn t1: page 0 could not be delivered: no answer" in caplog.text


@pytest.mark.parametrize(
    ("before", "calm", "after"),
    [
        (Stage.SHOWN, False, [Stage.GONE, Stage.LOST]),
        (Stage.SHOWN, True, [Stage.LOST, Stage.LOST]),
        (Stage.UNCLEAR, False, [Stage.GONE, Stage.LOST]),
    ],
)
def test_a_page_whose_message_is_gone_is_posted_anew_once_where_somebody_waits(
    page: PageNow, before: Stage, calm: bool, after: list[Stage]
) -> None:
    page.calm = calm
    stages = []
    for _ in after:
        page.become(before, Standing(MessageRef("m0")))
        page.become(Stage.GONE)
        stages.append(page.stage)

    assert stages == after and page.stands == Standing()


@pytest.mark.parametrize("stage", [Stage.DELETED, Stage.LOST])
def test_what_a_page_shows_is_known_when_nothing_more_is_done_for_it(page: PageNow, stage: Stage) -> None:
    page.become(Stage.SHOWN, shown := Standing(MessageRef("m0"), Page("words")))

    page.become(stage)

    assert page.done and page.stands == shown


@pytest.mark.parametrize(
    ("before", "stage"),
    [
        (ShownBefore(None, PageState.SENDING), Stage.UNCLEAR),
        (ShownBefore(None, PageState.UNCLEAR), Stage.UNCLEAR),
        (ShownBefore(None, PageState.GONE), Stage.UNPOSTED),
        (ShownBefore(MessageRef("m0"), PageState.SHOWN), Stage.SHOWN),
        (ShownBefore(MessageRef("m0"), PageState.FINAL), Stage.SHOWN),
        (ShownBefore(MessageRef("m0"), PageState.LOST), Stage.LOST),
        (ShownBefore(None, PageState.DELETED), Stage.DELETED),
    ],
)
def test_a_page_of_an_earlier_process_goes_on_where_that_left_it(
    page: PageNow, before: ShownBefore, stage: Stage
) -> None:
    page.restore(before, calm=False)

    assert (page.stage, page.stands.ref, page.waits_for_end) == (stage, before.ref, False)


def test_a_text_that_never_arrived_is_given_up_after_its_time(page: PageNow) -> None:
    page.tries.since = 0.0
    assert page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER) > 0 and not page.done

    assert page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 1) == 0.0
    assert page.stage is Stage.LOST


def test_an_end_that_an_edit_cannot_bring_goes_out_once_as_a_new_message(page: PageNow) -> None:
    page.tries.since, page.stands = 0.0, Standing(MessageRef("m0"))

    page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 1)
    assert page.stands.ref is None
    assert (page.nonce, page.done) == ("t1-0-new", False)

    page.become(Stage.SHOWN, Standing(MessageRef("m1")))
    page.failed(DeliveryError("bad gateway"), GIVE_UP_AFTER + 2)
    assert page.stage is Stage.LOST


def test_a_page_that_is_refused_even_plain_is_no_longer_tried(page: PageNow, caplog: pytest.LogCaptureFixture) -> None:
    page.vanished(Unrenderable("can't parse"))
    assert page.plain and not page.done

    page.vanished(Unrenderable("empty"))
    assert page.stage is Stage.LOST
    assert "refused even as plain text: empty" in caplog.text


def test_a_page_that_stays_too_long_goes_out_plain_with_pauses(page: PageNow, caplog: pytest.LogCaptureFixture) -> None:
    assert [page.too_long(shrunk=True) for _ in range(8)] == [0.0] * 8
    assert not page.plain

    assert page.too_long(shrunk=True) > 0
    assert page.plain and "still too long after 9 cuts" in caplog.text


def test_a_page_that_cannot_be_cut_goes_out_plain_at_once(page: PageNow) -> None:
    assert page.too_long(shrunk=False) == 0.0
    assert page.plain
