"""Each promise of `docs/promises.md` names tests, and each test that it names is a test that pytest would run."""

from __future__ import annotations

import functools
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"^- `((?:tests|parley_chat/contract)/\S+\.py)::(test_\w+)`$", re.MULTILINE)


def promises() -> dict[str, str]:
    """The text under each heading that is a promise."""
    kept = PAGE.partition("\n## Not promised\n")[0]
    parts = re.split(r"^### (.+)$", kept, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@functools.cache
def functions_of(file: str) -> set[str]:
    """The tests at the top of a file, where pytest finds them, or in a suite that is shipped."""
    before = "    " if file.startswith("parley_chat") else ""
    text = (ROOT / file).read_text(encoding="utf-8")
    return set(re.findall(rf"^{before}(?:async )?def (\w+)\(", text, re.MULTILINE))


def test_every_promise_names_a_test() -> None:
    found = {name: NAMED.findall(text) for name, text in promises().items()}

    assert len(found) > 35
    assert not [name for name, tests in found.items() if not tests]
    assert {"live", "whole", "once", "in order", "clean"} <= set(found)


def test_every_test_that_a_promise_names_exists() -> None:
    named = NAMED.findall(PAGE)

    assert len(named) == PAGE.count("::test_") > 90
    assert not [
        f"{file}::{name}" for file, name in named if not (ROOT / file).exists() or name not in functions_of(file)
    ]


def test_every_id_stands_for_one_promise() -> None:
    ids = re.findall(r"^### ([A-Z]{1,2}\d+): ", PAGE, re.MULTILINE)

    assert len(ids) == len(set(ids)) > 25
