"""`parley usage`: tokens and dollars by day, person, chat and model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.contract import Clock, SettingsError, SystemClock
from bot.policy import DAY, Prices, read_prices
from bot.safety import clean_name
from bot.settings import CoreSettings
from bot.store import Store, Used, explain_absence

MOST_ROWS = 20
"""Most people, chats and models in the table; one more row sums up the rest."""
_MOST_DAYS = 9999
_NO_MODEL = "(no model)"
_COLUMNS = ("questions", "tokens", "dollars")


@dataclass(slots=True)
class Sum:
    """The usage under one name."""

    questions: int = 0
    prompt: int = 0
    completion: int = 0
    dollars: float = 0.0
    newest: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def add(self, used: Used | Sum) -> None:
        self.questions += used.questions
        self.prompt += used.prompt
        self.completion += used.completion
        self.dollars += used.dollars
        self.newest = max(self.newest, used.newest)

    def to_json(self) -> dict[str, int | float]:
        tokens = {"prompt_tokens": self.prompt, "completion_tokens": self.completion}
        return {"questions": self.questions, **tokens, "dollars": round(self.dollars, 6)}


async def print_usage(core: CoreSettings, days: int, *, as_json: bool, clock: Clock | None = None) -> int:
    """Print the usage of today and the days before (UTC), `days` in all; return the exit code.

    Raises:
        SettingsError: `days` is not a valid number of days.
        StoreError: the database cannot be used.
    """
    if not 1 <= days <= _MOST_DAYS:
        raise SettingsError(f"--days must be a number from 1 to {_MOST_DAYS}, not {days}")
    clock = clock or SystemClock()
    if absent := explain_absence(core.database_url):
        print(json.dumps(_as_json(days, [], {}, set())) if as_json else f"nothing was asked yet: {absent}")  # noqa: T201
        return 0
    since = (clock.wall() // DAY - (days - 1)) * DAY
    async with Store.open(core.database_url, clock=clock) as store:
        rows = await store.used.list_since(since)
        people = _sums(rows, _person)
        shown = people if as_json else dict(_largest(people)[:MOST_ROWS])
        known = await store.used.names_at(one.newest for one in shown.values())
    names = {person: clean_name(known.get(one.newest, "")) for person, one in shown.items()}
    prices = Prices(read_prices(core.prices))
    unknown = {row.model for row in rows if row.model and prices.price_of(row.model) is None}
    if as_json:
        print(json.dumps(_as_json(days, rows, names, unknown), ensure_ascii=False))  # noqa: T201
        return 0
    for line in _lines(days, rows, names, unknown):
        print(line)  # noqa: T201
    return 0


def _sums(rows: Iterable[Used], key: Callable[[Used], str]) -> dict[str, Sum]:
    sums: dict[str, Sum] = {}
    for row in rows:
        sums.setdefault(key(row), Sum()).add(row)
    return sums


def _largest(sums: dict[str, Sum]) -> list[tuple[str, Sum]]:
    return sorted(sums.items(), key=lambda one: (-one[1].dollars, -one[1].tokens, one[0]))


def _as_json(days: int, rows: Sequence[Used], names: dict[str, str], unknown: set[str]) -> dict[str, object]:
    def table(sums: dict[str, Sum], name: str) -> list[dict[str, object]]:
        return [{name: key, **one.to_json()} for key, one in _largest(sums)]

    people = [{**one, "name": names.get(str(one["person"]), "")} for one in table(_sums(rows, _person), "person")]
    models = [{**one, "price_known": one["model"] not in unknown} for one in table(_sums(rows, _model), "model")]
    by_day = sorted(_sums(rows, _day).items())
    return {
        "days": days,
        "all": _total(rows).to_json(),
        "by_day": [{"day": day, **one.to_json()} for day, one in by_day],
        "by_person": people,
        "by_chat": table(_sums(rows, _place), "chat"),
        "by_model": models,
    }


def _lines(days: int, rows: Sequence[Used], names: dict[str, str], unknown: set[str]) -> Iterator[str]:
    period = "today" if days == 1 else f"in the last {days} days"
    if not rows:
        yield f"Nothing was asked {period} (UTC)."
        return
    yield f"Used {period} (UTC) by the stored questions:"
    width = max(len(key) for row in rows for key in (row.person, row.place, row.model, _NO_MODEL))
    by_day = [*sorted(_sums(rows, _day).items()), ("all", _total(rows))]
    tables = {
        "day": by_day,
        "person": _shortened(_sums(rows, _person)),
        "chat": _shortened(_sums(rows, _place)),
        "model": _shortened(_sums(rows, _model)),
    }
    for title, sums in tables.items():
        yield ""
        yield f"{title:{width}}  " + "".join(f"{column:>15}" for column in _COLUMNS)
        for key, one in sums:
            cells = (f"{one.questions:,}", f"{one.tokens:,}", f"{one.dollars:,.4f}")
            name = f"  {names[key]}" if names.get(key) and title == "person" else ""
            yield f"{key or _NO_MODEL:{width}}  " + "".join(f"{cell:>15}" for cell in cells) + name
    yield ""
    if unknown:
        yield f"Without a known price, and so not in dollars: {', '.join(sorted(unknown))}. PRICES adds prices."
    yield "Not counted: deleted chats, and summaries and tool choices made beside the questions."


def _shortened(sums: dict[str, Sum]) -> list[tuple[str, Sum]]:
    """Return the rows with the highest usage, and the others as one."""
    largest = _largest(sums)
    if len(largest) <= MOST_ROWS + 1:
        return largest
    rest = Sum()
    for _, one in largest[MOST_ROWS:]:
        rest.add(one)
    return [*largest[:MOST_ROWS], (f"({len(largest) - MOST_ROWS:,} others)", rest)]


def _total(rows: Iterable[Used]) -> Sum:
    total = Sum()
    for row in rows:
        total.add(row)
    return total


def _day(row: Used) -> str:
    return row.day


def _person(row: Used) -> str:
    return row.person


def _place(row: Used) -> str:
    return row.place


def _model(row: Used) -> str:
    return row.model
