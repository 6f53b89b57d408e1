"""DATABASE_URL, as people write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.store.location import database_path
from tests.bot.store.conftest import OF_THE_FILE

pytestmark = OF_THE_FILE


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/parley.db", "data/parley.db"),
        ("sqlite:////var/lib/parley.db", "/var/lib/parley.db"),
        (" sqlite:///聊天.db ", "聊天.db"),
    ],
)
def test_three_slashes_are_relative_and_four_are_absolute(url: str, path: str) -> None:
    assert database_path(url) == Path(path)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused_with_a_hint(url: str) -> None:
    with pytest.raises(SettingsError, match=r"would forget every chat.*sqlite:///data/parley\.db"):
        database_path(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "parley.db",
        "postgresql://host/parley",
        "sqlite+aiosqlite:///parley.db",
        "sqlite://parley.db",
        "sqlite:///a/",
        "sqlite:///parley.db?mode=ro",
    ],
)
def test_anything_else_is_refused_and_names_the_variable(url: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        database_path(url)
