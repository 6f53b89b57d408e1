"""What crosses borders and lies in the store comes back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contract.messages import ChatId, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.origin import OUTSIDE
from bot.contract.transcript import (
    AssistantEntry,
    Entry,
    SystemEntry,
    ToolEntry,
    Usage,
    UserEntry,
    entry_from_json,
    entry_to_json,
)
from tests.conftest import RawJson, RawObject
from tools.contract.base import ToolCall

ANY = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
PLATFORM = st.sampled_from(["telegram", "slack", "discord", "console"])
JSON: RawJson = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.builds(ToolCall, id=ANY, name=ANY, arguments=st.dictionaries(ANY, JSON, max_size=3), problem=ANY)
ASSISTANTS = st.builds(
    AssistantEntry,
    text=ANY,
    calls=st.lists(CALLS, min_size=1, max_size=3).map(tuple),
    native=st.booleans(),
    written=ANY,
    reasoning=ANY,
    provider=ANY,
    raw=st.dictionaries(ANY, JSON, max_size=3),
    origin=ANY,
) | st.builds(AssistantEntry, text=ANY, reasoning=ANY, provider=ANY)
ENTRIES = (
    st.builds(SystemEntry, ANY)
    | st.builds(UserEntry, ANY, ANY, st.integers(0, 9))
    | st.builds(ToolEntry, call_id=ANY, name=ANY, text=ANY, ok=st.booleans(), origin=ANY)
    | ASSISTANTS
)
PLAIN = st.characters(codec="utf-8")


@given(PLATFORM, st.text(PLAIN, min_size=1), st.text(PLAIN, min_size=1), st.text(PLAIN))
def test_a_chat_is_the_same_after_it_was_written_and_read(platform: str, account: str, chat: str, thread: str) -> None:
    id = ChatId(platform, account, chat, thread)

    assert ChatId.parse(str(id)) == id


@given(*[st.tuples(PLATFORM, st.text(PLAIN), st.text(PLAIN), st.text(PLAIN))] * 2)
def test_two_chats_are_never_written_alike(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (str(ChatId(*one)) == str(ChatId(*other))) == (one == other)


@pytest.mark.parametrize("text", ["", "telegram", "telegram:", "telegram:1", ":1/2", "telegram:1/2/3/4"])
def test_what_is_no_chat_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="platform:account/chat"):
        ChatId.parse(text)


@given(ENTRIES)
def test_an_entry_of_history_is_the_same_after_it_was_stored(entry: Entry) -> None:
    assert entry_from_json(entry_to_json(entry)) == entry


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "system", "text": "a"}',
        '{"kind": "user", "text": "a"}',
        '{"kind": "assistant", "text": "a"}',
        '{"kind": "tool", "call_id": "a", "name": "b", "text": "c", "ok": true}',
    ],
)
def test_an_entry_of_an_earlier_version_may_hold_anybodys_words(text: str) -> None:
    assert entry_from_json(text).origin == OUTSIDE


@pytest.mark.parametrize("text", ['{"kind": "nothing"}', "{}", "no json"])
def test_what_is_no_entry_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        entry_from_json(text)


@pytest.mark.parametrize(
    "entry",
    [
        SystemEntry("be kind"),
        UserEntry("hi"),
        UserEntry("> so\nhi", begins=5, origin=OUTSIDE),
        AssistantEntry("hello"),
        AssistantEntry(
            "",
            calls=(ToolCall("c1", "calculator", {"expression": "1+1"}), ToolCall("c2", "", {}, problem="no name")),
            native=True,
            written="<tool_call>",
            reasoning="two ones",
            provider="openai",
            raw={"id": "r1"},
        ),
        ToolEntry("c1", "calculator", "2", ok=False, origin=OUTSIDE),
    ],
)
def test_each_kind_of_entry_is_the_same_after_it_was_stored(entry: Entry) -> None:
    assert entry_from_json(entry_to_json(entry)) == entry


@pytest.mark.parametrize("group", [True, False])
def test_only_among_others_an_answer_is_shown_to_the_asker_alone(group: bool) -> None:
    message = MessageSent(
        delivery="1",
        chat=ChatId("slack", "T1", "C1"),
        sender=Sender(id="slack:T1/U1", name="ann"),
        target=ReplyTarget("slack", {"channel": "C1"}),
        sent_at=0.0,
        text="/limits",
        group=group,
    )

    alone = message.for_asker()

    assert alone.target.private is group
    assert alone.target.data["channel"] == "C1"


@given(ANY, ANY)
def test_a_ref_is_the_same_after_it_was_stored(id: str, form: str) -> None:
    assert MessageRef.from_json(MessageRef(id, form).to_json()) == MessageRef(id, form)


@given(PLATFORM, st.dictionaries(ANY, ANY | st.integers() | st.booleans() | st.none(), max_size=4))
def test_a_target_is_the_same_after_it_was_stored(platform: str, data: RawObject) -> None:
    target = ReplyTarget(platform, data)

    assert ReplyTarget.from_json(target.to_json()) == target


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Why is  the\nsky blue?", "Why is the sky blue?"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("天" * 99, "天" * 60 + "…"),
        ("x" * 60, "x" * 60),
        (" \n", None),
    ],
)
def test_a_title_is_made_of_a_questions_first_words(text: str, title: str | None) -> None:
    asked = MessageSent(
        delivery="1", chat=ChatId("x", "1", "2"), sender=Sender(id="x:1"), target=ReplyTarget("x", {"a": 1}), text=text
    )
    assert asked.titled == ReplyTarget("x", {"a": 1} if title is None else {"a": 1, "title": title})


def test_a_target_lasts_unless_its_adapter_says_otherwise() -> None:
    assert ReplyTarget("discord", {}).lasts
    assert not ReplyTarget("discord", {"lasts": False}).lasts


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
