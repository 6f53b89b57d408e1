"""Read PDFs page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.documents.findings import Findings, Found
from tools.fetch.reader import join_broken_words, open_pdf, read_pdf_page

MOST_WORDS = 200_000
"""Words that are remembered to tell a hyphen of a word from one of a line."""


def read_pdf(body: bytes, findings: Findings) -> Iterator[Found]:
    """The text of each page.

    Raises:
        PasswordNeeded: it asks for one.
    """
    document = open_pdf(body)
    findings.unit, findings.total = "pages", len(document)
    findings.title = str(document.get_metadata_dict()["Title"])
    words: set[str] = set()
    for number in range(len(document)):
        text = read_pdf_page(document, number)
        if len(words) < MOST_WORDS:
            words.update(re.findall(r"\w+", text))
        yield f"page {number + 1}", join_broken_words(text, words)
