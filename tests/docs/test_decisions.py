"""`docs/decisions.md`: each paragraph has its date, its choice, what else there was, and the reason."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parent.parent.parent / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_every_decision_has_a_date_a_choice_an_alternative_and_a_reason() -> None:
    paragraphs = [one for one in PAGE.split("\n\n")[2:] if not one.startswith("## ")]
    form = re.compile(r"\*\*2026-\d\d-\d\d\. .+?\.\*\*\s\*Alternatives?:\*\s.+?\s\*Reason:\*\s.+\.", re.DOTALL)

    assert len(paragraphs) > 30
    assert not [one for one in paragraphs if not form.fullmatch(one.strip()) or one.count("*Reason:*") != 1]
