"""Documents that hold every kind of part a person sees, made while the tests run."""

from __future__ import annotations

import io
import zipfile

from pptx import Presentation
from pptx.util import Inches

from tests.tools.documents.samples import (
    ODF,
    OFFICE,
    RELATIONS,
    WORD,
    archive,
    docx,
    opendocument,
    paragraph,
    xlsx,
    xlsx_with,
)
from tests.tools.pdfs import lines, pdf

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def workbook() -> bytes:
    """A workbook with formats, hidden parts, notes, a box of text, a picture and a chart."""
    styled = "".join(f'<xf numFmtId="{one}"/>' for one in (0, 9, 4, 31, 164, 165, 12, 166))
    sheet = (
        f'<worksheet xmlns="{SHEET}" xmlns:r="{OFFICE}"><cols><col min="4" max="5" hidden="1"/></cols><sheetData>'
        '<row r="1"><c r="A1" t="inlineStr"><is><t>城市</t></is></c><c r="B1" s="1"><v>0.125</v></c>'
        '<c r="C1" s="2"><v>1234567.891</v></c><c r="D1" s="3"><v>46085</v></c></row>'
        '<row r="2" hidden="1"><c r="A2" s="4"><v>-1234.5</v></c><c r="B2" s="5"><v>46085</v></c>'
        '<c r="C2" s="6"><v>1.5</v></c><c r="D2" s="7"><v>5</v></c><c r="E2" t="b"><v>1</v></c></row>'
        '</sheetData><drawing r:id="d1"/></worksheet>'
    )
    styles = (
        f'<styleSheet xmlns="{SHEET}"><numFmts>'
        '<numFmt numFmtId="164" formatCode="[$€-407]#,##0.00;[Red]-[$€-407]#,##0.00"/>'
        '<numFmt numFmtId="165" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;"/>'
        '<numFmt numFmtId="166" formatCode=";;;"/></numFmts><fonts><font/></fonts>'
        "<fills><fill><patternFill/></fill></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
        f"<cellXfs>{styled}</cellXfs>"
        '<cellStyles><cellStyle name="Normal" xfId="0"/></cellStyles></styleSheet>'
    )
    relations = "".join(
        f'<Relationship Id="d{place}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(
            (("comments", "../comments1.xml"), ("drawing", "../drawings/drawing1.xml"), ("threadedComment", "../t.xml"))
        )
    )
    drawing = (
        f'<d xmlns:a="{DRAWING}/main"><sp><txBody><a:p><a:r><a:t>Prices without tax</a:t></a:r></a:p></txBody></sp>'
        f'<pic/><a:graphicData uri="{DRAWING}/chart"/></d>'
    )
    more = {
        "xl/worksheets/sheet1.xml": sheet,
        "xl/styles.xml": styles,
        "xl/worksheets/_rels/sheet1.xml.rels": f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>',
        "xl/comments1.xml": f'<comments xmlns="{SHEET}"><commentList><comment ref="A1"><text><r><t>Check </t></r>'
        "<r><t>this</t></r></text></comment></commentList></comments>",
        "xl/t.xml": '<x><threadedComment ref="B1"><text>Still true?</text></threadedComment>'
        '<threadedComment ref="B1"><text>Yes.</text></threadedComment></x>',
        "xl/drawings/drawing1.xml": drawing,
    }
    with zipfile.ZipFile(io.BytesIO(xlsx(Prices=[], Draft=[["x"]]))) as book:
        visible, _, hidden = book.read("xl/workbook.xml").decode().rpartition('state="visible"')
    return xlsx_with({**more, "xl/workbook.xml": f'{visible}state="hidden"{hidden}'}, "Prices", "Draft")


_MATH = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mfrac/>'
    '<annotation encoding="StarMath 5.0">a over b</annotation></semantics></math>'
)


def _note(text: str) -> str:
    by = '<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Anna</dc:creator>'
    return f"<office:annotation>{by}<text:p>{text}</text:p></office:annotation>"


def open_text() -> bytes:
    """An OpenDocument text with a formula, a comment, ruby, a table with counts, a picture, a chart and margins."""
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    content = (
        "<text:tracked-changes><text:changed-region><text:deletion>gone</text:deletion></text:changed-region>"
        "</text:tracked-changes><text:p>Read <text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん"
        f"</text:ruby-text></text:ruby> here.{_note('Which one?')}</text:p>"
        '<text:p><draw:frame><draw:object xlink:href="./Object 1"/><draw:image/></draw:frame></text:p>'
        '<text:p><draw:frame><draw:object xlink:href="./Object 2"/><draw:image/></draw:frame><draw:frame><draw:image/>'
        '</draw:frame></text:p><table:table><table:table-row table:number-rows-repeated="2">'
        '<table:table-cell table:number-columns-repeated="3"><text:p>7</text:p></table:table-cell></table:table-row>'
        "</table:table>"
    )
    margins = (
        f"<office:document-styles {ODF} {style}><office:master-styles><style:master-page>"
        "<style:header><text:p>Bridges Ltd</text:p></style:header>"
        "<style:footer><text:p>Confidential</text:p></style:footer></style:master-page>"
        "</office:master-styles></office:document-styles>"
    )
    chart = '<x xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"><chart:chart/></x>'
    more = {"styles.xml": margins, "Object 1/content.xml": _MATH, "Object 2/content.xml": chart}
    return opendocument("text", content, **more)


def open_sheets() -> bytes:
    """OpenDocument sheets with rows and cells that are written once with a count, hidden ones, and a note."""
    cell = "<table:table-cell{}><text:p>{}</text:p>{}</table:table-cell>"
    thrice = ' table:number-columns-repeated="3"'
    table = (
        '<table:table table:name="表"><table:table-column/>'
        '<table:table-column table:number-columns-repeated="2" table:visibility="collapse"/>'
        f"<table:table-row>{cell.format('', '12.5 %', _note('Rounded'))}{cell.format('', 'b', '')}"
        f"{cell.format('', 'c', '')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="3" table:visibility="filter">'
        f"{cell.format(thrice, '7', '')}</table:table-row></table:table>"
        '<table:table table:name="Draft" table:style-name="ta2"><table:table-row>'
        f"{cell.format('', 'x', '')}</table:table-row></table:table>"
    )
    body = opendocument("spreadsheet", table)
    style = (
        '<office:automatic-styles><s:style xmlns:s="urn:oasis:names:tc:opendocument:xmlns:style:1.0" s:name="ta2">'
        '<s:table-properties table:display="false"/></s:style></office:automatic-styles><office:body>'
    )
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        content = opened.read("content.xml").decode().replace("<office:body>", style, 1)
    return opendocument("spreadsheet", "", **{"content.xml": content})


_FORMULA = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_COMPAT = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_OFFICE_2010 = "http://schemas.microsoft.com/office/drawing/2010/main"
_SHAPE = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"


def word_part(content: str, name: str) -> str:
    """A part of a Word document, with all names that are used in it."""
    return (
        f'<w:{name} xmlns:w="{WORD}" xmlns:r="{OFFICE}" xmlns:m="{_FORMULA}" xmlns:mc="{_COMPAT}" xmlns:wps="{_SHAPE}" '
        f'xmlns:a="{DRAWING}/main" xmlns:pic="{DRAWING}/picture" xmlns:dgm="{DRAWING}/diagram" '
        f'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml">{content}</w:{name}>'
    )


def run(text: str, properties: str = "") -> str:
    """A run of a Word document."""
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def word() -> bytes:
    """A Word document with every kind of part that is seen."""
    half = "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
    entries = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="tea"/><w:listEntry w:val="coffee"/></w:ddList>'
    field = '<w:r><w:fldChar w:fldCharType="{}">{}</w:fldChar></w:r>'
    code = "<w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r>"
    choice = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    on, off = (f'<w14:checkbox><w14:checked w14:val="{state}"/></w14:checkbox>' for state in (1, 0))
    box = f"<w:txbxContent>{paragraph('In a box')}</w:txbxContent>"
    old_box = f"<w:pict><v:textbox xmlns:v='urn:schemas-microsoft-com:vml'>{box}</v:textbox></w:pict>"
    shape = f'<w:drawing><a:graphicData uri="{_SHAPE}"><wps:txbx>{box}</wps:txbx></a:graphicData></w:drawing>'
    chart = f'<w:r><w:drawing><a:graphicData uri="{DRAWING}/chart"/></w:drawing></w:r>'
    diagram = f'<a:graphicData uri="{DRAWING}/diagram"><dgm:relIds r:dm="m1"/></a:graphicData>'
    ruby = f"<w:r><w:ruby><w:rt>{run('かん')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>"
    lines = (
        f"{run('Half is ')}{half}{run('.')}",
        f"<m:oMathPara>{half}</m:oMathPara>",
        f'{run("Page ")}<w:fldSimple w:instr="NUMPAGES">{run("7")}</w:fldSimple>',
        f"{run('Drink: ')}{field.format('begin', f'<w:ffData>{entries}</w:ffData>')}{code}{field.format('end', '')}",
        f"{choice.format(on, run('x'))}{run(' ticked')}",
        f"{choice.format(off, run('x'))}{run(' open')}",
        f"{run('Colour: ')}{choice.format('<w:dropDownList/>', run('red'))}",
        f"{ruby}{run('字')}",
        f"{run('Claim')}<w:r><w:commentReference w:id='4'/></w:r>",
        f"<w:r><mc:AlternateContent><mc:Choice Requires='wps'>{shape}</mc:Choice><mc:Fallback>{old_box}</mc:Fallback>"
        "</mc:AlternateContent></w:r>",
        f"{run('seen')}{run('unseen', '<w:vanish/>')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>",
        f"{chart}<w:r><w:drawing>{diagram}</w:drawing></w:r><w:r><w:drawing><pic:pic/></w:drawing></w:r>",
        "<w:r><w:object/></w:r>",
    )
    section = '<w:sectPr><w:headerReference r:id="h1"/><w:footerReference r:id="f1"/></w:sectPr>'
    body = "".join(f"<w:p>{line}</w:p>" for line in lines)
    parts = {"h1": ("header", "h.xml"), "f1": ("footer", "f.xml"), "c1": ("comments", "c.xml"), "m1": ("data", "d.xml")}
    relations = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"/>' for key, (kind, target) in parts.items()
    )
    comment = f'<w:comment w:id="4" w:author="Anna">{paragraph("Is it so?")}</w:comment>'
    return docx(
        "",
        **{
            "word/document.xml": word_part(f"<w:body>{body}{section}</w:body>", "document"),
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>',
            "word/h.xml": word_part(paragraph("Bridges Ltd"), "hdr"),
            "word/f.xml": word_part(paragraph("Confidential"), "ftr"),
            "word/c.xml": word_part(comment, "comments"),
            "word/d.xml": word_part("<a:t>Plan</a:t><a:t>Build</a:t>", "data"),
        },
    )


def noted_pdf() -> bytes:
    """A PDF with notes, a filled form, a drawing, an attached file, a picture, and what is hidden."""
    at = "/Type /Annot /Rect [10 10 90 90]"
    field = f"<< {at} /Subtype /Widget"
    picture = "q 10 0 0 10 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q\n"
    return pdf(
        lines("Bridges hang.") + picture,
        notes=(
            f"<< {at} /Subtype /Text /T (Anna) /Contents <FEFF662F8FD96837> >>",
            f"<< {at} /Subtype /FreeText /Contents (Approved) >>",
            f"<< {at} /Subtype /Highlight /Contents (See\\nbelow) /T (Bo) >>",
            f"<< {at} /Subtype /Text /F 2 /Contents (hidden) >>",
            f"<< {at} /Subtype /Popup /Contents (twice) >>",
            f"<< {at} /Subtype /Ink /InkList [[1 1 2 2]] >>",
            f"<< {at} /Subtype /FileAttachment >>",
            f"{field} /FT /Tx /T (city) /TU (Your city) /V (Wuhan) >>",
            f"{field} /FT /Tx /T (empty) >>",
            f"{field} /FT /Btn /T (agree) /V /Yes /AS /Yes /AP << /N << /Yes 3 0 R /Off 3 0 R >> >> >>",
            f"{field} /FT /Btn /T (news) /V /Off /AS /Off /AP << /N << /Yes 3 0 R /Off 3 0 R >> >> >>",
            f"{field} /FT /Ch /Ff 131072 /T (drink) /Opt [(tea) (coffee)] /V (tea) >>",
        ),
    )


def slides() -> bytes:
    """Slides with a formula, a shape for newer programs, a diagram, comments, a picture, an object; one is hidden."""
    show = Presentation()
    for text in ("Half is", "for later"):
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = text
    made = io.BytesIO()
    show.save(made)
    with zipfile.ZipFile(made) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    first, second = "ppt/slides/slide1.xml", "ppt/slides/slide2.xml"
    half = "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
    math = (
        f'<mc:AlternateContent xmlns:mc="{_COMPAT}"><mc:Choice xmlns:a14="{_OFFICE_2010}" Requires="a14">'
        f'<a14:m><m:oMath xmlns:m="{_FORMULA}">{half[9:]}</a14:m></mc:Choice><mc:Fallback/></mc:AlternateContent>'
        "<a:r><a:t> of it.</a:t></a:r></a:p>"
    )
    shape = files[first].decode()
    box = shape[shape.index("<p:sp>") : shape.index("</p:sp>") + 7]
    newer = box.replace("Half is", "Only for newer programs").replace('id="2"', 'id="3"')
    frame = (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="{}" name="x"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm/><a:graphic><a:graphicData uri="{}">{}</a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )
    relations = f'<dgm:relIds xmlns:dgm="{DRAWING}/diagram" r:dm="m1"/>'
    more = (
        f'<mc:AlternateContent xmlns:mc="{_COMPAT}"><mc:Choice Requires="x">{newer}</mc:Choice><mc:Fallback>{newer}'
        f"</mc:Fallback></mc:AlternateContent>{frame.format(4, f'{DRAWING}/diagram', relations)}"
        f"{frame.format(5, 'http://schemas.openxmlformats.org/presentationml/2006/ole', '')}"
        '<p:pic><p:nvPicPr><p:cNvPr id="6" name="x"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill/><p:spPr/></p:pic>'
    )
    files[first] = (
        shape.replace("</a:t></a:r></a:p>", f" </a:t></a:r>{math}")
        .replace("</p:spTree>", f"{more}</p:spTree>")
        .encode()
    )
    files[second] = files[second].replace(b"<p:sld ", b'<p:sld show="0" ')
    name = "ppt/slides/_rels/slide1.xml.rels"
    parts = {"c1": ("comments", "c.xml"), "c2": ("comments", "c2.xml"), "m1": ("diagramData", "d.xml")}
    added = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"/>' for key, (kind, target) in parts.items()
    )
    files[name] = files[name].replace(b"</Relationships>", f"{added}</Relationships>".encode())
    files["ppt/slides/c.xml"] = b'<x><cm authorId="0"><text>Is it so?</text></cm></x>'
    files["ppt/slides/c2.xml"] = (
        f'<x xmlns:a="{DRAWING}/main"><cm><txBody><a:p><a:r><a:t>And this?</a:t></a:r></a:p></txBody></cm></x>'.encode()
    )
    files["ppt/slides/d.xml"] = word_part("<a:t>Plan</a:t><a:t>Build</a:t>", "data").encode()
    return archive(files)
