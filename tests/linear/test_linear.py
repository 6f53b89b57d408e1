"""Text from outside costs at most in proportion to its length, whatever it is made of.

What strangers, models, pages and servers write is read on the event loop that all chats share, so one place that
takes four times as long for twice the text lets anybody stop everybody. Every function that takes such text is fed
here (`feeds.py`), and one that is new has to be named there. `measured.json` says of which files that holds for every
shape of text: what is as it was then is fed a few shapes, what has changed all of them. `pytest -m soak tests/linear`
measures everything and writes that file anew.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import inspect
import json
import math
import re
import runpy
import signal
import sys
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.conftest import RawObject

SIZE = 20_000
"""What suspects are fed, and twice and four times as much."""
MOST = 2.5
"""How many times longer the text of twice the length may take."""
FLOOR = 0.004
"""Seconds of processor time for the longer text that are not judged: even if they grew with the square of the length,
100,000 characters, the longest message that is accepted, would take 25 ms."""
SHORTER = (4, 2)
"""At first a text so many times shorter is fed, the shorter one where that takes long enough to be measured well."""
LONG_ENOUGH = 0.001
PART = 8
"""That text is compared with a part of it, so many times shorter again."""
TRIES = 20
ENDLESS = 5.0
"""Seconds of processor time after which a feed is given up."""
ROOT = Path(__file__).parents[2]
PACKAGES = ("adapters", "bot", "tools")

_FEEDS = runpy.run_path(str(Path(__file__).with_name("feeds.py")))
FED: dict[str, Callable[[str], object]] = _FEEDS["FED"]
SHAPES: dict[str, Callable[[int], str]] = _FEEDS["SHAPES"]
SIZES: dict[str, int] = _FEEDS["SIZES"]
INSIDE: dict[str, str] = _FEEDS["INSIDE"]
OWN: dict[str, str] = _FEEDS["OWN"]


class _Endless(BaseException):
    """It takes longer than anybody waits."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Meter:
    """Measures the processor time of this thread; what a busy machine adds to it, the least of several does not have.

    A result that was kept for a text would hide what the text costs, so such caches are emptied first.
    """

    def __init__(self, *, tries: int = TRIES, endless: float = ENDLESS) -> None:
        self._tries = tries
        self._endless = endless
        self._caches: list[Any] = [
            found
            for module in list(sys.modules.values())
            if getattr(module, "__name__", "").partition(".")[0] in PACKAGES
            for found in vars(module).values()
            if hasattr(found, "cache_clear") and "text" in getattr(found, "__annotations__", {})
        ]
        self._caches.append(urllib.parse.urlsplit)

    def seconds(self, feed: Callable[[str], object], text: str) -> float:
        for kept in self._caches:
            kept.cache_clear()
        gc.disable()
        begun = time.thread_time()
        try:
            with suppress(Exception), _at_most(self._endless):  # a text may be refused; what matters is how soon
                feed(text)
            return time.thread_time() - begun
        except _Endless:
            return float("inf")
        finally:
            gc.enable()

    def growth(self, feed: Callable[[str], object], shape: Callable[[int], str], size: int) -> float:
        """How many times longer twice the text takes; 0 where that is too little to judge.

        What seems to grow too fast, against a part of a shorter text and of the whole one, is compared with twice the
        text; and it has to grow too fast again from there to one twice as long.
        """
        for shorter in SHORTER:
            text, little = shape(size // shorter), FLOOR / (2 * shorter) ** 2
            whole = self.seconds(feed, text)
            if whole <= little or whole == float("inf"):
                return whole if whole > little else 0.0
            if whole > LONG_ENOUGH:
                break
        # The longer the text is, the less of what only seems so is left: most are decided before the last resort.
        for length in (shorter, 1):
            if length != shorter:
                text, little = shape(size), FLOOR / 4
                whole = self.seconds(feed, text)
            # As much of a square as makes the text of twice the length take `MOST` times longer, at this length.
            square = (MOST - 2) / (4 - MOST) / length
            most = PART * (1 + square) / (1 + square / PART)
            grown, always = self._against_part(feed, text, whole, shape(len(text) // PART), most)
            if whole - always <= little:
                return 0.0
            if grown <= most:
                return math.pow(grown, 1 / math.log2(PART))
        grown = self._ratio(feed, shape, size)
        return min(grown, self._ratio(feed, shape, 2 * size)) if MOST < grown < float("inf") else grown

    def _against_part(
        self, feed: Callable[[str], object], text: str, whole: float, part_of: str, enough: float
    ) -> tuple[float, float]:
        """How many times longer than its part the text takes, and what every text costs, which does not count."""
        always = min(self.seconds(feed, text[:1]) for _ in range(2))
        part = float("inf")
        for attempt in range(4):
            if attempt:
                whole = min(whole, self.seconds(feed, text))
            part = min(part, *(self.seconds(feed, part_of) for _ in range(2)))
            if whole - always <= enough * (part - always):
                break
        return max(whole - always, 0.0) / max(part - always, 1e-9), always

    def _ratio(self, feed: Callable[[str], object], shape: Callable[[int], str], size: int) -> float:
        short, long = shape(size), shape(2 * size)
        # A shorter text that was measured too long would hide what the longer one costs.
        least, most = min(self.seconds(feed, short) for _ in range(3)), self.seconds(feed, long)
        for _ in range(self._tries):
            if most <= max(MOST * least, FLOOR) or most > 2.0:
                break
            least = min(least, self.seconds(feed, short))
            most = min(most, self.seconds(feed, long))
        if most == float("inf"):
            return most
        return most / least if most > FLOOR else 0.0


@pytest.fixture(scope="module")
def meter() -> Meter:
    return Meter()


def size_of(name: str) -> int:
    return next((size for begin, size in SIZES.items() if name.startswith(begin)), SIZE)


RECORD = Path(__file__).with_name("measured.json")
"""What was measured with every shape: the files that each feed went through, and what was in them."""
SAMPLE = 3
"""Shapes that are fed where nothing has changed since."""


def _record() -> RawObject:
    """`digests` of files and feeds by name, and by feed the `files` that it went through."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"digests": {}, "files": {}}


@cache
def _digest(path: str) -> str:
    file = ROOT / path
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else "gone"


def _digest_of_feed(name: str) -> str:
    return hashlib.sha256(inspect.getsource(FED[name]).encode()).hexdigest()[:16]


def files_of(feed: Callable[[str], object]) -> set[str]:
    """The files of ours that an ordinary text and a little of each shape go through."""
    files: set[str] = set()

    def see(frame: FrameType, event: str, given: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    for text in ("Tea is a leaf, see https://example.org/tea.", *(make(64) for make in SHAPES.values())):
        sys.setprofile(see)
        try:
            with suppress(Exception):
                feed(text)
        finally:
            sys.setprofile(None)
    inside = [Path(file).relative_to(ROOT) for file in files if Path(file).is_relative_to(ROOT)]
    return {str(file) for file in inside if file.parts[0] in PACKAGES}


def shapes_for(name: str, record: RawObject) -> list[str]:
    """All shapes where the feed, or a file it goes through, is not as it was measured; else a few, by its name."""
    digests, files = record["digests"], record["files"].get(name)
    if not files or digests.get(name) != _digest_of_feed(name) or any(digests[file] != _digest(file) for file in files):
        return list(SHAPES)
    return sorted(SHAPES, key=lambda shape: zlib.crc32(f"{name} {shape}".encode()))[:SAMPLE]


@pytest.mark.parametrize("name", FED)
def test_what_text_costs_grows_with_its_length_and_no_faster(name: str, meter: Meter) -> None:
    _judge(name, shapes_for(name, _record()), meter)


@pytest.mark.soak
def test_all_of_it_is_measured_with_every_shape_and_recorded(meter: Meter) -> None:
    for name in FED:
        _judge(name, list(SHAPES), meter)
    files = {name: sorted(files_of(FED[name])) for name in FED}
    digests = {file: _digest(file) for file in sorted(set().union(*files.values()))}
    digests |= {name: _digest_of_feed(name) for name in FED}
    RECORD.write_text(json.dumps({"digests": digests, "files": files}, indent=0) + "\n", encoding="utf-8")


def test_what_has_changed_is_measured_with_every_shape() -> None:
    name = "bot.contract.words.parse"
    files = files_of(FED[name])
    assert "bot/contract/words.py" in files
    digests = {name: _digest_of_feed(name), **{file: _digest(file) for file in files}}
    measured: RawObject = {"digests": digests, "files": {name: sorted(files)}}

    assert len(shapes_for(name, measured)) == SAMPLE
    for changed in (name, "bot/contract/words.py"):
        others = {**measured, "digests": {**digests, changed: "another"}}
        assert shapes_for(name, others) == list(SHAPES)
    assert shapes_for(name, {"digests": {}, "files": {}}) == list(SHAPES)


def _judge(name: str, shapes: list[str], meter: Meter) -> None:
    """Fail where one of the shapes costs more than in proportion to its length."""
    grown = {shape: meter.growth(FED[name], SHAPES[shape], size_of(name)) for shape in shapes}

    slow = {shape: times for shape, times in grown.items() if times > MOST}
    for _ in range(2):
        # What only the machine made slow is not so three times.
        slow = {
            shape: times for shape in slow if (times := meter.growth(FED[name], SHAPES[shape], size_of(name))) > MOST
        }
    assert {shape: round(times, 1) for shape, times in slow.items()} == {}


@pytest.mark.parametrize("name", FED)
def test_what_is_fed_reads_it(name: str) -> None:
    """It may refuse an ordinary text with an error of ours, but not break: then nothing would be measured."""
    try:
        FED[name]("Tea is a leaf, see https://example.org/tea.")
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in PACKAGES:
            raise


def test_every_function_that_takes_text_is_fed_or_is_named_with_the_reason() -> None:
    listed = set(takers())
    fed = {name.partition(",")[0] for name in FED}

    missing = {name for name in listed - fed if not _within(name, INSIDE) and not _within(name, OWN)}
    gone = {name for name in (*fed, *INSIDE, *OWN) if not any(_within(one, (name,)) for one in listed | fed)}

    assert (missing, gone, set(INSIDE.values()) - fed) == (set(), set(), set())


def _within(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


_TEXT = re.compile(
    r"\b(?:str|bytes|object|Any|Json|\w*Entry|Incoming|MessageSent|Quoted|Sender|Message|Update|Interaction|Page|Source"
    r"|ToolCall|ToolResult|CallToolResult|ListedTool|Request|Inline|Link|Found|Piece|Line)\b"
)
_NOT_TEXT = re.compile(r"Callable\[.*\]")
_NAMES_OF_OURS = frozenset(
    (
        *("nonce", "language", "form", "platform", "model", "state", "scope", "owner", "owners", "person", "marker"),
        *("setting", "settings", "key", "keys", "secrets", "zone", "media_type", "level"),
    )
)
"""Parameters whose value we choose ourselves, whatever function takes them."""


def takers() -> Iterator[str]:
    """Every public function and method with a parameter that may hold text, as `module.Class.method`."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield from _takers(ast.parse(path.read_text()), module)


def _takers(place: ast.Module | ast.ClassDef, name: str) -> Iterator[str]:
    for node in place.body:
        if isinstance(node, ast.ClassDef):
            if not node.name.startswith("_") and not any("Protocol" in ast.unparse(base) for base in node.bases):
                yield from _takers(node, f"{name}.{node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(one.annotation is not None and one.arg not in _NAMES_OF_OURS and _is_text(one) for one in given):
                yield f"{name}.{node.name}"


def _is_text(parameter: ast.arg) -> bool:
    assert parameter.annotation is not None
    return _TEXT.search(_NOT_TEXT.sub("", ast.unparse(parameter.annotation))) is not None


def _squared_in_part(text: str) -> object:
    """Work of which, for twenty thousand characters, two thirds grow with the square of the length."""
    return [[None for _ in range(count) if _] for count in (10 * len(text), len(text) ** 2 // 1_000)]


def test_the_meter_sees_a_square() -> None:
    meter = Meter(tries=4)

    # A moment in which the machine is slow can hide it from one measurement, and not from all of several.
    assert any(meter.growth(_squared_in_part, SHAPES["spaces between letters"], SIZE) > MOST for _ in range(5))
    assert meter.growth(lambda text: list(text * 20), SHAPES["spaces between letters"], SIZE) < MOST


def test_what_never_ends_is_stopped() -> None:
    def never(text: str) -> None:
        while True:
            re.search(text, text)

    assert Meter(endless=0.05).growth(never, SHAPES["spaces between letters"], 10) == float("inf")
