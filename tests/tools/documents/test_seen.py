"""What a person sees of a document in the program that made it is told, and what is left out is named with a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.patience import slowed
from tests.tools.documents import samples, seen
from tools.documents.reading import Document

pytest.importorskip("mammoth", reason="the extra `documents` is not installed")

ReadHere: TypeAlias = Callable[..., Document]


def test_all_that_is_seen_of_a_workbook_is_told_or_counted(read_here: ReadHere) -> None:
    found = read_here(seen.workbook(), "prices.xlsx")

    assert [part.label for part in found.parts] == ["sheet Prices", "sheet Draft (hidden)"]
    assert found.parts[0].text.splitlines() == [
        "Hidden in this sheet: 1 row, marked (hidden); columns D to E.",
        "",
        "| 城市 | 13% | 1,234,567.89 | 2026-03-04 |  |",
        "| --- | --- | --- | --- | --- |",
        "| (hidden) -€1,234.50 | 2026年3月4日 | 1 1/2 |  | TRUE |",
        "",
        "Note on A1: Check this",
        "Note on B1: Still true? / Yes.",
        "",
        "Text box: Prices without tax",
    ]
    assert found.note == "Left out, as it is not text: 1 cell whose format shows nothing, 1 chart, 1 picture."


def test_cells_with_more_text_than_is_read_are_cut_and_it_is_said(read_here: ReadHere) -> None:
    row = f'<row>{f"""<c t="inlineStr"><is><t>{"x" * 30_000}</t></is></c>""" * 10}</row>'
    sheet = f'<worksheet xmlns="{seen.SHEET}"><sheetData>{row * 9}</sheetData></worksheet>'

    found = read_here(samples.xlsx_with({"xl/worksheets/sheet1.xml": sheet}))

    assert found.parts[0].text.count("xxx |") == 50
    assert found.note.startswith("Of large sheets only the first")


def test_all_that_is_seen_of_a_word_document_is_told_or_counted(read_here: ReadHere) -> None:
    found = read_here(seen.word())

    assert [part.label for part in found.parts] == ["page header", "", "page footer"]
    assert found.parts[0].text == "Bridges Ltd" and found.parts[2].text == "Confidential"
    assert found.parts[1].text.split("\n\n") == [
        r"Half is $\frac{1}{2}$.",
        r"$$\frac{1}{2}$$",
        "Page 7",
        "Drink: coffee",
        "☑ ticked",
        "☐ open",
        "Colour: red",
        "漢（かん）字",
        "Claim (comment by Anna: Is it so?)",
        "In a box",
        "seen",
        "(diagram: Plan; Build)",
    ]
    assert found.note == (
        "Left out, as it is not text: 1 chart, 1 diagram's drawing, 1 embedded object, 1 hidden passage, 1 picture, "
        "1 tracked deletion."
    )


def test_all_that_is_seen_of_slides_is_told_or_counted(read_here: ReadHere) -> None:
    found = read_here(seen.slides())

    assert [part.label for part in found.parts] == ["slide 1", "slide 2 (hidden)"]
    assert found.parts[0].text.split("\n\n") == [
        r"Half is $\frac{1}{2}$ of it.",
        "Only for newer programs",
        "(diagram: Plan; Build)",
        "Comment: Is it so?",
        "Comment: And this?",
    ]
    assert found.parts[1].text == "for later"
    assert found.note == "Left out, as it is not text: 1 diagram's drawing, 1 embedded object, 1 picture."


def test_all_that_is_seen_of_a_pdf_is_told_or_counted(read_here: ReadHere) -> None:
    found = read_here(seen.noted_pdf())

    assert [part.label for part in found.parts] == ["page 1"]
    assert found.parts[0].text.splitlines() == [
        "Bridges hang.",
        "",
        "Note by Anna: 是这样",
        "Note: Approved",
        "Note by Bo: See below",
        "Field Your city: Wuhan",
        "Field agree: ☑",
        "Field news: ☐",
        "Field drink: tea",
    ]
    assert found.note == "Left out, as it is not text: 1 attached file, 1 drawing, 1 picture."


@pytest.mark.parametrize(
    "content",
    [
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r></w:p>' * 4_000,
        "<w:p>" + '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>x</w:instrText></w:r>' * 4_000 + "</w:p>",
        "<w:p>" + "<w:fldSimple/>" * 40_000 + "</w:p>",
        "<w:p>" + "<m:oMath>" * 200 + "</m:oMath>" * 200 + "</w:p>",
        "<w:p><w:r>" + "<w:commentReference w:id='1'/>" * 8_000 + "</w:r></w:p>",
    ],
    ids=["fields in fields", "fields with code", "simple fields", "formulas in formulas", "comments"],
)
def test_a_document_of_nothing_but_one_kind_of_part_is_read_in_time(read_here: ReadHere, content: str) -> None:
    body = seen.word_part(f"<w:body>{content}<w:p>{seen.run('the end')}</w:p></w:body>", "document")

    found = read_here(samples.docx("", **{"word/document.xml": body}), seconds=slowed(5.0))

    assert found.parts[0].text.endswith("the end")


def test_all_that_is_seen_of_an_opendocument_text_is_told_or_counted(read_here: ReadHere) -> None:
    found = read_here(seen.open_text())

    assert [part.label for part in found.parts] == ["page header", "", "page footer"]
    assert found.parts[0].text == "Bridges Ltd" and found.parts[2].text == "Confidential"
    text = found.parts[1].text
    assert "Read 漢（かん） here. (comment by Anna: Which one?)" in text
    assert "$a over b$" in text
    assert text.endswith("| 7 | 7 | 7 |\n| --- | --- | --- |\n| 7 | 7 | 7 |")
    assert found.note == "Left out, as it is not text: 1 chart, 1 picture, 1 tracked deletion."


def test_all_that_is_seen_of_opendocument_sheets_is_told(read_here: ReadHere) -> None:
    found = read_here(seen.open_sheets())

    assert [part.label for part in found.parts] == ["sheet 表", "sheet Draft (hidden)"]
    assert found.parts[0].text.splitlines() == [
        "Hidden in this sheet: 3 rows, marked (hidden); columns B to C.",
        "",
        "| 12.5 % | b | c |",
        "| --- | --- | --- |",
        *["| (hidden) 7 | 7 | 7 |"] * 3,
        "",
        "Note on A1: Anna: Rounded",
    ]


@pytest.mark.parametrize("kind", ["spreadsheet", "text"])
def test_a_row_that_stands_for_a_million_is_no_bomb(read_here: ReadHere, kind: str) -> None:
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>7</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell * 3}</table:table-row>'

    found = read_here(samples.opendocument(kind, f'<table:table table:name="a">{row * 1000}</table:table>'))

    assert found.parts[0].text.startswith("| 7 | 7 | 7 |")
    assert len(found.parts[0].text) <= 2_000_000


def test_how_characters_are_read_stands_in_brackets_behind_them(read_here: ReadHere) -> None:
    plain = "<p>これは<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>です。</p>"
    bracketed = "<p><ruby><rb>漢字</rb><rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を読む。</p>"

    found = read_here(samples.epub({"a": plain + bracketed + '<img src="a.png"/>', "b": "<svg></svg><p>x</p>"}))

    assert found.note == "Left out, as it is not text: 2 pictures."
    assert found.parts[0].text == "これは漢（かん）字（じ）です。\n\n漢字（かんじ）を読む。"
