"""Sentences of our own are shown beside everything else, and nobody can make them pile up."""

from __future__ import annotations

import pytest

from bot.reply import notices
from bot.reply.notices import MOST_TOLD, Notices
from tests.bot.conftest import OpenRig, Rig
from tests.patience import PATIENCE


def notices_of(it: Rig) -> Notices:
    return it.bot.dispatcher.notices


async def test_in_one_chat_so_many_sentences_wait_and_who_awaits_an_answer_gets_one(rig: OpenRig) -> None:
    async with rig() as it:
        for number in range(MOST_TOLD + 2):
            notices_of(it).soon(it.message("hi"), f"Sentence {number}.")
        notices_of(it).soon(it.message("hi", awaited=True), "Awaited.")
        notices_of(it).soon(it.message("hi", chat="8"), "Elsewhere.")
        await it.idle()

        assert sorted(it.shown()) == ["Awaited.", *(f"Sentence {number}." for number in range(MOST_TOLD))]
        assert it.shown("8") == ["Elsewhere."]

        notices_of(it).soon(it.message("hi"), "Later.")
        await it.idle()
        assert it.shown()[-1] == "Later."


async def test_a_sentence_that_cannot_be_shown_is_logged_and_forgotten(
    rig: OpenRig, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig() as it:
        it.bot.platforms._open.clear()

        notices_of(it).soon(it.message("hi"), "Nobody reads this.")
        await it.idle()

        assert not notices_of(it).under_way and "telegram is not connected" in caplog.text
        assert it.shown() == []


@pytest.mark.parametrize(("may_call", "shown"), [(True, ["A last word."]), (False, [])])
async def test_what_is_not_shown_within_a_moment_of_the_end_of_the_process_is_left(
    may_call: bool, shown: list[str], rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.reply.notices.MOMENT", PATIENCE if may_call else 0.0)
    async with rig() as it:
        it.bot.pacer.may_call = lambda: may_call
        notices_of(it).soon(it.message("hi"), "A last word.")

        await notices_of(it).close()

        assert it.shown() == shown


async def test_strangers_are_told_one_after_the_other_and_hold_nobody_else_up(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MOST_STRANGERS", 2)
    monkeypatch.setattr(notices, "MOST_TOLD_OVER_ALL", 2)
    monkeypatch.setattr(notices, "STRANGER_SECONDS", PATIENCE)
    async with rig() as it:
        for chat in ("1", "2", "3"):
            notices_of(it).soon(it.message("hi", chat=chat), "Who are you?", stranger=True)
        await it.until(lambda: bool(it.shown("1")))
        notices_of(it).soon(it.message("hi", chat="4"), "Told at once.")
        notices_of(it).soon(it.message("hi", chat="5", awaited=True), "Awaited.", stranger=True)
        await it.until(lambda: bool(it.shown("4") and it.shown("5")))

        assert it.shown("2") == []
        monkeypatch.setattr(notices, "MOMENT", 0.0)
        await notices_of(it).close()
        assert it.shown("2") == it.shown("3") == []
