"""The openai library is loaded without its types, which are there for whoever uses one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.model.library import later

OPENAI = """
import sys
from bot.model.library import openai

def loaded():
    return sum(name.startswith("openai.types.") for name in sys.modules)

few = loaded()
from openai.types.chat import ChatCompletionChunk
print(few < 150, ChatCompletionChunk.model_json_schema()["title"], loaded() == few)
from openai.types.responses import Response
print(Response.model_json_schema()["title"], openai.types.Completion.__name__, loaded() > 2 * few)
"""
"""What uses the library: its client, types of its own, and all of them."""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library whose package of types imports them all; the library imports one of them."""
    types = tmp_path / "a_library" / "types"
    types.mkdir(parents=True)
    (types / "first.py").write_text("class First: ...\n")
    (types / "second.py").write_text("class Second: ...\n")
    (types / "__init__.py").write_text("from .first import First\nfrom .second import Second\n")
    (types.parent / "__init__.py").write_text("from . import types\nfrom .types.first import First\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield types.parent
    for name in [name for name in sys.modules if name.partition(".")[0] == "a_library"]:
        del sys.modules[name]


def types_loaded() -> set[str]:
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("a_library.types.")}


@pytest.mark.parametrize(
    "use", ["import a_library.types; a_library.types.Second", "from a_library import types as t; t.Second"]
)
def test_types_are_loaded_when_one_is_used(use: str, library: Path) -> None:
    with later("a_library.types"):
        import a_library  # type: ignore[import-not-found]
    before = types_loaded(), a_library.First.__name__

    exec(use)

    assert before == ({"first"}, "First") and types_loaded() == {"first", "second"}
    assert a_library.types.First is a_library.First and not hasattr(a_library.types, "__getattr__")


def test_a_library_that_uses_a_type_itself_finds_it(library: Path) -> None:
    (library / "__init__.py").write_text("from . import types\nused = types.Second.__name__\n")

    with later("a_library.types"):
        import a_library

    assert a_library.used == "Second" and types_loaded() == {"first", "second"}


def test_what_is_loaded_or_missing_is_left_alone(library: Path) -> None:
    with later("a_library.none", "nobody.s"):
        import a_library

    with later("a_library.types"):
        from a_library import types

    assert types is sys.modules["a_library.types"] and types_loaded() == {"first", "second"}
    assert "a_library.none" not in sys.modules and not hasattr(a_library, "none")


def test_openai_loads_with_few_of_its_types_and_each_of_them_can_be_used() -> None:
    done = subprocess.run([sys.executable, "-c", OPENAI], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "True ChatCompletionChunk True\nResponse Completion True\n"), (
        done.stderr
    )
