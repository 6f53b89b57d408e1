"""What people send beside text and files: stickers, places, contacts, polls and so on, as the service writes them."""

from __future__ import annotations

from collections.abc import Callable

from playground.telegram.call import Json
from playground.telegram.media import store
from playground.telegram.world import World

_PLACE: Json = {"latitude": 59.9139, "longitude": 10.7522}


def _file(world: World, name: str, media_type: str, content: bytes = b"\0" * 64) -> Json:
    return store(world, name, media_type, content).json()


def _sticker(world: World) -> Json:
    shape: Json = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
    return {"sticker": _file(world, "sticker.webp", "image/webp") | shape | {"emoji": "👍", "set_name": "Thumbs"}}


def _voice(world: World) -> Json:
    return {
        "voice": _file(world, "voice.ogg", "audio/ogg", b"OggS" + b"\0" * 60)
        | {"duration": 3, "mime_type": "audio/ogg"}
    }


def _audio(world: World) -> Json:
    told: Json = {"duration": 180, "performer": "Ada", "title": "Song"}
    return {
        "audio": _file(world, "song.mp3", "audio/mpeg", b"ID3" + b"\0" * 61)
        | told
        | {"file_name": "song.mp3", "mime_type": "audio/mpeg"}
    }


def _video(world: World) -> Json:
    shape: Json = {"width": 640, "height": 360, "duration": 9}
    return {
        "video": _file(world, "clip.mp4", "video/mp4") | shape | {"file_name": "clip.mp4", "mime_type": "video/mp4"}
    }


def _video_note(world: World) -> Json:
    return {
        "video_note": _file(world, "note.mp4", "video/mp4", b"\0\0\0\x18ftypisom" + b"\0" * 52)
        | {"length": 240, "duration": 4}
    }


def _animation(world: World) -> Json:
    told = _file(world, "wave.mp4", "video/mp4") | {"file_name": "wave.mp4", "mime_type": "video/mp4"}
    # For programs that know no animations it is a document as well.
    return {"animation": told | {"width": 320, "height": 240, "duration": 2}, "document": told}


def _venue(world: World) -> Json:
    # For programs that know no venues it is a location as well.
    return {"venue": {"location": _PLACE, "title": "Opera", "address": "Kirsten Flagstads plass 1"}, "location": _PLACE}


def _poll(world: World) -> Json:
    options = [{"persistent_id": str(n), "text": text, "voter_count": 0} for n, text in enumerate(("yes", "no"))]
    told: Json = {"id": "5001", "question": "Tea?", "options": options, "total_voter_count": 0, "type": "regular"}
    return {
        "poll": told
        | {
            "is_closed": False,
            "is_anonymous": True,
            "allows_multiple_answers": False,
            "allows_revoting": True,
            "members_only": False,
        }
    }


KINDS: dict[str, Callable[[World], Json]] = {
    "sticker": _sticker,
    "voice": _voice,
    "audio": _audio,
    "video": _video,
    "video_note": _video_note,
    "animation": _animation,
    "location": lambda world: {"location": dict(_PLACE)},
    "venue": _venue,
    "contact": lambda world: {"contact": {"phone_number": "+4712345678", "first_name": "Eve", "user_id": 666}},
    "poll": _poll,
    "dice": lambda world: {"dice": {"emoji": "🎲", "value": 4}},
    "story": lambda world: {"story": {"chat": {"id": 666, "type": "private", "first_name": "Eve"}, "id": 3}},
}
"""Kind → the fields of a message that holds it; see https://core.telegram.org/bots/api#message."""

CAPTIONED = frozenset({"voice", "audio", "video", "animation"})
"""Kinds that may have a caption."""
