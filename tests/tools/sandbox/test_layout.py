"""What a sandbox can read, and what it costs to find out."""

from __future__ import annotations

import importlib.metadata

import pytest

from tools.sandbox import layout as layouts
from tools.sandbox.layout import PACKAGES, code_layout


def test_a_package_comes_with_what_it_needs_and_nothing_else() -> None:
    found = code_layout(["aiohttp"])

    targets = {mount.target for mount in found.mounts if mount.target.startswith(PACKAGES)}
    assert {f"{PACKAGES}/aiohttp", f"{PACKAGES}/yarl", f"{PACKAGES}/multidict"} <= targets
    assert f"{PACKAGES}/pytest" not in targets
    assert found.packages == (f"aiohttp {importlib.metadata.version('aiohttp')}",)


def test_a_package_that_is_not_installed_is_left_out() -> None:
    assert code_layout(["no-such-package-of-ours"]).packages == ()


def test_what_a_package_installed_is_looked_up_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts._installed.cache_clear()
    looked_up = []
    real = importlib.metadata.distribution

    def distribution(name: str) -> importlib.metadata.Distribution:
        looked_up.append(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)

    first = code_layout(["aiohttp"])
    once = list(looked_up)

    assert code_layout(["aiohttp"]) == first
    assert once.count("aiohttp") == 1 and looked_up == once
