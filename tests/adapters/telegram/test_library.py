"""The library as it is imported: without what no bot of ours uses, and leaving no trace for others."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from adapters.telegram.library import drop_documentation, without


def test_a_module_is_missing_only_meanwhile_and_one_that_is_loaded_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with without("colorsys", "json"):
        with pytest.raises(ImportError):
            import colorsys
        import json
    assert json.loads("1") == 1 and "colorsys" not in sys.modules
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_it_is_missing_no_longer_whatever_happens() -> None:
    with pytest.raises(ValueError, match="meanwhile"), without("colorsys.nothing"):
        raise ValueError("meanwhile")
    assert "colorsys.nothing" not in sys.modules


def test_only_what_a_package_itself_defines_loses_its_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        """Its own."""

    class Others:
        """Of another package."""

    inner = ModuleType("drawer.inner")
    Own.__module__, inner.Own, inner.Others, inner.number = inner.__name__, Own, Others, 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "drawer", ModuleType("drawer"))
    monkeypatch.setitem(sys.modules, inner.__name__, inner)

    drop_documentation("drawer")

    assert (Own.__doc__, Others.__doc__) == (None, "Of another package.")
