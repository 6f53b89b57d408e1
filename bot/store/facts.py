"""Facts that tools store for a person or a chat, with full-text search in any language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from sqlite3 import connect

from bot.contract import OURS, OUTSIDE
from bot.store.queries import Queries
from bot.store.sql import Connection
from tools.contract.base import ToolError
from tools.contract.plaintext import to_plain

FACTS = 500
"""Facts that one owner may keep."""
FACT_CHARS = 2_000
_QUERY_TERMS = 64
_LIMIT = 100

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_RUN = re.compile(f"[{_UNSPACED}]+|[^\\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Fact:
    """One stored fact."""

    id: int
    text: str
    origin: str
    """The origin of the words that led to it."""


class StoredFacts(Queries):
    """Facts of all owners."""

    async def remember(self, owner: str, text: str, origin: str = OURS) -> int:
        """Store a fact and return its id; a known fact keeps its id, and words from outside take nothing from it.

        Args:
            origin: the origin of the words that led to it.

        Raises:
            ToolError: it is empty or too long, or the owner has too many.
        """
        text = to_plain(text).strip()
        if not text:
            raise ToolError("There is nothing to remember: the text is empty.")
        if len(text) > FACT_CHARS:
            raise ToolError(f"The fact has {len(text)} characters; at most {FACT_CHARS} are kept. Say it shorter.")
        now = self._clock.wall()

        def work(db: Connection) -> int:
            for (known,) in db.execute("SELECT id FROM facts WHERE owner = ? AND text = ?", (owner, text)).fetchall():
                if origin != OUTSIDE:
                    db.execute("UPDATE facts SET origin = ? WHERE id = ? AND origin = ?", (origin, known, OUTSIDE))
                return int(known)
            [(count,)] = db.execute("SELECT count(*) FROM facts WHERE owner = ?", (owner,)).fetchall()
            if count >= FACTS:
                raise ToolError(f"{count} facts are kept already, which is the limit. Forget one first.")
            [(id,)] = db.execute(
                "INSERT INTO facts (owner, text, at, origin) VALUES (?, ?, ?, ?) RETURNING id",
                (owner, text, now, origin),
            ).fetchall()
            return int(id)

        return await self._writer.run(work)

    async def recall(self, owners: tuple[str, ...], query: str, limit: int) -> list[tuple[int, str, str]]:
        """Return the best matches as (id, owner, text); for an empty query all facts, newest first."""
        if not owners:
            return []
        marks = ", ".join("?" * len(owners))
        limit = max(0, min(limit, _LIMIT))
        if not query.strip():
            rows = await self._readers.fetch_rows(
                f"SELECT id, owner, text FROM facts WHERE owner IN ({marks}) ORDER BY id DESC LIMIT ?",
                (*owners, limit),
            )
        elif wanted := match_expression(to_plain(query)):
            kept = f"SELECT id, owner, text FROM facts WHERE owner IN ({marks})"
            rows = await self._readers.read(lambda db: _best(db.execute(kept, owners), wanted, limit))
        else:
            rows = []
        return [(int(id), str(owner), str(text)) for id, owner, text in rows]

    async def list_newest(self, owners: tuple[str, ...], limit: int, *, without: str = "") -> list[Fact]:
        """Return the facts of these owners, the newest first, except those of the origin `without`."""
        if not owners:
            return []
        marks = ", ".join("?" * len(owners))
        rows = await self._readers.fetch_rows(
            f"SELECT id, text, origin FROM facts WHERE owner IN ({marks}) AND (? = '' OR origin <> ?) "
            "ORDER BY id DESC LIMIT ?",
            (*owners, without, without, limit),
        )
        return [Fact(*row) for row in rows]

    async def forget(self, owners: tuple[str, ...], fact: int) -> bool:
        """Delete a fact of one of these owners; return False if they have none with this id."""
        if not owners:
            return False
        marks = ", ".join("?" * len(owners))
        return await self._writer.execute(f"DELETE FROM facts WHERE id = ? AND owner IN ({marks})", (fact, *owners)) > 0


def _best(kept: Iterable[tuple[int, str, str]], wanted: str, limit: int) -> list[tuple[int, str, str]]:
    """Search some owners' facts in a temporary index: a permanent one of everybody's facts would be read completely for
    every search, and would store the words a second time, to be deleted there, too."""
    with closing(connect(":memory:", isolation_level=None)) as index:
        index.execute(
            "CREATE VIRTUAL TABLE facts USING fts5 "
            "(words, owner UNINDEXED, text UNINDEXED, tokenize = 'unicode61 remove_diacritics 2')"
        )
        index.execute("BEGIN")
        index.executemany(
            "INSERT INTO facts (rowid, words, owner, text) VALUES (?, ?, ?, ?)",
            ((id, split_words(text), owner, text) for id, owner, text in kept),
        )
        return index.execute(
            "SELECT rowid, owner, text FROM facts WHERE facts MATCH ? ORDER BY rank, rowid DESC LIMIT ?",
            (wanted, limit),
        ).fetchall()


def split_words(text: str) -> str:
    """Split a text into words for the index; in scripts without spaces every character is a word."""
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def match_expression(query: str) -> str:
    """Return an FTS5 expression for facts that share words with the query; empty if it has no words.

    A run of a script without spaces is searched by its pairs of neighbours, because its word borders are unknown.
    """
    terms: dict[str, None] = {}
    for run in _RUN.findall(query):
        if not _UNSPACED_RUN.match(run):
            terms[f'"{run}" *'] = None
        elif len(run) == 1:
            terms[f'"{run}"'] = None
        else:
            terms |= dict.fromkeys(f'"{first} {second}"' for first, second in pairwise(run))
    return " OR ".join(list(terms)[:_QUERY_TERMS])
