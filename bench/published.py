"""What is published of a run of `bench.delivery`: tables in Markdown, and a chart.

    python -m bench.published FIGURES.json… --readme            the README's line and table
    python -m bench.published FIGURES.json… --table             the first table of docs/figures.md
    python -m bench.published FIGURES.json… --loads             its table of steady loads
    python -m bench.published FIGURES.json… --chart FILE.svg    the chart of docs/figures.md

The same figures make the same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.delivery import mean, pair, quantile

Run = Mapping[str, Any]
"""One entry of what `bench.delivery --save` wrote."""

_README = (
    *(("Telegram private", "20 at once"), ("Telegram private", "8 a second"), ("Telegram group", "20 at once")),
    *(("Slack mention", "20 at once"), ("Slack mention", "100 at once")),
    *(("Discord command", "20 at once"), ("Discord mention", "20 at once"), ("Discord mention", "100 at once")),
)
_MEDIANS = re.compile(r"([\d.]+) / [\d.]+ s \(([\d.]+) /")
_SHARE = re.compile(r"([\d.]+) a second \(([\d.]+) %\)")
_LEFT, _RIGHT, _WIDTH, _ROW = 210, 30, 860, 26
_FROM, _TO = 0.02, 200.0
_OURS, _POSSIBLE, _INK, _FAINT = "#2563eb", "#9ca3af", "#1f2937", "#e5e7eb"
_TICKS = ((0.02, "0.02"), (0.1, "0.1"), (0.2, "0.2"), (0.5, "0.5"), (1, "1"), (4, "4"), (10, "10"), (60, "60 s"))


def load(paths: Iterable[Path]) -> list[Run]:
    """The runs of several files, one after the other."""
    return [run for path in paths for run in json.loads(path.read_text())]


def readme(runs: Sequence[Run]) -> str:
    """The README's line, and its table: at most eight lines of the whole one."""
    shown = table([run for name, kind in _README for run in runs if run["setup"] == name and run["load"] == kind])
    return f"{summary(shown)}\n\n{shown}"


def summary(shown: str) -> str:
    """One sentence about the lines of a table with 20 questions at once, by their medians."""
    found = [_MEDIANS.findall(line) for line in shown.splitlines() if ", 20 at once |" in line]
    (waits, possible), (first, _) = (zip(*column, strict=True) for column in list(zip(*found, strict=True))[:2])

    def span(medians: Sequence[str]) -> str:
        least, most = min(medians, key=float), max(medians, key=float)
        return least if least == most else f"{least} to {most}"

    return (
        f"**20 people ask at once**: first words after {span(first)} s, then {span(waits)} s of waiting for more in a "
        f"whole answer (best possible: {span(possible)} s)."
    )


def table(runs: Sequence[Run]) -> str:
    """A line for each run, without the shares of the limits: in brackets what is possible."""
    head = (
        "| asked by, questions | whole | reader waits p50 / p95 | first words p50 / p95 | longest stop p50 / p95 "
        "| lag p50 / p95 | edits, calls a reply | CPU a reply |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    return "\n".join((head, *(_line(run) for run in runs if not _SHARE.search(run["load"]))))


def loads(runs: Sequence[Run]) -> str:
    """A line for each share of a platform's limits, the platforms in the order of the first table."""
    head = (
        "| asked by, share of the limits | questions | reader waits p50 / p95 | first words p50 / p95 "
        "| longest stop p50 / p95 | lag p50 / p95 | edits, CPU a reply |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    return "\n".join((head, *(_share_line(run) for run in by_setup(runs) if _SHARE.search(run["load"]))))


def by_setup(runs: Sequence[Run]) -> list[Run]:
    """The runs of each set-up together."""
    names = list(dict.fromkeys(run["setup"] for run in runs))
    return sorted(runs, key=lambda run: names.index(run["setup"]))


def _share_line(run: Run) -> str:
    rate, share = _SHARE.findall(run["load"])[0]
    whole = "" if run["whole"] == run["asked"] else f", {run['whole']:,} whole"
    whole += f", {run['refused']} calls refused" if run["refused"] else ""
    return (
        f"| {run['setup']}, {share} % ({rate} a second) | {run['asked']:,}{whole} | {_seconds(run, 'waits')} "
        f"| {_seconds(run, 'first')} | {_seconds(run, 'gap')} | {_seconds(run, 'lag')} "
        f"| {mean(run['edits']):.1f}, {run['cpu']:.3f} s |"
    )


def _line(run: Run) -> str:
    whole = "all" if run["whole"] == run["asked"] else f"{run['whole']} of {run['asked']}"
    if run["refused"]:
        whole += f", {run['refused']} calls refused"
    return (
        f"| {run['setup']}, {run['load']} | {whole} | {_seconds(run, 'waits')} | {_seconds(run, 'first')} "
        f"| {_seconds(run, 'gap')} | {_seconds(run, 'lag')} | {mean(run['edits']):.1f}, {run['calls']:.1f} "
        f"| {run['cpu']:.3f} s |"
    )


def _seconds(run: Run, name: str) -> str:
    return f"{pair(run[name])} s ({pair(run['bound'][name])})"


def chart(runs: Sequence[Run]) -> str:
    """Reader waits by load, median to 95th percentile, and what was possible under each, as SVG."""
    parts: list[str] = []
    top = 62
    shown = [run for run in by_setup(runs) if not _SHARE.search(run["load"])]
    for name, group in groupby(shown, key=lambda run: str(run["setup"])):
        parts.append(_text(12, top + 14, name, weight="bold"))
        top += 22
        for run in group:
            parts += _bars(run, top)
            top += _ROW
        top += 10
    height = top + 8
    lines = [f'<line x1="{_x(at):.1f}" y1="44" x2="{_x(at):.1f}" y2="{top}" stroke="{_FAINT}"/>' for at, _ in _TICKS]
    labels = [_text(_x(at), 38, label, anchor="middle", size=11) for at, label in _TICKS]
    legend = [
        *_bar(420, 520, 14, _OURS, 5),
        _text(530, 18, "Parley: median to 95th percentile"),
        *_bar(756, 776, 14, _POSSIBLE, 4),
        _text(784, 18, "possible"),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" font-family="system-ui, sans-serif">\n<title>How long a quick reader waits for words</title>'
    )
    background = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    title = _text(12, 18, "Seconds in which a quick reader waits for words", weight="bold")
    return "\n".join((head, background, title, *legend, *lines, *labels, *parts, "</svg>\n"))


def _bars(run: Run, top: int) -> Iterator[str]:
    yield _text(_LEFT - 12, top + 15, str(run["load"]), anchor="end")
    for values, y, colour, size in ((run["waits"], top + 8, _OURS, 5), (run["bound"]["waits"], top + 18, _POSSIBLE, 4)):
        yield from _bar(_x(quantile(values, 0.5)), _x(quantile(values, 0.95)), y, colour, size)


def _bar(left: float, right: float, y: float, colour: str, size: int) -> Iterator[str]:
    yield f'<line x1="{left:.1f}" y1="{y}" x2="{right:.1f}" y2="{y}" stroke="{colour}" stroke-width="{size - 1}"/>'
    yield f'<circle cx="{left:.1f}" cy="{y}" r="{size}" fill="{colour}"/>'


def _x(seconds: float) -> float:
    """Where a time stands, on a logarithmic scale."""
    share = math.log(min(_TO, max(_FROM, seconds)) / _FROM) / math.log(_TO / _FROM)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{_INK}">{escape(text)}</text>'
    )


def main() -> None:
    """Print the tables, and write the chart."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("figures", type=Path, nargs="+")
    arguments.add_argument("--readme", action="store_true")
    arguments.add_argument("--table", action="store_true")
    arguments.add_argument("--loads", action="store_true")
    arguments.add_argument("--chart", type=Path)
    options = arguments.parse_args()
    runs = load(options.figures)
    if options.readme:
        print(readme(runs))
    if options.table:
        print(table(runs))
    if options.loads:
        print(loads(runs))
    if options.chart:
        options.chart.write_text(chart(runs))


if __name__ == "__main__":
    main()
