"""Counters, histograms and gauges, served in Prometheus' text format at `/metrics`.

One `Metrics` is built in `bot/app/ground.py` and passed to those who count. Counting is an addition to a dictionary;
nothing here waits, fails or knows what it counts.

prometheus-client would save 51 lines. An addition would take 1.5 instead of 0.2 µs, the page ten times as long (2.9 ms
for 200 series, on the event loop), and the start 14 ms and 0.4 MB more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.contract.transcript import Usage

MOST_SERIES = 200
"""Label values of one counter; further ones (a tool source may name thousands) are counted as `other`."""
LAG_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the histogram of the reply lag."""


class Count:
    """A counter, by label values."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help
        self._labels = tuple(labels)
        self._values: dict[tuple[str, ...], float] = {} if self._labels else {(): 0.0}

    def add(self, *labels: str, amount: float = 1.0) -> None:
        """Increase the series of these label values, given in the order they were declared."""
        key = labels
        if key not in self._values and len(self._values) >= MOST_SERIES:
            key = ("other",) * len(self._labels)
        self._values[key] = self._values.get(key, 0.0) + amount

    def value(self, *labels: str) -> float:
        """Return its value now."""
        return self._values.get(labels, 0.0)

    @property
    def total(self) -> float:
        """The sum of all its series."""
        return sum(self._values.values())

    def by(self, label: str) -> dict[str, float]:
        """Return the sum for each value of a label."""
        place, sums = self._labels.index(label), dict[str, float]()
        for values, amount in self._values.items():
            sums[values[place]] = sums.get(values[place], 0.0) + amount
        return sums

    def series(self) -> dict[tuple[str, ...], float]:
        """Return the value of each series, by its label values."""
        return dict(self._values)

    def lines(self) -> Iterator[str]:
        """Return its part of the page."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} counter"
        for values, amount in sorted(self._values.items()):
            yield f"{self.name}{_labels(self._labels, values)} {_number(amount)}"


class Spread:
    """A histogram of durations."""

    def __init__(self, name: str, help: str, borders: Sequence[float]) -> None:
        self.name = name
        self.help = help
        self._borders = tuple(borders)
        self._counts = [0] * (len(self._borders) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(self._counts)

    def observe(self, seconds: float) -> None:
        """Record one duration."""
        self._counts[bisect_left(self._borders, seconds)] += 1
        self.total += seconds

    def above(self, border: float) -> int:
        """Return the number of observations above one of its upper bounds."""
        return sum(self._counts[self._borders.index(border) + 1 :])

    def lines(self) -> Iterator[str]:
        """Return its part of the page."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} histogram"
        below = 0
        for border, count in zip((*self._borders, float("inf")), self._counts, strict=True):
            below += count
            yield f'{self.name}_bucket{{le="{"+Inf" if border == float("inf") else _number(border)}"}} {below}'
        yield f"{self.name}_sum {_number(self.total)}"
        yield f"{self.name}_count {below}"


class Metrics:
    """All metrics of the process."""

    def __init__(self) -> None:
        self.turns_begun = Count("parley_turns_begun_total", "Turns begun, including those resumed after a restart.")
        self.turns_ended = Count("parley_turns_ended_total", "Turns ended, by how.", ("state",))
        self.model_calls = Count("parley_model_calls_total", "Model calls, by model and outcome.", ("model", "outcome"))
        self.tokens = Count("parley_tokens_total", "Tokens that models reported.", ("model", "kind"))
        self.tool_calls = Count("parley_tool_calls_total", "Tool calls, by tool and status.", ("tool", "status"))
        self.platform_calls = Count(
            "parley_platform_calls_total", "Posts, edits and typing signs sent.", ("platform", "kind")
        )
        self.refusals = Count("parley_platform_refusals_total", "Calls a platform refused as too many.", ("platform",))
        self.rights_missing = Count(
            "parley_rights_missing_total",
            "Replies that could not be shown because the bot lacks a right, by platform.",
            ("platform", "right"),
        )
        self.connections_lost = Count(
            "parley_connections_lost_total", "Attempts to log in or to receive that failed, by platform.", ("platform",)
        )
        self.posts = Count(
            "parley_web_requests_total", "Requests at the public address, by status.", ("platform", "status")
        )
        self.summaries = Count("parley_summaries_total", "Rolling summaries requested, by outcome.", ("outcome",))
        self.lag = Spread(
            "parley_reply_lag_seconds", "From the model's last token to the whole answer on screen.", LAG_SECONDS
        )
        self.first_words = Spread(
            "parley_first_words_seconds", "From a question to the first words of its answer on screen.", LAG_SECONDS
        )
        self.reader_waits = Spread(
            "parley_reader_waits_seconds",
            "Of an answer, from its first words to its end, the time in which a quick reader had run out of text.",
            LAG_SECONDS,
        )
        self.queue_wait = Spread("parley_queue_wait_seconds", "From a question to the start of its turn.", LAG_SECONDS)
        self.model_seconds = Count("parley_model_seconds_total", "Duration of model calls, by model.", ("model",))
        self.tool_seconds = Count("parley_tool_seconds_total", "Duration of tool calls, by tool.", ("tool",))
        self.dollars = Count("parley_dollars_total", "Dollars spent, by model or tool.", ("kind", "name"))
        self.quota_refusals = Count(
            "parley_quota_refusals_total", "Questions, commands and calls that a quota refused, by quota.", ("quota",)
        )
        self.strangers = Count("parley_strangers_refused_total", "Messages of people without access to the bot.")
        self._gauges: list[tuple[str, str, str, Sequence[str], Callable[[], Mapping[tuple[str, ...], float]]]] = []

    def called(self, model: str, usage: Usage) -> None:
        """Count an answered model call and the tokens it reported."""
        self.model_calls.add(model, "answered")
        for kind, count in (("prompt", usage.prompt), ("completion", usage.completion), ("cached", usage.cached)):
            if count:
                self.tokens.add(model, kind, amount=count)

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Add a gauge that calls `read` at each scrape."""
        self.gauges(name, help, (), lambda: {(): read()})

    def gauges(
        self, name: str, help: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        """Add a gauge with labels: `read` returns its value for each of their present values."""
        self._gauges.append((name, help, "gauge", labels, read))

    def counter(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Add a counter that another object keeps: `read` is called at each scrape, and never returns less."""
        self._gauges.append((name, help, "counter", (), lambda: {(): read()}))

    def text(self) -> str:
        """Return the whole `/metrics` page."""
        lines: list[str] = []
        for one in vars(self).values():
            if isinstance(one, Count | Spread):
                lines += one.lines()
        for name, help, kind, labels, read in self._gauges:
            lines += (f"# HELP {name} {help}", f"# TYPE {name} {kind}")
            lines += (f"{name}{_labels(labels, values)} {_number(value)}" for values, value in sorted(read().items()))
        return "\n".join(lines) + "\n"


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
