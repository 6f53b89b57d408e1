"""Names of a package are loaded from their files when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package whose door loads two names late, each from a file of its own."""
    folder = tmp_path / "a_room"
    folder.mkdir()
    (folder / "first.py").write_text("class One: ...\nclass Two: ...\n")
    (folder / "second.py").write_text("three = []\n")
    (folder / "__init__.py").write_text(
        "from tools.contract.latenames import load_late\n"
        "__getattr__ = load_late(__name__, {'first': 'One Two', 'second': 'three'})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("a_room")
    for name in ("a_room", "a_room.first", "a_room.second"):
        sys.modules.pop(name, None)


def test_a_file_is_loaded_when_a_name_of_it_is_first_used(room: ModuleType) -> None:
    before = {"a_room.first", "a_room.second"} & sys.modules.keys()

    two, again = room.Two, room.Two

    assert not before and two is again is sys.modules["a_room.first"].Two
    assert "a_room.second" not in sys.modules and vars(room)["Two"] is two


def test_a_name_that_no_file_has_is_missing_as_anywhere(room: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'a_room' has no attribute 'Four'"):
        room.Four  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Four'"):
        exec("from a_room import Four")
