"""Whatever a platform delivered is read from the inbox exactly as it was taken in."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contract.messages import (
    ChatId,
    Control,
    ControlPressed,
    Enclosure,
    EnclosureKind,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Quoted,
    ReplyTarget,
    Sender,
    TimerDue,
)
from bot.store.incoming import incoming_from_json, incoming_to_json
from tools.contract.plaintext import to_plain

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
rough = st.text(st.characters(), max_size=20)
"""With NUL and halves of surrogate pairs, which adapters let nothing of in, and earlier versions stored."""
chats = st.builds(ChatId, words, words, words, words)
senders = st.builds(Sender, id=words, name=words, language=words, groups=st.lists(words, max_size=3).map(tuple))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
targets = st.builds(ReplyTarget, words, st.dictionaries(words, scalars, max_size=4))
common = {
    "delivery": words,
    "also": st.lists(words, max_size=3).map(tuple),
    "chat": chats,
    "sender": senders,
    "target": targets,
    "sent_at": st.floats(0, 4e9),
}
enclosed = st.lists(
    st.builds(Enclosure, kind=st.sampled_from(EnclosureKind), name=words, media_type=words, size=st.integers(0, 2**40)),
    max_size=3,
).map(tuple)
quoted = st.none() | st.builds(
    Quoted, text=words, author=words, from_bot=st.booleans(), message_id=words, enclosed=enclosed
)
incomings: st.SearchStrategy[Incoming] = st.one_of(
    st.builds(
        MessageSent,
        **common,
        text=words,
        command=words,
        message_id=words,
        group=st.booleans(),
        quoted=quoted,
        enclosed=enclosed,
        quote_question=st.booleans(),
        awaited=st.booleans(),
    ),
    st.builds(MessageEdited, **common, message_id=words, text=words),
    st.builds(MessageDeleted, **common, message_id=words),
    st.builds(
        ControlPressed,
        **common,
        control=st.sampled_from(Control),
        turn=st.integers(),
        mark=words,
        message_id=words,
        group=st.booleans(),
    ),
    st.builds(TimerDue, **common, text=words),
)


@given(incomings)
def test_every_kind_comes_back_as_it_was(incoming: Incoming) -> None:
    assert incoming_from_json(incoming_to_json(incoming)) == incoming


@given(incomings, rough)
def test_what_is_written_can_be_stored_as_utf8(incoming: Incoming, text: str) -> None:
    incoming = replace(incoming, delivery=text, target=ReplyTarget(text, {text: text}))
    connection = sqlite3.connect(":memory:")

    [(stored,)] = connection.execute("SELECT ?", (incoming_to_json(incoming),))

    connection.close()
    read, mended = incoming_from_json(stored), to_plain(text)
    assert read == replace(incoming, delivery=mended, target=ReplyTarget(mended, {mended: mended}))


def test_a_sender_stored_by_an_earlier_version_belongs_to_nothing() -> None:
    stored = (
        '{"kind": "control", "control": "good", "turn": 1, "delivery": "1", "chat": ["telegram", "42", "7", ""], '
        '"sender": {"id": "telegram:7", "name": "Ada", "language": ""}, "target": {"platform": "telegram", "data": {}}}'
    )
    assert incoming_from_json(stored).sender == Sender(id="telegram:7", name="Ada")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "telepathy"}', '{"kind": "stop"}', "null"])
def test_what_this_version_does_not_know_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        incoming_from_json(text)
