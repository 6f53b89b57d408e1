"""Blocks of Markdown that contain blocks of code: one block, however the stream is cut."""

from __future__ import annotations

import pytest

from bot.markdown import CodeBlock, Paragraph, parse, text_of
from bot.markdown.nesting import NestedFences

README = "Here it is:\n\n```markdown\n# Tea\n\n```bash\nbrew tea\n```\n\nDrink.\n```\n\nEnjoy **it**."
SAME = [
    "```python\nx\n```\n\n```\ny\n```",
    "~~~\n```markdown\n~~~\ntext",
    "````md\n```py\nx\n```\n````\ntext",
    "say ```markdown``` or\n```text",
    "`` ` ``\n\n  `x`",
    "```\n```markdown\n```\nafter",
    "a\r\n```py\r\nx\r\n```",
]


def streamed(text: str, size: int) -> str:
    fences = NestedFences()
    return "".join(fences.feed(text[at : at + size]) for at in range(0, len(text), size)) + fences.finish()


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_a_readme_with_code_is_one_block(size: int) -> None:
    first, block, last = parse(streamed(README, size))

    assert isinstance(first, Paragraph) and isinstance(last, Paragraph)
    assert isinstance(block, CodeBlock) and block.language == "markdown"
    assert block.text == "# Tea\n\n```bash\nbrew tea\n```\n\nDrink."
    assert text_of(last.children) == "Enjoy it."


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("text", SAME)
def test_other_fences_stay_as_they_are(text: str, size: int) -> None:
    assert streamed(text, size) == text


def test_two_blocks_of_markdown_are_two() -> None:
    text = "1. One:\n   ```md\n   # A\n   ```\n2. Two:\n   ```Markdown\n   ~~~js\n   b\n   ~~~\n   ```"

    assert streamed(text, 4) == text.replace("```", "````")


def test_only_what_may_be_a_fence_is_held_back() -> None:
    fences = NestedFences()

    assert fences.feed("see `x` and\n``") == "see `x` and\n"
    assert fences.feed("a`` b") == "``a`` b"
    assert fences.feed("``\n  ") == "``\n"
    assert fences.feed("end") == "  end"
