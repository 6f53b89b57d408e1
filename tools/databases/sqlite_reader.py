"""Reads a SQLite file in a process of its own: `python sqlite_reader.py`, the question as JSON on standard input.

A process and not a thread, because SQLite looks at its clock only between steps: one `instr` over two long blobs can
take hours, and only a process can be ended then. Uses the standard library alone, so that it starts in 20 ms.

What keeps it from writing, each enough by itself: the file is opened read-only; `query_only` is set; the authorizer
allows nothing but SELECT, reading columns and harmless functions; and extensions cannot be loaded.
"""

import json
import sqlite3
import sys
import time
import urllib.parse
from contextlib import closing
from pathlib import Path
from typing import Any

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_PRAGMAS = {
    *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"),
    *("collation_list", "function_list", "database_list"),
}
_FUNCTIONS = {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer", "lsdir", "fsdir", "zipfile"}
_LONGEST_VALUE = 16 * 1024 * 1024
_MEMORY = 768 * 1024 * 1024


def main() -> None:
    """Answer one question: JSON with `columns`, `rows`, `count`, `complete`, or with `error` and `kind`."""
    asked = json.loads(sys.stdin.buffer.read())
    _confine(asked["seconds"])
    try:
        answer = _answer(asked)
    except MemoryError:
        answer = {"kind": "big", "error": "it needs too much memory"}
    except (sqlite3.Error, sqlite3.Warning) as error:
        answer = {"kind": _kind(error), "error": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def _confine(seconds: float) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 2))


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    with closing(_opened(asked["path"])) as db:
        deadline = time.monotonic() + asked["seconds"]
        db.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        match asked["do"]:
            case "tables":
                query = (
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                    "ESCAPE '\\' ORDER BY name LIMIT 1000"
                )
                return {"tables": [name for (name,) in db.execute(query)]}
            case "columns":
                return {"columns": _columns(db, asked["table"])}
            case _:
                return _selected(db, asked)


def _opened(path: str) -> sqlite3.Connection:
    """The file, able to do nothing but read."""
    address = "file:" + urllib.parse.quote(path)
    db = _connected(f"{address}?mode=ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        db.close()
        # A database in WAL mode in a folder that we may not write into. Without a log beside it, it is at rest.
        at_rest = isinstance(error, sqlite3.OperationalError) and not Path(f"{path}-wal").exists()
        if not at_rest:
            raise
        db = _connected(f"{address}?mode=ro&immutable=1")
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    db.execute("PRAGMA query_only = ON")
    db.execute("PRAGMA trusted_schema = OFF")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.set_authorizer(_authorize)
    return db


def _connected(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=2.0, isolation_level=None)


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action in _READING:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _selected(db: sqlite3.Connection, asked: dict[str, Any]) -> dict[str, Any]:
    cursor = db.execute(asked["sql"])
    if cursor.description is None:
        return {"kind": "denied", "error": "the statement returns no rows"}
    rows: list[list[str | None]] = []
    count = 0
    complete = True
    try:
        for row in cursor:
            count += 1
            if count <= asked["rows"]:
                rows.append([_cell(value, asked["cell"]) for value in row])
            elif count >= asked["counted"]:
                complete = False
                break
    except sqlite3.OperationalError as error:
        # What came in time is worth more than nothing, once it is all that would be shown.
        if count <= asked["rows"] or _kind(error) != "slow":
            raise
        complete = False
    names = [str(one[0])[: asked["cell"]] for one in cursor.description]
    return {"columns": names, "rows": rows, "count": count, "complete": complete}


def _columns(db: sqlite3.Connection, table: str) -> list[list[str]]:
    quoted = '"' + table.replace('"', '""') + '"'
    refers = {row[3]: f"refers to {row[2]}" for row in db.execute(f"PRAGMA foreign_key_list({quoted})")}
    found = []
    for _, name, kind, required, _, key, *_ in db.execute(f"PRAGMA table_xinfo({quoted})"):
        notes = ["primary key"] if key else []
        notes += ["not null"] if required and not key else []
        notes += [refers[name]] if name in refers else []
        found.append([name, kind, ", ".join(notes)])
    return found


def _cell(value: object, most: int) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        head = value[:16].hex()
        return f"x'{head}'" if len(value) <= 16 else f"x'{head}…' ({len(value)} bytes)"
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _kind(error: Exception) -> str:
    text = str(error)
    signs = {
        "interrupted": "slow",
        "not authorized": "denied",
        "prohibited": "denied",
        "readonly": "denied",
        "one statement": "several",
        "no such table": "table",
        "unable to open": "closed",
        "not a database": "closed",
        "locked": "locked",
        "too big": "big",
    }
    return next((kind for sign, kind in signs.items() if sign in text), "wrong")


if __name__ == "__main__":
    main()
