"""PDFs, Office documents and books: nothing of their text is lost, and their parts are named."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.patience import slowed
from tests.tools.documents import samples
from tests.tools.documents.conftest import Read
from tests.tools.pdfs import LOCKED, lines, pdf
from tools.documents import sheets
from tools.documents.kinds import Archive, DocumentUnreadable, Kind, Reason
from tools.documents.reading import Document, DocumentReader, Part, ReadingLimits

pytest.importorskip("mammoth", reason="the extra `documents` is not installed")

ReadHere: TypeAlias = Callable[..., Document]
TABLE = "| 城市 | bridges |\n| --- | --- |\n| 重庆 | 1,400 \\| more |"


def test_a_pdf_has_a_part_for_each_page_with_text(read_here: ReadHere) -> None:
    found = read_here(pdf(lines("The first page."), "", lines("The third page."), Title="Spans"))

    assert (found.kind, found.title, found.note) == (Kind.PDF, "Spans", "")
    assert found.parts == (Part("page 1", "The first page."), Part("page 3", "The third page."))


def test_a_pdf_of_5000_pages_is_read_as_far_as_the_time_goes(read_here: ReadHere) -> None:
    found = read_here(pdf(*[lines(*["Bridges hang from cables."] * 30)] * 5000), seconds=0.3)

    assert 0 < len(found.parts) < 5000
    assert found.note == f"Only the first {len(found.parts):,} of 5,000 pages were read: the time was up."


def test_a_word_document_has_a_part_for_each_section(read_here: ReadHere) -> None:
    link = '<w:p><w:hyperlink r:id="l1"><w:r><w:t>over here</w:t></w:r></w:hyperlink></w:p>'
    inner = '<w:p><w:hyperlink w:anchor="x"><w:r><w:t>see below</w:t></w:r></w:hyperlink></w:p>'
    body = samples.docx(
        samples.paragraph("悬索桥", "Heading1") + samples.paragraph("They hang from cables.") + link + inner
        + samples.paragraph("表格", "Heading1") + samples.table(("城市", "bridges"), ("重庆", "1,400 | more"))
    )  # fmt: skip

    found = read_here(body)

    assert (found.kind, found.title) == (Kind.DOCX, "Bridges 桥")
    assert [part.label for part in found.parts] == ["悬索桥", "表格"]
    assert "They hang from cables." in found.parts[0].text
    assert "[over here](https://bridges.example/)" in found.parts[0].text
    assert "see below" in found.parts[0].text and "(#" not in found.parts[0].text
    assert TABLE in found.parts[1].text


def test_a_document_with_macros_is_read_and_they_are_not(read_here: ReadHere) -> None:
    body = samples.docx(
        samples.paragraph("Bridges"),
        "ms-word.document.macroEnabled.main",
        **{"word/vbaProject.bin": b"Sub AutoOpen()\nShell evil\n"},
    )

    found = read_here(body)

    assert [part.text for part in found.parts] == ["Bridges"]


def test_a_table_of_one_column_is_text(read_here: ReadHere) -> None:
    found = read_here(samples.docx(samples.table(("Bridges hang.",), ("Decks do not.",))))

    assert found.parts[0].text == "Bridges hang.\n\nDecks do not."


def test_a_workbook_has_a_part_for_each_sheet_with_values(read_here: ReadHere) -> None:
    body = samples.xlsx(
        桥梁=[["城市", "bridges", "opened"], ["重庆", 1400.0, DAY], [None], ["a|b", 1.5]],
        Empty=[],
        Times=[["at", "late"], [MOMENT, True]],
    )

    found = read_here(body)

    assert [part.label for part in found.parts] == ["sheet 桥梁", "sheet Times"]
    assert found.parts[0].text == (
        "| 城市 | bridges | opened |\n| --- | --- | --- |\n| 重庆 | 1400 | 2026-03-04 0:00:00 |\n| a\\|b | 1.5 |  |"
    )
    assert found.parts[1].text.endswith("| 2026-03-04 5:06:00 | TRUE |")


def test_formulas_without_a_value_are_counted_above_the_first_sheet(read_here: ReadHere) -> None:
    body = samples.xlsx(First=[["a", "=1+1"], ["b", '=IF(1>2,"<","")']], Second=[["=SUM(1,2)"]])

    found = read_here(body)

    line = "Formulas saved without a value in this workbook: 3. Their cells are empty here."
    assert [part.text for part in found.parts] == [f"{line}\n\n| a |\n| --- |\n| b |"]


@pytest.mark.parametrize(
    ("cell", "count"),
    [
        ('<c r="A1"><f>1+1</f></c>', 1),
        ('<c r="A1"><f t="shared" si="0"/><v/></c>', 1),
        ('<x:c r="A1"><x:f>1+1</x:f><x:v> </x:v></x:c>', 1),
        ('<c r="A1"><f>1+1</f><v>2</v></c>', 0),
        ('<c r="A1"><f t="shared" si="0"/><v>2</v></c>', 0),
        ('<c r="A1" t="str"><f>""</f><v></v></c>', 0),
        ('<c r="A1"/><c r="B1"><v>2</v></c>', 0),
        ("<c><f>" * 20_000 + "<c" + " " * 100_000 + "<f>1</f>" + " " * 100_000, 0),
    ],
    ids=["no value", "shared", "prefixed", "saved", "shared and saved", "empty text", "no formula", "hostile"],
)
def test_a_formula_has_no_value_where_none_was_saved(cell: str, count: int) -> None:
    body = samples.archive({"xl/worksheets/sheet1.xml": cell, "xl/styles.xml": "<c><f>1</f></c>"})

    line = sheets._unsaved_line(Archive(body))

    assert (
        line[:1] == [f"Formulas saved without a value in this workbook: {count}. Their cells are empty here."] * count
    )


def test_a_sheet_too_large_to_count_in_is_read_all_the_same(
    read_here: ReadHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = samples.xlsx(First=[[*["a"] * 40, "=1+1"]] * 40)
    monkeypatch.setattr("tools.documents.kinds.MOST_ENTRY", 2000)

    assert read_here(body).parts[0].text.startswith("| a |")


def test_huge_sheets_are_cut_and_it_is_said(read_here: ReadHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.documents.tables.MOST_ROWS", 3)
    monkeypatch.setattr("tools.documents.tables.MOST_COLUMNS", 2)

    for body in (
        samples.xlsx(Wide=[["a", "b", "c"]], Long=[["a", "b"]] * 9),
        samples.opendocument("spreadsheet", _sheet(("a", "b", "c")) + _sheet(*[("a", "b")] * 9)),
    ):
        found = read_here(body)

        assert found.parts[0].text == "| a | b |\n| --- | --- |"
        assert found.parts[1].text.count("\n") == 3
        assert found.note == "Of large sheets only the first 3 rows, 2 columns and 2,000,000 characters were read."


def test_slides_are_read_with_tables_groups_charts_and_notes(read_here: ReadHere) -> None:
    found = read_here(samples.pptx())

    assert (found.kind, found.title) == (Kind.PPTX, "Bridges 桥")
    assert [part.label for part in found.parts] == ["slide 1: They hang 悬索桥", "slide 2"]
    assert found.parts[0].text == "# They hang 悬索桥\n\nfrom cables\n  - over two towers\n\nNotes: Say this slowly."
    assert "| 城市 | bridges |\n| --- | --- |\n| 重庆 | 1400 |" in found.parts[1].text
    assert "in a group" in found.parts[1].text
    assert "|  | metres |\n| --- | --- |\n| North | 2000 |\n| South | 1500.5 |" in found.parts[1].text


DAY = datetime.datetime(2026, 3, 4)  # noqa: DTZ001 - cells have no time zone
MOMENT = datetime.datetime(2026, 3, 4, 5, 6)  # noqa: DTZ001


def _sheet(*rows: tuple[str, ...]) -> str:
    lines = ("".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row) for row in rows)
    written = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    return f'<table:table table:name="表">{written}</table:table>'


def test_an_opendocument_text_is_read_with_its_table_list_and_notes(read_here: ReadHere) -> None:
    content = (
        '<text:h text:outline-level="1">悬索桥</text:h><text:p>They<text:s text:c="2"/>hang<text:tab/>from '
        '<text:a xlink:href="https://bridges.example/">cables</text:a><text:note><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>of steel</text:p></text:note-body></text:note>.</text:p>"
        "<text:list><text:list-item><text:p>one tower</text:p></text:list-item></text:list>"
        '<text:tracked-changes>gone</text:tracked-changes><text:p>See <text:a xlink:href="#x">below</text:a>.</text:p>'
        f'<text:h text:outline-level="x">表格</text:h>{_sheet(("城市", "bridges"), ("重庆", "1400"))}'
    )

    found = read_here(samples.opendocument("text", content))

    assert (found.kind, found.title) == (Kind.ODT, "Bridges 桥")
    assert [part.label for part in found.parts] == ["悬索桥", "表格"]
    text = found.parts[0].text
    assert "They hang from [cables](https://bridges.example/)" in text
    assert "of steel" in text and "- one tower" in text and "See below." in text and "gone" not in text
    assert "| 城市 | bridges |\n| --- | --- |\n| 重庆 | 1400 |" in found.parts[1].text


def test_cells_that_repeat_stand_as_often_as_they_are_shown(read_here: ReadHere) -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    seven = cell.format(' table:number-columns-repeated="2"', "7")
    rows = (
        f"<table:table-row>{cell.format('', 'a')}{cell.format('', 'b')}{cell.format('', 'c')}"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        f"<table:table-row>{seven}{cell.format('', '8')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row>'
    )

    found = read_here(samples.opendocument("spreadsheet", f'<table:table table:name="表">{rows}</table:table>'))

    assert found.parts == (Part("sheet 表", "| a | b | c |\n| --- | --- | --- |\n| 7 | 7 | 8 |"),)


def test_slides_of_opendocument_are_read_with_their_notes(read_here: ReadHere) -> None:
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    notes = f"<presentation:notes>{box.format('Say this slowly.')}</presentation:notes>"
    content = f"<draw:page>{box.format('悬索桥')}{notes}</draw:page><draw:page>{box.format('Two towers')}</draw:page>"

    found = read_here(samples.opendocument("presentation", content))

    assert found.parts == (Part("slide 1", "悬索桥\n\nSay this slowly."), Part("slide 2", "Two towers"))


def test_a_book_is_read_in_its_order_with_its_chapters(read_here: ReadHere) -> None:
    body = samples.epub(
        {
            "b": "<h1>悬索桥</h1><p>They hang. <a href='c.xhtml'>Next</a></p>",
            "a": "<p>No heading here.</p><table><tr><td>城市</td><td>n</td></tr>"
            "<tr><td>重庆</td><td>2</td></tr></table>",
            "empty": "",
        }
    )

    found = read_here(body)

    assert (found.kind, found.title) == (Kind.EPUB, "Bridges 桥")
    assert [part.label for part in found.parts] == ["chapter 悬索桥", "chapter t"]
    assert found.parts[0].text == "# 悬索桥\n\nThey hang. Next"
    assert "| 城市 | n |\n| --- | --- |\n| 重庆 | 2 |" in found.parts[1].text


def test_a_book_with_veiled_fonts_is_read(read_here: ReadHere) -> None:
    fonts = '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></EncryptedData></encryption>'

    found = read_here(samples.epub({"a": "<p>Bridges</p>"}, **{"META-INF/encryption.xml": fonts}))

    assert found.parts[0].text == "Bridges"


LOCK = '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></EncryptedData></encryption>'
DEEP = "<w:tbl><w:tr><w:tc>" * 40_000
# Some would be expanded up to a limit of bytes: long ones reach it sooner.
BOMB = f'<!DOCTYPE x [<!ENTITY a "{"a" * 80_000}">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
) + "]>"  # fmt: skip


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(lambda: LOCKED, Reason.ENCRYPTED, id="locked PDF"),
        pytest.param(lambda: pdf(), Reason.DAMAGED, id="PDF without pages"),
        pytest.param(lambda: pdf("", ""), Reason.NOTHING_TO_READ, id="scanned PDF"),
        pytest.param(lambda: b"%PDF-1.7 nothing more", Reason.DAMAGED, id="cut PDF"),
        pytest.param(lambda: samples.docx(samples.paragraph("x"))[:-40], Reason.DAMAGED, id="cut docx"),
        pytest.param(lambda: samples.docx(""), Reason.NOTHING_TO_READ, id="empty docx"),
        pytest.param(lambda: samples.xlsx(Empty=[]), Reason.NOTHING_TO_READ, id="empty xlsx"),
        pytest.param(
            lambda: samples.epub({"a": "<p>x</p>"}, **{"META-INF/encryption.xml": LOCK}), Reason.ENCRYPTED, id="DRM"
        ),
        pytest.param(
            lambda: samples.opendocument("text", "x", **{"META-INF/manifest.xml": "<manifest:encryption-data/>"}),
            Reason.ENCRYPTED,
            id="locked odt",
        ),
        pytest.param(
            lambda: samples.archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"}),
            Reason.DAMAGED,
            id="odt without a body",
        ),
        pytest.param(
            lambda: samples.archive({"mimetype": "application/epub+zip", "META-INF/container.xml": "<x"}),
            Reason.DAMAGED,
            id="book without a list",
        ),
        pytest.param(lambda: samples.archive({"notes.txt": "x"}), Reason.UNKNOWN_KIND, id="archive"),
        pytest.param(lambda: samples.docx("", bomb=b"\0" * (257 << 20)), Reason.TOO_LARGE, id="bomb"),
        pytest.param(lambda: samples.opendocument("text", " " * (65 << 20)), Reason.TOO_LARGE, id="one large entry"),
        pytest.param(
            lambda: samples.archive({f"{number}": "" for number in range(10_001)}), Reason.TOO_LARGE, id="many entries"
        ),
    ],
)
def test_damaged_documents_are_refused_for_their_reason(
    body: Callable[[], bytes], reason: Reason, refusal_here: Callable[..., Reason]
) -> None:
    assert refusal_here(body()) is reason


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda: samples.docx(DEEP), id="docx"),
        pytest.param(lambda: samples.opendocument("text", "<text:p>" * 100_000), id="odt"),
    ],
)
async def test_a_document_of_endless_depth_is_refused(
    body: Callable[[], bytes], refusal: Callable[..., Awaitable[Reason]]
) -> None:
    assert await refusal(body()) is Reason.DAMAGED


def with_entity(start: str, name: str) -> tuple[bytes, bytes]:
    """An OpenDocument text and a Word document that begin so, and have the entity in their text."""
    text = (
        f"{start}<office:document-content {samples.ODF}><office:body><office:text>"
        f"<text:p>Bridges &{name};</text:p></office:text></office:body></office:document-content>"
    )
    word = (
        f'{start}<w:document xmlns:w="{samples.WORD}"><w:body>'
        f"<w:p><w:r><w:t>Bridges &{name};</w:t></w:r></w:p></w:body></w:document>"
    )
    return (
        samples.archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": text}),
        samples.docx("", **{"word/document.xml": word}),
    )


async def test_a_bomb_of_entities_is_not_expanded(read: Read) -> None:
    for body in with_entity(BOMB, "j"):
        try:
            found = await read(body)
        except DocumentUnreadable as refused:
            assert refused.reason is Reason.DAMAGED
        else:
            assert len(found.parts[0].text) < 100


def test_an_entity_opens_no_file_of_this_machine(read_here: ReadHere, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("root:")
    for body in with_entity(f'<!DOCTYPE x [<!ENTITY file SYSTEM "{outside.as_uri()}">]>', "file"):
        try:
            found = read_here(body)
        except DocumentUnreadable as refused:
            assert refused.reason is Reason.DAMAGED
        else:
            assert "root:" not in found.parts[0].text
            assert len(found.parts[0].text) < 100


async def test_a_document_that_takes_too_much_memory_is_refused(
    read: Read, refusal: Callable[..., Awaitable[Reason]]
) -> None:
    """Now and then the interpreter finds no memory to end with the error either, and tries until its time is up."""
    small, large = (samples.docx(samples.paragraph("bridge") * times) for times in (1, 100_000))
    memory = 72 << 20

    assert (await read(small, limits=ReadingLimits(memory=memory, seconds=slowed(20.0)))).parts[0].text == "bridge"
    refused = await refusal(large, limits=ReadingLimits(memory=memory, seconds=5))
    assert refused in (Reason.TOO_LARGE, Reason.TOO_LONG_TO_READ)


async def test_a_document_that_takes_too_long_is_refused(refusal: Callable[..., Awaitable[Reason]]) -> None:
    body = samples.docx(samples.paragraph("bridge") * 200_000)

    assert await refusal(body, limits=ReadingLimits(seconds=1)) is Reason.TOO_LONG_TO_READ


def test_what_follows_damage_is_missing_and_it_is_said(read_here: ReadHere) -> None:
    book = samples.epub({"a": "<p>Bridges</p>", "b": "<p>Decks</p>"})
    place = book.index(b"book/b.xhtml") + len("book/b.xhtml")
    damaged = book[: place + 4] + b"\xff\xff\xff" + book[place + 7 :]

    found = read_here(damaged)

    assert [part.text for part in found.parts] == ["Bridges"]
    assert found.note == "Only the first 1 of 2 chapters were read: what follows is damaged."


async def test_office_documents_are_read_in_a_sandbox(sandbox_possible: None, read: Read) -> None:
    reader = DocumentReader()
    assert await reader.prove(whole=True) == "documents are read in a bubblewrap sandbox"
    start = (await reader._readers.get()).start

    for body in (
        pdf(lines("Bridges")),
        samples.docx(samples.paragraph("Bridges")),
        samples.xlsx(Sheet=[["Bridges", 1]]),
        samples.pptx(),
        samples.opendocument("text", "<text:p>Bridges</text:p>"),
        samples.epub({"a": "<p>Bridges</p>"}),
    ):
        found = await read(body, start=start)

        assert found.parts
