"""The newest of what comes one by one."""

from __future__ import annotations

from tools.contract.newest import Newest


def test_the_oldest_goes_and_what_comes_again_is_new() -> None:
    kept: Newest[str, int] = Newest(2)
    for key, value in [("a", 1), ("b", 2), ("a", 3), ("c", 4)]:
        kept.put(key, value)

    assert dict(kept) == {"a": 3, "c": 4}
