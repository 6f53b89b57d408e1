"""Recordings are transcribed within their limits and paid for, and each reason why nothing was heard is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.contract import Enclosure, EnclosureKind, ModelBusy, ModelDropped, ModelError, ModelRefused, SetupRefused
from bot.model import Transcriber
from bot.model.transcribing import Heard
from bot.policy import DayPurse, Prices
from bot.turn.listening import SPEECH_BYTES, SPEECH_SECONDS, Listener, format_of
from tools.contract.base import Unpaid
from tools.contract.payments import Payment

CHAT = "telegram:42/7"
OGG = b"OggS" + b"\0" * 12_000


class Purse(DayPurse):
    """A purse that notes what is paid."""

    def __init__(self, *, empty: bool = False) -> None:
        self.empty = empty
        self.payments: list[Payment] = []

    @asynccontextmanager
    async def pay(self, what: str, dollars: float) -> AsyncIterator[Payment]:
        if self.empty:
            raise Unpaid("nothing is left", retry=False)
        self.payments.append(Payment(dollars))
        yield self.payments[-1]


class Service(Transcriber):
    """A transcriber that says what it is told to."""

    def __init__(self, heard: Heard | ModelError, name: str = "openai:gpt-4o-mini-transcribe") -> None:
        self.heard = heard
        self.named = name
        self.asked: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        return self.named

    async def transcribe(self, recording: object, name: str, media_type: str, seconds: float) -> Heard:
        self.asked.append((name, media_type))
        if isinstance(self.heard, ModelError):
            raise self.heard
        return self.heard


def recording(**more: object) -> Enclosure:
    return Enclosure(**{"kind": EnclosureKind.VOICE, "source": "v", **more})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    written = tmp_path / "enclosed"
    written.write_bytes(OGG)
    return written


@pytest.mark.parametrize(
    ("head", "ending"),
    [
        (b"OggS\0\2", "ogg"),
        (b"RIFF....WAVE", "wav"),
        (b"RIFF....AVI ", ""),
        (b"fLaC", "flac"),
        (b"ID3\4", "mp3"),
        (b"\xff\xfb\x90", "mp3"),
        (b"\xff\xf1\x50", ""),
        (b"\xff", ""),
        (b"\0\0\0\x18ftypM4A ", "mp4"),
        (b"\x1a\x45\xdf\xa3", "webm"),
        (b"#!AMR", ""),
        (b"", ""),
    ],
)
def test_a_format_is_known_by_its_first_bytes(head: bytes, ending: str) -> None:
    assert format_of(head) == ending


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (recording(), ""),
        (recording(seconds=SPEECH_SECONDS, size=SPEECH_BYTES), ""),
        (recording(seconds=SPEECH_SECONDS + 1), "unheard_long"),
        (recording(size=SPEECH_BYTES + 1), "unheard_large"),
        (recording(source=""), "unheard_now"),
        (Enclosure(kind=EnclosureKind.VIDEO), ""),
    ],
)
def test_what_is_too_long_or_too_large_need_not_be_fetched(one: Enclosure, problem: str) -> None:
    assert Listener(Service(Heard("Hello", 0)), Purse(), Prices()).look(one).problem == problem


def test_without_a_transcriber_nothing_is_listened_to() -> None:
    listener = Listener(None, Purse(), Prices())

    assert listener.look(recording()).problem == "unheard_off"
    assert listener.look(Enclosure(kind=EnclosureKind.STICKER)).problem == ""


@pytest.mark.parametrize(
    ("seconds", "charged", "dollars"),
    [(60.0, 0.0, 0.003), (60.0, 120.0, 0.006), (0.0, 0.0, 0.003 * 3.001 / 60), (0.0, 30.0, 0.0015)],
)
async def test_a_transcript_costs_what_the_server_charges_else_what_is_known(
    path: Path, seconds: float, charged: float, dollars: float
) -> None:
    service, purse = Service(Heard("Hello", charged)), Purse()

    heard = await Listener(service, purse, Prices()).listen(path, recording(seconds=seconds), CHAT)

    assert (heard.text, heard.problem, heard.heard, heard.spoken) == ("Hello", "", True, True)
    assert service.asked == [("speech.ogg", "audio/ogg")]
    assert purse.payments[0].dollars == pytest.approx(dollars)


async def test_what_has_no_known_price_is_not_paid(path: Path) -> None:
    purse = Purse(empty=True)

    heard = await Listener(Service(Heard("Hello", 9.0), "openai:other"), purse, Prices()).listen(
        path, recording(), CHAT
    )

    assert heard.text == "Hello" and purse.payments == []


@pytest.mark.parametrize(
    ("error", "problem", "free"),
    [
        (ModelBusy("busy"), "unheard_now", True),
        (ModelDropped("broke"), "unheard_now", False),
        (ModelRefused("no"), "unheard_form", True),
        (SetupRefused("no key"), "unheard_off", True),
    ],
)
async def test_each_fault_is_a_reason(
    path: Path, caplog: pytest.LogCaptureFixture, error: ModelError, problem: str, free: bool
) -> None:
    purse = Purse()

    heard = await Listener(Service(error), purse, Prices()).listen(path, recording(seconds=60), CHAT)

    assert (heard.text, heard.problem) == ("", problem) and (purse.payments[0].dollars == 0) is free
    assert f"{CHAT}: a voice was not transcribed: {error}" in caplog.text


async def test_silence_no_recording_and_an_empty_purse_are_reasons_too(path: Path) -> None:
    service = Service(Heard("", 0))

    assert (await Listener(service, Purse(), Prices()).listen(path, recording(), CHAT)).problem == "unheard_silent"
    assert (
        await Listener(service, Purse(empty=True), Prices()).listen(path, recording(), CHAT)
    ).problem == "unheard_spent"
    path.write_bytes(b"MZ")
    assert (await Listener(service, Purse(), Prices()).listen(path, recording(), CHAT)).problem == "unheard_form"
    assert len(service.asked) == 1
