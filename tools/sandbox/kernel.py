"""The Jupyter kernel inside a sandbox: `ipykernel`, adapted to a place without input, terminal and network.

It imports nothing of ours. The worker starts it as its child and talks to it over the kernel's sockets (`notebook.py`).
Code shares this process, so nothing here protects anything.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import asyncio
import codecs
import gc
import io
import json
import mmap
import os
import runpy
import select
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import zmq
from ipykernel.displayhook import ZMQShellDisplayHook
from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from jupyter_client.jsonutil import json_default
from traitlets import Type
from traitlets.config import Config

_NO_SHELL = "there is no system shell in the sandbox, and nothing can be installed; write it in Python"
_NO_INPUT = "nobody can type here; put the value into the code"
_DRAWN = (".png", ".jpg", ".jpeg", ".webp", ".svg", ".pdf", ".gif")
_RESERVE = 8 * 2**20
_FLUSH_SECONDS = 0.02
_SETTLE_SECONDS = 0.5
_STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
"""Audit events before a child process starts."""
_OWN = os.getpid()


def main(worker: str, connection: str, answers: int, limits: dict[str, Any]) -> None:
    """Answer requests until this process is killed."""
    sys.argv = [""]
    sys.path[:] = [os.getcwd(), *(entry for entry in sys.path if entry)]  # noqa: PTH109
    # The worker's functions for errors and figures, so that both interpreters report alike.
    shared = runpy.run_path(worker)
    Shell.describe_error = staticmethod(lambda error: shared["_describe_error"](error, limits))
    Kernel.draw_figures = staticmethod(shared["_draw_figures"])
    _nest_loops()
    warnings.filterwarnings("ignore", message="To exit:")
    config = Config()
    config.HistoryManager.enabled = False  # its thread and its database
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.automagic = False
    config.InteractiveShell.enable_tip = False
    config.IPKernelApp.log_level = 50  # its log would be mistaken for the code's output
    config.IPKernelApp.connection_file = connection
    config.IPKernelApp.ignore_cwd = True
    # Output to descriptor 1 goes straight to the reader: a thread in between would lose its end.
    config.IPKernelApp.capture_fd_output = False
    config.IPKernelApp.outstream_class = f"{__name__}.Stream"
    app = App.instance(config=config, kernel_class=Kernel)
    app.initialize([])
    app.session.pack = _pack
    OutputBarrier(answers)
    # Later collections skip the interpreter's own objects, which makes each cheaper.
    gc.freeze()
    app.start()


class App(IPKernelApp):
    """The kernel application without its parts for terminals and remote clients."""

    iopub_port: int

    def init_iopub(self, context: Any) -> None:
        """Drop no message, and open no port for children: they print to descriptor 1."""
        socket = context.socket(zmq.XPUB)
        socket.linger = 0
        socket.sndhwm = 0
        self.iopub_port = self._bind_socket(socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = IOPubThread(socket, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        """Start no heartbeat: the worker watches the process itself. Saves three threads."""

    def load_config_file(self, *_: Any, **__: Any) -> None:
        """Load nothing: the sandbox has no configuration file."""

    def init_crash_handler(self) -> None:
        """Install no handler: the worker reports the end of this process."""


class Stream(OutStream):
    """The output of code, sent soon, so that little is lost when the process is killed."""

    flush_interval = _FLUSH_SECONDS

    def fileno(self) -> int:
        return 1

    @property
    def buffer(self) -> Bytes:
        """The stream for bytes. It shares the path of text, so that the order is kept."""
        made: Bytes = self.__dict__.setdefault("_bytes", Bytes(self))
        return made

    def write(self, string: str) -> int:
        if os.getpid() == _OWN:
            return super().write(string) or 0
        # A child of this process lacks the threads that send.
        content = string.encode("utf-8", "replace")
        while content:
            content = content[os.write(1, content) :]
        return len(string)

    def flush(self) -> None:
        if os.getpid() == _OWN:
            super().flush()


class Bytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._stream.write(self._decoder.decode(content))
        return len(content)


class OutputBarrier:
    """Delays the start of a child, which prints to the reader directly, until the reader has all earlier output."""

    def __init__(self, answers: int) -> None:
        """`answers` brings the number of each request whose earlier output the worker has passed on."""
        self._answers = answers
        self._number = 0
        self._lock = threading.Lock()
        os.set_inheritable(answers, False)
        os.set_blocking(answers, False)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _: Any) -> None:
        if event in _STARTS and os.getpid() == _OWN and self._lock.acquire(blocking=False):
            try:
                self._settle()
            except (OSError, struct.error):
                pass  # The code has closed a descriptor that this needs.
            finally:
                self._lock.release()

    def _settle(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        kernel: Any = Kernel.instance()
        self._number += 1
        kernel.session.send(kernel.iopub_socket, "settle", {"number": self._number})
        until = time.monotonic() + _SETTLE_SECONDS
        while select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
            # An interrupted wait leaves its answer in the pipe.
            if struct.unpack("!I", os.read(self._answers, 4))[0] >= self._number:
                return


class LastValue(ZMQShellDisplayHook):
    """The display hook for the value of the last expression."""

    def update_user_ns(self, result: Any) -> None:
        """Keep the last value as `_`, and no earlier ones: they would only take memory."""
        shell: Any = self.shell
        shell.user_ns["_"] = result


class Shell(ZMQInteractiveShell):
    """IPython with short tracebacks and without a system shell."""

    displayhook_class = Type(LastValue)
    describe_error: Callable[[BaseException], str]
    """The text of a traceback."""

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        if exc_tuple is not None:  # Showing a value failed; the cell itself has succeeded.
            print(*traceback.format_exception_only(exc_tuple[1]), end="")  # noqa: T201
            return
        kind, error, _trace = sys.exc_info()
        if kind is None or error is None:
            return
        lines = self.describe_error(error).splitlines()
        try:
            self._showtraceback(kind, error, lines)
        except Exception:  # noqa: BLE001  # the text of an exception is the code of others
            self._last_traceback = lines

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        self.showtraceback()

    async def run_ast_nodes(self, *given: Any, **named: Any) -> bool:
        failed: bool = await super().run_ast_nodes(*given, **named)
        if os.getpid() != _OWN:
            os._exit(0)  # A child that code forked has reached the end of the cell, too.
        return failed

    def system(self, *_: Any, **__: Any) -> NoReturn:
        raise OSError(_NO_SHELL)

    system_piped = system_raw = getoutput = system

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: figures are inline, and there are no windows."""

    def init_environment(self) -> None:
        """Do nothing: no terminal shows colours."""

    def ask_exit(self) -> NoReturn:
        """End the cell; the kernel stays."""
        raise SystemExit


class Kernel(IPythonKernel):
    """Runs cells that can be interrupted at any moment, but never between two cells."""

    shell_class = Type(Shell)
    draw_figures: Callable[[int], list[bytes]]
    """Draws the figures still open, unless as many pictures were saved."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._running = False
        self._awaited: asyncio.Future[Any] | None = None
        self._child_handler: Any = signal.SIG_DFL
        shell: Any = self.shell
        shell.compile.get_code_name = lambda raw, transformed, number: f"<cell {number}>"
        register = shell.events.register

        def register_other(event: str, function: Any) -> None:
            # `_draw` shows open figures at the end of the cell instead, except those that the code has saved.
            if getattr(function, "__name__", "") != "flush_figures":
                register(event, function)

        shell.events.register = register_other

    async def do_execute(self, code: str, silent: bool, *given: Any, **named: Any) -> dict[str, Any]:
        before = _list_pictures()
        reserve = _reserve_memory()
        reply: dict[str, Any] = {}
        notes: list[dict[str, str]] = []
        failure: BaseException | None = None
        try:
            try:
                self._running = True
                reply = await super().do_execute(code, silent, *given, **named)
                notes = self._draw(before)
            finally:
                self._running = False
        except BaseException as error:  # noqa: BLE001  # an interruption between the code and here, or no memory left
            failure = error
        finally:
            self._running = False
            if reserve is not None:
                reserve.close()
        if failure is not None:
            lines = Shell.describe_error(failure).splitlines()
            reply = {"status": "error", "ename": type(failure).__name__, "evalue": "", "traceback": lines}
        reply.setdefault("payload", []).extend(notes)
        return reply

    def _draw(self, before: dict[str, int]) -> list[dict[str, str]]:
        shell: Any = self.shell
        now = _list_pictures()
        try:
            for content in self.draw_figures(sum(before.get(name) != time for name, time in now.items())):
                shell.display_pub.publish({"image/png": content})
        except Exception as error:  # noqa: BLE001  # drawing runs the code of others
            said = f"A figure could not be drawn: {type(error).__name__}: {str(error)[:200]}"
            return [{"source": "note", "text": said}]
        return []

    def _refuse_input(self, *_: Any, **__: Any) -> NoReturn:
        raise EOFError(_NO_INPUT)

    raw_input = getpass = _refuse_input

    def pre_handler_hook(self) -> None:
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGCHLD, self._child_handler)

    def post_handler_hook(self) -> None:
        """Reap the processes that the worker kills between two cells."""
        signal.signal(signal.SIGINT, self._interrupt)
        self._child_handler = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._running:
            return
        if self._awaited is not None and not _is_in_cell(frame):
            # An exception raised in the event loop would end the kernel.
            self._awaited.get_loop().call_soon_threadsafe(self._awaited.cancel)
            return
        raise KeyboardInterrupt

    @contextmanager
    def _cancel_on_sigint(self, future: asyncio.Future[Any]) -> Iterator[None]:
        self._awaited = future
        try:
            yield
        finally:
            self._awaited = None


def _is_in_cell(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<cell"):
            return True
        frame = frame.f_back
    return False


def _list_pictures() -> dict[str, int]:
    """The pictures in the current folder with their times of change."""
    found: dict[str, int] = {}
    try:
        with os.scandir() as entries:
            for entry in entries:
                if entry.name.lower().endswith(_DRAWN):
                    found[entry.name] = entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        pass
    return found


def _reserve_memory() -> mmap.mmap | None:
    """Reserve memory that a cell cannot take, so that the kernel can run another after one that took all."""
    try:
        mmap.mmap(-1, 3 * _RESERVE).close()
        return mmap.mmap(-1, _RESERVE)
    except OSError:
        return None  # This is the next one.


def _pack(content: Any) -> bytes:
    """A message as JSON. Lone surrogates, which code may print, are escaped like all other characters."""
    return json.dumps(content, default=json_default).encode()


def _nest_loops() -> None:
    """Let `asyncio.run` work in a cell, although the event loop of the kernel is running."""
    plain = asyncio.run

    def run(*given: Any, **named: Any) -> Any:
        import nest_asyncio2

        asyncio.run = plain
        nest_asyncio2.apply()
        return asyncio.run(*given, **named)

    asyncio.run = run


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
