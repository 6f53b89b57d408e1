"""Images: a fox where one is asked for, else one colour a prompt, with the real endpoint's rules and refusals."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from aiohttp import web

from playground.model.reply import Body
from playground.model.strictness import Refused

_SIZES = ("auto", "1024x1024", "1536x1024", "1024x1536")
_QUALITIES = ("auto", "low", "medium", "high")
_CHOSEN = {"quality": "medium", "size": "1024x1024"}
"""What the model takes where the request leaves it to it."""
_LONGEST_PROMPT = 32_000


@dataclass(slots=True)
class Images:
    """What `POST /v1/images/generations` answers."""

    models: list[str] = field(default_factory=lambda: ["gpt-image-1"])
    refused_words: tuple[str, ...] = ("forbidden",)
    """A prompt with one of these is blocked, as by the real service's moderation."""
    content: bytes = b""
    """Answered instead of a PNG when set."""
    by_address: bool = False
    """Answer with a URL on this server instead of base64."""
    elsewhere: str = ""
    """With `by_address`: this URL instead."""
    made: dict[str, bytes] = field(default_factory=dict)

    def answer(self, body: Body, base_url: str) -> web.Response:
        """Make an image, or raise `Refused`."""
        self._check(body)
        prompt = str(body["prompt"])
        content = self.content or png(prompt)
        if self.by_address:
            name = hashlib.sha256(content).hexdigest()[:16]
            self.made[name] = content
            datum: Body = {"url": self.elsewhere or f"{base_url}/images/made/{name}"}
        else:
            datum = {"b64_json": base64.b64encode(content).decode()}
        chosen = {"quality": body.get("quality", "auto"), "size": body.get("size", "auto")}
        chosen = {name: _CHOSEN[name] if value == "auto" else value for name, value in chosen.items()}
        return web.json_response({"created": int(time.time()), "data": [datum], **chosen})

    def file(self, name: str) -> web.Response:
        """A made image by its name."""
        if name not in self.made:
            raise Refused("There is no such file.", status=404)
        return web.Response(body=self.made[name], content_type="image/png")

    def _check(self, body: Body) -> None:
        prompt = body.get("prompt")
        if not isinstance(prompt, str) or not prompt:
            raise Refused("Missing required parameter: 'prompt'.", "prompt", code="missing_required_parameter")
        if len(prompt) > _LONGEST_PROMPT:
            raise Refused(f"Invalid 'prompt': expected at most {_LONGEST_PROMPT} characters.", "prompt")
        if body.get("model") not in self.models:
            message = f"The model '{body.get('model')}' does not exist."
            raise Refused(message, "model", status=404, code="model_not_found")
        for name, allowed in (("size", _SIZES), ("quality", _QUALITIES)):
            if body.get(name, "auto") not in allowed:
                raise Refused(f"Invalid value: '{body[name]}'. Supported values are: {', '.join(allowed)}.", name)
        if "response_format" in body:
            raise Refused("Unknown parameter: 'response_format'.", "response_format", code="unknown_parameter")
        if any(word in prompt.lower() for word in self.refused_words):
            message = "Your request was rejected by the safety system."
            raise Refused(message, code="moderation_blocked")


_FOX = re.compile(r"\bfox\b|狐", re.I)
_SHAPES: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("cfe3ee", ((0, 0), (340, 0), (340, 200), (0, 200))),
    ("fff3cf", ((262, 28), (290, 28), (300, 46), (290, 66), (262, 66), (252, 46))),
    ("ffffff", ((0, 156), (90, 138), (180, 150), (260, 140), (340, 150), (340, 200), (0, 200))),
    ("c2521f", ((214, 176), (262, 172), (282, 140), (268, 122), (240, 140), (226, 160))),
    ("fff6ec", ((282, 140), (268, 122), (256, 130), (270, 148))),
    ("d9622b", ((118, 176), (120, 120), (142, 100), (172, 94), (202, 100), (224, 120), (226, 176))),
    ("d9622b", ((124, 120), (124, 58), (158, 100))),
    ("d9622b", ((220, 120), (220, 58), (186, 100))),
    ("3a2218", ((130, 100), (128, 72), (146, 96))),
    ("3a2218", ((214, 100), (216, 72), (198, 96))),
    ("fff6ec", ((126, 132), (158, 138), (172, 152), (186, 138), (218, 132), (204, 166), (172, 182), (140, 166))),
    ("22140d", ((148, 118), (158, 118), (160, 126), (153, 130), (146, 126))),
    ("22140d", ((186, 118), (196, 118), (198, 126), (191, 130), (184, 126))),
    ("22140d", ((162, 154), (182, 154), (172, 166))),
)
"""A fox in the snow, as polygons on a grid of 340 by 200."""


def png(prompt: str, side: int = 192) -> bytes:
    """A small PNG: a fox for a prompt that asks for one, else a square whose colour follows from the prompt."""
    if _FOX.search(prompt):
        return _encoded(340, 200, _painted(340, 200))
    colour = hashlib.sha256(prompt.encode()).digest()[:3]
    return _encoded(side, side, [colour * side] * side)


def _painted(width: int, height: int) -> list[bytes]:
    """The rows of the fox, each shape over the ones before it."""
    rows = [bytearray(3 * width) for _ in range(height)]
    for colour, corners in _SHAPES:
        dot = bytes.fromhex(colour)
        edges = list(zip(corners, (*corners[1:], corners[0]), strict=True))
        for y, row in enumerate(rows):
            crossed = sorted(
                ax + (y + 0.5 - ay) * (bx - ax) / (by - ay) for (ax, ay), (bx, by) in edges if (ay <= y) != (by <= y)
            )
            for begin, end in zip(crossed[::2], crossed[1::2], strict=False):
                left, right = max(0, round(begin)), min(width, round(end))
                row[3 * left : 3 * right] = dot * max(0, right - left)
    return [bytes(row) for row in rows]


def _encoded(width: int, height: int, rows: Sequence[bytes]) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = zlib.compress(b"".join(b"\x00" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", content), (b"IEND", b""))
    )
