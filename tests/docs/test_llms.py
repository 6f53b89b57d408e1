"""`llms.txt` lists every document in one line each, and `AGENTS.md` fits one page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = re.findall(r"^- \[.+?\]\((.+?)\): .+$", (ROOT / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_document_is_listed_once_and_exists() -> None:
    pages = {
        path.relative_to(ROOT).as_posix()
        for folder in (".", "docs", "docs/zh")
        for path in (ROOT / folder).glob("*.md")
    }

    assert len(LISTED) == len(set(LISTED))
    assert set(LISTED) - pages == {".env.example", "examples/README.md"}
    assert pages <= set(LISTED)
    assert not [name for name in LISTED if not (ROOT / name).exists()]


def test_it_has_the_form_that_programs_read() -> None:
    """https://llmstxt.org: a title, a summary as a quotation, then sections of links."""
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")

    assert re.match(r"# Parley\n\n> .+\n(> .+\n)*\n", text)
    sections = text.split("\n## ")[1:]
    assert sections and all(re.fullmatch(r".+\n\n(- \[.+\]\(.+\): .+\n?)+\n?", one) for one in sections)


def test_the_page_for_coding_agents_is_one_page() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 60
