"""Secrets never leave; characters that deceive never come in."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.safety.characters import AnswerFilter, clean_answer, clean_name, clean_untrusted, shows_nothing
from bot.safety.redacted import redact_call
from bot.safety.redactor import REMOVED, Redactor
from bot.safety.spellings import secret_forms
from tools.contract.base import ToolCall

SECRET = "sk-abcdefghijkl"
LONGER = "sk-abcdefghijklmno"
OTHER = "jkl-mno-pqr-stu"
SECRETS = st.lists(st.text(alphabet="abc", min_size=12, max_size=14))


def streamed(redactor: Redactor, text: str, size: int) -> str:
    return "".join(redactor.feed(text[at : at + size]) for at in range(0, len(text), size)) + redactor.finish()


def redact(text: str, secrets: Iterable[str]) -> str:
    return Redactor(secrets).redact(text)


def test_a_secret_is_replaced_wherever_the_stream_breaks() -> None:
    for size in range(1, 20):
        assert streamed(Redactor([SECRET]), f"key {SECRET}.", size) == f"key {REMOVED}."


def test_only_what_may_become_a_secret_is_held_back() -> None:
    redactor = Redactor([SECRET])

    assert redactor.feed("words sk-ab") == "words "
    assert redactor.feed("x") == "sk-abx"
    assert redactor.feed("sk-") == ""
    assert redactor.finish() == "sk-"


def test_of_two_secrets_that_overlap_no_part_is_left() -> None:
    text = f"a {SECRET}-mno-pqr-stu b {LONGER} c"

    for size in (1, 3, 100):
        assert streamed(Redactor([SECRET, LONGER, OTHER]), text, size) == f"a {REMOVED} b {REMOVED} c"


def test_short_values_are_never_replaced() -> None:
    assert redact("password", ["password", ""]) == "password"


@given(
    st.text(alphabet="abc", max_size=60), st.lists(st.text(alphabet="abc", min_size=12, max_size=14)), st.integers(1, 9)
)
def test_any_stream_shows_what_the_whole_text_shows(text: str, secrets: list[str], size: int) -> None:
    text = text + "".join(secrets) + text

    shown = streamed(Redactor(secrets), text, size)

    assert shown == redact(text, secrets)
    assert not any(secret in shown for secret in secrets)


def spelled(text: str, how: Callable[[str], str], every: int = 1) -> str:
    return "".join(how(sign) if not at % every else sign for at, sign in enumerate(text))


BYTES = SECRET.encode()
SPELLINGS = {
    "Base64": base64.b64encode(BYTES).decode(),
    "Base64 behind one character": base64.b64encode(b"=" + BYTES + b" an").decode(),
    "Base64 behind two characters": base64.b64encode(b"x=" + BYTES + b"\n").decode(),
    "Base64 without padding": base64.b64encode(BYTES + b"ab").decode().rstrip("="),
    "Base64 in an account": base64.urlsafe_b64encode(b"u:" + BYTES + b"@h/").decode(),
    "hex": BYTES.hex(),
    "HEX": BYTES.hex().upper(),
    "decimal references": spelled(SECRET, lambda sign: f"&#{ord(sign)};"),
    "hexadecimal references": spelled(SECRET, lambda sign: f"&#x{ord(sign):04X};", 3),
    "references without an end": spelled(SECRET, lambda sign: f"&#{ord(sign)}", 2).replace("&#45s", "&#45;s"),
    "names": SECRET.replace("-", "&#8203;&hyphen;&zwj;").replace("&hyphen;", "&#45;"),
    "percent": spelled(SECRET, lambda sign: f"%{ord(sign):02x}"),
    "some percent": spelled(SECRET, lambda sign: f"%{ord(sign):02X}", 4),
    "Base64 over lines": "\n".join(textwrap.wrap(base64.b64encode(b"key: " + BYTES).decode(), 7)),
    "Base64 over lines of a mail": "\r\n".join(textwrap.wrap(base64.b64encode(BYTES).decode(), 10)),
    "percent in Base64": base64.b64encode(BYTES).decode().replace("=", "%3D").replace("a", "%61"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_spelled_otherwise_is_a_secret_wherever_the_stream_breaks(name: str) -> None:
    """Of an encoded one, two characters may be left, and those that also encode a part of its neighbours."""
    text = f"100% of AT&T &amp; x: {SPELLINGS[name]} &c."

    whole = redact(text, [SECRET])

    assert whole.startswith("100% of AT&T &amp; x: ") and whole.endswith(" &c.") and REMOVED in whole
    left = whole.removeprefix("100% of AT&T &amp; x: ").removesuffix(" &c.").replace(REMOVED, "")
    assert len(left) <= (12 if "Base64" in name else 2 if "hex" in name.lower() else 0), left
    assert not any(SPELLINGS[name][at : at + 12] in whole for at in range(len(SPELLINGS[name]) - 12))
    for size in (1, 2, 3, 7):
        assert streamed(Redactor([SECRET]), text, size) == whole, size


URL_SAFE = "?>key?>>key>??key"


def test_both_alphabets_of_base64_are_known() -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert redact(f"a {encode(URL_SAFE.encode()).decode()} b", [URL_SAFE]) == f"a Pz{REMOVED} b"


@pytest.mark.parametrize("text", ["AT&T sk&#", "100% sk%2", f"{SECRET} &#1"])
def test_a_text_that_ends_within_a_sign_is_shown_to_its_end(text: str) -> None:
    for size in (1, 3, 100):
        assert streamed(Redactor([SECRET]), text, size) == text.replace(SECRET, REMOVED)


def test_two_halves_of_a_character_that_come_apart_are_one() -> None:
    answer = AnswerFilter()

    assert answer.feed("tea \ud83c") + answer.feed("\udf75 and \ud83c") + answer.finish() == "tea 🍵 and \ufffd"


def test_of_arguments_every_text_is_redacted_and_the_rest_stays() -> None:
    call = ToolCall("c", "t", {SECRET: [SECRET, 1, None], "deep": {"a": f"x {SECRET}", "b": True}})

    redacted = redact_call(call, Redactor([SECRET]).redact)

    assert redacted.arguments == {REMOVED: [REMOVED, 1, None], "deep": {"a": f"x {REMOVED}", "b": True}}


def test_text_that_spells_no_secret_passes_at_once() -> None:
    redactor = Redactor([SECRET])

    for word in ("It", "in", "73", "c2", "r1"):
        assert redactor.feed(word) == word
    assert redactor.feed("a &amp; b, 5% of &copy; %20 ") == "a &amp; b, 5% of &copy; %20 "
    assert redactor.feed("R&") == "R"
    assert redactor.feed("1") == "&1"
    assert redactor.feed("tools\n") == "tool"
    assert redactor.feed("and") == "s\nand"
    assert redactor.feed("sk&#") == ""
    assert redactor.feed("46;") == "sk&#46;"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["s", "k", "-", "&#115;", "%6b", "&#45;", SECRET[3:], "&", "%", "#", "4", ";", "*"])),
       st.integers(1, 5))  # fmt: skip
def test_any_stream_of_spelled_signs_shows_what_the_whole_text_shows(pieces: list[str], size: int) -> None:
    text = "".join(pieces)

    assert streamed(Redactor([SECRET]), text, size) == redact(text, [SECRET])


def test_secrets_that_are_found_in_different_readings_stay_apart() -> None:
    text = f"{spelled(SECRET, lambda sign: f'&#{ord(sign)};')} kept {OTHER}"

    assert redact(text, [SECRET, OTHER]) == f"{REMOVED} kept {REMOVED}"


def test_a_redactor_can_redact_a_whole_text_while_it_streams() -> None:
    redactor = Redactor([SECRET])
    redactor.feed("sk-abc")

    assert redactor.redact(SECRET) == REMOVED
    assert redactor.feed("defghijkl") + redactor.finish() == REMOVED


def test_an_answer_keeps_emoji_joiners_flags_rtl_letters_and_marks() -> None:
    scotland = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    text = f"👩\u200d👩\u200d👧 🇩🇪 {scotland} שלום می\u200cخواهم e\u0301 क्\u200dष\n\tx"

    assert clean_answer(text) == text
    assert clean_untrusted(text) == text


def test_an_answer_loses_controls_overrides_and_stray_tags() -> None:
    assert clean_answer("a\x00b\x1bc\r\n\u202ed\u2066e\U000e0041f\x9b") == "abc\ndef"


@given(st.text(alphabet="a\ud83d\ude00🏴\U000e0067\U000e0062\U000e007f\u202e", max_size=20), st.integers(1, 4))
def test_any_answer_stream_is_cleaned_like_the_whole(text: str, size: int) -> None:
    cleaner = AnswerFilter()

    shown = "".join(cleaner.feed(text[at : at + size]) for at in range(0, len(text), size)) + cleaner.finish()

    assert shown == clean_answer(text)
    shown.encode()


def test_a_name_is_one_visible_line() -> None:
    assert clean_name("  Eve\u202e\u200b\n\u200dAdmin\U000e0041 ") == "Eve Admin"


def test_a_secret_in_disguise_is_a_secret() -> None:
    """Markdown takes these marks away, and nobody sees signs without width."""
    disguises = ("sk-**abc**def`gh`ijkl", "sk\\-abcdefghijkl", "sk-\u200babcdef\u2060ghijkl", "sk-abc\ndefg\r\nhijkl")
    for disguise in disguises:
        for size in (1, 3, 100):
            assert REMOVED in streamed(Redactor([SECRET]), f"key {disguise}.", size), disguise


def test_what_is_secret_in_a_setting_is_secret_by_itself() -> None:
    forms = secret_forms(
        ["crm=postgresql://reader:P%40ss-word-canary@host/crm,x=sqlite:///a", "Bearer abcdefghijklmnop", "7:AAFtoken"]
    )

    assert {"P%40ss-word-canary", "P@ss-word-canary", "abcdefghijklmnop", "AAFtoken"} <= set(forms)


@given(st.text(alphabet="ab\ufe0f\u845b\U000e0100\u2028\u200b", max_size=12), st.integers(1, 4))
def test_a_streamed_answer_is_cleaned_as_a_whole_one(text: str, size: int) -> None:
    answer = AnswerFilter()

    shown = "".join(answer.feed(text[at : at + size]) for at in range(0, len(text), size)) + answer.finish()

    assert shown == clean_answer(text)
    assert clean_answer(shown) == shown


def test_what_has_no_width_and_no_use_leaves_the_answer() -> None:
    assert clean_answer("a\u200bb\u2060c\ufeffd\u2028e") == "abcd\ne"
    assert clean_answer("葛\U000e0100 x\U000e0101\U000e0102 ❤\ufe0f\ufe0f") == "葛\U000e0100 x ❤\ufe0f"
    assert clean_answer("می\u200cخواهم \u200fشما\u200e") == "می\u200cخواهم \u200fشما\u200e"


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\u2800", "\u2800 \ufe0f", "\u200d\u200e\u200f", "\u3164\uffa0\u115f", "\u00ad\u2060\U000e0101", "\x07",
     "&nbsp;", "&#8203;&zwj;", "<!-- -->", "<!-- a\nb --> <!--", "\u2800<!-- x -->&nbsp;"],
)  # fmt: skip
def test_what_nobody_can_see_shows_nothing(text: str) -> None:
    assert shows_nothing(text)


@pytest.mark.parametrize(
    "text", ["a", "7", ".", "…", "😀", "👨\u200d👩", "ا\u200f", "&amp;", "& nbsp", "<!- x", "\u2800.", "\ufffd"]
)
def test_what_somebody_can_see_shows_something(text: str) -> None:
    assert not shows_nothing(text)
