"""What became of enclosures is stored with the question before it is asked, and what was said is the question."""

from __future__ import annotations

from typing import BinaryIO

import pytest

from bot.context import Admitted
from bot.contract import Enclosure, EnclosureKind, MessageSent, Quoted
from bot.reply.preamble import write_preamble
from bot.store import InboxState
from bot.turn.queue import Running
from bot.turn.run import MOST_ATTEMPTS
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.bot.store.conftest import taken_in

PNG = b"\x89PNG\r\n\x1a\n"
FILES = {"v": b"OggS" + b"\0" * 60, "p": PNG, "t": b"tea at six"}
VOICE = Enclosure(kind=EnclosureKind.VOICE, source="v", seconds=2)


def serve(it: Rig, monkeypatch: pytest.MonkeyPatch, said: str = "Hello") -> list[str]:
    """Let the platform have these files, and the service hear this; what is fetched."""
    fetched: list[str] = []

    async def fetch(source: str, into: BinaryIO, most: int) -> None:
        fetched.append(source)
        into.write(FILES[source])

    monkeypatch.setattr(it.memory, "fetch", fetch)
    it.model.transcriptions.script = lambda recording: said
    return fetched


async def stored(it: Rig) -> MessageSent:
    """The last question as it is stored."""
    record = await it.bot.store.turns.find_last(it.message("").chat)
    assert record is not None and isinstance(record.incoming, MessageSent)
    return record.incoming


async def test_what_was_heard_is_stored_and_nothing_of_a_files_text(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig() as it:
        serve(it, monkeypatch)
        enclosed = (VOICE, Enclosure(kind=EnclosureKind.FILE, source="t", name="tea.txt"))
        picture = Enclosure(kind=EnclosureKind.PICTURE, source="p")
        await it.say("Well?", enclosed=enclosed, quoted=Quoted(text="", enclosed=(VOICE, picture)))

        kept = await stored(it)

    assert kept.text == "Well?" and [one.text for one in kept.enclosed] == ["Hello", ""]
    assert kept.quoted is not None and [one.text for one in kept.quoted.enclosed] == ["Hello", ""]
    assert write_preamble(kept) == "> 🎤 Hello\n\n" * 2, "shown again later, the reply begins as it did"


async def test_asked_again_nothing_is_fetched_or_written_again(rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig() as it:
        fetched = serve(it, monkeypatch)
        first = await it.say("", enclosed=(VOICE,))
        again = await it.say("/retry")

    assert [one.partition("\n")[0] for one in (*first, *again)] == ["> 🎤 Hello"] * 2
    assert fetched == ["v"]


@pytest.mark.parametrize(("said", "language"), [("今天天气怎么样？", "zh-Hans"), ("How are you?", "en")])
async def test_who_speaks_is_answered_in_the_language_that_is_heard(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, said: str, language: str
) -> None:
    async with rig() as it:
        serve(it, monkeypatch, said)
        it.model.script = lambda body: Reply("")
        [shown] = await it.say("", enclosed=(VOICE,))

    assert ("模型没有给出回答" in shown) is (language == "zh-Hans")


@pytest.mark.parametrize("attempts", [0, MOST_ATTEMPTS])
async def test_for_a_turn_that_has_ended_or_is_given_up_nothing_is_fetched_or_paid(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    async with rig() as it:
        fetched, question = serve(it, monkeypatch), it.message("", enclosed=(VOICE,))
        turn = await taken_in(it.bot.store, question)
        for _ in range(attempts):
            await it.bot.store.turns.begin(turn, question.chat, question.sender.id)
        if not attempts:
            await it.bot.store.intake.end(turn, InboxState.STOPPED)
        await it.bot.conversation.run(turn, Admitted(question, "en"), Running(turn, question.sender.id))

        assert fetched == [] and it.model.requests == [] and len(it.shown()) == bool(attempts)
