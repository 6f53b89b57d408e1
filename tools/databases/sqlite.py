"""Read a SQLite file in a separate process that can be killed at any moment."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.databases.base import MOST_COUNTED, Column, Limits, Refused, Rows

_READER = Path(__file__).with_name("sqlite_reader.py")
_START_SECONDS = 3.0
"""What the process is given beside the question's own time."""
_LONGEST_ANSWER = 32 * 1024 * 1024


def path_of(url: str) -> Path:
    """Return the file that `sqlite:///relative/path` or `sqlite:////absolute/path` names."""
    return Path(url.partition("://")[2].partition("?")[0].removeprefix("/")).absolute()


class SqliteDatabase:
    """`Database` for `sqlite:///relative/path` and `sqlite:////absolute/path`."""

    def __init__(self, url: str) -> None:
        self._path = str(path_of(url))

    async def tables(self, limits: Limits) -> Sequence[str]:
        answer = await self._ask({"do": "tables"}, limits)
        return [str(name) for name in answer["tables"]]

    async def columns(self, table: str, limits: Limits) -> Sequence[Column]:
        answer = await self._ask({"do": "columns", "table": table}, limits)
        return [Column(*column) for column in answer["columns"]]

    async def select(self, sql: str, limits: Limits) -> Rows:
        question = {"do": "select", "sql": sql, "rows": limits.rows, "cell": limits.cell, "counted": MOST_COUNTED}
        answer = await self._ask(question, limits)
        return Rows(tuple(answer["columns"]), tuple(map(tuple, answer["rows"])), answer["count"], answer["complete"])

    async def _ask(self, question: dict[str, Any], limits: Limits) -> Any:
        written = json.dumps({**question, "path": self._path, "seconds": limits.seconds})
        # No site packages, no variables: the process sees nothing of ours but the question.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-B", str(_READER)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            limit=_LONGEST_ANSWER,
        )
        try:
            async with asyncio.timeout(limits.seconds + _START_SECONDS):
                output, _ = await process.communicate(written.encode())
        except TimeoutError:
            raise _slow(limits) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if not output:
            raise _slow(limits) if process.returncode != 1 else Refused("The database could not be read.", retry=False)
        answer = json.loads(output)
        if "error" in answer:
            raise _refused(answer["kind"], answer["error"], limits)
        return answer


def _slow(limits: Limits) -> Refused:
    return Refused(
        f"The query was stopped after {limits.seconds:g} s. Ask for less: filter, add a LIMIT, avoid joining all rows."
    )


_REFUSALS = {
    "denied": "Only reading is possible here: write one SELECT without side effects. It was not run.",
    "several": "Only one statement can be run at a time, and it was not run: write one SELECT.",
    "closed": "The database cannot be opened now. Whoever runs this bot has to look at it.",
    "locked": "The database is locked by another program. Try again in a moment.",
    "big": "The query makes values that are too large. Select fewer or smaller columns.",
}


def _refused(kind: str, said: str, limits: Limits) -> Refused:
    if kind == "slow":
        return _slow(limits)
    sentence = _REFUSALS.get(kind, f"SQLite says: {said[:300]}.")
    return Refused(sentence, retry=kind != "closed", unknown_table=kind == "table")
