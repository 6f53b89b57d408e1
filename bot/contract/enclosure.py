"""What comes with a message beside its text: a file, a recording, a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class EnclosureKind(StrEnum):
    """What can come with a message beside its text."""

    FILE = "file"
    PICTURE = "picture"
    ANIMATION = "animation"
    AUDIO = "audio"
    VOICE = "voice"
    VIDEO = "video"
    VIDEO_NOTE = "video_note"
    STICKER = "sticker"
    LOCATION = "location"
    CONTACT = "contact"
    POLL = "poll"
    DICE = "dice"
    FORWARD = "forward"
    """A forwarded message that the platform withholds."""
    OTHER = "other"


AUDIBLE: Final = frozenset({EnclosureKind.AUDIO, EnclosureKind.VOICE, EnclosureKind.VIDEO_NOTE})
"""What is listened to."""
_RECORDED: Final = AUDIBLE - {EnclosureKind.AUDIO}
_TELLS_NOTHING: Final = frozenset({"", "application/octet-stream", "application/ogg"})
_SOUNDS: Final = (".wav", ".m4a", ".ogg", ".oga", ".opus", ".mp3", ".aac", ".flac", ".amr", ".weba")
_MUSIC: Final = frozenset({"audio/mpeg", "audio/mp3", "audio/flac", "audio/x-flac"})
"""Forms in which people pass on what others recorded."""
_MUSIC_NAMES: Final = (".mp3", ".flac")
_MEDIA: Final = {"image": EnclosureKind.PICTURE, "audio": EnclosureKind.AUDIO, "video": EnclosureKind.VIDEO}


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """Something that came with a message beside its text: a file, or a location, a contact, a poll."""

    kind: EnclosureKind
    name: str = ""
    """The file's name: untrusted text, and seldom chosen by who sent it."""
    media_type: str = ""
    """As the platform tells it: untrusted text."""
    size: int = 0
    """Bytes; 0 where the platform does not tell."""
    seconds: float = field(default=0.0, compare=False)
    """How long it plays; 0 where the platform does not tell."""
    source: str = field(default="", compare=False)
    """What its adapter fetches it by; empty: it cannot be fetched. The same file may come with another one."""
    stored: int = field(default=0, compare=False)
    """The stored file that it was brought as, for the model to see; 0: it was not. Set by the core."""
    text: str = field(default="", compare=False, repr=False)
    """What it says, where it was brought and is no picture. Set by the core; only what was heard is stored with the
    message."""
    within: tuple[Enclosure, ...] = field(default=(), compare=False, repr=False)
    """What is attached to it itself, as to an e-mail. Told by an adapter when it is fetched; never stored."""
    problem: str = field(default="", compare=False)
    """The sentence, by its key, that says why it was not listened to; empty for what is never listened to. Set by the
    core."""
    count: int = 1
    """How many of its kind it stands for, of which no more than that is kept."""

    @property
    def brought(self) -> bool:
        """The model sees it, or is told what it says."""
        return bool(self.stored or self.text)

    @property
    def heard(self) -> bool:
        """Its `text` was listened to."""
        return self.kind in AUDIBLE and bool(self.text)

    @property
    def spoken(self) -> bool:
        """It was heard, and recorded as a message: of a message's own, its words are those of who sent it."""
        return self.kind in _RECORDED and bool(self.text)

    @classmethod
    def file(
        cls, name: str, media_type: str, size: int, source: str = "", seconds: float = 0.0, *, alone: bool = False
    ) -> Enclosure:
        """A file whose kind only its media type tells, or its name where that says nothing.

        Args:
            alone: its sender's own, sent without a word: then a recording is what they say.
        """
        said = media_type.partition(";")[0].strip().lower()
        kind = _MEDIA.get(said.partition("/")[0], EnclosureKind.FILE)
        if said in _TELLS_NOTHING and name.lower().endswith(_SOUNDS):
            kind = EnclosureKind.AUDIO
        if kind is EnclosureKind.AUDIO and alone and said not in _MUSIC and not name.lower().endswith(_MUSIC_NAMES):
            # Without its name, as what a client records.
            return cls(kind=EnclosureKind.VOICE, media_type=media_type, size=size, source=source, seconds=seconds)
        return cls(kind=kind, name=name, media_type=media_type, size=size, source=source, seconds=seconds)
