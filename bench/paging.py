"""How long cutting takes: `python bench/paging.py` prints milliseconds per 12,000 characters, best of 30.

The aim (design, section 8) is at most 1 ms for a whole pass.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bot.contract import utf16_length
from bot.reply.paging import Paginator

PART = """## Heading

Some paragraph of **bold** text with `code` and [a link](https://example.com/x). It goes on; and on, for a while.
A second line of it, 中文也有一些，还有表情 🎉. Then the sentence ends.

- item one
- item two with more words in it, as lists in answers have

```python
def squares(numbers):
    return [number * number for number in numbers]
```

| name | value |
|---|---|
| one | 1 |
| two | 2 |

"""
TEXT = (PART * 40)[:12_000]


def whole() -> None:
    pages = Paginator(3600, utf16_length)
    pages.extend(TEXT)
    pages.finish()
    assert len(pages.pages) > 3


def streamed() -> None:
    pages = Paginator(3600, utf16_length)
    for start in range(0, len(TEXT), 5):
        pages.extend(TEXT[start : start + 5])
    pages.finish()


def best(run: object, times: int = 30) -> float:
    assert callable(run)
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least * 1000


if __name__ == "__main__":
    print(f"whole, one delta:        {best(whole):.2f} ms")
    print(f"in deltas of 5:          {best(streamed):.2f} ms")
