"""Facts and timers in one JSON file, for tools run without a bot: `python -m tools --data FILE`.

The bot's own store implements the same ports. These timers never fire; they can be listed and cancelled.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.contract.base import NewReminder, Reminder, Repeat, ToolError


class Shelf:
    """Facts in a file, with `timers` beside them."""

    def __init__(self, file: Path) -> None:
        """Raises ValueError when `file` holds something else."""
        self._file = file
        self._read()
        self.timers = ShelfTimers(self)

    async def remember(self, owner: str, text: str, *, outside: bool = False) -> int:
        return self.add("facts", {"owner": owner, "text": text})

    async def recall(self, owners: tuple[str, ...], query: str, limit: int) -> list[tuple[int, str, str]]:
        words = set(query.lower().split())
        found = [(int(key), one) for key, one in self.rows("facts").items() if one["owner"] in owners]
        scored = [(sum(word in one["text"].lower() for word in words), key, one) for key, one in found]
        best = sorted((row for row in scored if row[0] or not words), key=lambda row: (-row[0], -row[1]))
        return [(key, one["owner"], one["text"]) for _, key, one in best[:limit]]

    async def forget(self, owners: tuple[str, ...], fact: int) -> bool:
        return self.drop("facts", fact, {"owner": owners})

    def rows(self, kind: str) -> dict[str, Any]:
        """Return all rows of a kind by number."""
        rows: dict[str, Any] = self._read()[kind]
        return rows

    def add(self, kind: str, row: dict[str, Any]) -> int:
        """Store a row and return its number."""
        data = self._read()
        number = int(data["last"]) + 1
        data["last"] = number
        data[kind][str(number)] = row
        self._write(data)
        return number

    def drop(self, kind: str, number: int, wanted: dict[str, tuple[str, ...]]) -> bool:
        """Remove a row whose fields match `wanted`; return False if there is none."""
        data = self._read()
        row = data[kind].get(str(number))
        if row is None or any(row[name] not in values for name, values in wanted.items()):
            return False
        del data[kind][str(number)]
        self._write(data)
        return True

    def pause(self, number: int, wanted: dict[str, str], *, paused: bool) -> bool:
        """Pause or resume a repeated timer whose fields match `wanted`; return False if there is none."""
        data = self._read()
        row = data["timers"].get(str(number), {})
        if "repeat" not in row or any(row[name] != value for name, value in wanted.items()):
            return False
        row["paused"] = paused
        self._write(data)
        return True

    def _read(self) -> dict[str, Any]:
        try:
            data = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"last": 0, "facts": {}, "timers": {}}
        except (OSError, ValueError) as error:
            raise ValueError(f"the data file {str(self._file)!r} cannot be read: {type(error).__name__}") from error
        if not isinstance(data, dict) or not {"last", "facts", "timers"} <= set(data):
            raise ValueError(f"the data file {str(self._file)!r} holds something else")
        return data

    def _write(self, data: dict[str, Any]) -> None:
        part = self._file.with_name(f"{self._file.name}.part")
        try:
            part.touch(mode=0o600)  # it contains what people asked to remember
            part.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
            os.replace(part, self._file)  # noqa: PTH105  # the one call that replaces on every system
        except OSError as error:
            sentence = f"What should be remembered could not be written ({type(error).__name__})."
            raise ToolError(sentence, retry=False) from error


class ShelfTimers:
    """Timers in the same file."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def set(self, scope: str, person: str, wanted: NewReminder) -> int:
        row: dict[str, Any] = {"scope": scope, "person": person, "due": wanted.due, "text": wanted.text}
        row |= {"question": wanted.question} | ({} if wanted.repeat is None else {"repeat": asdict(wanted.repeat)})
        return self._shelf.add("timers", row)

    async def pending(self, scope: str, person: str) -> list[Reminder]:
        rows = self._shelf.rows("timers").items()
        mine = [(int(key), row) for key, row in rows if (row["scope"], row["person"]) == (scope, person)]
        return sorted(
            (
                Reminder(
                    key,
                    float(row["due"]),
                    str(row["text"]),
                    Repeat(**row["repeat"]) if "repeat" in row else None,
                    bool(row.get("paused")),
                    bool(row.get("question")),
                )
                for key, row in mine
            ),
            key=lambda one: one.due,
        )

    async def pause(self, scope: str, person: str, timer: int) -> bool:
        return self._shelf.pause(timer, {"scope": scope, "person": person}, paused=True)

    async def resume(self, scope: str, person: str, timer: int) -> bool:
        return self._shelf.pause(timer, {"scope": scope, "person": person}, paused=False)

    async def cancel(self, scope: str, person: str, timer: int) -> bool:
        return self._shelf.drop("timers", timer, {"scope": (scope,), "person": (person,)})
