"""`CHANGELOG.md`: three sections a release, once each, in order, and no bullet twice."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parent.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")


def test_each_release_has_added_changed_and_fixed_once_in_order() -> None:
    releases = re.split(r"^## .+$", PAGE, flags=re.MULTILINE)[1:]

    assert releases
    for release in releases:
        assert re.findall(r"^### (.+)$", release, re.MULTILINE) == ["Added", "Changed", "Fixed"]


def test_no_bullet_stands_twice() -> None:
    bullets = [
        " ".join(one.split()) for one in re.findall(r"^- (.+?)(?=^- |^#|^\w|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    ]

    assert len(bullets) == len(re.findall("^- ", PAGE, re.MULTILINE)) > 50
    assert len(set(bullets)) == len(bullets)
