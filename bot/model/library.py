"""The openai library, imported without the classes of its messages and events.

These are a third of the modules of a start: 370, 9 MiB and a seventh of a second of the processor. Requests of ours are
plain values (`bot.model.api`) and use none of them. So the packages that gather them stay empty while the library is
loaded; whoever uses one afterwards, also as an attribute, loads the whole package.
https://docs.python.org/3/reference/datamodel.html#customizing-module-attribute-access
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_GATHERING = ("openai.types", "openai.types.responses")
"""Packages that import all their modules."""


@contextmanager
def later(*names: str) -> Iterator[None]:
    """Leave these packages empty within the block, unless they are already loaded: an import finds only their modules.

    Args:
        names: each package after the one that contains it.
    """
    waiting: dict[str, ModuleType] = {}
    for name in names:
        if name not in sys.modules and (package := _empty(name)) is not None:
            waiting[name] = sys.modules[name] = package
    try:
        yield
    finally:
        for name, package in waiting.items():
            _end(name, package)


def _empty(name: str) -> ModuleType | None:
    """Return a package that loads itself when something is looked up in it; None if there is no such package."""
    parent = name.rpartition(".")[0]
    around = sys.modules[parent].__spec__ if parent in sys.modules else find_spec(parent)
    spec = PathFinder.find_spec(name, around.submodule_search_locations) if around is not None else None
    if spec is None:
        return None
    package = module_from_spec(spec)

    def look_up(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        _end(name, package)
        return getattr(importlib.import_module(name), wanted)

    vars(package)["__getattr__"] = look_up
    return package


def _end(name: str, package: ModuleType) -> None:
    """Have the next import of a package that was left empty load it."""
    if sys.modules.get(name) is package:
        del sys.modules[name]


with later(*_GATHERING):
    import openai as openai
