"""Every sample, in every chunking: the same calls, the same visible text, nothing taken back, nothing leaked."""

from __future__ import annotations

import json
import runpy
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.model.protocol import written_call
from bot.toolsyntax import Call, Detector, Reasoning, Text, Withdrawn, parse
from bot.toolsyntax.families import MARKERS
from bot.toolsyntax.pieces import Piece
from bot.toolsyntax.tokens import BEGINNINGS, CONTROL_TOKENS, FIRST_WORDS
from tests.conftest import RawJson, RawObject

_MODULE = runpy.run_path(str(Path(__file__).with_name("samples.py")))
TOOLS: RawObject = _MODULE["TOOLS"]
SAMPLES: list[tuple[str, str, str, list[tuple[RawJson, ...]]]] = _MODULE["SAMPLES"]
TAGGED: dict[str, tuple[str, list[RawJson]]] = _MODULE["TAGGED"]
UNTAGGED: dict[str, tuple[str, list[RawJson]]] = _MODULE["UNTAGGED"]


def read(pieces: list[str], *, cut: bool = False) -> tuple[str, list[tuple[RawJson, ...]], str]:
    """The visible text, the calls and the reasoning of a reply in these pieces."""
    detector = Detector(TOOLS)
    found: list[Piece] = []
    for piece in pieces:
        found += detector.feed(piece)
    found += detector.finish(cut)
    while Withdrawn() in found:
        at = found.index(Withdrawn())
        found[: at + 1] = [Reasoning(piece.text) for piece in found[:at] if isinstance(piece, Text | Reasoning)]
    return (
        "".join(piece.text for piece in found if isinstance(piece, Text)),
        [
            (piece.name, piece.arguments) if piece.known else (piece.name, piece.arguments, False)
            for piece in found
            if isinstance(piece, Call)
        ],
        "".join(piece.text for piece in found if isinstance(piece, Reasoning)),
    )


def chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) >= 300


# One test for every sample would cost more than reading the samples does; what fails is named instead.
@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
def test_a_reply_comes_apart_as_it_should_in_every_chunking(size: int | None) -> None:
    wrong = [
        (label, reply, (found, shown), (calls, visible))
        for label, reply, visible, calls in SAMPLES
        for shown, found, _ in [read(chunks(reply, size or len(reply) or 1))]
        if (found, shown) != (calls, visible)
    ]

    assert not wrong, "\n".join(f"{label}: {reply!r} is read as {is_}, not {must}" for label, reply, is_, must in wrong)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_random_splits_change_nothing(data: st.DataObject) -> None:
    _, reply, visible, calls = data.draw(st.sampled_from(SAMPLES))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=12)))

    shown, found, _ = read([reply[a:b] for a, b in zip([0, *cuts], [*cuts, len(reply)], strict=True)])

    assert (found, shown) == (calls, visible)


_FRAGMENTS = [
    *(marker.written for marker in MARKERS),
    *BEGINNINGS, *FIRST_WORDS, "assistantfinal", "\nuser\n",
    *(call for call, _ in (*TAGGED.values(), *UNTAGGED.values())),
    *"{}[]()<>\"'“`\\,:;=\n", " ", "```", "\n```\n", "~~~", "roll_dice", "translate(", "[roll_dice(", "使用工具：",
    "我需要使用工具", '"name": "roll_dice"', '"arguments": {', '{"tool": ', "0", "true", "text", "😀", "\r\n", "\n- ",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(_FRAGMENTS) | st.text(max_size=5), max_size=9),
    st.sampled_from([1, 2, 3, 7]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_any_mixture_of_markers_ends_without_an_error_and_the_same_in_pieces(
    fragments: list[str], size: int, cut: bool
) -> None:
    reply = "".join(fragments)

    whole = read([reply], cut=cut)

    assert read(chunks(reply, size), cut=cut) == whole
    assert whole[0] == whole[0].strip()
    json.dumps(whole[1])


def test_no_beginning_of_a_call_is_shown_while_it_arrives() -> None:
    """Character by character, what is visible never holds more than the words around the call."""
    wrong = []
    for label, (call, _) in {**TAGGED, **UNTAGGED}.items():
        detector = Detector(TOOLS)
        shown = ""
        for c in f"Well.\n{call}":
            shown += "".join(piece.text for piece in detector.feed(c) if isinstance(piece, Text))
            if not "Well.".startswith(shown):
                wrong.append(f"{label}: {shown!r}")
                break

    assert not wrong, "\n".join(wrong)


def test_a_call_cut_off_anywhere_does_not_run_with_half_its_arguments() -> None:
    wrong = [
        f"{label}: {call[:end]!r} runs {found}"
        for label, (call, calls) in {**TAGGED, **UNTAGGED}.items()
        for end in range(len(call))
        for _, found, _ in [read([call[:end]], cut=True)]
        if found != calls[: len(found)]
    ]

    assert not wrong, "\n".join(wrong)


def test_prose_is_shown_without_delay() -> None:
    prose = "Good morning! 今天天气很好，We could walk along the lake; it takes 30 minutes.\n\nOr not, as you like."
    detector = Detector({"查天气": TOOLS["查天气"]})
    shown = ""
    for end, c in enumerate(prose, 1):
        shown += "".join(piece.text for piece in detector.feed(c) if isinstance(piece, Text))

        assert shown == prose[:end].rstrip()


def test_a_word_that_turns_out_not_to_be_a_call_is_released_at_once() -> None:
    detector = Detector(TOOLS)

    first, second = detector.feed("roll_d"), detector.feed("ing")

    assert first == []
    assert second == [Text("roll_ding")]


def test_a_call_is_handed_out_when_its_body_is_complete() -> None:
    detector = Detector(TOOLS)
    detector.feed("Hm. <tool_call>")
    detector.feed('{"name": "roll_d')
    pieces = detector.feed('ice", "arguments": {"sides": 6}}')

    assert pieces == [Call("roll_dice", {"sides": 6})]


def test_a_call_that_cannot_run_is_kept_for_the_model_to_hear_of() -> None:
    detector = Detector(TOOLS)
    detector.feed('<tool_call>{"tool": "roll_dice", "sides": ')
    detector.finish(cut=True)

    assert detector.dropped == ['<tool_call>{"tool": "roll_dice", "sides": ']


def test_the_line_of_a_sentence_that_was_cut_off_does_not_run() -> None:
    shown, calls, _ = read(["使用工具：roll_dice: 6"], cut=True)

    assert (shown, calls) == ("", [])


@pytest.mark.parametrize(
    "marks",
    [
        "<tool_call>",
        "<tool_call>\n",
        "[TOOL_CALLS]",
        "x </tool_call> ",
        "</parameter> ",
        "<|channel|>",
        "x<|foo|> ",
        "<s>",
        "<|assistant|>",
        "[INST]",
        "</s><s",
        "<|user|>x",
    ],
)
def test_marks_without_a_call_cost_in_proportion_to_their_number(marks: str) -> None:
    def seconds(count: int) -> float:
        best = 1e9
        for _ in range(3):
            begun = time.process_time()
            read([marks * count + "y"])
            best = min(best, time.process_time() - begun)
        return best

    # 64 times as long if each mark were looked at again for each other one, eight times else.
    assert seconds(8_000) < 24 * seconds(1_000)


def test_an_unknown_tool_says_so() -> None:
    _, calls = parse('<tool_call>{"name": "nope"}</tool_call>', TOOLS)

    assert not calls[0].known
    assert "nope" in calls[0].problem


def test_text_whose_end_marks_it_as_thoughts_is_taken_back_and_nothing_else() -> None:
    detector = Detector(TOOLS)

    pieces = [
        *detector.feed("They want 4."),
        *detector.feed("\n</think>\n\nIt"),
        *detector.feed(" is 4."),
        *detector.finish(),
    ]

    assert pieces == [Text("They want 4."), Withdrawn(), Text("It"), Text(" is 4.")]
    assert parse("They want 4.</think>It is 4.", TOOLS) == ("It is 4.", [])


def test_halves_of_a_character_are_joined() -> None:
    shown, _, _ = read(["a \ud83d", "\ude00 b"])

    assert shown == "a 😀 b"


def test_reasoning_is_handed_out_as_it_arrives() -> None:
    detector = Detector(TOOLS)

    pieces = [*detector.feed("<think>first "), *detector.feed("second</thi"), *detector.feed("nk>Third")]

    assert pieces == [Reasoning("first "), Reasoning("second"), Text("Third")]


def test_control_tokens_are_kept_where_they_are_quoted() -> None:
    for token in CONTROL_TOKENS:
        assert parse(f"The `{token}` token{token}", TOOLS)[0] == f"The `{token}` token"


_PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
_VALUES: st.SearchStrategy[RawJson] = st.recursive(
    st.none() | st.booleans() | st.integers() | _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_PLAIN, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_PLAIN, _VALUES, max_size=4))
@settings(max_examples=50, deadline=None)
def test_the_format_we_ask_for_is_read_as_it_was_written(arguments: RawObject) -> None:
    written = written_call("roll_dice", arguments)

    visible, calls = parse(written, TOOLS)

    assert "\n" not in written
    assert visible == ""
    assert [(call.name, call.arguments) for call in calls] == [("roll_dice", arguments)]


def test_no_marker_begins_another() -> None:
    """The first marker that matches is then the longest."""
    written = sorted({marker.written for marker in MARKERS})

    assert not [(a, b) for a in written for b in written if a != b and b.startswith(a)]
