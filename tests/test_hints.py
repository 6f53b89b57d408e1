"""What an operator is told to install is on an index: each library by its own name, never an extra of this project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
HINT = re.compile(r"pip install ([a-z][\w-]*(?: [a-z][\w-]*)*)")
UNPUBLISHED = re.compile(r"parley-chat\[|(?:install|uvx|pipx run) parley-chat")


def test_every_package_that_a_hint_names_is_a_library_that_some_extra_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    libraries = {
        re.split(r"[^\w-]", one)[0] for extra in project["optional-dependencies"].values() for one in extra
    } - {project["name"]}
    hints = {
        (str(path.relative_to(ROOT)), tuple(match[1].split()))
        for folder in ("adapters", "bot", "tools", "parley_chat", "playground")
        for path in (ROOT / folder).rglob("*.py")
        for match in HINT.finditer(path.read_text(encoding="utf-8"))
    }

    assert len(hints) >= 7
    assert [(path, names) for path, names in hints if not libraries.issuperset(names)] == []


def test_no_sentence_names_an_extra_of_a_package_that_is_on_no_index() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for folder in ("adapters", "bot", "tools", "parley_chat", "playground", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md") and UNPUBLISHED.search(path.read_text(encoding="utf-8"))
    ]

    assert wrong == []
