"""The worker's side of the Jupyter kernel: starts it, sends it cells, and reads what it says. Alone: no import of ours.

Speaks the messaging protocol itself, which is a page: the client library would take longer to import than the kernel
takes to start. Code shares the kernel's process and can say everything the kernel can; so nothing it says is trusted
more than what code prints.
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

_FOLDER = "/tmp/.kernel"  # the sandbox's own
_AGAIN_SECONDS = 0.1
"""So long after an interruption the next one: what is raised in a callback of the interpreter's own is lost."""
_POLL_SECONDS = 0.05
_REST_SECONDS = 0.5
"""So long after one half of the end (the reply, or being idle) the other is waited for."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MARK = b"<IDS|MSG>"
_BARE = re.compile(r"<[\w.<>]+( object| at 0x[0-9a-f]+| object at 0x[0-9a-f]+)>")
"""The text of an object that has none of its own."""
_PICTURES = {"image/png": "figure.png", "image/jpeg": "figure.jpg", "image/svg+xml": "figure.svg"}
_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


class Notebook:
    """A kernel and the way to it."""

    def __init__(self, worker: str, limits: dict[str, Any], shown: list[tuple[str, bytes]]) -> None:
        """Start a kernel and wait until it can take a cell. Pictures that cells display go to `shown`."""
        self._limits = limits
        self._shown = shown
        self._key = secrets.token_hex(32).encode()
        os.mkdir(_FOLDER, 0o700)  # noqa: PTH102
        self._pid = self._start(worker)
        import zmq  # While the kernel starts.

        context = zmq.Context()
        # The files are there once the kernel listens, and the library tries again until then.
        self._shell, self._said = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        self._said.rcvhwm = 0
        self._said.subscribe(b"")
        for number, socket in ((1, self._shell), (2, self._said)):
            socket.reconnect_ivl = 5
            socket.connect(f"ipc://{_FOLDER}/s-{number}")
        self._waiting = zmq.Poller()
        self._process = os.pidfd_open(self._pid)
        for source in (self._process, self._shell, self._said):
            self._waiting.register(source, zmq.POLLIN)
        self._greet()

    def run(self, code: str, seconds: float) -> tuple[str, str, list[str]]:
        """The last expression's value, why the cell ended early, and notes."""
        cell = _Cell(self._limits, self._shown)
        began, spent = time.monotonic(), self._spent()
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
            if not cell.stopped and self._spent() - spent > self._limits["cpu"]:
                cell.stopped = "it used more processor time than is allowed"
            if cell.stopped and now - interrupted > _AGAIN_SECONDS:
                interrupted = now
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGINT)
        return cell.end()

    def end_others(self) -> None:
        """Kill what the cell left running, except the kernel. Stopped first, and all at once: nobody forks on."""
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
            # Told before matplotlib is imported. Figures appear where the code shows them, as in a notebook.
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
        """Wait until the kernel is heard and answers, then take the way to it away: nobody else is to come by it."""
        cell = _Cell(self._limits, self._shown)
        while not cell.heard:
            self._receive("", cell, _POLL_SECONDS)
        name = self._send("kernel_info_request", {})
        while not (cell.reply is not None and cell.idle):
            self._receive(name, cell, _POLL_SECONDS)
        for entry in os.listdir(_FOLDER):  # noqa: PTH208
            os.unlink(f"{_FOLDER}/{entry}")  # noqa: PTH108
        os.rmdir(_FOLDER)  # noqa: PTH106

    def _spent(self) -> float:
        """Processor seconds of the kernel."""
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
        """Take what the kernel says, waiting for it at most that long. Ends this process when the kernel has ended."""
        found = {source for source, _ in self._waiting.poll(int(seconds * 1000))}
        for socket in (self._said, self._shell):
            if socket in found:
                self._take(socket.recv_multipart(), name, cell)
        if self._process in found:
            while self._said.poll(int(_POLL_SECONDS * 1000)):  # its last words are still on their way
                self._take(self._said.recv_multipart(), name, cell)
            os._exit(0)

    def _take(self, frames: list[bytes], name: str, cell: _Cell) -> None:
        try:
            signature, *parts = frames[frames.index(_MARK) + 1 :]
            if not hmac.compare_digest(signature, self._sign(parts[:4])):
                return
            header, parent, _, content = (json.loads(part) for part in parts[:4])
            if header["msg_type"] == "settle":  # All that was said before has been passed on.
                os.write(self._answers, struct.pack("!I", content["number"]))
            else:
                cell.take(str(header["msg_type"]), parent.get("msg_id") == name, content)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error, BlockingIOError):
            return  # Nothing a kernel says.


class _Cell:
    """What the kernel has said about one cell."""

    def __init__(self, limits: dict[str, Any], shown: list[tuple[str, bytes]]) -> None:
        self._limits = limits
        self._shown = shown
        self._room = limits["output"]
        self._value = ""
        self._places: dict[str, int] = {}
        """Where in `shown` is the picture of a name that may be displayed again."""
        self._cleared = False
        self.reply: dict[str, Any] | None = None
        self.idle = False
        self.heard = False
        self.stopped = ""
        """Why it has to end."""

    def take(self, kind: str, own: bool, content: dict[str, Any]) -> None:
        """One message; `own` says whether it belongs to this cell's request."""
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
                # What was printed has left already; pictures wait until the end of the cell.
                self._cleared = True
                if not content.get("wait"):
                    self._clear()
            case "execute_result" if own:
                self._value = self._told(content["data"])
            case "execute_reply" | "kernel_info_reply" if own:
                self.reply = content

    def end(self) -> tuple[str, str, list[str]]:
        """Value, error and notes."""
        reply: dict[str, Any] = (
            self.reply if isinstance(self.reply, dict) else {"status": "error", "ename": "", **_LOST}
        )
        notes: list[str] = []
        for item in _list(reply.get("payload")):
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
            error = _error(reply)[-most:]
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
        name = _mapping(content.get("transient")).get("display_id")
        replaced = self._places.get(name) if isinstance(name, str) else None
        count = len(self._shown)
        text = self._told(content["data"])
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

    def _told(self, data: Mapping[str, Any]) -> str:
        """What a reader gets of a value's forms: a picture where there is one, else the text that says most."""
        for kind, name in _PICTURES.items():
            content = data.get(kind)
            if isinstance(content, str) and content:
                self._keep(name, content.encode() if kind == "image/svg+xml" else base64.b64decode(content))
                return ""
        plain = data.get("text/plain")
        bare = not isinstance(plain, str) or _BARE.fullmatch(plain) is not None
        # Markup only where the plain text says nothing: that of a table is many times as long as the table.
        for kind in ("text/markdown", "text/latex", *(("text/html",) if bare else ())):
            if isinstance(data.get(kind), str) and data[kind]:
                return str(data[kind])
        if bare and "application/json" in data:
            return json.dumps(data["application/json"], ensure_ascii=False)
        return str(plain or "")

    def _keep(self, name: str, content: bytes) -> None:
        """No more than tells that there were too many: the rest would only take memory."""
        if len(self._shown) <= self._limits["files"]:
            self._shown.append((name, content[: self._limits["file_sent"] + 1]))


_LOST = {"evalue": "the kernel gave no answer to this cell; it may have had no memory left"}


def _error(reply: dict[str, Any]) -> str:
    kind, said = str(reply.get("ename", "")), str(reply.get("evalue", ""))
    if kind == "SystemExit":
        return "" if said in ("", "None", "0") else f"SystemExit: {said}"
    lines = "\n".join(str(line) for line in _list(reply.get("traceback")))
    return lines or ": ".join(part for part in (kind, said) if part) or "it failed without a reason"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
