"""`read_file`: the parts of a file, the places where words stand, and what cannot be read."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.tools.documents import samples
from tests.tools.pdfs import LOCKED
from tools.contract.base import ToolContext, ToolError
from tools.read_file import KEPT_FILES, ReadFile, open_tool

LONG = "".join(f"Day {number}: nothing happened.\n\n" for number in range(400))


class Folder:
    """The files of one chat."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"log.txt": LONG.encode(), "locked.pdf": LOCKED, "x.bin": bytes(range(256))}

    async def read(self, scope: str, name: str) -> bytes | None:
        return self.files.get(name) if scope == "here" else None


@pytest.fixture
async def tool() -> AsyncIterator[ReadFile]:
    opened = open_tool()
    yield opened
    await opened.close()


@pytest.fixture
def folder() -> Folder:
    return Folder()


@pytest.fixture
def context(folder: Folder) -> ToolContext:
    return ToolContext(scope="here", chars=2_000, files=folder)


async def test_a_long_file_is_read_part_by_part_to_its_end(tool: ReadFile, context: ToolContext) -> None:
    read, number = list[str](), 1
    while True:
        result = await tool.run({"file": "log.txt", "part": number}, context)
        assert result.untrusted and len(result.text) <= 2_000
        head, _, text = result.text.partition("\n\n")
        read.append(text)
        if head.endswith("the last."):
            break
        assert head.endswith(f"; call again with part={number + 1} to read on.")
        number += 1

    assert head == f"Part {number} of {number}, the last." and number > 5
    assert "\n\n".join(read) == LONG.strip()


async def test_a_short_one_is_told_whole(tool: ReadFile, context: ToolContext, folder: Folder) -> None:
    folder.files["sales.xlsx"] = samples.xlsx(Tea=[["month", "sold"], ["May", 12]])

    text = (await tool.run({"file": "sales.xlsx"}, context)).text

    assert "Tea" in text and "| May | 12 |" in text and "Part" not in text


@pytest.mark.parametrize(
    ("query", "begins", "part"),
    [
        ("day 399: NOTHING", "1 place in 7 parts:", "- part 7: …"),
        ("Day 7:", "1 place in 7 parts:", "- part 1: …"),
        ("399 zebras", "1 place in 7 parts:", "- part 7: …"),
        ("happened", "400 places in 7 parts, the first 12 of them:", "- part 1: …"),
        ("zebra", "Nothing in the file reads 'zebra'; it has 7 parts.", ""),
        (".*", "Nothing in the file reads '.*'; it has 7 parts.", ""),
    ],
)
async def test_words_are_found_where_they_stand(
    query: str, begins: str, part: str, tool: ReadFile, context: ToolContext
) -> None:
    result = await tool.run({"file": "log.txt", "query": query}, context)

    assert result.text.startswith(begins) and part in result.text
    assert result.untrusted and len(result.text) <= 2_000


@pytest.mark.parametrize(
    ("file", "part", "query", "said"),
    [
        ("other.txt", 1, "", "There is no file 'other.txt' in this chat"),
        ("log.txt", 0, "", "part must be at least 1"),
        ("log.txt", 99, "", "The file has 7 parts; there is no part 99"),
        ("log.txt", 1, "x" * 201, "query may have 200 characters"),
        ("locked.pdf", 1, "", "it asks for a password"),
        ("x.bin", 1, "", "it is of a kind that cannot be read"),
    ],
)
async def test_what_cannot_be_read_says_why(
    file: str, part: int, query: str, said: str, tool: ReadFile, context: ToolContext
) -> None:
    with pytest.raises(ToolError, match=said):
        await tool.run({"file": file, "part": part, "query": query}, context)


async def test_files_of_other_chats_and_of_none_are_not_there(tool: ReadFile, folder: Folder) -> None:
    for elsewhere in (ToolContext(scope="there", files=folder), ToolContext(scope="here")):
        with pytest.raises(ToolError, match="There is no file"):
            await tool.run({"file": "log.txt"}, elsewhere)


async def test_few_files_are_remembered_and_none_that_has_changed(
    tool: ReadFile, context: ToolContext, folder: Folder
) -> None:
    for number in range(KEPT_FILES + 3):
        folder.files["log.txt"] = f"Version {number}".encode()
        assert (await tool.run({"file": "log.txt"}, context)).text == f"Version {number}"
        assert (await tool.run({"file": "log.txt"}, context)).text == f"Version {number}"

    assert len((await tool._reader.get())._kept) == KEPT_FILES
