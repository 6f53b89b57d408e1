"""DATABASE_URL, as people write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.store.location import database_path, is_same_database
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


def test_a_database_is_known_by_whatever_name_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    own = tmp_path / "data" / "parley.db"
    own.touch()
    (tmp_path / "linked.db").symlink_to(own)
    (tmp_path / "hard.db").hardlink_to(own)
    (tmp_path / "data" / "sales.db").touch()
    names = ("data/parley.db", "data/../data/parley.db", "linked.db", "hard.db", "data/parley.db-wal")
    for name in (*names, "data/parley.db.before-upgrade-20270115T080000", "data/parley.db?mode=ro"):
        for url in (f"sqlite:///{name}", f"sqlite:///{tmp_path}/{name}", f"SQLite:////{tmp_path}/{name}"):
            assert is_same_database("sqlite:///data/parley.db", url), url
    for url in ("sqlite:///data/sales.db", "sqlite:///parley.db", "sqlite:///missing.db", "postgresql://h/parley"):
        assert not is_same_database("sqlite:///data/parley.db", url), url
    assert not is_same_database("sqlite:///:memory:", "sqlite:///:memory:")


def test_a_database_on_a_server_is_known_by_server_and_name() -> None:
    own = "postgresql://parley:secret@db.example.org/parley"
    for url in ("postgres://reader@DB.example.org:5432/parley?sslmode=require", own):
        assert is_same_database(own, url), url
    for url in (
        "postgresql://reader@db.example.org/sales",
        "postgresql://db.example.org:6543/parley",
        "sqlite:///a.db",
    ):
        assert not is_same_database(own, url), url
    assert is_same_database("postgresql://parley@localhost", "postgresql:///parley")
    assert is_same_database("postgresql://a:1,b:2/parley", "postgresql://a:1,b:2/parley")
