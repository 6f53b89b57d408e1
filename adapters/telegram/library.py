"""python-telegram-bot, imported without the optional parts that no bot of ours uses.

They are the cryptography of Telegram Passport, the command line of httpx and the time zones of pytz: 59 modules, a
tenth of a second and 4.5 MiB at each start. The libraries work without them; `None` in `sys.modules` makes an import
fail as if they were not installed. https://docs.python.org/3/reference/import.html#the-module-cache
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_UNUSED = ("cryptography", "httpx._main", "pytz")


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Make these modules appear missing within the block, unless they are already loaded."""
    missing: dict[str, Any] = {name: None for name in names if name not in sys.modules}
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def drop_documentation(package: str) -> None:
    """Let go of the docstrings of all classes of a package that is loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for one in vars(module).values():
                if isinstance(one, type) and one.__module__ == name:
                    one.__doc__ = None


with without(*_UNUSED):
    import telegram

drop_documentation(telegram.__name__)
