"""The command line in this process: what it prints and its exit code, in milliseconds and with its lines counted."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from asyncio import selector_events, sslproto
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli.main import main
from tests.conftest import Told


@dataclass
class Inside:
    """Runs commands as `tests.conftest.Nursery` does, but no program of their own."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, folder: Path, environment: Mapping[str, str], typed: str = "") -> Told:
        """Run `parley` to its end with nothing but these settings, and with these words typed."""
        with self.alone(folder, environment) as patched:
            patched.setattr(sys, "stdin", io.StringIO(typed))
            try:
                code = main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        told = self.capsys.readouterr()
        return Told(code, told.out, told.err)

    @contextmanager
    def alone(self, folder: Path, environment: Mapping[str, str]) -> Generator[pytest.MonkeyPatch]:
        """Stand in a folder with nothing but this environment; what a program changes for good is undone."""
        with self.monkeypatch.context() as patched:
            for name in os.environ:
                patched.delenv(name)
            # The C library's heap stays as it is: that cannot be undone.
            for name, value in {**environment, "MALLOC_MMAP_THRESHOLD_": "131072"}.items():
                patched.setenv(name, value)
            patched.chdir(folder)
            readers: list[object] = [getattr(selector_events, "_SelectorTransport", None), sslproto.SSLProtocol]
            kept = [(sys, "stdout"), (sys, "stderr"), (sys, "excepthook"), (sys, "unraisablehook")]
            for place, name in [*kept, (threading, "excepthook"), *((reader, "max_size") for reader in readers)]:
                patched.setattr(place, name, getattr(place, name))
            try:
                yield patched
            finally:
                logging.captureWarnings(False)


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    return Inside(monkeypatch, capsys)
