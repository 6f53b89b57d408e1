"""What a view of the operator's page shows, as a file: CSV for a spreadsheet, or JSON."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Mapping, Sequence
from typing import Final

from tools.contract.base import Json

TABLES: Final = {
    "overview": "by_day",
    "people": "people",
    "tools": "tools",
    "turns": "turns",
    "chats": "chats",
    "chat": "turns",
    "person": "turns",
    "turn": "calls",
    "find": "turns",
}
"""View → the table of it that a spreadsheet gets."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so is run by spreadsheets."""


def as_csv(view: str, told: Mapping[str, Json]) -> str:
    """Return a view's table; names, words and ids can never become formulas."""
    rows = told.get(TABLES[view])
    table = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    columns = list(dict.fromkeys(name for row in table for name in row))
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow([_harmless(name) for name in columns])
    writer.writerows([_cell(name, row.get(name)) for name in columns] for row in table)
    # Spreadsheets take a file without this mark for one of an old code page.
    return "\ufeff" + written.getvalue()


def as_json(told: Mapping[str, Json]) -> str:
    return json.dumps(told, ensure_ascii=False, indent=1)


def _cell(name: str, value: Json) -> str | int | float | None:
    match value:
        case float() if name.endswith("_at") or name == "at":
            return datetime.datetime.fromtimestamp(value, datetime.UTC).isoformat(timespec="seconds")
        case str():
            return _harmless(value)
        case Sequence() | Mapping():
            return _harmless(json.dumps(value, ensure_ascii=False))
        case _:
            return value


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip(" \ufeff").startswith(_FORMULA) else text
