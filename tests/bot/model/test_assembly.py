"""Calls are put together whatever a server leaves out, repeats or gets wrong."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.model.arguments import ObjectEnd, read_arguments
from bot.model.assembly import ChatAssembly, Delta, StreamFault
from bot.model.callslots import MOST_ARGUMENT_CHARS
from bot.model.responses import ResponsesAssembly
from tests.conftest import RawJson, RawObject
from tools.contract.base import ToolCall


def piece(
    index: int | None = None,
    id: str | None = None,
    name: str | None = None,
    arguments: RawJson = None,
    **extras: RawJson,
) -> RawObject:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {"index": index, "id": id, "function": function, **extras}
    return {key: value for key, value in given.items() if value is not None}


def assemble(*pieces: RawObject, finish: str | None = "tool_calls") -> ChatAssembly:
    assembly = ChatAssembly()
    for one in pieces:
        assembly.add({"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]}, Delta())
    assembly.add({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, Delta())
    return assembly


def calls(*pieces: RawObject, finish: str = "tool_calls") -> list[tuple[str, str, RawJson]]:
    return [(call.id, call.name, call.arguments) for call in assemble(*pieces, finish=finish).calls()]


def read(*deltas: RawObject) -> tuple[ChatAssembly, Delta]:
    assembly, said = ChatAssembly(), Delta()
    for delta in deltas:
        assembly.add({"choices": [{"index": 0, "delta": delta}]}, said)
    return assembly, said


def test_pieces_of_one_index_are_one_call() -> None:
    assert calls(
        piece(0, "a", "roll", ""), piece(0, arguments='{"sides"'), piece(0, arguments=": 6}")
    ) == [("a", "roll", {"sides": 6})]  # fmt: skip


def test_calls_may_be_told_in_turns() -> None:
    assert calls(
        piece(0, "a", "roll", '{"n":'),
        piece(1, "b", "add", '{"m":'),
        piece(0, arguments="1}"),
        piece(1, arguments="2}"),
    ) == [("a", "roll", {"n": 1}), ("b", "add", {"m": 2})]


def whole(*pieces: RawObject, finish: str | None = None) -> list[list[tuple[str, RawJson]]]:
    """Which calls become whole with each piece, and at last with the finish reason."""
    assembly, became = ChatAssembly(), []
    for one in pieces:
        assembly.add({"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]}, Delta())
        became.append([(call.name, call.arguments) for call in assembly.whole_calls()])
    assembly.add({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, Delta())
    return [*became, [(call.name, call.arguments) for call in assembly.whole_calls()]]


def test_a_call_is_whole_when_its_braces_close_and_is_told_once() -> None:
    assert whole(
        piece(0, "a", "roll", ""), piece(0, arguments='{"n": {"m"'), piece(0, arguments=": 1}"),
        piece(0, arguments="}"), piece(0, arguments=" "), piece(1, "b", "add", '{"m": 2}'), finish="tool_calls",
    ) == [[], [], [], [("roll", {"n": {"m": 1}})], [], [("add", {"m": 2})], []]  # fmt: skip


def test_a_call_is_not_whole_while_its_arguments_are_empty_or_open() -> None:
    """Some servers begin each call with `{}` and send the real arguments afterwards."""
    assert whole(piece(0, "a", "now", "{}"), finish="tool_calls") == [[], [("now", {})]]
    assert whole(piece(0, "a", "now", "{}"), piece(1, "b", "add", '{"m":'))[1] == [("now", {})]
    assert whole(piece(0, "a", "now"), piece(1, "b", "add", '{"m": 2}'), finish="tool_calls") == [
        [],
        [],
        [("now", {}), ("add", {"m": 2})],
    ]
    assert whole(piece(0, "a", "roll", '{"n": 1'), finish="length") == [[], []]
    assert whole(piece(0, "a", "roll", "n = 1"), finish="stop") == [[], []]


def test_calls_told_in_turns_become_whole_in_their_order() -> None:
    assert whole(
        piece(0, "a", "roll", '{"n":'), piece(1, "b", "add", '{"m": 2}'), piece(0, arguments="1}"), finish="tool_calls"
    ) == [[], [], [], [("roll", {"n": 1}), ("add", {"m": 2})]]


def test_a_whole_call_keeps_its_id_to_the_end() -> None:
    assembly, _ = read({"tool_calls": [piece(name="roll", arguments='{"n": 1}')]})

    [early] = assembly.whole_calls()

    assert [early] == list(assembly.calls())


def test_an_index_repeated_with_another_id_is_another_call() -> None:
    assert calls(piece(0, "a", "roll", '{"n": 1}'), piece(0, "b", "roll", '{"n": 2}')) == [
        ("a", "roll", {"n": 1}),
        ("b", "roll", {"n": 2}),
    ]


def test_without_an_index_a_name_begins_a_call_and_the_rest_goes_to_the_latest() -> None:
    assert calls(
        piece(None, "a", "roll", '{"n":'),
        piece(None, arguments="1}"),
        piece(None, "b", "add", '{"m":'),
        piece(None, arguments="2}"),
    ) == [("a", "roll", {"n": 1}), ("b", "add", {"m": 2})]


def test_without_index_and_name_an_id_of_its_own_still_finds_its_call() -> None:
    assert calls(
        piece(None, "a", "roll", '{"n":'), piece(None, "b", "add", '{"m":'), piece(None, "a", arguments="1}"),
        piece(None, "b", arguments="2}"),
    ) == [("a", "roll", {"n": 1}), ("b", "add", {"m": 2})]  # fmt: skip


def test_complete_arguments_followed_by_a_new_object_are_two_calls() -> None:
    first, second = assemble(
        piece(0, name="roll", arguments='{"n": 1}'), piece(0, name="roll", arguments='{"n": 2}')
    ).calls()

    assert (first.arguments, second.arguments) == ({"n": 1}, {"n": 2})
    assert first.id != second.id


def test_a_brace_in_the_middle_of_arguments_begins_no_call() -> None:
    assert calls(piece(0, "a", "put", '{"x": '), piece(0, arguments='{"y": 1}'), piece(0, arguments="}")) == [
        ("a", "put", {"x": {"y": 1}})
    ]


WHOLE = '{"expression": "17*23"}'


@pytest.mark.parametrize(
    "parts",
    [
        ['{"expression"', '{"expression": "17', WHOLE],
        ["{", '{"expression"', '{"expression": "17', WHOLE],
        ['{"expression": ', WHOLE],
        ['{"expression"', ': "17*23"}', WHOLE],
        [WHOLE, WHOLE],
        ["{}", WHOLE],
        ["{}", '{"expression"', ': "17*23"}'],
        ["{}", '{"expression"', '{"expression": "17', WHOLE],
        [WHOLE, "{}"],
        [WHOLE, '{"expression"'],
        ["", "{}", None, WHOLE],
        [{}, WHOLE],
        ["{}", {"expression": "17*23"}],
        [{}, {"expression": "17*23"}, {}],
    ],
)
@pytest.mark.parametrize(("identifier", "name"), [(None, None), ("a", None), ("a", "calculator")])
def test_a_piece_that_names_no_other_call_begins_none(
    parts: list[RawJson], identifier: str | None, name: str | None
) -> None:
    """Some servers send all so far each time, everything once more at the end, or empty arguments first."""
    first, *rest = parts

    read = calls(piece(0, "a", "calculator", first), *(piece(0, identifier, name, part) for part in rest))

    assert read == [("a", "calculator", {"expression": "17*23"})]


def test_arguments_that_come_as_objects_in_parts_are_one() -> None:
    parts = (piece(0, "a", "put", {"x": 1}), piece(0, arguments={"y": [2]}), piece(0, arguments={"x": 3}))

    assert calls(*parts) == [("a", "put", {"x": 3, "y": [2]})]


def test_an_object_in_an_object_that_begins_alike_is_no_repetition() -> None:
    assert calls(piece(0, "a", "put", '{"x":'), piece(0, arguments='{"x":1}'), piece(0, arguments="}")) == [
        ("a", "put", {"x": {"x": 1}})
    ]


@pytest.mark.parametrize("parts", [["{}", '{"expression": "17'], ['{"n": 1}', '{"n": 1, "m": '], ['{"n', '{"n": ']])
def test_arguments_that_were_cut_off_are_not_taken_from_an_earlier_piece(parts: list[str]) -> None:
    first, *rest = parts

    (call,) = assemble(
        piece(0, "a", "put", first), *(piece(0, arguments=part) for part in rest), finish="length"
    ).calls()

    assert "cut off" in call.problem


def test_a_call_whose_index_counts_up_with_its_pieces_is_one() -> None:
    assert calls(piece(0, "a", "roll", '{"n"'), piece(1, arguments=": "), piece(2, arguments="1}")) == [
        ("a", "roll", {"n": 1})
    ]


def test_arguments_sent_anew_with_each_piece_count_once() -> None:
    text = json.dumps({"code": "print('hello')\n" * 300})

    assembly = assemble(*(piece(0, "a", "run", text[:length]) for length in range(4, len(text) + 1)))

    assert [dict(call.arguments) for call in assembly.calls()] == [json.loads(text)]
    assert assembly.size < 2 * len(text)


def test_a_name_sent_again_is_not_appended_and_empty_ids_are_ignored() -> None:
    assert calls(piece(0, "a", "roll", "{"), piece(0, "", "roll", "}")) == [("a", "roll", {})]


def test_an_id_is_kept_byte_for_byte_and_a_missing_one_is_made() -> None:
    given, made = assemble(piece(0, "functions.roll:0", "roll", "{}"), piece(1, None, "roll", '{"n": 1}')).calls()

    assert given.id == "functions.roll:0"
    assert made.id
    assert made.id != given.id


def test_one_id_for_two_calls_becomes_two_ids_and_a_call_sent_twice_is_one() -> None:
    different = calls(piece(0, "a", "roll", '{"n": 1}'), piece(1, "a", "roll", '{"n": 2}'))
    same = calls(piece(0, "a", "roll", '{"n": 1}'), piece(0, "a", "roll", '{"n": 1}'))

    assert len({call[0] for call in different}) == 2
    assert same == [("a", "roll", {"n": 1})]


@pytest.mark.parametrize("arguments", ["", "null", None, "  ", {}])
def test_arguments_that_say_nothing_are_none(arguments: RawJson) -> None:
    assert calls(piece(0, "a", "now", arguments)) == [("a", "now", {})]


def test_arguments_given_as_an_object_are_taken_as_they_are() -> None:
    assert calls(piece(0, "a", "roll", {"n": [1, {"m": None}]})) == [("a", "roll", {"n": [1, {"m": None}]})]


def test_arguments_in_a_list_of_their_own_are_that_object() -> None:
    assert calls(piece(0, "a", "roll", [{"n": 1}])) == [("a", "roll", {"n": 1})]
    assert calls(piece(0, "a", "roll", '[{"n": 1}]')) == [("a", "roll", {"n": 1})]


def test_a_call_without_its_inner_object_or_without_a_list_is_one() -> None:
    """Workers AI of Cloudflare; the second, some gateways."""
    flat = {"index": 0, "id": "a", "name": "roll", "arguments": {"n": 1}, "note": "x"}
    assembly, _ = read({"tool_calls": [flat]})

    assert [(call.id, call.name, call.arguments) for call in assembly.calls()] == [("a", "roll", {"n": 1})]
    told: RawJson = assembly.message()["tool_calls"]
    assert told == [
        {"id": "a", "type": "function", "function": {"name": "roll", "arguments": '{"n": 1}'}, "note": "x"},
    ]
    assert [call.name for call in read({"tool_calls": piece(0, "a", "roll", "{}")})[0].calls()] == ["roll"]
    assert read({"tool_calls": {"0": {}}})[0].calls() == ()


def test_calls_count_although_the_server_says_it_stopped() -> None:
    assert calls(piece(0, "a", "roll", "{}"), finish="stop") == [("a", "roll", {})]


def test_the_old_function_call_field_is_a_call() -> None:
    assembly, _ = read(
        {"function_call": {"name": "roll", "arguments": '{"n":'}}, {"function_call": {"arguments": "1}"}}
    )

    assert [(call.name, call.arguments) for call in assembly.calls()] == [("roll", {"n": 1})]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("older_first", [False, True])
def test_a_call_sent_in_both_forms_is_one_call(apart: bool, older_first: bool) -> None:
    """llama-cpp-python's server sends each piece in both forms, in one delta."""
    deltas: list[RawObject] = []
    for place, arguments in enumerate(('{"city": "', "Oslo", '"}')):
        new = {"tool_calls": [piece(0, "call__0_get_weather_cmpl-1", "get_weather", arguments)]}
        old = {"function_call": {"name": "get_weather", "arguments": arguments}}
        pair = (old, new) if older_first else (new, old)
        deltas += pair if apart and place else [{**pair[0], **pair[1]}]

    assembly, _ = read(*deltas)

    assert [(call.id, call.name, call.arguments) for call in assembly.calls()] == [
        ("call__0_get_weather_cmpl-1", "get_weather", {"city": "Oslo"})
    ]
    told: RawJson = assembly.message()["tool_calls"]
    assert [call["function"]["arguments"] for call in told] == ['{"city": "Oslo"}']


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ('{"a": 1}\n```', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": 1}{"b": 2}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    ],
)
def test_malformed_arguments_are_mended(text: str, means: RawObject) -> None:
    assert read_arguments(text) == (means, "")


@pytest.mark.parametrize("text", ["[1]", "7", "nothing", '{"a": ', '{"a": "b', "{" * 5000, '{"a": NaN}', '{"a": 1e'])
def test_arguments_beyond_mending_say_why(text: str) -> None:
    arguments, problem = read_arguments(text)

    assert arguments == {}
    assert problem
    assert len(problem) < 300


@pytest.mark.parametrize("finish", ["length", "content_filter"])
@pytest.mark.parametrize("text", ['{"a": 1', '{"a": "b', "", '{"a": 1,'])
def test_only_the_call_that_was_being_written_is_cut_off(finish: str, text: str) -> None:
    whole, cut = assemble(piece(0, "a", "roll", ""), piece(1, "b", "put", text), finish=finish).calls()

    assert whole == ToolCall("a", "roll", {}, "")
    assert "cut off" in cut.problem


def test_a_complete_call_counts_although_the_model_reached_its_limit() -> None:
    (call,) = assemble(piece(0, "a", "roll", '{"n": 1}'), finish="length").calls()

    assert call.problem == ""


def test_extras_are_kept_for_the_provider_that_sent_them() -> None:
    signature = {"google": {"thought_signature": "s"}}
    assembly = assemble(piece(0, "a", "roll", '{"n": 1,}', extra_content=signature))

    assert assembly.message() == {
        "tool_calls": [
            {
                "id": "a",
                "type": "function",
                "function": {"name": "roll", "arguments": '{"n": 1}'},
                "extra_content": signature,
            }
        ]
    }


def test_chunks_without_choices_and_empty_deltas_are_passed_over() -> None:
    assembly, delta = ChatAssembly(), Delta()

    events: list[RawJson] = [{}, {"choices": []}, {"choices": None}]
    for event in [*events, {"choices": [{"delta": None}]}, {"choices": [{"delta": {}}]}]:
        assembly.add(event, delta)
    assembly.add({"choices": [{"delta": {"content": None, "tool_calls": []}}]}, delta)
    choices = [{"index": 1, "delta": {"content": "another"}}, {"index": 0, "delta": {}}]
    assembly.add({"choices": choices}, delta)

    assert delta == Delta()
    assert assembly.calls() == ()


def test_the_index_of_a_lone_choice_says_nothing() -> None:
    """Some servers count the chunks there."""
    assembly, delta = ChatAssembly(), Delta()

    for number, text in enumerate(("It ", "is ", "here.")):
        assembly.add({"choices": [{"index": number, "delta": {"content": text}, "finish_reason": None}]}, delta)
    assembly.add({"choices": [{"index": 3, "delta": {}, "finish_reason": "stop"}]}, delta)

    assert (delta.text, assembly.finish) == ("It is here.", "stop")


@pytest.mark.parametrize("last", [None, {}, {"content": ""}, {"content": " is here."}])
def test_a_message_after_deltas_adds_nothing_of_what_they_brought(last: RawJson) -> None:
    assembly, delta = read({"content": "It", "reasoning_content": "hm"}, {"tool_calls": [piece(0, "a", "roll", "{}")]})
    message = {
        "role": "assistant",
        "content": "It is here." if last and last["content"] else "It",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "b", "type": "function", "function": {"name": "roll", "arguments": "{}"}}],
    }

    assembly.add({"choices": [{"index": 0, "delta": last, "message": message, "finish_reason": "stop"}]}, delta)

    assert (delta.text, delta.reasoning) == (message["content"], "hm")
    assert [call.id for call in assembly.calls()] == ["a"]


def test_of_several_messages_without_a_delta_the_last_counts() -> None:
    assembly, delta = ChatAssembly(), Delta()

    for text, number in (("It is", 6), ("It is 391.", 8)):
        call = piece(0, "a", "roll", json.dumps({"sides": number}))
        message = {"content": text, "reasoning_content": text, "tool_calls": [call]}
        assembly.add({"choices": [{"message": message, "finish_reason": "stop"}]}, delta)
    assembly.close(delta)
    assembly.close(delta)

    assert (delta.text, delta.reasoning) == ("It is 391.", "It is 391.")
    assert [call.arguments for call in assembly.calls()] == [{"sides": 8}]


def test_a_message_adds_what_no_delta_brought() -> None:
    assembly, delta = read({"role": "assistant", "content": ""}, {"reasoning_content": "hm"})

    assembly.add(
        {"choices": [{"delta": {}, "message": {"content": "It is.", "tool_calls": [piece(0, "a", "now")]}}]}, delta
    )
    assembly.close(delta)

    assert (delta.text, delta.reasoning) == ("It is.", "hm")
    assert [call.name for call in assembly.calls()] == ["now"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart_and_whole(name: str) -> None:
    assembly, delta = read({name: "let me "}, {name: "think"}, {"content": "Yes."})

    assert (delta.reasoning, delta.text) == ("let me think", "Yes.")
    assert assembly.message()[name] == "let me think"


def test_reasoning_sent_under_two_names_is_counted_once() -> None:
    assert read({"reasoning_content": "hm", "reasoning": "hm"})[1].reasoning == "hm"


def test_reasoning_details_are_joined_block_by_block() -> None:
    assembly, delta = read(
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "let "}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "me", "signature": "s"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "xyz"}]},
    )

    assert delta.reasoning == "let me"
    assert assembly.message()["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "let me", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "xyz"},
    ]


def test_content_in_parts_is_text_and_thinking() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}]

    delta = read({"content": parts})[1]

    assert (delta.reasoning, delta.text) == ("hm", "Yes.")


def test_an_emoji_torn_in_two_escapes_is_put_together() -> None:
    delta = read({"content": "a\ud83d"}, {"content": "\ude00b"}, {"content": "\ude00"})[1]

    assert delta.text == "a😀b\ufffd"


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"message": "no"}},
        {"object": "error", "message": "no"},
        {"choices": [{"delta": {}, "finish_reason": "error"}]},
        {"choices": [], "error": "no"},
    ],
)
def test_an_error_among_the_events_is_seen(event: RawObject) -> None:
    with pytest.raises(StreamFault):
        ChatAssembly().add(event, Delta())


def test_usage_counts_cached_and_reasoning_tokens() -> None:
    assembly = ChatAssembly()
    assembly.add(
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 9},
            },
        },
        Delta(),
    )

    assert assembly.usage is not None
    assert (assembly.usage.prompt, assembly.usage.completion, assembly.usage.cached, assembly.usage.reasoning) == (
        100, 20, 64, 9,
    )  # fmt: skip


plain_texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | plain_texts,
    lambda inner: st.lists(inner) | st.dictionaries(plain_texts, inner),
    max_leaves=12,
)


@settings(max_examples=15)
@given(st.dictionaries(plain_texts, json_values), st.data())
def test_arguments_cut_anywhere_are_the_same_arguments(arguments: RawObject, data: st.DataObject) -> None:
    text = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    borders = [0, *cuts, len(text)]
    parts = [text[left:right] for left, right in itertools.pairwise(borders)]

    read = calls(piece(0, "a", "put", ""), *(piece(0, arguments=part) for part in parts))

    assert read == [("a", "put", arguments)]


@settings(max_examples=15)
@given(st.dictionaries(plain_texts, json_values))
def test_an_object_is_complete_at_its_last_character_and_not_before(value: RawObject) -> None:
    text = json.dumps(value)
    end = ObjectEnd()

    end.feed(text[:-1])
    before = end.complete
    end.feed(text[-1])

    assert not before
    assert end.complete


def odd(*keys: str) -> st.SearchStrategy[RawJson]:
    """JSON of any shape that uses these keys."""
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(keys)
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=5)
    )


@settings(max_examples=15)
@given(
    st.lists(odd("content", "tool_calls", "function", "arguments", "index", "id", "reasoning_details", "text", "usage"))
)
def test_no_delta_however_odd_is_an_exception(deltas: list[RawJson]) -> None:
    assembly = ChatAssembly()

    for delta in deltas:
        assembly.add({"choices": [{"delta": delta, "finish_reason": delta}], "usage": delta}, Delta())

    assembly.calls()
    json.dumps(assembly.message())


@settings(max_examples=15)
@given(
    st.lists(
        st.builds(
            lambda kind, rest: {"type": kind, **(rest if isinstance(rest, dict) else {"item": rest, "response": rest})},
            st.sampled_from(
                ["response.output_item.added", "response.output_item.done", "response.output_text.delta",
                 "response.function_call_arguments.delta", "response.completed", "response.incomplete", "other"]
            ),
            odd(
                "item", "type", "message", "function_call", "delta", "output_index", "call_id", "arguments", "usage",
                "content", "text", "response",
            ),
        )
    )
)  # fmt: skip
def test_no_event_of_responses_however_odd_is_an_exception(events: list[RawJson]) -> None:
    assembly = ResponsesAssembly()

    for event in events:
        assembly.add(event, Delta())

    assembly.calls()
    json.dumps(assembly.message())


@given(st.text())
def test_no_arguments_text_is_an_exception(text: str) -> None:
    arguments, problem = read_arguments(text)

    json.dumps(arguments)
    assert not (arguments and problem)


def test_arguments_too_long_to_repair_are_asked_for_again() -> None:
    """A repair reads sign by sign; JSON that is right is read whatever its length."""
    text = "x" * 50_000

    assert read_arguments(f'{{"code": "{text}"}}') == ({"code": text}, "")
    arguments, problem = read_arguments(f"{{'code': '{text}'}}")
    assert arguments == {} and problem.startswith("The arguments are no JSON object") and len(problem) < 200


def test_calls_without_end_end() -> None:
    """Each counts, so that an answer of nothing but empty calls comes to its limit too."""
    assembly = assemble(*(piece(id=f"call {number}", name="roll", arguments="{}") for number in range(10_000)))

    assert assembly.size > MOST_ARGUMENT_CHARS


def test_a_long_argument_in_small_pieces_costs_in_proportion() -> None:
    """Nested braces begin many of the pieces, so that each of them has to be looked at."""

    def cost(length: int) -> float:
        text = json.dumps({"x": [{"y": "z" * 20}] * length})
        pieces = [piece(0, arguments=text[place : place + 7]) for place in range(0, len(text), 7)]
        best = 1e9
        for _ in range(3):
            begun = time.process_time()
            assert len(assemble(piece(0, "a", "put"), *pieces).calls()) == 1
            best = min(best, time.process_time() - begun)
        return best

    assert cost(2_000) < 4 * cost(1_000)


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()


@pytest.mark.parametrize(
    "images",
    [
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
        [{"image_url": f"data:image/jpeg;base64,{PNG}"}],
        [f"data:image/png;base64,{PNG}"],
        [PNG],
        {"url": f"data:image/png;base64,{PNG}"},
    ],
)
def test_pictures_in_a_delta_are_files_whose_first_bytes_say_what_they_are(images: RawJson) -> None:
    assembly, _ = read({"images": images}, {"images": images})
    assembly.add({"choices": [{"delta": {}, "message": {"images": images}}]}, Delta())

    [file] = assembly.pictures.files
    assert (file.name, file.media_type, file.content[:4]) == (
        "picture-" + hashlib.sha256(file.content).hexdigest()[:8] + ".png",
        "image/png",
        b"\x89PNG",
    )


@pytest.mark.parametrize(
    "address", ["https://127.0.0.1/x.png", "data:image/png;base64,!!", "data:text/html;base64,PGI+", "data:x"]
)
def test_what_is_no_picture_is_none_and_nothing_is_fetched(address: str) -> None:
    assembly, _ = read({"images": [{"image_url": {"url": address}}]}, {"images": [None, 7, {}, {"url": {}}]})

    assert assembly.pictures.files == []


def test_pictures_without_end_end() -> None:
    many = [{"url": base64.b64encode(b"GIF89a" + bytes([number])).decode()} for number in range(100)]

    names = [file.name for file in read({"images": many})[0].pictures.files]
    assert len(set(names)) == len(names) == 8
