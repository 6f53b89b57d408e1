"""Numbers of lists and headings in Word documents, told as they are seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tools.documents.samples import OFFICE, RELATIONS, WORD, docx
from tools.documents.numbering import write_number
from tools.documents.reading import Document


def level(place: int, form: str, text: str, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{place}"><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def item(text: str, view: int | str = "", place: int | str = "", style: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    if view != "":
        at = f'<w:ilvl w:val="{place}"/>' if place != "" else ""
        named += f'<w:numPr>{at}<w:numId w:val="{view}"/></w:numPr>'
    return f"<w:p><w:pPr>{named}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


NINE = '<w:start w:val="9"/>'
LEGAL = "<w:isLgl/>"
MANY = level(0, "upperLetter", "%1" * 5_000, '<w:start w:val="99999999999"/>')
HEADINGS = "".join(
    level(place, "decimal", text, f'<w:pStyle w:val="Heading{place + 1}"/>')
    for place, text in enumerate(("%1", "%1.%2"))
)
CLAUSES = (
    level(0, "decimal", "%1.")
    + level(1, "lowerLetter", "%2)")
    + level(2, "lowerRoman", "(%3)")
    + level(3, "bullet", "•")
)
NUMBERING = (
    f'<w:numbering xmlns:w="{WORD}">'
    f'<w:abstractNum w:abstractNumId="0">{HEADINGS}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="1">{CLAUSES}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="2">{level(0, "chineseCounting", "第%1章", NINE)}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="3"><w:numStyleLink w:val="Clauses"/></w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="4">{level(0, "upperRoman", "Part %1")}'
    f"{level(1, 'decimal', '%1.%2', LEGAL)}</w:abstractNum>"
    + "".join(
        f'<w:num w:numId="{view}"><w:abstractNumId w:val="{of}"/></w:num>'
        for view, of in ((1, 0), (2, 1), (4, 2), (5, 3), (6, 4))
    )
    + '<w:num w:numId="3"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
    "</w:lvlOverride></w:num></w:numbering>"
)
STYLES = (
    f'<w:styles xmlns:w="{WORD}">'
    + "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{number}"><w:name w:val="heading {number}"/><w:pPr><w:numPr>'
        f'<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        for number in (1, 2)
    )
    + '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="Heading2"/></w:style>'
    '<w:style w:type="numbering" w:styleId="Clauses"><w:name w:val="Clauses"/><w:pPr><w:numPr><w:numId w:val="2"/>'
    "</w:numPr></w:pPr></w:style></w:styles>"
)
LINKS = (
    f'<Relationships xmlns="{RELATIONS}"><Relationship Id="s1" Type="{OFFICE}/styles" Target="styles.xml"/>'
    f'<Relationship Id="n1" Type="{OFFICE}/numbering" Target="numbering.xml"/></Relationships>'
)


Read = Callable[..., Document]


def document(*items: str) -> bytes:
    files = {
        "word/numbering.xml": NUMBERING,
        "word/styles.xml": STYLES,
        "word/_rels/document.xml.rels": LINKS,
    }
    return docx("".join(items), **files)


def test_a_contract_keeps_the_numbers_that_people_cite(read_here: Read) -> None:
    body = document(
        item("Tea", style="Heading1"),
        item("Leaves", style="Heading2"),
        item("The seller brings tea.", 2, 0),
        item("green,", 2, 1),
        item("black,", 2, 1),
        item("from the hills.", 2, 2),
        item("A line between them."),
        item("The buyer pays.", 2, 0),
        item("in dollars.", 2, 1),
        item("This goes on elsewhere.", 3, 0),
        item("This as well.", 3, 0),
        item("Prices", style="Heading2"),
        item("Milk", style="Heading1"),
        item("Cows", style="Heading2"),
    )

    lines = [line.lstrip("# ") for line in read_here(body).markdown.splitlines() if line.strip()]
    assert list(dict.fromkeys(lines))[1:] == [
        "1 Tea",
        "1.1 Leaves",
        "1. The seller brings tea.",
        "a) green,",
        "b) black,",
        "(i) from the hills.",
        "A line between them.",
        "2. The buyer pays.",
        "a) in dollars.",
        "5. This goes on elsewhere.",
        "6. This as well.",
        "1.2 Prices",
        "2 Milk",
        "2.1 Cows",
    ]


def test_lists_in_other_forms_and_by_style_are_numbered_and_bullets_stay_bullets(read_here: Read) -> None:
    body = document(
        item("开始", 4, 0),
        item("结束", 4, 0),
        item("by the name of a style", 5, 0),
        item("a point", 2, 3),
        item("no number", 0, 0),
        item("no such list", 77, 0),
        item("One", 6, 0),
        item("Two", 6, 1),
    )
    text = read_here(body).markdown

    for line in ("第九章 开始", "第十章 结束", "1. by the name of a style", "- a point", "Part I One", "1.1 Two"):
        assert line in text
    assert "\nno number" in text and "\nno such list" in text


@pytest.mark.parametrize(
    ("form", "count", "shown"),
    [
        ("lowerRoman", 4, "iv"),
        ("upperRoman", 1994, "MCMXCIV"),
        ("upperRoman", 4_000, "4000"),
        ("upperLetter", 28, "BB"),
        ("lowerLetter", 26, "z"),
        ("decimalZero", 7, "07"),
        ("ordinal", 11, "11th"),
        ("ordinal", 23, "23rd"),
        ("numberInDash", 3, "- 3 -"),
        ("none", 3, ""),
        ("chineseCounting", 11, "十一"),
        ("japaneseCounting", 20, "二十"),
        ("chineseCountingThousand", 105, "一百零五"),
        ("chineseCountingThousand", 1_010, "一千零一十"),
        ("chineseLegalSimplified", 12, "壹拾贰"),
        ("ideographDigital", 105, "一〇五"),
        ("ideographTraditional", 3, "丙"),
        ("ideographZodiac", 13, "13"),
        ("decimalEnclosedCircle", 3, "③"),
        ("decimalFullWidth", 12, "１２"),
        ("chineseCounting", 20_000, "二〇〇〇〇"),
        ("a form of next year", 5, "5"),
        ("upperLetter", 10**12, "..."),
    ],
)
def test_each_form_is_written_as_word_shows_it(form: str, count: int, shown: str) -> None:
    written = write_number(count, form)

    assert written == shown if shown != "..." else len(written) <= 60


def test_hostile_numbering_ends(read_here: Read) -> None:
    """Styles that are based on themselves, lists that name each other, levels and counts that are none."""
    styles = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:styleId="A"><w:basedOn w:val="A"/></w:style>'
        + (
            '<w:style w:type="numbering" w:styleId="L"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
            "</w:styles>"
        )
    )
    numbering = (
        f'<w:numbering xmlns:w="{WORD}"><w:abstractNum w:abstractNumId="0"><w:numStyleLink w:val="L"/></w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="1">{MANY}'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
    )
    files = {
        "word/numbering.xml": numbering,
        "word/styles.xml": styles,
        "word/_rels/document.xml.rels": LINKS,
    }
    body = item("one", 1, 0) + item("two", 2, 0) + item("three", 2, 12345) + item("four", "x", "y", "A") * 2_000

    text = read_here(docx(body, **files)).markdown

    assert "one" in text and text.count("four") == 2_000
