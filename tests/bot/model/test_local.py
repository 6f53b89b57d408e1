"""Speech to text on this machine stands where a provider's does: the same words for what goes wrong, nothing paid."""

from __future__ import annotations

import io

import pytest

from bot.contract import SetupRefused
from bot.contract.errors import ModelAway, ModelDropped, ModelError, ModelRefused, ModelSlow
from bot.model import local
from bot.policy import Prices
from tests.bot.model.conftest import Open
from tools.speech.recognition import Recogniser, Spoken, Trouble, Unrecognised


def listening(monkeypatch: pytest.MonkeyPatch, outcome: Spoken | Exception, gone: str = "") -> list[bytes]:
    heard: list[bytes] = []

    async def recognise(_: Recogniser, recording: bytes, seconds: float) -> Spoken:
        heard.append(recording)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(Recogniser, "recognise", recognise)
    monkeypatch.setattr(local, "missing", lambda _: gone)
    return heard


async def test_a_folder_takes_the_place_of_a_provider_and_costs_nothing(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = listening(monkeypatch, Spoken(" Tea, please. ", 2.5))
    transcriber = opened(transcriber="local:/models/tiny").transcriber
    assert transcriber is not None
    recording = io.BytesIO(b"OggS, all of it")
    recording.read(4)

    said = await transcriber.transcribe(recording, "speech.ogg", "audio/ogg", 100.0)

    assert (transcriber.name, said.text, said.seconds) == ("local:/models/tiny", "Tea, please.", 2.5)
    assert heard == [b"OggS, all of it"]
    assert Prices().dollars_of_speech(transcriber.name, 60.0) == 0.0


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Unrecognised(Trouble.FORMAT), ModelRefused),
        (Unrecognised(Trouble.MODEL), SetupRefused),
        (Unrecognised(Trouble.LIBRARY), SetupRefused),
        (Unrecognised(Trouble.MEMORY), ModelDropped),
        (Unrecognised(Trouble.BROKEN), ModelDropped),
        (TimeoutError(), ModelSlow),
        (OSError("no process"), ModelAway),
    ],
)
async def test_what_goes_wrong_is_told_as_a_providers_faults_are(
    opened: Open, monkeypatch: pytest.MonkeyPatch, outcome: Exception, kind: type[ModelError]
) -> None:
    listening(monkeypatch, outcome)
    transcriber = opened(transcriber="local:/models/tiny").transcriber
    assert transcriber is not None

    with pytest.raises(ModelError) as failed:
        await transcriber.transcribe(io.BytesIO(b"OggS"), "speech.ogg", "audio/ogg", 100.0)

    assert type(failed.value) is kind


async def test_what_is_missing_is_said_before_anything_is_started(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = listening(monkeypatch, Spoken("", 0.0), gone="there is no folder /models/tiny")
    transcriber = opened(transcriber="local:/models/tiny").transcriber
    assert transcriber is not None

    with pytest.raises(SetupRefused, match="no folder /models/tiny"):
        await transcriber.transcribe(io.BytesIO(b"OggS"), "speech.ogg", "audio/ogg", 100.0)

    assert not heard
