"""What is read of a program's request: the last user message, its files, and nothing else that it claims."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.web.asking import Asked, MisaskedError, decision_about, read_completion, read_run
from adapters.web.files import content_of
from bot.contract import Control, EnclosureKind
from tests.conftest import RawJson, RawObject

DATA = base64.b64encode(b"content").decode()
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("messages", "user", "n", "stream", "stream_options", "threadId", "runId", "resume", "forwardedProps")


def completion(content: RawJson, headers: dict[str, str] | None = None, **more: RawJson) -> Asked:
    return read_completion(
        headers or {}, json.dumps({"messages": [{"role": "user", "content": content}], **more}).encode()
    )


def run(content: RawJson = "tea?", **more: RawJson) -> Asked:
    asked: RawObject = {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": content}], **more}
    return read_run({}, json.dumps(asked).encode())


@pytest.mark.parametrize(
    ("part", "kind", "name"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}, "picture", ""),
        ({"type": "image_url", "image_url": {"url": f"data:;base64,{DATA}"}}, "file", ""),
        ({"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}, "voice", ""),
        ({"type": "file", "file": {"file_data": f"data:text/plain;charset=utf-8;base64,{DATA}"}}, "file", ""),
        ({"type": "file", "file": {"file_data": f"data:a/b;base64,{DATA}", "filename": "a.b"}}, "file", "a.b"),
        ({"type": "image", "source": {"type": "data", "value": DATA, "mimeType": "image/png"}}, "picture", ""),
        ({"type": "document", "source": {"type": "data", "value": DATA, "mimeType": "a/b", "name": "c"}}, "file", "c"),
        ({"type": "binary", "mimeType": "video/mp4", "data": DATA, "filename": "v.mp4"}, "video", "v.mp4"),
    ],
)
def test_a_file_is_read_in_every_form_in_which_programs_send_one(part: RawObject, kind: str, name: str) -> None:
    for asked in (completion([part]), run([part])):
        [file] = asked.files
        assert (file.kind, file.name, file.size) == (EnclosureKind(kind), name, 7)
        assert content_of(file.source) == b"content" and asked.text == ""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, "image_url must be a data: address"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}, "image_url is not base64"),
        ({"type": "input_audio", "input_audio": {"data": "é", "format": "wav"}}, "input_audio is not base64"),
        ({"type": "audio", "source": {"type": "url", "value": "https://x"}}, "audio names an address"),
        ({"type": "image_url"}, "'image_url' cannot be read so"),
        ({"type": "x" * 500}, "cannot be read so"),
        ({"text": "no type"}, "has no type"),
        ("text", "has no type"),
        (7, "has no type"),
    ],
)
def test_a_part_that_cannot_be_read_is_named_in_a_short_sentence(part: RawJson, said: str) -> None:
    for read in (completion, run):
        with pytest.raises(MisaskedError) as refused:
            read([{"type": "text", "text": "look"}, part])
        assert said in str(refused.value) and len(str(refused.value)) < 200


def test_the_thread_is_the_header_else_the_user_and_a_run_id_is_the_first_that_is_given() -> None:
    assert completion("tea?").thread == "" and completion("tea?").person == "client"
    assert completion("tea?", user="ada").thread == completion("tea?", user="ada").person == "ada"
    headers = {"X-Thread-Id": "茶/1", "Idempotency-Key": "second", "X-Run-Id": "first"}
    asked = completion("tea?", headers, user="ada")
    assert (asked.thread, asked.person, asked.run) == ("茶/1", "ada", "first")
    assert completion("tea?").run != completion("tea?").run
    assert run(forwardedProps={"user": "ada"}).person == "ada"


def test_a_request_that_a_client_sends_again_by_itself_has_the_same_beginning_of_its_name() -> None:
    first, again = (completion("tea?", {"X-Stainless-Retry-Count": count, "X-Thread-Id": "t"}) for count in "01")
    assert first.run.startswith(again.repeats) and first.run != again.run and len(again.repeats) > 16
    assert first.repeats == completion("tea?").repeats == ""
    others = (completion("milk?", {"X-Thread-Id": "t"}), completion("tea?", {"X-Thread-Id": "u"}), completion("tea?"))
    assert not any(other.run.startswith(again.repeats) for other in others)
    named = completion("tea?", {"X-Stainless-Retry-Count": "1", "X-Run-Id": "r"})
    assert (named.run, named.repeats) == ("r", "")


@pytest.mark.parametrize("id", ["x" * 201, "\n", " ", "\x00", "\ud800", "\u202e"])
def test_an_id_that_nobody_could_read_is_refused(id: str) -> None:
    for wrong in ({"threadId": id}, {"runId": id}, {"threadId": 7}, {"threadId": ""}, {"runId": None}):
        with pytest.raises(MisaskedError):
            run(**wrong)
    with pytest.raises(MisaskedError, match="X-Run-Id"):
        completion("tea?", {"X-Run-Id": id})


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, True),
        ({"status": "resolved", "payload": True}, True),
        ({"status": "resolved", "payload": {"approved": False}}, False),
        ({"status": "resolved", "payload": False}, False),
        ({"status": "cancelled", "payload": {"approved": True}}, None),
    ],
)
def test_only_a_plain_yes_allows_a_call(entry: RawObject, allowed: bool | None) -> None:
    [answer] = run(resume=[{"interruptId": "12:0123456789abcdef", **entry}]).answers

    assert (answer.interrupt, answer.allowed) == ("12:0123456789abcdef", allowed)


@pytest.mark.parametrize(
    "resume",
    [
        [{"interruptId": "1", "status": "resolved", "payload": {"approved": "yes"}}],
        [{"interruptId": "1", "status": "resolved", "payload": {"approve": True}}],
        [{"interruptId": "1", "status": "resolved"}],
        [{"interruptId": "1", "status": "allowed", "payload": True}],
        [{"interruptId": 1, "status": "cancelled"}],
        [{"status": "cancelled"}],
        ["1"],
        {"interruptId": "1", "status": "cancelled"},
        "1",
    ],
)
def test_an_answer_to_an_interrupt_that_says_neither_yes_nor_no_is_none(resume: RawJson) -> None:
    with pytest.raises(MisaskedError, match="approved"):
        run(resume=resume)


def test_a_run_that_resumes_asks_only_what_was_written_since() -> None:
    before: list[RawJson] = [{"role": "user", "content": "tea?"}, {"role": "assistant", "content": "May I?"}]
    resume: RawJson = [{"interruptId": "1", "status": "cancelled"}]

    assert run(messages=before, resume=resume).text == run(messages=None, resume=resume).text == ""
    assert run(messages=[*before, {"role": "user", "content": "milk?"}], resume=resume).text == "milk?"
    assert run(messages=before, resume=[]).text == "tea?"


def test_a_name_that_is_no_question_of_ours_is_about_nothing() -> None:
    assert decision_about("12:0123456789abcdef", allowed=True) == (Control.ALLOW, 12, "0123456789abcdef")
    for wrong in ("", "int-abc", "12", "0:", "9" * 300, "../1", "stop:1"):
        assert decision_about(wrong, allowed=True)[1:] == (0, "")


@pytest.mark.parametrize("language", ["de-CH,de;q=0.9", "zh-TW", "", "x" * 5_000, "<script>"])
def test_the_language_is_a_tag_or_none(language: str) -> None:
    told = completion("tea?", {"Accept-Language": language}).language

    assert told == {"de-CH,de;q=0.9": "de-CH", "zh-TW": "zh-TW"}.get(language, "")


@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6), st.lists(JSON, max_size=3))
def test_whatever_is_sent_is_read_or_refused_with_a_sentence(asked: RawObject, content: list[RawJson]) -> None:
    whole = {"messages": [{"role": "user", "content": content}], "threadId": "t", "runId": "r", **asked}
    for body in (json.dumps(asked).encode(), json.dumps(whole).encode()):
        for read in (read_completion, read_run):
            with suppress(MisaskedError):
                assert read({}, body).run
