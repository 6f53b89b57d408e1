"""What the filters of an answer hold back of ordinary text while it is written: never more than a few signs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bot.reply.opening import Replies
from bot.safety import LinkPolicy

FEW = 10
"""Signs: the line that opens a block of code is shown when it is complete."""
TEXTS = {
    "numbers": "1000: one thing.\n2024 was a year of 365 days, 10.5 % more.\n100 °C is hot.\n",
    "list": "".join(f"{number}. Item number {number} of the list\n" for number in range(1, 25)),
    "list with brackets": "".join(f"{number}) Item number {number} of the list\n" for number in range(98, 112)),
    "bullets": "- one\n* two words\n+ three\n  - inner one with words\n> quoted words here\n> - in a quote\n",
    "headings": "# One\n## Two words\n### Three words here\n\nText.\n",
    "table": "| a | b |\n| --- | ---: |\n| 1 | 2 words |\n| 100 | 2000 |\n",
    "lines": "before\n---\nafter\n***\nmore\n===\n",
    "Chinese": "标题：第一章【重要】说明（见下文）。\n1、第一点：内容。\n2024年：很好。\n",
    "signs": "a: b; c! d? (f) [g] {h} <i> *j* **k** _l_ ~m~ ~~n~~ `o` \\p 'q' \"r\" & s @t #u $v %w ^x = y + z / |\n",
    "times": "At 10:30, from 9:00-17:00, 12/24/2024, 1,000,000 and 3.14 or 50%.\n12:30: lunch\n",
    "code": "Use `x = 1` and:\n```python\nprint(1)\nfor i in range(10):\n    print(i)\n```\nand ~~~ too.\n",
    "formulas": "$x^2 + y^2 = 1$ and \\(a<b\\) with 3 < 4 > 2.\n",
    "intervals": "".join(f"In [0, {number}) and (a[i], b] it holds.\n" for number in range(9)),
    "addresses": "www is short; h, ht or htt, w or ww, ma or mail: mailto is a scheme; him, how, was @ noon.\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_ordinary_text_is_shown_as_it_comes(text: str, size: int) -> None:
    replies = SimpleNamespace(secrets=("sk-loopback-12345",))
    filters = Replies._filters(replies, LinkPolicy())  # type: ignore[arg-type]  # all it asks of it
    shown, held = 0, list[str]()
    for at in range(0, len(text), size):
        piece = text[at : at + size]
        for each in filters:
            piece = each.feed(piece)
        shown += len(piece)
        written = text[: at + size]
        held.append(written[shown:])

    longest = max(held, key=len)
    assert len(longest) <= FEW, longest
