"""The arguments of one call, whichever way they travelled: query, form or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from playground.slack.errors import Json, Refused, missing


@dataclass(frozen=True, slots=True)
class Arguments:
    """Typed access to what the caller sent; in a form everything is a string."""

    values: Mapping[str, Any]

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name, default)
        return value if isinstance(value, str) else str(value)

    def required(self, name: str) -> str:
        """Raises `invalid_arguments` when it is absent or empty."""
        value = self.text(name)
        if not value:
            raise missing(name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        return default if value is None else value in (True, 1, "1", "true", "True")

    def whole(self, name: str, default: int) -> int:
        try:
            return int(self.values.get(name, default))
        except (TypeError, ValueError):
            raise Refused("invalid_arguments") from None

    def object(self, name: str, error: str) -> Json | None:
        """A JSON object, sent as one or as a string of one. Raises `error`."""
        value = self.values.get(name)
        if value in (None, ""):
            return None
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                raise Refused(error) from None
        if not isinstance(value, dict):
            raise Refused(error)
        return value

    def has(self, names: Iterable[str]) -> bool:
        """Whether any of these was sent at all, even empty."""
        return any(self.values.get(name) is not None for name in names)


async def read_arguments(request: web.Request) -> Arguments:
    """The arguments of `request`; a body wins over the query.

    Raises:
        Refused: invalid_json, json_not_object, invalid_post_type, invalid_form_data.
    """
    values: Json = dict(request.query)
    if request.method == "GET" or not request.can_read_body:
        return Arguments(values)
    match request.content_type:
        case "application/json":
            try:
                body = json.loads(await request.text())
            except ValueError:
                raise Refused("invalid_json") from None
            if not isinstance(body, dict):
                raise Refused("json_not_object")
            values |= body
        case "application/x-www-form-urlencoded" | "multipart/form-data":
            try:
                values |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
            except ValueError:
                raise Refused("invalid_form_data") from None
        case _:
            raise Refused("invalid_post_type")
    return Arguments(values)
