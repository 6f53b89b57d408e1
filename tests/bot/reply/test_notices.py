"""Sentences of our own are shown beside everything else, and nobody can make them pile up."""

from __future__ import annotations

import pytest

from bot.reply.notices import MOST_TOLD, Notices
from tests.bot.conftest import OpenRig, Rig


def notices_of(it: Rig) -> Notices:
    return it.bot.dispatcher._notices


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


async def test_what_is_not_shown_at_the_end_of_the_process_is_left(rig: OpenRig) -> None:
    async with rig() as it:
        notices_of(it).soon(it.message("hi"), "Too late.")

        await notices_of(it).close()

        assert it.shown() == []
