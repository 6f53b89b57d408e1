"""Split URLs that came from outside."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST_PLACE: Final = 1_000
"""Characters between `//` and the path: a host has 253 at most, the rest is for a name and a password before it."""
_PLACE = re.compile(rf"//[^/?#]{{{LONGEST_PLACE + 1}}}")


def split_address(url: str) -> SplitResult:
    """Split a URL in linear time.

    The standard library puts a host into a normal form of Unicode first, which takes the square of how many combining
    marks stand in it: a second for 40,000.

    Raises:
        ValueError: it is none, or its host is longer than any.
    """
    if _PLACE.search(url):
        raise ValueError("the host is too long")
    return urlsplit(url)
