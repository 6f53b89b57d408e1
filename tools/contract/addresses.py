"""Split URLs that came from outside."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST_PLACE: Final = 1_000
"""Characters between `//` and the path: a host has 253 at most, the rest is for a user name and password."""
_PLACE = re.compile(rf"//[^/?#]{{{LONGEST_PLACE + 1}}}")


def split_address(url: str) -> SplitResult:
    """Split a URL in linear time.

    The standard library first normalises a host's Unicode, which takes the square of its number of combining marks: a
    second for 40,000.

    Raises:
        ValueError: it is not one, or its host is too long.
    """
    if _PLACE.search(url):
        raise ValueError("the host is too long")
    return urlsplit(url)
