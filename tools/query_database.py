"""Ask databases that the operator names: which tables, which columns, and one SELECT. Nothing can be written.

What makes writing impossible stands in `tools/databases/`, for SQLite and PostgreSQL each.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Sequence
from typing import Final

from tools.calling.function import FunctionTool
from tools.contract.base import Arguments, ToolContext, ToolError, ToolResult, Unavailable
from tools.contract.findings import Finding
from tools.databases import Cell, Database, Limits, Refused, Rows, missing_file, open_database, parse
from tools.settings import DatabaseSettings

MOST_ROWS = 200
QUERY_SECONDS: Final = 10.0
_SHOWN_ROWS = 50
_CELL_CHARS = 200
_EXAMPLES: tuple[Arguments, ...] = (
    {},
    {"sql": "SELECT country, count(*) AS customers FROM customers GROUP BY country ORDER BY customers DESC"},
    {"table": "orders"},
)
_ASKED = (
    "Which databases are there?",
    "How many customers do we have in each country?",
)
_KEYWORDS = (
    *("database", "sql", "query", "table", "tables", "rows", "records", "select", "how many"),
    *("数据库", "查询", "表", "记录", "多少条", "统计"),
)


def open_tool(settings: DatabaseSettings | None, *, seconds: float = QUERY_SECONDS) -> QueryDatabase:
    """The tool, with every database that is named.

    Raises:
        Unavailable: none is named, one is not written right, its file is missing, or PostgreSQL's library is.
    """
    text = settings.databases.get_secret_value() if settings is not None else ""
    if not text.strip():
        raise Unavailable("it needs DATABASES, as sales=sqlite:////data/sales.db")
    try:
        urls = parse(text)
    except ValueError as error:
        raise Unavailable(f"DATABASES is not written right: {error}", wanted=True) from None
    if any(url.lower().startswith("postgres") for url in urls.values()) and not importlib.util.find_spec("asyncpg"):
        raise Unavailable("for PostgreSQL it needs asyncpg: pip install asyncpg", wanted=True)
    for name, url in urls.items():
        if url.lower().startswith("sqlite:") and (gone := missing_file(url)):
            raise Unavailable(f"DATABASES names {name}, and {gone}", wanted=True)
    files = frozenset(name for name, url in urls.items() if url.lower().startswith("sqlite:"))
    return QueryDatabase({name: open_database(url) for name, url in urls.items()}, seconds, files)


class QueryDatabase(FunctionTool):
    """`query_database`."""

    def __init__(self, databases: dict[str, Database], seconds: float, files: Collection[str]) -> None:
        """
        Args:
            files: those of `databases` that are files on this machine.
        """
        self._databases = databases
        self._files = files
        self._seconds = seconds
        super().__init__(
            self.query,
            name="query_database",
            category="data",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=(*_KEYWORDS, *databases),
            icon="🗄️",
            verb=("Asking a database", "正在查询数据库", "正在查詢資料庫"),
            label=("Look things up in databases", "查询数据库", "查詢資料庫"),
            subject="sql",
            echoes=True,
            timeout=seconds + 15.0,
            most_chars=20_000,
            source=f"read-only databases: {', '.join(databases)}",
        )

    async def query(
        self, context: ToolContext, database: str = "", table: str = "", sql: str = "", rows: int = _SHOWN_ROWS
    ) -> ToolResult:
        """Read from a database: list its tables, describe one, or run one SELECT.

        Use when: the person asks about data of these databases. Look at the tables and their columns first.
        Not for: changing data, which is impossible here.

        Args:
            database: Which database; may be left out when there is one.
            table: Describe this table: its columns and types. Without table and sql, the tables are listed.
            sql: One SELECT in the database's own SQL. Example: "SELECT count(*) FROM orders"
            rows: How many rows are shown at most, up to 200.
        """
        name, chosen = self._chosen(database)
        limits = Limits(max(1, min(rows, MOST_ROWS)), _CELL_CHARS, min(self._seconds, context.seconds))
        try:
            if sql.strip():
                text = written(await chosen.select(sql, limits), context.chars)
            elif table.strip():
                text = await self._described(chosen, table.strip(), limits)
            else:
                tables = await chosen.tables(limits)
                text = f"Tables of {name}: {', '.join(tables) or 'none'}."
        except Refused as error:
            said = str(error)
            if error.unknown_table:
                said += await self._known(chosen, limits)
            raise ToolError(said, retry=error.retry) from error
        return ToolResult(text=text, untrusted=True)

    async def check(self, *, offline: bool = False) -> Finding:
        """Which databases answer, for the operator. `offline`: only files are asked.

        Raises:
            ToolError: one does not, or may not be asked.
        """
        limits = Limits(1, _CELL_CHARS, self._seconds)
        answers, problems, asked = [], [], 0
        for name, database in self._databases.items():
            if offline and name not in self._files:
                answers.append(f"{name} was not asked")
                continue
            asked += 1
            try:
                await database.tables(limits)
                answers.append(f"{name} answers")
            except Refused as error:
                problems.append(f"{name}: {error}")
        if problems:
            raise ToolError(" ".join([*problems, *answers]), retry=False)
        text = f"read-only databases: {', '.join(answers)}"
        return Finding.ok(text) if asked == len(self._databases) else Finding.not_asked(text)

    def _chosen(self, database: str) -> tuple[str, Database]:
        wanted = database.strip()
        if not wanted and len(self._databases) == 1:
            return next(iter(self._databases.items()))
        names = ", ".join(self._databases)
        if not wanted:
            raise ToolError(f"Say which database: {names}.")
        if wanted not in self._databases:
            raise ToolError(f"There is no database {wanted[:40]!r}. There are: {names}.")
        return wanted, self._databases[wanted]

    async def _described(self, database: Database, table: str, limits: Limits) -> str:
        columns = await database.columns(table, limits)
        if not columns:
            raise Refused(f"There is no table {table[:60]!r}.", unknown_table=True)
        lines = [f"- {one.name} {one.type}".rstrip() + (f" ({one.notes})" if one.notes else "") for one in columns]
        return "\n".join([f"Columns of {table}:", *lines])

    async def _known(self, database: Database, limits: Limits) -> str:
        try:
            tables = await database.tables(limits)
        except Refused:
            return ""
        return f" The tables are: {', '.join(tables[:100]) or 'none'}."


def written(found: Rows, chars: int) -> str:
    """A result as a Markdown table, cut between rows, that says how many rows there are."""
    if not found.columns:
        return "The query returned no columns."
    if not found.rows:
        return f"No rows. Columns: {', '.join(found.columns)}."
    head = f"{_line(found.columns)}\n|{'---|' * len(found.columns)}\n"
    lines: list[str] = []
    room = chars - len(head) - 80
    for row in found.rows:
        line = _line(row) + "\n"
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line)
    if not lines:
        raise ToolError("Not even one row fits into the result: select fewer columns.")
    return head + "".join(lines) + "\n" + _counted(len(lines), found)


def _counted(shown: int, found: Rows) -> str:
    if shown == found.count and found.complete:
        return "1 row." if shown == 1 else f"{shown} rows."
    total = str(found.count) if found.complete else f"more than {found.count}"
    return f"The first {shown} of {total} rows are shown. Aggregate or filter to see the rest."


def _line(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: Cell) -> str:
    return "NULL" if cell is None else " ".join(cell.split()).replace("|", "\\|")
