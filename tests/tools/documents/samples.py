"""Office documents and books, made while the tests run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

import openpyxl
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.conftest import RawJson

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{where}:1.0"'
    for name, where in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("presentation", "presentation"),
    )
) + ' xmlns:xlink="http://www.w3.org/1999/xlink"'  # fmt: skip
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A ZIP file with these files, in their order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return made.getvalue()


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word document."""
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: tuple[str, ...]) -> str:
    """A table of a Word document."""
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def docx(content: str, main: str = "wordprocessingml.document.main", **more: str | bytes) -> bytes:
    """A Word document with this content; `more` are files beside it."""
    return archive(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="application/vnd.{main}+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}">'
            f"<w:body>{content}</w:body></w:document>",
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="l1" '
            f'Type="{OFFICE}/hyperlink" Target="https://bridges.example/" TargetMode="External"/>'
            f'<Relationship Id="s1" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/styles.xml": f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:styleId="Heading1">'
            '<w:name w:val="heading 1"/></w:style></w:styles>',
            "docProps/core.xml": f"<core {_DC}><dc:title>Bridges 桥</dc:title></core>",
            **more,
        }
    )


def xlsx(**sheets: Sequence[Sequence[object]]) -> bytes:
    """A workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def pptx() -> bytes:
    """Slides with a list, a table, a group, a chart and notes."""
    show = Presentation()
    show.core_properties.title = "Bridges 桥"
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "They hang 悬索桥"
    frame = first.placeholders[1].text_frame
    frame.text = "from cables"
    under = frame.add_paragraph()
    under.text, under.level = "over two towers", 1
    first.notes_slide.notes_text_frame.text = "Say this slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    cells = second.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for row, values in enumerate((("城市", "bridges"), ("重庆", "1400"))):
        for column, value in enumerate(values):
            cells.cell(row, column).text = value
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    chart: RawJson = CategoryChartData  # it has no types
    data = chart()
    data.categories = ["North", "South"]
    data.add_series("metres", (2000, 1500.5))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(2), data)
    made = io.BytesIO()
    show.save(made)
    return made.getvalue()


def opendocument(kind: str, content: str, **more: str | bytes) -> bytes:
    """An OpenDocument file: kind is `text`, `spreadsheet` or `presentation`."""
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {ODF}><office:body><office:{kind}>{content}</office:{kind}>"
            "</office:body></office:document-content>",
            "meta.xml": f"<meta {_DC}><dc:title>Bridges 桥</dc:title></meta>",
            **more,
        }
    )


def epub(chapters: Mapping[str, str], **more: str | bytes) -> bytes:
    """A book; `chapters` are the bodies of its files by name, in order."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters)
    order = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book/package.opf"/></rootfiles></container>',
            "book/package.opf": f'<package xmlns="http://www.idpf.org/2007/opf" {_DC}><metadata><dc:title>Bridges 桥'
            f"</dc:title></metadata><manifest>{items}</manifest><spine>{order}</spine></package>",
            **{f"book/{name}.xhtml": f"<html><head><title>t</title></head><body>{body}</body></html>"
               for name, body in chapters.items()},
            **more,
        }
    )  # fmt: skip


def xlsx_with(more: Mapping[str, str | bytes], *names: str) -> bytes:
    """A workbook with sheets of these names, some of its files replaced by `more`."""
    with zipfile.ZipFile(io.BytesIO(xlsx(**{name: [["a"]] for name in names or ("First",)}))) as book:
        return archive({**{name: book.read(name) for name in book.namelist()}, **more})
