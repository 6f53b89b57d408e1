"""The worker's client of the Jupyter kernel: starts it, sends cells, reads its messages. It imports nothing of ours.

It implements the messaging protocol itself, which takes a page: the client library takes longer to import than the
kernel to start. Code shares the process of the kernel, so its messages are trusted no more than the output of code.
See: https://jupyter-client.readthedocs.io/en/stable/messaging.html
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import signal
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

_FOLDER = "/tmp/.kernel"  # inside the sandbox
_AGAIN_SECONDS = 0.1
"""Seconds between interruptions: an exception raised in a callback of the interpreter is lost."""
_POLL_SECONDS = 0.05
_REST_SECONDS = 0.5
"""Seconds to wait for the reply after the idle state, or for the idle state after the reply."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MARK = b"<IDS|MSG>"
_BARE = re.compile(r"<[\w.<>]+( object| at 0x[0-9a-f]+| object at 0x[0-9a-f]+)>")
"""The default text of an object."""
_PICTURES = {"image/png": "figure.png", "image/jpeg": "figure.jpg", "image/svg+xml": "figure.svg"}
_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


class Notebook:
    """A running kernel."""

    def __init__(self, worker: str, limits: dict[str, Any], shown: list[tuple[str, bytes]]) -> None:
        """Start a kernel and wait until it can take a cell. Pictures that cells display go to `shown`."""
        self._limits = limits
        self._shown = shown
        self._key = secrets.token_hex(32).encode()
        os.mkdir(_FOLDER, 0o700)  # noqa: PTH102
        self._pid = self._start(worker)
        import zmq  # While the kernel starts.

        context = zmq.Context()
        # The library tries to connect until the kernel has made its sockets.
        self._shell, self._iopub = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        self._iopub.rcvhwm = 0
        self._iopub.subscribe(b"")
        for number, socket in ((1, self._shell), (2, self._iopub)):
            socket.reconnect_ivl = 5
            socket.connect(f"ipc://{_FOLDER}/s-{number}")
        self._poller = zmq.Poller()
        self._process = os.pidfd_open(self._pid)
        for source in (self._process, self._shell, self._iopub):
            self._poller.register(source, zmq.POLLIN)
        self._greet()

    def run(self, code: str, seconds: float) -> tuple[str, str, list[str]]:
        """Run a cell; return the value of its last expression, the error and notes."""
        cell = _Cell(self._limits, self._shown)
        began, spent = time.monotonic(), self._read_cpu_seconds()
        name = self._send(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False},
        )
        interrupted = 0.0
        half = 0.0
        while not (cell.reply is not None and cell.idle):
            self._receive(name, cell, _POLL_SECONDS)
            now = time.monotonic()
            if (cell.reply is not None) or cell.idle:
                half = half or now
                if now - half > _REST_SECONDS:
                    break
                continue
            if not cell.stopped and now - began > seconds:
                cell.stopped = "it ran longer than is allowed"
            if not cell.stopped and self._read_cpu_seconds() - spent > self._limits["cpu"]:
                cell.stopped = "it used more processor time than is allowed"
            if cell.stopped and now - interrupted > _AGAIN_SECONDS:
                interrupted = now
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGINT)
        return cell.finish()

    def end_others(self) -> None:
        """Kill the processes that the cell left, except the kernel. All are stopped first, so that none can fork."""
        try:
            os.kill(-1, signal.SIGSTOP)
        except OSError:
            return
        try:
            spared = {"1", str(os.getpid()), str(self._pid)}
            for entry in os.listdir("/proc"):  # noqa: PTH208
                if entry.isdigit() and entry not in spared:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(entry), signal.SIGKILL)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)

    def _start(self, worker: str) -> int:
        ports = {f"{channel}_port": number for number, channel in enumerate(_CHANNELS, 1)}
        connection = {
            **ports,
            "transport": "ipc",
            "ip": f"{_FOLDER}/s",
            "key": self._key.decode(),
            "signature_scheme": "hmac-sha256",
        }
        path = f"{_FOLDER}/connection.json"
        with open(path, "w") as file:  # noqa: PTH123
            json.dump(connection, file)
        program = f"{os.path.dirname(__file__).rstrip('/')}/kernel.py"  # noqa: PTH120
        environment = {
            **os.environ,
            # Set before matplotlib is imported. Figures appear where the code shows them, as in a notebook.
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            # Each thread would reserve a share of the address space.
            "MALLOC_ARENA_MAX": "1",
        }
        flags = ("-s", "-P", "-B", "-X", "utf8")
        answers, self._answers = os.pipe()
        os.set_inheritable(answers, True)
        os.set_blocking(self._answers, False)
        arguments = [sys.executable, *flags, program, worker, path, str(answers), json.dumps(self._limits)]
        try:
            return os.posix_spawn(sys.executable, arguments, environment)
        finally:
            os.close(answers)

    def _greet(self) -> None:
        """Wait until the kernel answers, then remove its sockets from the folder, so that nobody else can connect."""
        cell = _Cell(self._limits, self._shown)
        while not cell.heard:
            self._receive("", cell, _POLL_SECONDS)
        name = self._send("kernel_info_request", {})
        while not (cell.reply is not None and cell.idle):
            self._receive(name, cell, _POLL_SECONDS)
        for entry in os.listdir(_FOLDER):  # noqa: PTH208
            os.unlink(f"{_FOLDER}/{entry}")  # noqa: PTH108
        os.rmdir(_FOLDER)  # noqa: PTH106

    def _read_cpu_seconds(self) -> float:
        """Processor seconds that the kernel has used."""
        try:
            with open(f"/proc/{self._pid}/stat") as file:  # noqa: PTH123
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def _send(self, kind: str, content: dict[str, Any]) -> str:
        name = secrets.token_hex(16)
        header = {"msg_id": name, "msg_type": kind, "session": "", "username": "", "version": "5.3", "date": ""}
        parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        self._shell.send_multipart([_MARK, self._sign(parts), *parts])
        return name

    def _sign(self, parts: list[bytes]) -> bytes:
        return hmac.new(self._key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def _receive(self, name: str, cell: _Cell, seconds: float) -> None:
        """Handle messages of the kernel that arrive within `seconds`. Ends this process if the kernel has ended."""
        found = {source for source, _ in self._poller.poll(int(seconds * 1000))}
        for socket in (self._iopub, self._shell):
            if socket in found:
                self._handle_message(socket.recv_multipart(), name, cell)
        if self._process in found:
            while self._iopub.poll(int(_POLL_SECONDS * 1000)):  # its last messages may still arrive
                self._handle_message(self._iopub.recv_multipart(), name, cell)
            os._exit(0)

    def _handle_message(self, frames: list[bytes], name: str, cell: _Cell) -> None:
        try:
            signature, *parts = frames[frames.index(_MARK) + 1 :]
            if not hmac.compare_digest(signature, self._sign(parts[:4])):
                return
            header, parent, _, content = (json.loads(part) for part in parts[:4])
            if header["msg_type"] == "settle":  # All earlier output has been passed on.
                os.write(self._answers, struct.pack("!I", content["number"]))
            else:
                cell.handle(str(header["msg_type"]), parent.get("msg_id") == name, content)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error, BlockingIOError):
            return  # Not a message of a kernel.


class _Cell:
    """The messages of the kernel about one cell."""

    def __init__(self, limits: dict[str, Any], shown: list[tuple[str, bytes]]) -> None:
        self._limits = limits
        self._shown = shown
        self._room = limits["output"]
        self._value = ""
        self._places: dict[str, int] = {}
        """Display id → index in `shown` of a picture that may be replaced."""
        self._cleared = False
        self.reply: dict[str, Any] | None = None
        self.idle = False
        self.heard = False
        self.stopped = ""
        """Why the cell must end."""

    def handle(self, kind: str, own: bool, content: dict[str, Any]) -> None:
        """Handle one message; `own` if it answers the request of this cell."""
        match kind:
            case "iopub_welcome":
                self.heard = True
            case "status" if own and content["execution_state"] == "idle":
                self.idle = True
            case "stream":
                self._print(str(content["text"]))
            case "display_data" | "update_display_data":
                self._display(content)
            case "clear_output":
                # Printed text has left already; pictures wait until the end of the cell.
                self._cleared = True
                if not content.get("wait"):
                    self._clear()
            case "execute_result" if own:
                self._value = self._render(content["data"])
            case "execute_reply" | "kernel_info_reply" if own:
                self.reply = content

    def finish(self) -> tuple[str, str, list[str]]:
        """The value, the error and the notes of the cell."""
        reply: dict[str, Any] = (
            self.reply if isinstance(self.reply, dict) else {"status": "error", "ename": "", **_LOST}
        )
        notes: list[str] = []
        for item in _as_list(reply.get("payload")):
            match item:
                case {"source": "note", "text": str(text)}:
                    notes.append(text)
                case {"source": "page", "data": {"text/plain": str(text)}} | {
                    "source": "set_next_input",
                    "text": str(text),
                }:
                    self._print(f"{text.rstrip()}\n")
        failed = reply.get("status") != "ok"
        most = self._limits["value"]
        if self.stopped and (failed or self._room < 0):
            error = f"Stopped: {self.stopped}. Variables are kept."
        elif failed:
            error = _describe_error(reply)[-most:]
        else:
            error = ""
        value = self._value
        return (value[:most] + " […]" if len(value) > most else value), error, notes

    def _print(self, text: str) -> None:
        content = text.encode("utf-8", "replace")
        if self._room >= 0:
            view = memoryview(content[: self._room])
            while view:
                view = view[os.write(1, view) :]
        self._room -= len(content)
        if self._room < 0 and not self.stopped:
            self.stopped = "it printed more than is allowed; print less, or only the part that matters"

    def _display(self, content: dict[str, Any]) -> None:
        if self._cleared:
            self._clear()
        name = _as_mapping(content.get("transient")).get("display_id")
        replaced = self._places.get(name) if isinstance(name, str) else None
        count = len(self._shown)
        text = self._render(content["data"])
        if text:
            self._print(f"{text}\n")
        elif len(self._shown) > count and isinstance(name, str):
            if replaced is not None:
                self._shown[replaced] = self._shown.pop()
            else:
                self._places[name] = count

    def _clear(self) -> None:
        self._cleared = False
        self._places.clear()
        self._shown.clear()

    def _render(self, data: Mapping[str, Any]) -> str:
        """Keep the picture of a value if it has one, else return its most telling text."""
        for kind, name in _PICTURES.items():
            content = data.get(kind)
            if isinstance(content, str) and content:
                self._keep_picture(name, content.encode() if kind == "image/svg+xml" else base64.b64decode(content))
                return ""
        plain = data.get("text/plain")
        bare = not isinstance(plain, str) or _BARE.fullmatch(plain) is not None
        # HTML only if the plain text says nothing: the HTML of a table is many times as long as the table.
        for kind in ("text/markdown", "text/latex", *(("text/html",) if bare else ())):
            if isinstance(data.get(kind), str) and data[kind]:
                return str(data[kind])
        if bare and "application/json" in data:
            return json.dumps(data["application/json"], ensure_ascii=False)
        return str(plain or "")

    def _keep_picture(self, name: str, content: bytes) -> None:
        """Keep a picture; one more than the limit shows that there were too many, the rest only take memory."""
        if len(self._shown) <= self._limits["files"]:
            self._shown.append((name, content[: self._limits["file_sent"] + 1]))


_LOST = {"evalue": "the kernel gave no answer to this cell; it may have had no memory left"}


def _describe_error(reply: dict[str, Any]) -> str:
    kind, said = str(reply.get("ename", "")), str(reply.get("evalue", ""))
    if kind == "SystemExit":
        return "" if said in ("", "None", "0") else f"SystemExit: {said}"
    lines = "\n".join(str(line) for line in _as_list(reply.get("traceback")))
    return lines or ": ".join(part for part in (kind, said) if part) or "it failed without a reason"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
