"""Formulas of Office documents read as LaTeX."""

from __future__ import annotations

import pytest

from tools.documents.formulas import to_latex

etree = pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")


def r(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def e(text: str) -> str:
    return f"<m:e>{r(text)}</m:e>"


@pytest.mark.parametrize(
    ("written", "latex"),
    [
        (r("𝑎+b=π"), "a+b=π"),
        (f"<m:sSup>{e('x')}<m:sup>{r('2')}</m:sup></m:sSup>", "x^{2}"),
        (f"<m:sSub>{e('xy')}<m:sub>{r('i')}</m:sub></m:sSub>", "{xy}_{i}"),
        (f"<m:sSubSup>{e('x')}<m:sub>{r('i')}</m:sub><m:sup>{r('2')}</m:sup></m:sSubSup>", "x_{i}^{2}"),
        (f"<m:sPre><m:sub>{r('1')}</m:sub><m:sup>{r('2')}</m:sup>{e('H')}</m:sPre>", "{}_{1}^{2}H"),
        (f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/>{e("x")}</m:rad>', r"\sqrt{x}"),
        (f"<m:rad><m:deg>{r('3')}</m:deg>{e('x')}</m:rad>", r"\sqrt[3]{x}"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{r("i=1")}</m:sub><m:sup>{r("n")}</m:sup>{e("i")}'
            "</m:nary>",
            r"\sum_{i=1}^{n} i",
        ),
        (f"<m:nary><m:sub/><m:sup/>{e('f')}</m:nary>", r"\int f"),
        (f"<m:d>{e('x')}</m:d>", r"\left( x \right)"),
        (f'<m:d><m:dPr><m:begChr m:val="{{"/><m:endChr m:val=""/></m:dPr>{e("x")}</m:d>', r"\left\{ x \right."),
        (
            f"<m:m><m:mr>{e('1')}{e('0')}</m:mr><m:mr>{e('0')}{e('1')}</m:mr></m:m>",
            r"\begin{matrix} 1 & 0 \\ 0 & 1 \end{matrix}",
        ),
        (f"<m:eqArr>{e('a')}{e('b')}</m:eqArr>", r"\begin{aligned} a \\ b \end{aligned}"),
        (f"<m:func><m:fName>{r('sin')}</m:fName>{e('x')}</m:func>", r"\sin{x}"),
        (
            f"<m:func><m:fName><m:limLow>{e('lim')}<m:lim>{r('n→∞')}</m:lim></m:limLow></m:fName>{e('x')}</m:func>",
            r"\lim_{n→∞}{x}",
        ),
        (f'<m:acc><m:accPr><m:chr m:val="\u20d7"/></m:accPr>{e("v")}</m:acc>', r"\vec{v}"),
        (f'<m:bar><m:barPr><m:pos m:val="top"/></m:barPr>{e("x")}</m:bar>', r"\overline{x}"),
        (f"<m:groupChr>{e('x')}</m:groupChr>", r"\underbrace{x}"),
        (f"<m:limUpp>{e('x')}<m:lim>{r('y')}</m:lim></m:limUpp>", "x^{y}"),
        (f'<m:f><m:fPr><m:type m:val="lin"/></m:fPr><m:num>{r("1")}</m:num><m:den>{r("2")}</m:den></m:f>', "1/2"),
        (
            f'<m:f><m:fPr><m:type m:val="noBar"/></m:fPr><m:num>{r("n")}</m:num><m:den>{r("k")}</m:den></m:f>',
            r"\binom{n}{k}",
        ),
        (f"<m:borderBox>{e('100%')}</m:borderBox>", r"100\%"),
    ],
)
def test_a_formula_reads_as_latex(written: str, latex: str) -> None:
    space = "http://schemas.openxmlformats.org/officeDocument/2006/math"

    assert to_latex(etree.fromstring(f'<m:oMath xmlns:m="{space}">{written}</m:oMath>')) == latex
