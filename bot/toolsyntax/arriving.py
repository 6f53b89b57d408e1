"""The pieces of a reply as they arrive, made readable: whole characters, without meaningless parts."""

from __future__ import annotations

from typing import Final

from bot.toolsyntax.tokens import NOISE

HIGH: Final = ("\ud800", "\udbff")
"""The first halves of characters that are sent in two."""


class Arriving:
    """Holds back half a character, and what may become the noise that one family has before each tag."""

    def __init__(self) -> None:
        self._half = ""
        self._noise = ""

    def feed(self, text: str) -> str:
        """Return the text that this piece completes."""
        if self._noise or NOISE[0] in text:
            text = (self._noise + text).replace(NOISE, "")
            kept = next((size for size in range(len(NOISE) - 1, 0, -1) if text.endswith(NOISE[:size])), 0)
            self._noise = text[len(text) - kept :]
            text = text[: len(text) - kept]
        if not self._half and not (text and HIGH[0] <= text[-1] <= HIGH[1]):
            return text
        text = self._half + text
        self._half = text[-1] if text and HIGH[0] <= text[-1] <= HIGH[1] else ""
        text = text[: len(text) - len(self._half)]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def finish(self) -> str:
        """Return the text held back."""
        kept, self._half, self._noise = self._half + self._noise, "", ""
        return kept
