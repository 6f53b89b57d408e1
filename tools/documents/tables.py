"""Gather the rows of sheets, within limits, and name what a sheet hides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.documents.plain import MOST_COLUMNS, MOST_ROWS
from tools.documents.trees import cell_text, table_lines
from tools.fetch.reader import MOST_CHARS

MOST_SCANNED = 200_000
"""Rows of a sheet that are looked at: most of a million may be empty."""
MOST_NOTES = 1000
"""Notes on cells of one sheet."""
_MOST_NAMED = 50
"""Ranges of hidden columns that are named."""
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sheet as it is shown."""

    values: Sequence[str]
    times: int = 1
    """How often the sheet repeats it, one below the other."""
    hidden: bool = False


@dataclass(slots=True)
class Gathered:
    """The rows of a sheet that hold anything."""

    rows: list[list[str]]
    cut: bool = False
    """True where there are more rows, columns or characters than are read."""
    hidden: int = 0
    """How many of the rows are hidden."""


def too_large() -> str:
    """The sentence about sheets that were cut."""
    return (
        f"Of large sheets only the first {MOST_ROWS:,} rows, {MOST_COLUMNS} columns and {MOST_CHARS:,} characters "
        "were read."
    )


def gather_rows(found: Iterable[Row]) -> Gathered:
    """The rows that hold anything, without empty columns at their ends; a row that the file holds once with a count as
    often as the sheet repeats it, and hidden rows marked."""
    made, scanned, room = Gathered([]), 0, MOST_CHARS * 9 // 10  # the rest is for lines and padding
    for row in found:
        scanned += 1
        values = list(row.values)
        while values and not values[-1]:
            values.pop()
        if not values:
            if scanned >= MOST_SCANNED:
                made.cut = True
                break
            continue
        made.cut = made.cut or len(values) > MOST_COLUMNS
        values = [cell_text(value) for value in values[:MOST_COLUMNS]]
        if row.hidden:
            values[0] = f"{HIDDEN} {values[0]}".rstrip()
        length = sum(map(len, values)) + 3 * len(values)
        times = min(row.times, MOST_ROWS - len(made.rows), room // length)
        made.rows += [values] * times
        made.hidden += times * row.hidden
        room -= times * length
        if times < row.times or scanned >= MOST_SCANNED:
            made.cut = True
            break
    return made


def describe(
    gathered: Gathered, columns: Iterable[tuple[int, int]] = (), notes: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """The lines of a sheet: its table, above it a note on its hidden parts, below it the notes on its cells (place and
    text).

    `columns`: the hidden ones, each range by its first and last, counted from 1."""
    width = max(map(len, gathered.rows), default=0)
    ranges = [(first, min(last, width)) for first, last in columns if first <= width]
    hidden = []
    if gathered.hidden:
        hidden.append(f"{gathered.hidden:,} row{'s' * (gathered.hidden != 1)}, marked {HIDDEN}")
    if ranges:
        named = ", ".join(
            column_name(first) if first == last else f"{column_name(first)} to {column_name(last)}"
            for first, last in ranges[:_MOST_NAMED]
        )
        more = f" and {len(ranges) - _MOST_NAMED:,} more" if len(ranges) > _MOST_NAMED else ""
        hidden.append(f"columns {named}{more}")
    head = [f"Hidden in this sheet: {'; '.join(hidden)}.", ""] if hidden else []
    below = ["", *(f"Note on {place}: {' '.join(text.split())}" for place, text in notes[:MOST_NOTES])] if notes else []
    return [*head, *table_lines(gathered.rows), *below]


def column_name(number: int) -> str:
    """The letters of a column that is counted from 1."""
    letters = ""
    while number > 0:
        number, place = divmod(number - 1, 26)
        letters = chr(65 + place) + letters
    return letters
