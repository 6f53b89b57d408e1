"""What a client sends in several messages is answered as one question; what only comes quickly is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.contract.messages import Enclosure, EnclosureKind, MessageSent, Quoted
from bot.intake import parts
from playground.model import Reply
from tests.bot.conftest import OpenRig, Rig
from tests.conftest import RawJson

PICTURE = Enclosure(kind=EnclosureKind.PICTURE, name="a.png", size=4)
TEA = Quoted(text="Tea is a leaf.", author="Eve", forwarded=True)
MILK = Quoted(text="Milk is white.", author="Mallory", forwarded=True)

START = time.time() - 102.0
"""So that what is written at 100 was written just now."""
Sends = Callable[[Rig], list[MessageSent]]


def script(body: RawJson) -> Reply:
    return Reply("An answer.")


def asked(it: Rig) -> str:
    return str(it.model.requests[-1].body["messages"][-1]["content"])


def say(it: Rig, text: str, at: float = 100.0, *, person: str = "telegram:7", **more: RawJson) -> MessageSent:
    return it.message(text, sent_at=START + at, message_id=str(it.number + 1), person=person, **more)


def forward(it: Rig, quoted: Quoted = TEA, at: float = 100.0, **more: RawJson) -> MessageSent:
    return say(it, "", at, quoted=quoted, unfinished=True, **more)


TOGETHER: list[tuple[str, Sends, list[str]]] = [
    ("a comment and its forward", lambda it: [say(it, "True?"), forward(it, at=101.0)], ["Tea is a leaf.", "True?"]),
    ("a forward and its comment", lambda it: [forward(it), say(it, "True?", 100.9)], ["Tea is a leaf.", "True?"]),
    (
        "a comment and several forwards",
        lambda it: [say(it, "True?"), forward(it), forward(it, MILK, 101.0)],
        ["written by Eve:)\n> Tea is a leaf.", "written by Mallory:)\n> Milk is white.", "True?"],
    ),
    (
        "a paste that was cut at a line's end",
        lambda it: [say(it, "x" * 3000, unfinished=True), say(it, "y" * 3000, unfinished=True), say(it, "end")],
        ["x" * 3000 + "\n" + "y" * 3000 + "\nend"],
    ),
    (
        "a paste that was cut in a line",
        lambda it: [say(it, "x" * 4096, unfinished=True, severed=True), say(it, "end")],
        ["x" * 4096 + "end"],
    ),
    (
        "an album of which every caption counts",
        lambda it: [
            say(it, text, enclosed=(PICTURE,), unfinished=True, album="1") for text in ("", "The second.", "The third.")
        ],
        ["The second.\n\nThe third."],
    ),
]


@pytest.mark.parametrize(("sends", "told"), [case[1:] for case in TOGETHER], ids=[case[0] for case in TOGETHER])
async def test_what_one_client_sends_at_once_is_one_question(rig: OpenRig, sends: Sends, told: list[str]) -> None:
    async with rig() as it:
        it.model.script = script
        messages = sends(it)
        await it.deliver(*messages)
        await it.idle()

        assert len(it.shown()) == 1
        assert all(words in asked(it) for words in told)
        assert asked(it).count("a.png") == sum(bool(one.enclosed) for one in messages)
        # Each delivery is known: none of them is answered when it comes again.
        await it.deliver(*messages)
        await it.idle()
        assert len(it.shown()) == 1


APART: list[tuple[str, Sends]] = [
    ("a forward a while later", lambda it: [say(it, "True?"), forward(it, at=102.0)]),
    ("somebody else's forward", lambda it: [say(it, "True?"), forward(it, person="telegram:8")]),
    ("two short texts", lambda it: [say(it, "One."), say(it, "Two.")]),
    ("a reply to something else", lambda it: [forward(it), say(it, "And this?", replies_to="3")]),
    (
        "what follows an album",
        lambda it: [say(it, "", enclosed=(PICTURE,), unfinished=True, album="1"), say(it, "And tea?")],
    ),
    ("two albums", lambda it: [say(it, "", enclosed=(PICTURE,), album=one) for one in ("1", "2")]),
    ("what was shared with its comment in one message", lambda it: [say(it, "Hm?"), say(it, "True?", quoted=TEA)]),
]


@pytest.mark.parametrize("sends", [case[1] for case in APART], ids=[case[0] for case in APART])
async def test_what_does_not_belong_together_is_answered_by_itself(rig: OpenRig, sends: Sends) -> None:
    async with rig() as it:
        it.model.script = script
        await it.deliver(*sends(it))
        await it.idle()

        assert len(it.shown()) == 2


async def test_what_comes_after_new_belongs_to_nothing_before_it(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        await it.deliver(say(it, "True?"), say(it, "/new"), forward(it))
        await it.idle()

        assert len(it.shown()) == 3


async def test_a_forward_that_comes_when_its_comment_is_answered_rewrites_that_answer(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = lambda body: Reply("Tea is." if "leaf" in str(body["messages"]) else "What do you mean?")
        await it.deliver(say(it, "True?"))
        await it.idle()
        assert it.shown() == ["What do you mean?"]

        await it.deliver(forward(it, at=101.0))
        await it.idle()
        assert it.shown() == ["Tea is."]


async def test_parts_cost_one_question_of_the_quota(rig: OpenRig) -> None:
    async with rig(MESSAGES_PER_MINUTE="2") as it:
        it.model.script = script
        await it.deliver(*(forward(it) for _ in range(9)), say(it, "True?"))
        await it.idle()

        assert it.shown() == ["An answer."] and "True?" in asked(it)


async def test_parts_beyond_what_one_question_holds_are_a_question_of_their_own(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_FORWARDS", 2)
    async with rig() as it:
        it.model.script = script
        await it.deliver(*(forward(it) for _ in range(3)))
        await it.idle()

        assert len(it.shown()) == 2


async def test_parts_that_a_dead_process_left_are_one_question_at_the_next_start(rig: OpenRig, tmp_path: Path) -> None:
    async with rig() as it:
        it.bot.dispatcher._open = False  # as if the process died before it began with either
        await it.deliver(say(it, "True?"), forward(it))
    async with rig() as it:
        it.model.script = script
        await it.idle()

        assert len(it.shown()) == 1 and "Tea is a leaf." in asked(it) and "True?" in asked(it)
