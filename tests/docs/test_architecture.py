"""The picture of the rooms and the glossary, held against the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PICTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_the_picture_shows_every_room_above_those_that_it_may_import() -> None:
    """From top to bottom, and within a line from left to right."""
    order: tuple[str, ...] = runpy.run_path(str(ROOT / "tests" / "test_layout.py"))["ORDER"]
    drawing = re.findall(r"```text\n(.*?)```", PICTURE, re.DOTALL)[1]
    floors = [re.split(r" {2,}", line.strip())[0].split(" · ") for line in drawing.splitlines()]

    shown = [room for floor in floors if set(floor) <= set(order) for room in floor]

    assert shown == [room for room in reversed(order) if room != "__main__"]


def test_the_glossary_has_twenty_six_words_of_one_sentence_each() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", GLOSSARY, re.MULTILINE)

    assert len(rows) == len({word for word, _ in rows}) == 26
    assert not [word for word, meaning in rows if not meaning.endswith(".") or ". " in meaning]


def test_every_name_of_the_glossary_is_a_class_of_the_code() -> None:
    named = set(re.findall(r"`([A-Z]\w+)`", GLOSSARY))
    code = "\n".join(
        path.read_text(encoding="utf-8") for top in ("bot", "tools") for path in (ROOT / top).rglob("*.py")
    )

    assert len(named) > 4
    assert not [name for name in named if not re.search(rf"^class {name}\b", code, re.MULTILINE)]
