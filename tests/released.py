"""The release script of `.ci`, for tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def _load() -> ModuleType:
    file = Path(__file__).parent.parent / ".ci/release.py"
    spec = importlib.util.spec_from_file_location("release", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = _load()
