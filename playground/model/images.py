"""Images: a PNG in one colour for any prompt, with the real endpoint's rules and refusals."""

from __future__ import annotations

import base64
import hashlib
import struct
import time
import zlib
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


def png(prompt: str, side: int = 192) -> bytes:
    """A small PNG whose colour follows from the prompt."""
    colour = hashlib.sha256(prompt.encode()).digest()[:3]
    rows = (b"\x00" + colour * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )
