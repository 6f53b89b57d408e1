"""The program that makes one picture fit for models: takes it from standard input and writes it anew.

A hostile picture can have the decoders, which are written in C, do as it likes. This process has limits, knows no
secret, has no network in its sandbox, and can be killed. It imports nothing of ours but the reader of pages, for its
limits.

In: a line of JSON (`most` bytes, `side` pixels, `pixels`, `seconds`, `memory`; `kind` for a trial), then the picture.
Out: a line of JSON (`media_type`, or `unreadable`, why), then the picture.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from typing import Any

from tools.fetch.reader import has_no_room, set_limits

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "AVIF")
"""The formats that are decoded at all: the library knows fifty more."""
_QUALITIES = (90, 80, 65, 50, 35)
_SHRINKS = 6
"""How often a picture is made smaller that is still too long."""


class Refused(Exception):
    """The picture is not decoded; says why."""


def remake(body: bytes, most: int, side: int, pixels: int) -> tuple[str, bytes]:
    """The picture in at most `most` bytes, no side longer than `side`, the right way up: its media type and itself. Of
    several frames the first.

    Raises:
        Refused: by its header it has more than `pixels`, or it is of no kind that is decoded.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    formats = [*_FORMATS, *_known_heif()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer pixels than are refused below
            image = Image.open(io.BytesIO(body), formats=formats)
    except UnidentifiedImageError as error:
        raise Refused("unknown_kind") from error
    except Image.DecompressionBombError as error:
        raise Refused("too_large") from error
    if image.width * image.height > pixels:
        raise Refused("too_large")
    drawn = image.format in ("PNG", "GIF", "BMP", "DIB")
    image.draft("RGB", (side, side))
    image.seek(0)
    shown = ImageOps.exif_transpose(image)
    shown.thumbnail((side, side))
    clear = shown.mode in ("RGBA", "LA", "PA") or "transparency" in shown.info
    if shown.mode.startswith("I;16"):  # sixteen bits a colour, which `convert` would cut off
        shown = shown.point(lambda value: value / 256).convert("L")
    shown = shown.convert("RGBA" if clear else "RGB")
    if (drawn or clear) and len(made := _written(shown, "PNG")) <= most:
        return "image/png", made
    return "image/jpeg", _short_jpeg(shown, most)


def _short_jpeg(image: Any, most: int) -> bytes:
    """A picture as a JPEG of at most `most` bytes, on white where it is clear."""
    from PIL import Image

    if image.mode == "RGBA":
        ground = Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    for _ in range(_SHRINKS):
        for quality in _QUALITIES:
            if len(made := _written(image, "JPEG", quality=quality)) <= most:
                return made
        image.thumbnail((max(1, image.width // 2), max(1, image.height // 2)))
    raise Refused("too_large")


def _written(image: Any, kind: str, **options: Any) -> bytes:
    into = io.BytesIO()
    image.save(into, kind, **options)
    return into.getvalue()


def _known_heif() -> list[str]:
    """The name under which the library knows what iPhones make, where its companion is installed."""
    with contextlib.suppress(ImportError):
        from pi_heif import register_heif_opener

        register_heif_opener(thumbnails=False)
        return ["HEIF"]
    return []


def answer(about: dict[str, Any], body: bytes) -> tuple[dict[str, str], bytes]:
    """What the program answers."""
    try:
        if "kind" in about:  # a trial: are the libraries found?
            import PIL.Image  # noqa: F401

            return {}, body
        media_type, made = remake(body, about["most"], about["side"], about["pixels"])
    except Refused as error:
        return {"unreadable": str(error)}, b""
    except ModuleNotFoundError:
        return {"unreadable": "extra_missing"}, b""
    except Exception as error:  # noqa: BLE001  # the edge of this process; the libraries raise what they like
        return {"unreadable": "too_large" if has_no_room(error) else "damaged"}, b""
    return {"media_type": media_type}, made


def main() -> int:
    """Read one picture from standard input and write it anew; the exit code is 0."""
    about: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    # Some decoders start threads.
    set_limits(float(about["seconds"]), int(about.get("memory", 1 << 30)), threads=True)
    head, made = answer(about, body)
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
