"""`CHANGELOG.md`: three sections a release, once each, in order, and nothing said twice."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

PAGE = (Path(__file__).parent.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")


def test_each_release_has_added_changed_and_fixed_once_in_order() -> None:
    releases = re.split(r"^## .+$", PAGE, flags=re.MULTILINE)[1:]

    assert releases
    for release in releases:
        parts = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert [part for part in parts if part != "Removed"] == ["Added", "Changed", "Fixed"]
        assert "Removed" not in parts or (parts.index("Removed") == 2 and parts.count("Removed") == 1)


def test_no_bullet_says_only_what_another_says() -> None:
    """Merges join both sides' lines, so that what was joined by hand can come back beside it."""
    bullets = re.findall(r"^- (.+?)(?=^- |^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    words = {" ".join(bullet.split()): set(re.findall(r"[\w/-]+", bullet.lower())) for bullet in bullets}

    assert len(words) == len(re.findall("^- ", PAGE, re.MULTILINE)) > 50
    twice = [
        f"{one[:80]!r} and {other[:80]!r}"
        for (one, own), (other, its) in itertools.permutations(words.items(), 2)
        if len(own & its) > 0.85 * len(own)
    ]
    assert not twice
