"""What a slide shows that the library for presentations does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tools.documents.findings import Findings
from tools.documents.formulas import to_latex
from tools.documents.kinds import Archive
from tools.documents.trees import attribute_of, diagram_words, kind_of, line_of, nodes_at

_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MOST_COMMENTS = 1000


def open_up(tree: Any) -> None:
    """Turn shapes and formulas for newer programs into ordinary shapes and text."""
    for node in list(tree.iter("{*}AlternateContent")):
        choice, above = node.find("{*}Choice"), node.getparent()
        if above is None:
            continue
        for one in reversed(list(choice) if choice is not None else []):
            node.addnext(one)
        above.remove(node)
    replaced: list[Any] = []
    for formula in list(tree.iter("{*}oMath")):
        paragraph = next(formula.iterancestors(f"{_DRAWN}p"), None)
        if paragraph is None or next(formula.iterancestors("{*}oMath"), None) is not None:
            continue
        top = formula
        while top.getparent() is not paragraph:
            top = top.getparent()
        run = paragraph.makeelement(f"{_DRAWN}r")
        text = run.makeelement(f"{_DRAWN}t")
        text.text = f"${to_latex(formula)}$"
        run.append(text)
        top.addprevious(run)
        replaced.append(top)
    for top in dict.fromkeys(replaced):
        top.getparent().remove(top)


def diagrams_of(
    tree: Any, archive: Archive, beside: Sequence[tuple[str, str, str]], findings: Findings
) -> Iterator[str]:
    """The words of the diagrams of a slide, which are in parts of their own."""
    paths = {key: path for _, key, path in beside}
    for ids in tree.iter("{*}relIds"):
        words = diagram_words(archive, paths.get(attribute_of(ids, "dm"), ""))
        findings.left["diagram's drawing" if words else "diagram"] += 1
        if words:
            yield f"(diagram: {words})"


def comments_beside(archive: Archive, beside: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The comments on a slide."""
    for kind, _, path in beside:
        if kind in ("comments", "comment"):
            for node in nodes_at(archive, path, "cm", "reply")[:_MOST_COMMENTS]:
                said = next((one for one in node if kind_of(one) in ("text", "txBody")), None)
                if said is not None and (text := line_of(said)):
                    yield f"Comment: {text}"
