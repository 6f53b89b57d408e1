"""Read `DATABASE_URL`."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from bot.contract import SettingsError

_FORMS = "write sqlite:///data/parley.db for a file below the working directory, or sqlite:////var/lib/parley.db"


def is_server(url: str) -> bool:
    """Return True if a `DATABASE_URL` names a PostgreSQL server."""
    return url.strip().partition("://")[0] in ("postgresql", "postgres")


def database_path(url: str) -> Path:
    """Return the file path in a `DATABASE_URL`.

    Three slashes begin a path relative to the working directory, four an absolute one.

    Raises:
        SettingsError: it does not name a file, or not an SQLite database.
    """
    # No sentence shows the value: it may be another database's address, with its password.
    scheme, separator, rest = url.strip().partition("://")
    if is_server(url):
        raise SettingsError(
            "DATABASE_URL names a PostgreSQL server and no file: its own programs (pg_dump, pg_restore) copy it."
        )
    if not separator or scheme != "sqlite":
        raise SettingsError(
            f"DATABASE_URL names neither a SQLite file nor a PostgreSQL server: {_FORMS}, or postgresql://…."
        )
    if rest.startswith("/:memory:") or rest in ("", "/"):
        raise SettingsError(
            f"DATABASE_URL names a database in memory, which would forget every chat at the end: {_FORMS}."
        )
    if not rest.startswith("/"):
        raise SettingsError(f"DATABASE_URL has two slashes, after which a host would stand: {_FORMS}.")
    if "?" in rest or "\0" in rest or rest.endswith("/"):
        raise SettingsError(f"DATABASE_URL does not end in a plain file name: {_FORMS}.")
    return Path(rest[1:]).expanduser()


def real_path(url: str) -> Path:
    """Return the absolute path of the file itself, behind every symbolic link: its logs are beside it.

    Raises:
        SettingsError: as in `database_path`.
    """
    return Path(os.path.realpath(database_path(url)))


def explain_absence(url: str) -> str:
    """Return a sentence that there is no database, and where; empty if there is one, or a server. Looking does not
    create it.

    Raises:
        SettingsError: as in `database_path`.
    """
    if is_server(url):
        return ""
    path = database_path(url).absolute()
    return "" if path.exists() else f"there is no {path}"


def is_same_database(own: str, url: str) -> bool:
    """Return True if a URL names the database of a `DATABASE_URL`, one of its logs, or a copy kept beside it."""
    if is_server(own) or is_server(url):
        return is_server(own) and is_server(url) and _server_of(own) == _server_of(url)
    try:
        mine = real_path(own)
    except SettingsError:
        return False  # its opener reports it
    other = Path(os.path.realpath(url.partition("://")[2].partition("?")[0].removeprefix("/")))
    if other.parent == mine.parent and (other == mine or other.name.startswith((f"{mine.name}-", f"{mine.name}."))):
        return True
    try:
        return mine.samefile(other)
    except OSError:
        return False


def _server_of(url: str) -> tuple[str, int, str]:
    """Return the host, the port and the name of the database in a PostgreSQL URL."""
    parts = urlsplit(url.strip())
    host = (parts.hostname or "").lower()
    try:
        port = parts.port or 5432
    except ValueError:  # of several hosts
        port = 0
    return (
        "" if host in ("localhost", "127.0.0.1", "::1") else host,
        port,
        parts.path.strip("/") or parts.username or "",
    )
