"""One request to the Bot API: its parameters in any of three encodings, and the way it is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from playground.calls import Left

Json = dict[str, Any]


class ApiError(Exception):
    """The service refuses a call, in its own words."""

    def __init__(self, status: int, description: str, parameters: Json | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters or {}

    def body(self) -> Json:
        """The answer as the service writes it."""
        answer: Json = {"ok": False, "error_code": self.status, "description": self.description}
        if self.parameters:
            answer["parameters"] = self.parameters
        return answer


def bad_request(text: str) -> ApiError:
    """A 400 with the prefix that the service puts before each."""
    return ApiError(400, f"Bad Request: {text}")


def too_many(retry_after: int) -> ApiError:
    """The 429 of flood control."""
    return ApiError(429, f"Too Many Requests: retry after {retry_after}", {"retry_after": retry_after})


@dataclass(slots=True)
class Call:
    """One call as it came and as it was answered."""

    at: float
    method: str
    chat: str
    """The `chat_id` as text; empty for calls that name none."""
    parameters: Json
    status: int = 0
    """0 while it is being worked on."""
    retry_after: float = 0
    description: str = ""
    """The error text, where it was refused."""
    took: float = 0.0
    """Seconds until it was answered."""
    left: Left | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a multipart request."""

    name: str
    media_type: str
    content: bytes


@dataclass(slots=True)
class Arguments:
    """The parameters of one call, read the lenient way the service reads them."""

    values: Json = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)

    @classmethod
    async def read(cls, request: web.Request) -> Arguments:
        """Take the query string and the body, whichever of the three encodings it has."""
        values: Json = dict(request.query)
        uploads: dict[str, Upload] = {}
        if request.content_type == "application/json":
            raw = await request.read()
            if raw:
                try:
                    body = json.loads(raw)
                except ValueError:
                    raise bad_request("can't parse JSON object") from None
                if not isinstance(body, dict):
                    raise bad_request("object expected as request body")
                values.update(body)
        elif request.can_read_body:
            for name, value in (await request.post()).items():
                if isinstance(value, web.FileField):
                    uploads[name] = Upload(value.filename, value.content_type, value.file.read())
                else:
                    values[name] = value if isinstance(value, str) else bytes(value).decode()
        return cls(values, uploads)

    def text(self, name: str) -> str:
        """A parameter as text; empty when it is missing."""
        value = self.values.get(name)
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value)

    def integer(self, name: str, default: int = 0) -> int:
        """A parameter as a whole number; anything else counts as not given, as it does for the service."""
        try:
            return int(self.text(name))
        except ValueError:
            return default

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in {"true", "yes", "1"}

    def structure(self, name: str) -> Any:
        """A nested parameter: a JSON string in a form, or the value itself in a JSON body; `None` when missing."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name.replace('_', ' ')} JSON object") from None

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A nested parameter that has to be an object; empty when missing."""
        value = self.structure(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise bad_request(f"object expected as {name.replace('_', ' ')}")
        return value

    def record(self) -> Json:
        """What to keep for a test to look at: uploads by their name and size only."""
        files = {name: f"{upload.name} ({len(upload.content)} bytes)" for name, upload in self.uploads.items()}
        return self.values | files
