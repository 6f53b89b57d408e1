"""What a client sends in several messages is answered as one question; what only comes quickly is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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

Sends = Callable[[Rig], list[MessageSent]]


def script(body: RawJson) -> Reply:
    return Reply("An answer.")


def asked(it: Rig) -> str:
    return str(it.model.requests[-1].body["messages"][-1]["content"])


def say(it: Rig, text: str, at: float = 100.0, *, person: str = "telegram:7", **more: RawJson) -> MessageSent:
    """Write at a second of this test, of which the 102nd is the one in which the bot began to run."""
    return it.message(text, sent_at=it.began - 102.0 + at, message_id=str(it.number + 1), person=person, **more)


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


def aside(it: Rig, quoted: Quoted = TEA, at: float = 100.0, **more: RawJson) -> MessageSent:
    """Forward to a group, which addresses nobody."""
    return forward(it, quoted, at, beside=True, group=True, **more)


def to_bot(it: Rig, text: str = "True?", at: float = 100.0, **more: RawJson) -> MessageSent:
    return say(it, text, at, group=True, **more)


GROUPED: list[tuple[str, Sends, list[str]]] = [
    ("forwards behind the comment", lambda it: [to_bot(it), aside(it), aside(it, MILK, 101.0)], ["Tea is", "Milk is"]),
    (
        "forwards before the comment",
        lambda it: [aside(it), aside(it, MILK), to_bot(it, at=101.0)],
        ["Tea is", "Milk is"],
    ),
    ("a forward and a mention without a word", lambda it: [aside(it), to_bot(it, "")], ["Tea is"]),
    (
        "an album before its comment",
        lambda it: [
            *(aside(it, Quoted(text="", forwarded=True, enclosed=(PICTURE,)), album="1") for _ in range(2)),
            to_bot(it),
        ],
        ["a.png"],
    ),
]


@pytest.mark.parametrize(("sends", "told"), [case[1:] for case in GROUPED], ids=[case[0] for case in GROUPED])
async def test_a_forward_to_a_group_belongs_to_the_comment_that_mentions_the_bot(
    rig: OpenRig, sends: Sends, told: list[str]
) -> None:
    async with rig() as it:
        it.model.script = script
        messages = sends(it)
        await it.deliver(*messages)
        await it.idle()

        assert len(it.shown()) == 1
        assert all(words in asked(it) for words in told)
        await it.deliver(*messages)
        await it.idle()
        assert len(it.shown()) == 1


UNREAD: list[tuple[str, Sends, int]] = [
    ("forwards alone", lambda it: [aside(it), aside(it, MILK)], 0),
    ("a forward long before", lambda it: [aside(it), to_bot(it, at=102.0)], 1),
    ("a forward long behind", lambda it: [to_bot(it), aside(it, at=102.0)], 1),
    ("somebody else's forward before", lambda it: [aside(it, person="telegram:8"), to_bot(it)], 1),
    ("somebody else's forward behind", lambda it: [to_bot(it), aside(it, person="telegram:8")], 1),
    ("a forward in another group", lambda it: [aside(it, chat="8"), to_bot(it)], 1),
    ("a forward behind a command", lambda it: [to_bot(it, "/help"), aside(it)], 1),
    ("a forward before a command", lambda it: [aside(it), to_bot(it, "/help")], 1),
    ("a forward that was joined already", lambda it: [aside(it), to_bot(it, "/help"), aside(it, at=103.0)], 1),
]


@pytest.mark.parametrize(("sends", "answers"), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD])
async def test_any_other_forward_to_a_group_stays_unread(rig: OpenRig, sends: Sends, answers: int) -> None:
    async with rig() as it:
        it.model.script = script
        await it.deliver(*sends(it))
        await it.idle()

        assert len(it.shown()) == answers
        assert "Tea is" not in str([one.body for one in it.model.requests])


async def test_a_forward_belongs_to_one_comment_also_where_that_is_delivered_again(rig: OpenRig) -> None:
    """A comment that cannot be stored comes again; the next question has nothing of its forward."""
    async with rig() as it:
        it.model.script = script
        before, comment, after = aside(it), to_bot(it, at=100.5), to_bot(it, "And milk?", 101.0)
        await it.deliver(before)
        joined = it.bot.dispatcher._parts.gather(comment)
        await it.deliver(comment)
        await it.idle()
        assert joined is not None and "Tea is" in asked(it)
        await it.deliver(after)
        await it.idle()

        assert asked(it).endswith("And milk?") and "Tea is" not in asked(it)


async def test_forwards_beyond_what_one_question_holds_are_left_behind(
    rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_FORWARDS", 2)
    async with rig() as it:
        it.model.script = script
        await it.deliver(*(aside(it) for _ in range(3)), to_bot(it))
        await it.idle()
        assert it.shown() == ["An answer."] and asked(it).count("Tea is") == 1

        monkeypatch.setattr(parts, "MOST_FORWARDS", 0)
        await it.deliver(aside(it, MILK, 110.0), to_bot(it, "Two.", 110.0))
        await it.idle()
        assert asked(it).endswith("Two.") and "Milk is" not in asked(it)


async def test_a_forward_whose_question_was_forgotten_is_no_question(rig: OpenRig) -> None:
    async with rig() as it:
        it.model.script = script
        await it.deliver(replace(aside(it), beside=False, completes="77"), aside(it))
        await it.idle()
        await it.bot.dispatcher._handle(9, replace(aside(it), completes="77"), False)

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


async def test_a_forward_to_a_group_that_a_dead_process_left_is_a_part_at_the_next_start(
    rig: OpenRig, tmp_path: Path
) -> None:
    async with rig() as it:
        it.model.script = script
        await it.deliver(comment := to_bot(it))
        await it.idle()
        it.bot.dispatcher._open = False  # its answer stands, and its forward is stored
        await it.deliver(aside(it))
        it.model.requests.clear()
    async with rig() as it:
        it.model.script = script
        await it.idle()

        assert "Tea is a leaf." in asked(it) and comment.text in asked(it)
