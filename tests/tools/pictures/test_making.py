"""Pictures are made fit for models: their size, their form, the right way up; and what they hide is refused."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib

import pytest

from tests.conftest import RawJson
from tools.documents.kinds import DocumentUnreadable, Reason
from tools.fetch.readers import start_plain
from tools.pictures import PictureMaker, is_picture, look_at, worker
from tools.pictures.kinds import Look
from tools.pictures.making import MOST_PIXELS, program

Image = pytest.importorskip("PIL.Image", reason="the extra `pictures` is not installed")

LIMITS = {"most": 100_000, "side": 64, "pixels": MOST_PIXELS}
HEIC = (
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9jAA"
    "AAAERAAAEAAQAAAAABoAABAAAAAAAAAHoAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/GlwcnAA"
    "AADcaXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQApQgEBA3AAAAMAkA"
    "AAAwAAAwAeoCCBBZbqrprm4CGgwIAAAAyAAAADAIRiAAEABkQBwXPBiQAAABNjb2xybmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAA"
    "AChjbGFwAAAAKAAAAAEAAAAUAAAAAf///+gAAAAC////1AAAAAIAAAAQcGl4aQAAAAADCAgIAAAAGGlwbWEAAAAAAAAAAQABBYECAwWEAAAAgm"
    "1kYXQAAAB2KAGvEyHoDw3lMjb/gZPvXPrybYxDyXMcdwsmtQzgFrbapHq7PTCUiSQMWrW3ZdyzNGUz0RG/z2LBFtRp2PYGqcGNlaQFzpu/KEdQ"
    "SHhkgQbtrU4/kMpw36A7snF/OrRxNHey8LDK3hAw2VvBGZW3QMNlWkvdXA=="
)
"""40 by 20 pixels, made by libheif."""
RED, BLUE = (255, 0, 0), (0, 0, 255)


def written(kind: str, size: tuple[int, int] = (40, 20), mode: str = "RGB", **options: object) -> bytes:
    """A picture whose upper left quarter is red and the rest blue."""
    image = Image.new("RGB", size, BLUE)
    image.paste(RED, (0, 0, size[0] // 2, size[1] // 2))
    into = io.BytesIO()
    image.convert(mode).save(into, kind, **options)
    return into.getvalue()


def turned(kind: str, way: int) -> bytes:
    """A picture whose Exif data tell another way up."""
    exif = Image.Exif()
    exif[0x0112] = way
    return written(kind, exif=exif.tobytes())


def bomb() -> bytes:
    """A PNG of a few bytes that says it has 900 million pixels."""
    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    data = b"IDAT" + zlib.compress(b"\0" * 1000)
    parts = (struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in (chunk, data))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def frames() -> bytes:
    """An animated GIF: red, then blue."""
    into = io.BytesIO()
    red, blue = (Image.new("RGB", (8, 8), colour) for colour in (RED, BLUE))
    red.save(into, "GIF", save_all=True, append_images=[blue])
    return into.getvalue()


def made(content: bytes, **limits: int) -> tuple[str, RawJson]:
    head, body = worker.answer({**LIMITS, **limits}, content)
    assert "unreadable" not in head, head
    return head["media_type"], Image.open(io.BytesIO(body)).convert("RGB")


def near(image: RawJson, place: tuple[int, int], colour: tuple[int, int, int]) -> bool:
    return all(abs(one - other) < 60 for one, other in zip(image.getpixel(place), colour, strict=True))


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "AVIF", "WEBP", "JPEG", "PNG"])
def test_a_picture_of_any_usual_kind_is_one_that_models_take(kind: str) -> None:
    content = written(kind)

    media_type, image = made(content)

    assert is_picture(content[:16])
    assert media_type == ("image/png" if kind in ("BMP", "PNG") else "image/jpeg")
    assert image.size == (40, 20) and near(image, (5, 3), RED) and near(image, (35, 15), BLUE)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "WEBP"])
@pytest.mark.parametrize(
    ("way", "size", "red"), [(3, (40, 20), (35, 15)), (6, (20, 40), (15, 5)), (8, (20, 40), (5, 35))]
)
def test_a_picture_is_shown_the_way_up_that_it_tells(
    kind: str, way: int, size: tuple[int, int], red: tuple[int, int]
) -> None:
    content = turned(kind, way)

    _, image = made(content)

    assert image.size == size and near(image, red, RED)
    assert look_at(content).turned or kind == "TIFF"


def test_of_several_frames_the_first_is_shown() -> None:
    _, image = made(frames())

    assert look_at(frames()).animated
    assert near(image, (4, 4), RED)


def test_a_large_picture_is_made_smaller_in_its_proportions() -> None:
    _, image = made(written("PNG", (400, 200)))

    assert image.size == (64, 32)


def test_a_picture_too_long_to_send_is_one_that_is_not() -> None:
    noise = Image.effect_noise((500, 500), 100).convert("RGB")
    into = io.BytesIO()
    noise.save(into, "PNG")

    head, body = worker.answer({**LIMITS, "most": 5_000, "side": 2048}, into.getvalue())

    assert head == {"media_type": "image/jpeg"} and len(body) <= 5_000


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1", "CMYK", "I;16"])
def test_colours_of_every_kind_are_read(mode: str) -> None:
    kind = "TIFF" if mode in ("CMYK", "I;16") else "PNG"
    source = Image.new("I;16", (40, 20), 40_000) if mode == "I;16" else None
    into = io.BytesIO()
    if source is not None:
        source.save(into, kind)

    _, image = made(into.getvalue() if source is not None else written(kind, mode=mode))

    assert image.size == (40, 20)
    assert mode != "I;16" or near(image, (5, 5), (156, 156, 156))


def test_a_clear_picture_too_long_to_send_stands_on_white() -> None:
    noise = Image.effect_noise((300, 300), 100).convert("RGBA")
    noise.putalpha(Image.linear_gradient("L").resize((300, 300)))
    into = io.BytesIO()
    noise.save(into, "PNG")

    media_type, image = made(into.getvalue(), most=8_000, side=300)

    assert media_type == "image/jpeg" and near(image, (5, 0), (255, 255, 255))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bomb(), "too_large"),
        (b"\x89PNG\r\n\x1a\n", "unknown_kind"),
        (written("PNG")[:-60], "damaged"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "unknown_kind"),
        (b"plain text", "unknown_kind"),
    ],
    ids=["bomb", "no more than a sign", "cut", "a program", "text"],
)
def test_what_is_no_picture_or_too_much_of_one_is_refused(content: bytes, why: str) -> None:
    assert worker.answer(LIMITS, content) == ({"unreadable": why}, b"")


def test_a_picture_for_whose_library_no_memory_is_left_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    def unmapped(*_: object) -> None:
        raise ImportError("_imaging.so: failed to map segment from shared object")

    monkeypatch.setattr(worker, "remake", unmapped)

    assert worker.answer(LIMITS, written("PNG")) == ({"unreadable": "too_large"}, b"")


@pytest.mark.parametrize(
    ("content", "look"),
    [
        (written("PNG"), Look(40, 20)),
        (written("JPEG"), Look(40, 20)),
        (written("JPEG", progressive=True), Look(40, 20)),
        (written("GIF"), Look(40, 20, animated=True)),
        (written("WEBP"), Look(40, 20)),
        (written("WEBP", lossless=True), Look(40, 20)),
        (turned("JPEG", 6), Look(40, 20, turned=True)),
        (turned("JPEG", 1), Look(40, 20)),
        (bomb(), Look(30_000, 30_000)),
        (written("JPEG")[:30], Look()),
        (b"\xff\xd8" + b"\xff\xe1\0\0" * 500_000, Look()),
        (b"\xff\xd8" + b"\xff" * 16_000_000, Look()),
        (b"\x89PNG\r\n\x1a\n", Look()),
        (b"RIFF....WEBP", Look()),
        (b"", Look()),
    ],
)
def test_what_a_header_tells_is_read_without_unpacking(content: bytes, look: Look) -> None:
    assert look_at(content) == look


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"BMW builds cars, and more", False),
        (b"\0\0\0\x1cftypheic\0\0\0\0", True),
        (b"\0\0\0\x1cftypmp42\0\0\0\0", False),
        (b"", False),
    ],
)
def test_a_picture_that_models_do_not_take_is_known_for_one(head: bytes, found: bool) -> None:
    assert is_picture(head) is found


def test_what_an_iphone_makes_is_read() -> None:
    pytest.importorskip("pi_heif", reason="the extra `pictures` is not installed")

    media_type, image = made(base64.b64decode(HEIC))

    assert media_type == "image/jpeg" and image.size == (40, 20)
    assert near(image, (5, 3), RED) and near(image, (35, 15), BLUE)


async def test_pictures_are_made_in_a_process_of_their_own() -> None:
    maker = PictureMaker(lambda: start_plain(program()))

    media_type, content = await maker.make(turned("JPEG", 6), 100_000)
    with pytest.raises(DocumentUnreadable) as refused:
        await maker.make(bomb(), 100_000)

    assert media_type == "image/jpeg" and Image.open(io.BytesIO(content)).size == (20, 40)
    assert refused.value.reason is Reason.TOO_LARGE


async def test_pictures_are_made_in_a_sandbox_where_there_is_one() -> None:
    maker = PictureMaker()

    media_type, _ = await maker.make(written("TIFF"), 100_000)

    assert media_type == "image/jpeg"


async def test_without_the_library_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.pictures.making.find_spec", lambda name: None)

    with pytest.raises(DocumentUnreadable) as refused:
        await PictureMaker().make(written("TIFF"), 100_000)

    assert refused.value.reason is Reason.EXTRA_MISSING


def test_a_trial_shows_that_the_library_is_found() -> None:
    assert worker.answer({"kind": "text"}, b"A page of our own.") == ({}, b"A page of our own.")


@pytest.mark.parametrize(
    "answered", [b'{"media_type": "image/png"}\nno picture', b"[1]\n", b"nothing", json.dumps(1).encode()]
)
async def test_a_process_that_a_picture_took_over_is_not_believed(
    answered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk(*arguments: object) -> tuple[bytes, bytes]:
        return answered, b""

    async def start() -> RawJson: ...

    monkeypatch.setattr("tools.pictures.making.talk", talk)

    with pytest.raises(DocumentUnreadable) as refused:
        await PictureMaker(start).make(b"x", 100)

    assert refused.value.reason is Reason.DAMAGED
