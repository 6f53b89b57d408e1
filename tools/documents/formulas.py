"""Write the formulas of Word and PowerPoint (Office MathML) as LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from tools.documents.trees import attribute_of, kind_of

_SIGNS: Final = {
    "∑": r"\sum", "∏": r"\prod", "∐": r"\coprod", "∫": r"\int", "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint",
    "⋃": r"\bigcup", "⋂": r"\bigcap", "⋁": r"\bigvee", "⋀": r"\bigwedge",
}  # fmt: skip
_ACCENTS: Final = {
    "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar", "\u0305": r"\overline", "\u0307": r"\dot",
    "\u0308": r"\ddot", "\u20d7": r"\vec", "\u0301": r"\acute", "\u0300": r"\grave", "\u030c": r"\check",
    "\u0306": r"\breve",
}  # fmt: skip
_GROUPS: Final = {"⏞": r"\overbrace", "⏟": r"\underbrace"}
_BRACES: Final = {"{": r"\{", "}": r"\}", "‖": r"\|", "⟨": r"\langle ", "⟩": r"\rangle ", "": "."}
_FUNCTIONS: Final = re.compile(
    r"\\?(arccos|arcsin|arctan|cosh|cos|coth|cot|csc|det|dim|exp|gcd|inf|lim|ln|log|max|min|sec|sinh|sin|sup|tanh|tan)"
)
_SPECIAL: Final = re.compile(r"[{}%&#_^$\\]")


def to_latex(formula: Any) -> str:
    """A formula (`m:oMath`) as LaTeX, without the signs around it."""
    return " ".join(_write_all(formula).split())


def _write_all(node: Any) -> str:
    return "".join(_write(child) for child in node if isinstance(child.tag, str))


def _write(node: Any) -> str:
    kind = kind_of(node)
    if kind == "t":
        return _write_text(node.text or "")
    if kind.endswith("Pr"):
        return ""
    return _STRUCTURES.get(kind, _write_all)(node)


def _write_text(text: str) -> str:
    """Characters of a formula; the slanted and bold letters that mathematics has are the ordinary ones."""
    text = "".join(unicodedata.normalize("NFKC", one) if "\U0001d400" <= one <= "\U0001d7ff" else one for one in text)
    text = _SPECIAL.sub(lambda found: rf"\{found[0]}" if found[0] not in "\\^" else " ", text)
    return "".join(f"{_SIGNS[one]} " if one in _SIGNS else one for one in text)


def _write_fraction(node: Any) -> str:
    above, below = _of(node, "num"), _of(node, "den")
    match _property(node, "type", "bar"):
        case "lin" | "skw":
            return f"{_base(above)}/{_base(below)}"
        case "noBar":
            return rf"\binom{{{above}}}{{{below}}}"
    return rf"\frac{{{above}}}{{{below}}}"


def _write_sum(node: Any) -> str:
    sign = _property(node, "chr", "∫")
    made = _SIGNS.get(sign, sign)
    for name, mark in (("sub", "_"), ("sup", "^")):
        if bound := _of(node, name).strip():
            made += f"{mark}{{{bound}}}"
    return f"{made} {_of(node, 'e')}"


def _write_brackets(node: Any) -> str:
    begin, end = _property(node, "begChr", "("), _property(node, "endChr", ")")
    inner = [_write_all(one) for one in node if kind_of(one) == "e"]
    between = f" {_BRACES.get(one, one)} " if (one := _property(node, "sepChr", "|")) else " "
    return rf"\left{_BRACES.get(begin, begin)} {between.join(inner)} \right{_BRACES.get(end, end)}"


def _write_rows(node: Any) -> str:
    if kind_of(node) == "m":
        rows = [[_write_all(cell) for cell in row if kind_of(cell) == "e"] for row in node if kind_of(row) == "mr"]
        name = "matrix"
    else:
        rows, name = [[_write_all(row)] for row in node if kind_of(row) == "e"], "aligned"
    inner = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\begin{{{name}}} {inner} \end{{{name}}}"


def _of(node: Any, name: str) -> str:
    """A part of a structure."""
    found = node.find(f"{{*}}{name}")
    return "" if found is None else _write_all(found)


def _has(node: Any, name: str) -> bool:
    return node.find(f"{{*}}{name}") is not None


def _property(node: Any, name: str, default: str) -> str:
    """A property of a structure; `default` where it is not written, empty where it is written so."""
    for properties in node:
        if kind_of(properties).endswith("Pr") and (found := properties.find(f"{{*}}{name}")) is not None:
            return attribute_of(found, "val")
    return default


def _base(text: str) -> str:
    return text if len(text.strip()) == 1 else f"{{{text}}}"


def _name(text: str) -> str:
    """The token in the place of a function's name: known ones by their command."""
    return _FUNCTIONS.sub(r"\\\1", text, count=1) if _FUNCTIONS.match(text.strip()) else text


def _write_scripts(node: Any) -> str:
    scripts = [f"{mark}{{{_of(node, name)}}}" for name, mark in (("sub", "_"), ("sup", "^")) if _has(node, name)]
    return f"{_base(_of(node, 'e'))}{''.join(scripts)}"


def _write_root(node: Any) -> str:
    degree = _of(node, "deg").strip()
    return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_of(node, 'e')}}}"


def _write_above(node: Any) -> str:
    """A letter with a sign above or a line above or below it."""
    match kind_of(node):
        case "acc":
            command = _ACCENTS.get(_property(node, "chr", "\u0302"), r"\hat")
        case "bar":
            command = r"\overline" if _property(node, "pos", "bot") == "top" else r"\underline"
        case _:
            command = _GROUPS.get(_property(node, "chr", "⏟"), r"\underbrace")
    return f"{command}{{{_of(node, 'e')}}}"


_STRUCTURES: Final[Mapping[str, Callable[[Any], str]]] = {
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _write_scripts),
    **dict.fromkeys(("acc", "bar", "groupChr"), _write_above),
    "sPre": lambda node: f"{{}}_{{{_of(node, 'sub')}}}^{{{_of(node, 'sup')}}}{_base(_of(node, 'e'))}",
    "f": _write_fraction,
    "rad": _write_root,
    "nary": _write_sum,
    "d": _write_brackets,
    "m": _write_rows,
    "eqArr": _write_rows,
    "func": lambda node: f"{_name(_of(node, 'fName'))}{{{_of(node, 'e')}}}",
    "limLow": lambda node: f"{_name(_of(node, 'e'))}_{{{_of(node, 'lim')}}}",
    "limUpp": lambda node: f"{_name(_of(node, 'e'))}^{{{_of(node, 'lim')}}}",
}
