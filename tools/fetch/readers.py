"""Run readers of pages and documents in a sandbox if this machine has one, otherwise as processes with the bot's
rights.

Data from outside is parsed by libraries in C and C++; data that takes them over finds, in a sandbox, no network, no
environment, no files and no second process. Without a sandbox only the reader's own limits remain.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tools.programs import subprocesses

if TYPE_CHECKING:
    from tools.sandbox.launcher import Launcher
    from tools.sandbox.layout import Layout

log = logging.getLogger(__name__)

Start: TypeAlias = Callable[[], Awaitable[asyncio.subprocess.Process]]
"""Starts a reader with pipes to and from it."""

READER = Path(__file__).resolve().with_name("reader.py")
_OURS = READER.parents[__name__.count(".")]
"""The folder of our own packages."""


def as_modules(*files: Path) -> dict[str, Path]:
    """Return files of ours by the paths under which a reader imports them."""
    return {str(file.relative_to(_OURS)): file for file in files}


MODULES = as_modules(
    *(READER.parents[up] / name for up, name in ((1, "__init__.py"), (0, "__init__.py"), (0, "encodings.py")))
)
"""Files of ours that a reader imports."""
PACKAGES = ("trafilatura", "lxml_html_clean", "charset-normalizer", "pypdfium2")
"""Distributions that a reader imports."""
MOST_BYTES = 8 * 1024 * 1024 + 64 * 1024
"""Bytes of a reader's answer: its longest text, four bytes a character, and its description."""
TRIAL_SECONDS = 20.0
_CHUNK = 64 * 1024
_WORDS = 4096
"""Bytes of its errors that are kept."""
_FILES = 1024 * 1024
"""Bytes of all files that a reader can write in its sandbox: it needs none."""
_WORKED: set[tuple[Hashable, str]] = set()
"""The trials that this process has passed, by the program and the kind of page."""
# What a Python needs to find its libraries; none of the operator's keys.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT", "TZ")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that reads data from outside."""

    file: Path
    packages: tuple[str, ...]
    """Distributions that it imports."""
    modules: Mapping[str, Path] = field(default_factory=dict)
    """Files of ours that it imports, by their paths below a folder of packages."""
    reads: str = "pages"
    """What it reads, in the plural."""
    trial: str = "html"
    """The trial that shows that the libraries are found in a sandbox."""


class Readers:
    """Starts reader processes, one for each page or document."""

    def __init__(self, program: Program | None = None) -> None:
        """`program`: None for the one that reads pages."""
        from tools.sandbox.cell import SandboxFailed
        from tools.sandbox.launcher import Launcher
        from tools.sandbox.limits import Limits

        self._program = program or Program(READER, PACKAGES, MODULES)
        self._launcher: Launcher | None = None
        self._reason = ""
        self._trying = asyncio.Lock()
        self._tried: set[str] = set()
        try:
            self._launcher = Launcher(self._layout, Limits(disk=_FILES))
        except SandboxFailed as failure:
            self._reason = str(failure)

    @property
    def confined(self) -> bool:
        """Readers run in a sandbox, as far as it was tried."""
        return self._launcher is not None

    @property
    def summary(self) -> str:
        """Where readers run, and why not in a sandbox, for the operator."""
        if self._launcher is not None:
            return f"{self._program.reads} are read in a bubblewrap sandbox"
        return (
            f"{self._program.reads} are read with the bot's rights, with limits of time and memory, "
            f"not in a sandbox: {self._reason}"
        )

    async def start(self) -> asyncio.subprocess.Process:
        """Start a reader that waits for its page.

        Raises:
            SandboxFailed: its sandbox cannot be started now.
        """
        await self.prove(self._program.trial)
        return await (start_plain(self._program) if self._launcher is None else self._launcher.start())

    async def prove(self, kind: str) -> None:
        """Read a page of our own once: as `text` it shows that the machine allows sandboxes, as `html` that the
        libraries are found in there. If it fails, readers run without one from then on.

        A stranger's page has no influence on this: it could have its next reader run unconfined. A trial that passed
        once is not repeated in this process.

        Raises:
            TimeoutError: it took too long, which says nothing about the sandbox.
        """
        async with self._trying:
            if self._launcher is None or kind in self._tried:
                return
            failure = await self._failure(self._launcher, kind)
            self._tried.add(kind)
            if failure:
                self._launcher, self._reason = None, failure
                if kind == self._program.trial:
                    log.warning("%s", self.summary)

    async def proven(self, kind: str) -> str:
        """Read a page of our own, as `prove`, and return where readers run."""
        try:
            await self.prove(kind)
        except TimeoutError:
            return f"{self.summary}, as it seems: a trial took too long"
        return self.summary

    async def _failure(self, launcher: Launcher, kind: str) -> str:
        """Return why our test page cannot be read in a sandbox; empty if it can."""
        from tools.sandbox.cell import SandboxFailed

        about = json.dumps({"kind": kind, "url": "https://example.org", "charset": "", "seconds": TRIAL_SECONDS})
        body = b"<p>A page of our own.</p>"
        try:
            if (trial := (await launcher.key(), kind)) in _WORKED:
                return ""
            answer, words = await talk(await launcher.start(), about.encode() + b"\n", body, TRIAL_SECONDS)
        except SandboxFailed as failure:
            return str(failure)
        if b"A page of our own." in answer:
            _WORKED.add(trial)
            return ""
        said = words.decode("utf-8", "replace").strip().splitlines()
        return said[-1] if said else "the reader's libraries are not found in it"

    def _layout(self) -> Layout:
        from tools.sandbox.layout import layout

        return layout(self._program.packages, (self._program.file,), modules=self._program.modules)


async def start_plain(program: Program | None = None, **options: Any) -> asyncio.subprocess.Process:
    """Start a reader without a sandbox; None: of pages. For `options` see `subprocesses.start`."""
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if program is None or program.modules:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_OURS), env.get("PYTHONPATH"))))
    return await subprocesses.start(
        sys.executable,
        "-P",  # the folder of the script contains modules whose names must not shadow others
        str(READER if program is None else program.file),
        env=env,
        **options,
    )


async def talk(
    reader: asyncio.subprocess.Process,
    about: bytes,
    body: bytes | bytearray,
    seconds: float,
    came: bytearray | None = None,
    most: int = MOST_BYTES,
) -> tuple[bytes, bytes]:
    """Return a reader's answer to `about` and `body`, at most one byte more than `most`, and the beginning of its
    errors; nothing if it failed. It has ended when this returns or raises.

    `came` contains the answer so far, also if it failed or took too long.

    Raises:
        TimeoutError: it took too long.
    """
    assert reader.stdin is not None and reader.stdout is not None and reader.stderr is not None
    feeding = asyncio.create_task(_feed(reader.stdin, about, body), name="page to its reader")
    erring = asyncio.create_task(_read(reader.stderr, _WORDS), name="a reader's errors")
    answer = b""
    try:
        async with asyncio.timeout(seconds):
            answer = await _read(reader.stdout, most + 1, stop=True, into=came)
            if len(answer) <= most:
                await reader.wait()
    finally:
        feeding.cancel()
        await subprocesses.end(reader)
        await asyncio.wait((erring, feeding), timeout=subprocesses.END_SECONDS)
        erring.cancel()
        words, _ = await asyncio.gather(erring, feeding, return_exceptions=True)
    return (b"" if reader.returncode else answer), (words if isinstance(words, bytes) else b"")


async def _feed(stdin: asyncio.StreamWriter, *parts: bytes | bytearray) -> None:
    """Write `parts` as fast as they are read, ignoring a reader that ends early: its answer says why."""
    with contextlib.suppress(OSError):
        for part in parts:
            for start in range(0, len(part), _CHUNK):
                stdin.write(part[start : start + _CHUNK])
                await stdin.drain()
        stdin.close()


async def _read(stream: asyncio.StreamReader, most: int, *, stop: bool = False, into: bytearray | None = None) -> bytes:
    """Return the first `most` bytes; the rest is read and dropped, or left if `stop` is set."""
    found = bytearray() if into is None else into
    while not (stop and len(found) == most) and (chunk := await stream.read(_CHUNK)):
        found += chunk[: most - len(found)]
    return bytes(found)
