"""The samples of `docs/call-syntax.md`, run through the detector."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.toolsyntax import FOLD, Call, Detector, Text, Withdrawn
from bot.toolsyntax.families import FAMILIES
from tests.conftest import RawJson, RawObject

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "call-syntax.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^~~~~(reply|calls|shown)\n(.*?)^~~~~$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Sample:
    """A reply with what must be found in it and seen of it."""

    heading: str
    reply: str
    calls: list[tuple[str, RawJson, bool]]
    shown: str = ""


def call_of(line: str) -> tuple[str, RawJson, bool]:
    known = not line.startswith("unknown ")
    name, arguments = line.removeprefix("unknown ").split(" ", 1)
    return name, json.loads(arguments), known


def samples() -> list[Sample]:
    found: list[Sample] = []
    blocks = [(match[1], match[2].removesuffix("\n"), match.start()) for match in BLOCK.finditer(PAGE)]
    for (kind, text, place), (after, calls, _), last in zip(
        blocks, blocks[1:], [*blocks[2:], ("", "", 0)], strict=False
    ):
        if kind != "reply":
            continue
        assert after == "calls", f"no calls after {text!r}"
        heading = re.findall(r"^### (.*)|^\*\*(Rule \d+)|^## (.*)", PAGE[:place], re.MULTILINE)[-1]
        shown = last[1] if last[0] == "shown" else ""
        found.append(Sample("".join(heading), text, [call_of(line) for line in calls.splitlines()], shown))
    return found


SAMPLES = samples()
TOOLS: RawObject = json.loads(re.findall(r"```json\n(\{\n  \"roll_dice.*?)```", PAGE, re.DOTALL)[0])


def read(reply: str, size: int) -> tuple[list[tuple[str, RawJson, bool]], str]:
    detector = Detector(TOOLS)
    pieces = [piece for at in range(0, len(reply), size) for piece in detector.feed(reply[at : at + size])]
    pieces += detector.finish()
    while Withdrawn() in pieces:
        del pieces[: pieces.index(Withdrawn()) + 1]
    calls = [(piece.name, piece.arguments, piece.known) for piece in pieces if isinstance(piece, Call)]
    return calls, "".join(piece.text for piece in pieces if isinstance(piece, Text))


def test_every_block_of_the_page_is_part_of_a_sample() -> None:
    assert len(SAMPLES) == len(re.findall("^~~~~reply$", PAGE, re.MULTILINE)) == PAGE.count("\n~~~~calls\n")
    assert sum(bool(sample.shown) for sample in SAMPLES) == PAGE.count("\n~~~~shown\n")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.heading}: {sample.reply[:30]}")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "by characters"])
def test_a_sample_is_read_as_the_page_says(sample: Sample, whole: bool) -> None:
    assert read(sample.reply, len(sample.reply) if whole else 1) == (sample.calls, sample.shown)


def test_the_page_has_a_sample_of_every_format_and_a_text_of_every_rule() -> None:
    with_calls = {sample.heading.partition(":")[0] for sample in SAMPLES if sample.calls}
    rules = [int(number) for number in re.findall(r"^\*\*Rule (\d+):", PAGE, re.MULTILINE)]

    assert {f"Format {number}" for number in range(1, 50)} <= with_calls
    assert rules == list(range(1, len(rules) + 1))


def test_the_page_shows_every_opener_of_the_table() -> None:
    def folded(text: str) -> str:
        return "".join(FOLD.get(character, character) for character in text)

    replies = folded("\n".join(sample.reply for sample in SAMPLES))
    openers = [opener for family in FAMILIES for opener in family.openers]

    assert len(openers) > 15
    assert not [opener for opener in openers if folded(opener) not in replies]


def test_the_page_lists_every_family_with_formats_of_its_own() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d, ]+) \|", PAGE, re.MULTILINE))
    shown = {
        number: "\n".join(sample.reply for sample in SAMPLES if sample.heading.startswith(f"Format {number}:"))
        for number in range(1, 50)
    }
    openers = {family.name: family.openers or family.closers for family in FAMILIES}

    assert list(rows) == list(openers)
    for name, numbers in rows.items():
        replies = "".join(FOLD.get(sign, sign) for number in numbers.split(", ") for sign in shown[int(number)])
        assert any("".join(FOLD.get(sign, sign) for sign in opener) in replies for opener in openers[name]), name


def test_a_number_that_the_code_or_its_samples_cite_stands_on_the_page() -> None:
    formats = {int(number) for number in re.findall(r"^### Format (\d+):", PAGE, re.MULTILINE)}
    rules = {int(number) for number in re.findall(r"^\*\*Rule (\d+):", PAGE, re.MULTILINE)}
    cited = {
        (kind, int(number))
        for path in (*(ROOT / "bot").rglob("*.py"), ROOT / "tests" / "bot" / "toolsyntax" / "samples.py")
        for kind, number in re.findall(r"\b(format|rule) (\d+)", path.read_text(encoding="utf-8"))
    }

    assert len(cited) > 5
    assert not {(kind, number) for kind, number in cited if number not in (formats if kind == "format" else rules)}
