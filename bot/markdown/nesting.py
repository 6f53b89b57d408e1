"""A block of Markdown in an answer that contains blocks of code itself, as a README does.

Models open both with three backticks. To a Markdown parser the end of the first inner block then ends the outer one,
and what follows the answer's example becomes code. So the outer fence gets one backtick more.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`\n]*)")
_MAY_BE_ONE: Final = re.compile(r"[ \t]{0,12}(?:`{0,2}|~{0,2}|(?:`{3,20}|~{3,20})[^`\n]{0,100})")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MARKDOWN: Final = frozenset({"markdown", "md", "mdx"})
_OUTER: Final = "````"


class NestedFences:
    """Lengthens the fences around blocks of Markdown in a stream; holds back only a line that may be a fence."""

    def __init__(self) -> None:
        self._held = ""
        self._within = False
        """The beginning of the present line was given out."""
        self._outer = False
        self._inner = ""
        """The fence of the present block of code, in a block of Markdown or outside."""

    def feed(self, text: str) -> str:
        """Take more text and return what may be shown now."""
        text, self._held = self._held + text, ""
        shown: list[str] = []
        for line in _LINES.findall(text):
            if self._within:
                shown.append(line)
            elif line.endswith("\n"):
                shown.append(self._line(line[:-1]) + "\n")
            elif _MAY_BE_ONE.fullmatch(line):
                self._held = line
                break
            else:
                shown.append(line)
            self._within = not line.endswith("\n")
        return "".join(shown)

    def finish(self) -> str:
        """Return the text held back, at the end of the text."""
        text, self._held = self._held, ""
        return self._line(text)

    def _line(self, line: str) -> str:
        found = _FENCE.fullmatch(line)
        if found is None:
            return line
        indent, fence, info = found[1], found[2], found[3].strip()
        if self._inner:
            if not info and fence.startswith(self._inner):
                self._inner = ""
        elif self._outer and not info:
            self._outer = False
            return indent + _OUTER
        elif not self._outer and fence == "```" and info.lower() in _MARKDOWN:
            self._outer = True
            return f"{indent}{_OUTER}{found[3]}"
        else:
            self._inner = fence
        return line
