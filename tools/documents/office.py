"""Read documents and presentations of Microsoft Office. Macros, linked files and pictures are parts nothing opens."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from tools.documents.findings import Findings, Found
from tools.documents.kinds import Archive
from tools.documents.slides import comments_beside, diagrams_of, open_up
from tools.documents.trees import cell_text, find_title, related, split_sections, table_lines, to_markdown
from tools.documents.word import write_plainly
from tools.fetch.reader import parse_html, tidy

_CORE = "docProps/core.xml"
_DEEPEST = 20
"""Groups of shapes within each other."""
MOST_ROWS = 2000


def read_docx(body: bytes, findings: Findings) -> Iterator[Found]:
    """The sections of a document; all its text as one where it has no headings."""
    import mammoth

    findings.title = find_title(Archive(body).read(_CORE))
    plain, margins = write_plainly(body, findings)
    yield from (one for one in margins if one[0] == "page header")
    # A picture that is not converted is not unpacked either.
    no_pictures = mammoth.images.img_element(lambda image: {})
    converted = mammoth.convert_to_html(io.BytesIO(plain), convert_image=no_pictures)
    findings.left["symbol"] += sum("w:sym" in one.message for one in converted.messages)
    html = converted.value
    if html.strip():
        yield from split_sections(to_markdown(_tidied(parse_html(html))))
    yield from (one for one in margins if one[0] == "page footer")


def _tidied(tree: Any) -> Any:
    """The HTML of a document with its ticks as signs, and without links within it."""
    for box in list(tree.iter("input")):
        box.tag, box.text = "span", "☐" if box.get("checked") is None else "☑"
    for link in list(tree.iter("a")):
        # Links within the document are noise, and marks without a target are no links.
        if not (link.get("href") or "").startswith(("http://", "https://", "mailto:")):
            link.tag = "span"
    return tree


def read_pptx(body: bytes, findings: Findings) -> Iterator[Found]:
    """Each slide with its tables and notes."""
    from pptx import Presentation

    archive = Archive(body)
    findings.title = find_title(archive.read(_CORE))
    slides = Presentation(io.BytesIO(body)).slides
    findings.unit, findings.total = "slides", len(slides)
    for number, slide in enumerate(slides, 1):
        tree, path = slide.element, slide.part.partname.lstrip("/")
        beside = list(related(archive, path))
        open_up(tree)
        findings.left["picture"] += sum(1 for _ in tree.iter("{*}pic"))
        findings.left["embedded object"] += sum("/ole" in one.get("uri", "") for one in tree.iter("{*}graphicData"))
        title = slide.shapes.title
        heading = cell_text(title.text_frame.text) if title is not None else ""
        blocks = [f"# {heading}" if heading else ""]
        blocks += _shapes(shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            blocks.append(f"Notes: {frame.text.strip()}")
        blocks += diagrams_of(tree, archive, beside, findings)
        blocks += comments_beside(archive, beside)
        label = f"slide {number}" + (f": {heading}" if heading else "")
        label += " (hidden)" if tree.get("show") in ("0", "false") else ""
        yield label, tidy("\n\n".join(block for block in blocks if block))


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[str]:
    """The text of shapes, and of those within them."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _shapes(shape.shapes, depth + 1)
        elif getattr(shape, "has_table", False):
            rows = itertools.islice(shape.table.rows, MOST_ROWS)
            yield "\n".join(table_lines([[cell_text(cell.text) for cell in row.cells] for row in rows]))
        elif getattr(shape, "has_chart", False):
            yield "\n".join(table_lines(_chart(shape.chart)))
        elif shape.has_text_frame:
            yield "\n".join(
                f"{'  ' * paragraph.level}- {text}" if paragraph.level else text
                for paragraph in shape.text_frame.paragraphs
                if (text := " ".join(paragraph.text.split()))
            )


def _chart(chart: Any) -> list[list[str]]:
    """The numbers behind a chart."""
    plot = next(iter(chart.plots), None)
    if plot is None:
        return []
    series = list(itertools.islice(plot.series, MOST_ROWS))
    rows = [["", *(cell_text(one.name or "") for one in series)]]
    for number, category in enumerate(itertools.islice(plot.categories, MOST_ROWS)):
        values = [one.values[number] if number < len(one.values) else None for one in series]
        rows.append([cell_text(str(category)), *("" if value is None else f"{value:g}" for value in values)])
    return rows
