"""Whatever way a stream of events is cut, the same events come out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.model.sse import EventDecoder, read_together


def decode(*chunks: bytes) -> list[str]:
    decoder = EventDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [event.decode() for event in events + decoder.finish()]


def test_each_blank_line_ends_an_event() -> None:
    assert decode(b"data: one\n\ndata: two\n\n") == ["one", "two"]


def test_comments_names_and_ids_are_no_data() -> None:
    assert decode(b": ping\n\nevent: x\nid: 7\nretry: 9\ndata: one\n\n:\n\n") == ["one"]


def test_lines_end_as_the_server_ends_them_wherever_it_is_cut() -> None:
    for end in (b"\r\n", b"\r", b"\n"):
        sent = b"data: one" + 2 * end + b"data: two" + end + b"data: three" + 2 * end
        for size in (1, 2, 3, 100):
            assert decode(*(sent[at : at + size] for at in range(0, len(sent), size))) == ["one", "two\nthree"]


def test_several_data_lines_are_one_event() -> None:
    assert decode(b"data: {\ndata: }\n\n") == ["{\n}"]


def test_only_one_space_after_the_colon_belongs_to_the_format() -> None:
    assert decode(b"data:one\n\ndata:  two\n\n") == ["one", " two"]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert decode(b"\xef", b"\xbb\xbfdata: one\n\n") == ["one"]


def test_an_event_without_its_blank_line_still_counts_at_the_end() -> None:
    assert decode(b"data: one\n\ndata: [DONE]") == ["one", "[DONE]"]


def test_a_web_page_in_place_of_events_is_kept_for_the_caller() -> None:
    decoder = EventDecoder()

    events = decoder.feed(b"<html>\n<title>Login</title>\n</html>") + decoder.finish()

    assert events == []
    assert decoder.stray.startswith("<html>")


def test_a_flood_of_stray_lines_does_not_fill_the_memory() -> None:
    decoder = EventDecoder()

    for _ in range(100):
        decoder.feed(b"x" * 10_000 + b"\n")

    assert len(decoder.stray) <= 66_000


@given(
    events=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400)),
)
@example(events=["早安 😀"], newline="\r\n", cuts=list(range(40)))
def test_cutting_a_stream_anywhere_changes_nothing(events: list[str], newline: str, cuts: list[int]) -> None:
    stream = "".join(f"data: {event}{newline}{newline}" for event in events).encode()
    borders = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]

    pieces = [stream[left:right] for left, right in itertools.pairwise(borders)]

    assert decode(*pieces) == events


def test_events_that_came_together_are_parsed_at_once() -> None:
    assert read_together([b'{"a": 1}', b'{"b": [1, "\xe8\x8c\xb6"]}', b"{}"]) == [{"a": 1}, {"b": [1, "茶"]}, {}]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [b'{"a": 1}'],
        [b'{"a": 1}', b"[DONE]"],
        [b'{"a": 1', b'"b": 2}'],
        [b'{"a": 1}{"b": 2}', b'{"c": 3}'],
        [b'{"a": 1}\n{"b": 2}', b'{"c": 3}'],
        [b'[{"a": 1}]', b'{"c": 3}'],
        [b'{"a": 1}, {"b": 2}', b'{"c": 3}'],
        [b"1", b"2"],
        [b'{"a": ' * 70 + b"1" + b"}" * 70, b"{}"],
        [b'{"a": "' + b"x" * 70_000 + b'"}', b"{}"],
    ],
    ids=["none", "one", "the end", "cut", "two", "two lines", "a list", "more", "numbers", "too deep", "large"],
)
def test_events_of_which_one_is_not_a_single_object_are_read_one_by_one(events: list[bytes]) -> None:
    assert read_together(events) is None
