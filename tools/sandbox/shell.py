"""The shell of a notebook inside a sandbox: magics, rich display, figures inline. Alone: standard library and IPython.

Loaded by the worker when it is named on its command line, and run in its process. So frames, limits, killing and the
tracebacks are the worker's, and no message socket exists that code could speak on.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import re
import traceback
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

# Told before matplotlib is imported. Figures appear where the code shows them, as in a notebook.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

_NO_SHELL = "there is no system shell in the sandbox, and nothing can be installed; write it in Python"
_BARE = re.compile(r"<[\w.<>]+( object| at 0x[0-9a-f]+| object at 0x[0-9a-f]+)>")
"""The text of an object that has none of its own."""
_RESERVE = 8 * 2**20
_PICTURES = {"image/png": "figure.png", "image/jpeg": "figure.jpg", "image/svg+xml": "figure.svg"}
_shown: list[tuple[str, bytes]] = []
"""The worker's list of what a cell displayed."""
_value = ""
"""The last expression's value as text."""


def open_shell(namespace: ModuleType, shown: list[tuple[str, bytes]]) -> Callable[[str, str], str]:
    """A function that runs a cell of that name in `namespace` and tells what its last line is worth.

    Pictures go to `shown`. What the cell raises is raised.
    """
    global _shown
    _shown = shown
    config = Config()
    config.HistoryManager.enabled = False  # its thread and its database
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.automagic = False
    config.InteractiveShell.enable_tip = False
    warnings.filterwarnings("ignore", message="To exit:")
    shell: Any = Shell.instance(config=config, user_module=namespace)
    register = shell.events.register

    def registered(event: str, function: Any) -> None:
        # What is still open at the end is drawn by the worker, which leaves out what the code has saved itself.
        if getattr(function, "__name__", "") != "flush_figures":
            register(event, function)

    shell.events.register = registered

    def evaluate(code: str, name: str) -> str:
        global _value
        _value = ""
        shell.compile.get_code_name = lambda raw, transformed, number: name
        reserve = _reserved()
        try:
            done = shell.run_cell(code, store_history=True)
        finally:
            if reserve is not None:
                reserve.close()
        for error in (done.error_before_exec, done.error_in_exec):
            if error is not None:
                raise error
        return _value

    return evaluate


def _reserved() -> mmap.mmap | None:
    """Memory that a cell cannot take, so that after one that took all there is enough for the shell to run the next."""
    try:
        mmap.mmap(-1, 3 * _RESERVE).close()
        return mmap.mmap(-1, _RESERVE)
    except OSError:
        return None  # This is the next one.


class Publisher(DisplayPublisher):
    """What `display()` shows: pictures to the worker, the rest printed."""

    def publish(self, data: Mapping[str, Any], *_: Any, **__: Any) -> None:
        text = _told(data)
        if text:
            print(text)  # noqa: T201

    def clear_output(self, wait: bool = False) -> None:
        """What was printed has left already."""


class Value(DisplayHook):
    """What the last expression is worth."""

    def update_user_ns(self, result: Any) -> None:
        """`_` is the last value, as without this shell; all others would be kept alive for nobody."""
        shell: Any = self.shell
        shell.user_ns["_"] = result

    def write_output_prompt(self) -> None:
        """A value stands alone, without `Out[1]:`."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        global _value
        _value = _told(format_dict)

    def finish_displayhook(self) -> None:
        """Nothing was printed that a line has to end."""


class Shell(InteractiveShell):
    """IPython as the worker needs it: silent about errors, which it raises, and without a system shell."""

    def __init__(self, **given: Any) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            display_pub_class=Publisher, displayhook_class=Value, **given
        )

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        """The worker tells what a cell raised; what remains is what showing a value raised."""
        if exc_tuple is not None:
            print(*traceback.format_exception_only(exc_tuple[1]), end="")  # noqa: T201

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        """The worker tells errors."""

    def system(self, *_: Any, **__: Any) -> NoReturn:
        raise OSError(_NO_SHELL)

    system_piped = system_raw = getoutput = system

    def enable_gui(self, gui: Any = None) -> None:
        """`%matplotlib inline` asks for no event loop, and there is none for other windows."""

    def ask_exit(self) -> NoReturn:
        """The end of the cell; the interpreter stays."""
        raise SystemExit


def _told(data: Mapping[str, Any]) -> str:
    """What a reader gets of a value's forms: a picture where there is one, else the text that says most."""
    for kind, name in _PICTURES.items():
        content = data.get(kind)
        if isinstance(content, str):
            content = content.encode() if kind == "image/svg+xml" else base64.b64decode(content)
        if isinstance(content, bytes) and content:
            _shown.append((name, content))
            return ""
    plain = data.get("text/plain")
    bare = not isinstance(plain, str) or _BARE.fullmatch(plain) is not None
    # Markup only where the plain text says nothing: that of a table is many times as long as the table.
    for kind in ("text/markdown", "text/latex", *(("text/html",) if bare else ())):
        if isinstance(data.get(kind), str) and data[kind]:
            return str(data[kind])
    if bare and "application/json" in data:
        return json.dumps(data["application/json"], ensure_ascii=False, default=repr)
    return str(plain or "")
