"""Read a file of the chat part by part, or look for words in it."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.calling.function import FunctionTool
from tools.calling.parts import in_parts
from tools.contract.base import Arguments, ToolContext, ToolError, ToolResult
from tools.contract.folders import temporary_folder
from tools.contract.late import Late
from tools.contract.newest import Newest

if TYPE_CHECKING:
    from tools.documents.reading import DocumentReader

KEPT_FILES = 8
"""Files of which the text is remembered: who reads one part reads the next."""
MOST_FOUND = 12
"""Places that are shown of those where words were found."""
_AROUND = 160
"""Characters shown on each side of them."""
_LONGEST_QUERY = 200
_WHY = {
    "encrypted": "it asks for a password; the person can send it without one",
    "damaged": "it is damaged",
    "unknown_kind": "it is of a kind that cannot be read",
    "old_format": "it is in an older format; the person can save it as .docx, .xlsx, .pptx or PDF and send that",
    "too_large": "it is too large",
    "too_long_to_read": "reading it takes too long",
    "nothing_to_read": "it holds no text, as pages that were scanned do",
    "extra_missing": "what reads its kind is not installed here; the bot's operator can add the extra `documents`",
}
_EXAMPLES: tuple[Arguments, ...] = ({"file": "report.pdf", "part": 2}, {"file": "contract.docx", "query": "notice"})
_ASKED = (
    "What does the second half of report.pdf say?",
    "Where does the contract mention the notice period?",
)
_KEYWORDS = (
    *("file", "document", "pdf", "word", "excel", "sheet", "slides", "page", "chapter", "attached", "attachment"),
    *("文件", "文档", "附件", "合同", "报告", "表格", "第几页", "这份"),
)


def open_tool(settings: object = None) -> ReadFile:
    """The tool; kinds that need libraries are refused without them."""
    return ReadFile()


class ReadFile(FunctionTool):
    """`read_file`."""

    def __init__(self) -> None:
        self._reader: Late[_Reader] = Late(_Reader)
        super().__init__(
            self.read,
            self._reader,
            name="read_file",
            category="files",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            icon="📎",
            verb=("Reading a file", "正在读取文件", "正在讀取檔案"),
            label=("Read a file of this chat", "读取聊天中的文件", "讀取聊天室中的檔案"),
            subject="file",
            timeout=40.0,
        )

    async def read(self, context: ToolContext, file: str, part: int = 1, query: str = "") -> ToolResult:
        """Read a file that was sent in this chat, or made in it, as Markdown: part by part, or where words stand in it.

        Use when: the question is about more of a file than the conversation shows, or about where something stands.
        Not for: files that nobody sent here, addresses (read_page), pictures.
        Source: the file itself

        Args:
            file: Its name as the conversation has it. Example: "report.pdf"
            part: Which part of a long file; the result says how many there are.
            query: Words to look for; then the places are shown where they stand, with the number of the part.
        """
        if part < 1:
            raise ToolError("part must be at least 1.")
        if len(query) > _LONGEST_QUERY:
            raise ToolError(f"query may have {_LONGEST_QUERY} characters.")
        content = await context.files.read(context.scope, file) if context.files is not None else None
        if content is None:
            raise ToolError(f"There is no file {file[:80]!r} in this chat. Names must be given exactly.", retry=False)
        text = await (await self._reader.get()).text_of(content, file)
        parts = in_parts(text, max(400, context.chars - 200))
        if query.strip():
            return ToolResult(text=find_words(parts, " ".join(query.split()), context.chars - 200), untrusted=True)
        if part > len(parts):
            raise ToolError(f"The file has {len(parts)} part{'s' if len(parts) > 1 else ''}; there is no part {part}.")
        where = f"Part {part} of {len(parts)}"
        where += f"; call again with part={part + 1} to read on.\n\n" if part < len(parts) else ", the last.\n\n"
        return ToolResult(text=(where if len(parts) > 1 else "") + parts[part - 1], untrusted=True)


class _Reader:
    """Reads files, and remembers the newest texts."""

    def __init__(self) -> None:
        reading: Any = importlib.import_module("tools.documents.reading")
        self._documents: DocumentReader = reading.DocumentReader()
        self._kept: Newest[bytes, str] = Newest(KEPT_FILES)

    async def text_of(self, content: bytes, name: str) -> str:
        """The text of a file.

        Raises:
            ToolError: it cannot be read; says why.
        """
        from tools.documents.kinds import DocumentUnreadable
        from tools.sandbox.cell import SandboxFailed

        digest = sha256(content).digest()
        if (text := self._kept.get(digest)) is None:
            try:
                with temporary_folder() as folder:
                    path = Path(folder) / "file"
                    await asyncio.to_thread(path.write_bytes, content)
                    text = (await self._documents.read(path, name)).markdown
            except DocumentUnreadable as unread:
                raise ToolError(f"The file cannot be read: {_WHY[unread.reason]}.", retry=False) from None
            except SandboxFailed as failure:
                raise ToolError(f"The file cannot be read now: {failure}. Try once more.") from failure
        self._kept.put(digest, text)
        return text

    async def close(self) -> None:
        self._kept.clear()


def find_words(parts: list[str], query: str, room: int) -> str:
    """Where the words of a query stand together, else where any of them does."""
    wanted = [query, *(word for word in query.split() if word != query)]
    for words in (wanted[:1], wanted[1:]):
        if not words:
            continue
        pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
        places = [(number, part, hit) for number, part in enumerate(parts, 1) for hit in pattern.finditer(part)]
        if places:
            shown = [_place(*place) for place in places[:MOST_FOUND]]
            head = f"{len(places)} place{'s' if len(places) > 1 else ''} in {len(parts)} part{'s' * (len(parts) > 1)}"
            more = "" if len(places) <= MOST_FOUND else f", the first {MOST_FOUND} of them"
            return f"{head}{more}:\n\n" + "\n".join(shown)[:room]
    return f"Nothing in the file reads {query!r}; it has {len(parts)} part{'s' * (len(parts) > 1)}."


def _place(number: int, part: str, hit: re.Match[str]) -> str:
    before, after = part[max(0, hit.start() - _AROUND) : hit.start()], part[hit.end() : hit.end() + _AROUND]
    return f"- part {number}: …{' '.join((before + hit.group() + after).split())}…"
