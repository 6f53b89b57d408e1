"""The program inside a sandbox: runs cells one after another in one namespace. Standard library only.

Requests come on descriptor 0, answers leave on descriptor 1 as frames (four bytes of length, then JSON; the files of an
answer follow as plain bytes), and the output of code leaves on descriptor 2. Code shares this process, or that of its
kernel, so nothing here protects anything: the confinement is outside, and the reader trusts no answer more than the
code itself.
"""

from __future__ import annotations

import ast
import fcntl
import gc
import inspect
import io
import json
import linecache
import os
import resource
import signal
import stat
import struct
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = "/out"
KEPT_LINES = 30
_OWN = os.getpid()
_LIBRARY = f"{Path(os.__file__).parent}/"


class Stopped(BaseException):
    """The cell must end: it took too long or printed too much."""


class Output(io.RawIOBase):
    """The output of code: written to descriptor 1 at once. Too much of it ends the cell."""

    def __init__(self) -> None:
        self.room = 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        content = bytes(data)
        _send(1, content[: max(0, self.room)])
        self.room -= len(content)
        if self.room < 0:
            raise Stopped("it printed more than is allowed; print less, or only the part that matters")
        return len(content)


class Text(io.TextIOBase):
    """`sys.stdout` and `sys.stderr`, unbuffered: nothing is lost when the cell is killed."""

    def __init__(self, output: Output) -> None:
        self.buffer = output

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, text: str) -> int:
        self.buffer.write(str(text).encode("utf-8", "replace"))
        return len(text)


def main() -> None:
    """Answer requests until the input ends."""
    requests = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
    answers = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
    folder = fcntl.fcntl(os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), fcntl.F_DUPFD_CLOEXEC, 100)
    os.closerange(3, 100)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    limits = _receive(requests)
    _set_limits(limits)
    output = Output()
    # The same one for every cell: the interpreter crashes if a thread prints to one that is freed meanwhile.
    printed = Text(output)
    namespace = types.ModuleType("__main__")
    sys.modules["__main__"] = namespace
    (own, *kernels), sys.argv = sys.argv, [""]
    sys.path[:] = [FOLDER, *(entry for entry in sys.path if entry)]
    run, end_others = (
        _start_kernel(kernels[0], own, limits) if kernels else _use_own_process(namespace.__dict__, limits)
    )
    # Later collections skip the interpreter's own objects, which makes each cheaper.
    gc.freeze()
    _answer(answers, {"ready": True}, [])
    number = 0
    while True:
        request = _receive(requests)
        number += 1
        before = _list_files(folder)
        _shown.clear()
        output.room = limits["output"]
        sys.stdout = sys.stderr = printed
        sys.stdin = io.TextIOWrapper(io.BytesIO())
        value, error, told = run(request["code"], number, request["seconds"])
        if os.getpid() != _OWN:
            os._exit(0)  # A child that code forked and that left the cell like its parent.
        end_others()
        contents, notes = _collect(folder, before, limits)
        _send(1, request["end"].encode())
        _answer(
            answers,
            {
                "id": request["id"],
                "value": value,
                "error": error,
                "notes": told + notes,
                "files": [[name, len(content)] for name, content in contents],
            },
            [content for _, content in contents],
        )


_shown: list[tuple[str, bytes]] = []
"""Images that the cell displayed, with their names."""

Run = Callable[[str, int, float], tuple[str, str, list[str]]]
"""Runs a cell (code, number, seconds) and returns the last value, the error and notes."""


def _start_kernel(path: str, own: str, limits: dict[str, Any]) -> tuple[Run, Callable[[], None]]:
    """Start a Jupyter kernel in its own process; return how to run a cell and how to end its processes."""
    import runpy

    notebook = runpy.run_path(path)["Notebook"](own, limits, _shown)
    return lambda code, number, seconds: notebook.run(code, seconds), notebook.end_others


def _use_own_process(names: dict[str, Any], limits: dict[str, Any]) -> tuple[Run, Callable[[], None]]:
    """Run cells in this process; return how to run a cell and how to end its processes."""
    names["display"] = _display

    def run(code: str, number: int, seconds: float) -> tuple[str, str, list[str]]:
        return *_run(code, f"<cell {number}>", seconds, names, limits), []

    return run, _end_others


def _display(*values: Any) -> None:
    """Show values as a notebook does: images as images, the rest as text."""
    for value in values:
        image = _render_image(value)
        if image is None:
            print(repr(value))  # noqa: T201
        else:
            _shown.append(("figure.png", image))


def _render_image(value: Any) -> bytes | None:
    """`value` as PNG, or None if it cannot draw itself."""
    module = type(value).__module__.partition(".")[0]
    if module == "matplotlib" and type(value).__name__ == "Figure":
        return _render_figure(value)
    draw = getattr(value, "_repr_png_", None)
    if draw is None or isinstance(value, type):
        return None
    try:
        content = draw()
    except Exception:  # noqa: BLE001  # the code of others
        return None
    return content if isinstance(content, bytes) and content else None


def _render_figure(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", dpi=120)
    return buffer.getvalue()


_running = False


def _interrupt(number: int, frame: Any) -> None:
    if _running:
        if number == signal.SIGXCPU:
            raise Stopped("it used more processor time than is allowed")
        raise Stopped("it ran longer than is allowed")


def _run(code: str, name: str, seconds: float, names: dict[str, Any], limits: dict[str, Any]) -> tuple[str, str]:
    """Run a cell; return the value of its last expression and the error, if it failed."""
    global _running
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    for caught in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(caught, _interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(spent.ru_utime + spent.ru_stime + limits["cpu"]) + 1, resource.RLIM_INFINITY)
    )
    value, error = "", ""
    try:
        try:
            _running = True
            # Repeatedly, because an exception raised in a callback of the interpreter is lost.
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
            value = _show_value(_evaluate(code, name, names), names)
            if len(value) > limits["value"]:
                value = value[: limits["value"]] + " […]"
        finally:
            _running = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stopped as stop:
        error = f"Stopped: {stop}. Variables are kept."
    except SystemExit as ended:
        if ended.code not in (None, 0):
            error = f"SystemExit: {ended.code}"[: limits["value"]]
    except BaseException as raised:  # noqa: BLE001  # whatever code raises is its result
        error = _describe_error(raised, limits)
    finally:
        _running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    return value, error


def _evaluate(code: str, name: str, names: dict[str, Any]) -> Any:
    """Run `code`; return the value of its last line if that is an expression without a semicolon."""
    tree = ast.parse(code, name)
    last: ast.Expression | None = None
    if tree.body and isinstance(end := tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
        last = ast.Expression(end.value)
        del tree.body[-1]
    result = None
    for part, mode in ((tree, "exec"), (last, "eval")):
        if part is None:
            continue
        compiled = compile(part, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        result = eval(compiled, names)
        if compiled.co_flags & inspect.CO_COROUTINE:
            import asyncio

            result = asyncio.run(_wait_for(result))
    return result if last is not None else None


async def _wait_for(result: Any) -> Any:
    return await result


def _show_value(value: Any, names: dict[str, Any]) -> str:
    if value is None:
        return ""
    names["_"] = value
    image = _render_image(value)
    if image is not None:
        _shown.append(("figure.png", image))
        return ""
    return repr(value)


def _describe_error(raised: BaseException, limits: dict[str, Any]) -> str:
    """The last lines of a traceback: frames of the code, and the last frame of a library."""
    try:
        report = traceback.TracebackException(type(raised), raised, raised.__traceback__, limit=-50, compact=True)
        links: list[Any] = [report]
        while links:
            link = links.pop()
            own = [frame for frame in link.stack if frame.filename.startswith("<cell")]
            last = link.stack[-1:] if own else []
            link.stack[:] = own if last == own[-1:] else own + last
            for frame in link.stack:
                frame.filename = frame.filename.removeprefix("/packages/").removeprefix(_LIBRARY)
            links += [other for other in (link.__cause__, link.__context__, *(link.exceptions or ())) if other]
        lines = "".join(report.format() if report.stack else report.format_exception_only()).rstrip().splitlines()
    except BaseException:  # noqa: BLE001  # an exception whose text cannot be made
        lines = [f"{type(raised).__name__}: it could not be printed"]
    if len(lines) > KEPT_LINES:
        lines = ["[…]", *lines[-KEPT_LINES:]]
    text = "\n".join(lines)
    if isinstance(raised, MemoryError):
        text += f"\nA cell has {limits['memory'] // 1048576} MiB of memory."
    return text[-limits["value"] :]


def _list_files(folder: int) -> dict[str, tuple[int, int, int]]:
    """The regular files of the folder with time, size and inode."""
    found: dict[str, tuple[int, int, int]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and not entry.name.startswith("."):
                    found[entry.name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        pass
    return found


def _collect(
    folder: int, before: dict[str, tuple[int, int, int]], limits: dict[str, Any]
) -> tuple[list[tuple[str, bytes]], list[str]]:
    """New and changed files, displayed images and open figures of the cell; and notes on what is missing."""
    notes: list[str] = []
    made: list[tuple[str, bytes]] = []
    room = limits["files_sent"]

    def keep(name: str, content: bytes) -> None:
        nonlocal room
        if len(made) >= limits["files"] or len(content) > room:
            notes.append(f"{name[:80]} was not sent: too many or too large files in one cell.")
        elif len(content) > limits["file_sent"]:
            notes.append(f"{name[:80]} was not sent: {len(content)} bytes are more than {limits['file_sent']}.")
        else:
            room -= len(content)
            made.append((name, content))

    after = _list_files(folder)
    changed = sorted((seen, name) for name, seen in after.items() if before.get(name) != seen)
    for seen, name in changed[: limits["files"] * 2]:
        if seen[1] > limits["file_sent"]:
            notes.append(f"{name[:80]} was not sent: {seen[1]} bytes are more than {limits['file_sent']}.")
            continue
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    continue
                content = file.read(limits["file_sent"] + 1)
        except OSError as error:
            notes.append(f"{name[:80]} could not be read: {error.strerror}.")
            continue
        keep(name, content)
    if len(changed) > limits["files"] * 2:
        notes.append(f"{len(changed) - limits['files'] * 2} more files were not sent.")
    images = sum(name.lower().endswith((".png", ".jpg", ".jpeg", ".webp", ".svg", ".pdf", ".gif")) for name, _ in made)
    try:
        for name, content in _shown + [("figure.png", drawn) for drawn in _draw_figures(images)]:
            keep(name, content)
    except BaseException as error:  # noqa: BLE001  # drawing runs the code of others
        notes.append(f"A figure could not be drawn: {type(error).__name__}: {str(error)[:200]}")
    return made, notes[:20]


def _draw_figures(saved: int) -> list[bytes]:
    """Draw and close the figures still open; none if the cell has saved as many images itself."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    try:
        numbers = list(pyplot.get_fignums())
        if len(numbers) <= saved:
            return []
        figures = [pyplot.figure(number) for number in numbers[:20]]
        return [_render_figure(figure) for figure in figures if figure.axes or figure.texts or figure.images]
    finally:
        pyplot.close("all")


def _end_others() -> None:
    """Kill the processes that the cell left; the system spares this one and the first of the sandbox."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        return
    try:
        while os.waitpid(-1, 0)[0]:
            pass
    except OSError:
        return


def _set_limits(limits: dict[str, Any]) -> None:
    """Apply the limits; code cannot raise them again."""
    for kind, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, limits["descriptors"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    # When this machine runs out of memory, the kernel should end this process before any other.
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        pass
    import warnings

    warnings.filterwarnings("ignore", message=".*non-interactive.*")


def _receive(descriptor: int) -> Any:
    length = struct.unpack("!I", _read_exactly(descriptor, 4))[0]
    return json.loads(_read_exactly(descriptor, length))


def _read_exactly(descriptor: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 65536))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _answer(descriptor: int, header: dict[str, Any], contents: list[bytes]) -> None:
    body = json.dumps(header).encode()
    _send(descriptor, struct.pack("!I", len(body)) + body)
    for content in contents:
        _send(descriptor, content)


def _send(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
