"""Attachments of a message: a file, a recording, a location."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class EnclosureKind(StrEnum):
    """The kinds of attachments."""

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
    MESSAGE = "message"
    """The message itself, whose text the platform withholds."""
    OTHER = "other"


AUDIBLE: Final = frozenset({EnclosureKind.AUDIO, EnclosureKind.VOICE, EnclosureKind.VIDEO_NOTE})
"""The kinds that are transcribed."""
_RECORDED: Final = AUDIBLE - {EnclosureKind.AUDIO}
_TELLS_NOTHING: Final = frozenset({"", "application/octet-stream", "application/ogg"})
_SOUNDS: Final = (".wav", ".m4a", ".ogg", ".oga", ".opus", ".mp3", ".aac", ".flac", ".amr", ".weba")
_MUSIC: Final = frozenset({"audio/mpeg", "audio/mp3", "audio/flac", "audio/x-flac"})
"""Formats that people usually use to share other people's recordings."""
_MUSIC_NAMES: Final = (".mp3", ".flac")
_MEDIA: Final = {"image": EnclosureKind.PICTURE, "audio": EnclosureKind.AUDIO, "video": EnclosureKind.VIDEO}


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """An attachment of a message: a file, or a location, a contact, a poll."""

    kind: EnclosureKind
    name: str = ""
    """The file's name: untrusted text, rarely chosen by the sender."""
    media_type: str = ""
    """The media type given by the platform: untrusted text."""
    size: int = 0
    """Bytes; 0 if the platform does not say."""
    seconds: float = field(default=0.0, compare=False)
    """The playing time; 0 if the platform does not say."""
    source: str = field(default="", compare=False)
    """The key with which the adapter fetches it; empty: it cannot be fetched. A file that comes again may have another
    key."""
    stored: int = field(default=0, compare=False)
    """The id of the stored file that the model sees; 0: there is none. Set by the core."""
    text: str = field(default="", compare=False, repr=False)
    """The file's text, or its transcript; empty for pictures. Set by the core; only transcripts are stored with the
    message."""
    within: tuple[Enclosure, ...] = field(default=(), compare=False, repr=False)
    """The attachments of this attachment, for example of an e-mail. Set by an adapter when it fetches the file; never
    stored."""
    problem: str = field(default="", compare=False)
    """The key of the sentence that says why it was not transcribed; empty for other attachments. Set by the core."""
    count: int = 1
    """The number of attachments that it represents, if only their number is kept."""

    @property
    def brought(self) -> bool:
        """The model sees it, or its text."""
        return bool(self.stored or self.text)

    @property
    def heard(self) -> bool:
        """It was transcribed."""
        return self.kind in AUDIBLE and bool(self.text)

    @property
    def spoken(self) -> bool:
        """It was transcribed, and recorded as a message: in the sender's own message, its words are the sender's."""
        return self.kind in _RECORDED and bool(self.text)

    @classmethod
    def file(
        cls, name: str, media_type: str, size: int, source: str = "", seconds: float = 0.0, *, alone: bool = False
    ) -> Enclosure:
        """Return an attachment for a file, whose kind follows from its media type, or from its name if that says
        nothing.

        Args:
            alone: the sender sent it without text: then a recording contains the sender's own words.
        """
        said = media_type.partition(";")[0].strip().lower()
        kind = _MEDIA.get(said.partition("/")[0], EnclosureKind.FILE)
        if said in _TELLS_NOTHING and name.lower().endswith(_SOUNDS):
            kind = EnclosureKind.AUDIO
        if kind is EnclosureKind.AUDIO and alone and said not in _MUSIC and not name.lower().endswith(_MUSIC_NAMES):
            # A client's own recording has no name.
            return cls(kind=EnclosureKind.VOICE, media_type=media_type, size=size, source=source, seconds=seconds)
        return cls(kind=kind, name=name, media_type=media_type, size=size, source=source, seconds=seconds)
