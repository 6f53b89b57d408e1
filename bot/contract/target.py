"""The target of a reply, readable by any process at any later time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ReplyTarget:
    """The target of a reply: plain data from which any process can open the surface at any later time."""

    platform: str
    data: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def lasts(self) -> bool:
        """It works at any later time; an adapter whose target expires says so with `lasts` in the data."""
        return bool(self.data.get("lasts", True))

    @property
    def reaches(self) -> bool:
        """Something new can be shown there at any later time; an adapter that only answers what was asked says with
        `reaches` in the data that it cannot."""
        return self.lasts and bool(self.data.get("reaches", True))

    @property
    def private(self) -> bool:
        """Only the person who asked sees the reply, if the platform can do that."""
        return bool(self.data.get("private"))

    def to_json(self) -> str:
        return json.dumps({"platform": self.platform, "data": dict(self.data)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ReplyTarget:
        value = json.loads(text)
        return cls(value["platform"], value["data"])
