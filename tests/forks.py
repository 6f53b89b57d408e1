"""Tests in processes that begin where one has loaded and collected them: `pytest -n 0 --forks 6`.

Each worker of xdist loads and collects all tests anew, half a minute of processor time. Forks are safe on Linux; xdist
works everywhere. So `.ci/run` forks, and the README's line does not.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest


class Tally:
    """What forks say at their end, and what becomes of it: nothing."""

    def say(self) -> str:
        return ""

    def hear(self, said: str) -> None:
        pass

    def write(self) -> None:
        pass


@dataclass
class Fork:
    pid: int
    running: int | None = None
    """The test that it runs."""
    left: list[int] = field(default_factory=list)
    """Those that it was handed and has not begun."""


class Forks:
    """Hands the tests out, a module at a time, the longest first."""

    def __init__(
        self, number: int, *, seconds: Mapping[str, float], given: Callable[[], Mapping[str, str]], tally: Tally
    ) -> None:
        """
        Args:
            seconds: how long tests take, by their names.
            given: what each fork is told as `config.workerinput`, beside its `workerid`.
        """
        self._number = number
        self._seconds = seconds
        self._given = given
        self._tally = tally
        self._modules: deque[list[int]] = deque()
        self._running: dict[Connection, Fork] = {}
        self._started = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says why nothing runs
        assert threading.active_count() == 1, "a thread would be missing in a fork"
        self._modules = self._by_module(session.items)
        for _ in range(self._number):
            self._start(session)
        try:
            while self._running:
                for link in wait(list(self._running)):
                    assert isinstance(link, Connection)
                    self._hear(session, link)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
        finally:
            for fork in self._running.values():
                os.kill(fork.pid, signal.SIGKILL)
        self._tally.write()
        return True

    def _by_module(self, items: list[pytest.Item]) -> deque[list[int]]:
        modules: dict[str, list[int]] = {}
        took: dict[str, float] = {}
        for number, item in enumerate(items):
            module, name = item.nodeid.partition("::")[0], item.nodeid.partition("[")[0]
            # A test with several cases has one time for all of them.
            took[module] = took.get(module, 0.0) + (0.01 if name in took else self._seconds.get(name, 0.01))
            took[name] = 0.0
            modules.setdefault(module, []).append(number)
        first = {item.nodeid.partition("::")[0] for item in items if item.get_closest_marker("first")}
        return deque(modules[name] for name in sorted(modules, key=lambda one: (one not in first, -took[one])))

    def _start(self, session: pytest.Session) -> None:
        mine, theirs = Pipe()
        name = f"fork{self._started}"
        self._started += 1
        (folders := session.config._tmp_path_factory).getbasetemp()  # type: ignore[attr-defined]
        given = {**self._given(), "workerid": name}
        if pid := os.fork():
            theirs.close()
            self._running[mine] = Fork(pid)
            return
        # All below is the fork's.
        try:
            mine.close()
            for link in self._running:
                link.close()
            folders._basetemp = folders.getbasetemp() / name
            folders._basetemp.mkdir()
            work(session, theirs, given, self._tally)
        except BaseException:  # noqa: BLE001  # nothing of the parent's may run here
            theirs.send(("broke", traceback.format_exc()))
        finally:
            os._exit(0)  # without what the parent does at its end

    def _hear(self, session: pytest.Session, link: Connection) -> None:
        fork = self._running[link]
        try:
            kind, told = link.recv()
        except EOFError:
            kind, told = "died", ""
        match kind:
            case "next":
                module = self._modules.popleft() if self._modules else []
                fork.left += module
                link.send(module)
            case "begins":
                fork.running = fork.left.pop(0)
            case "report":
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=told)
                session.config.hook.pytest_runtest_logreport(report=report)
            case _:
                del self._running[link]
                _, status = os.waitpid(fork.pid, 0)
                if kind == "ended":
                    self._tally.hear(told)
                    return
                self._failed(session, fork.running, told or f"its process died: {os.waitstatus_to_exitcode(status)}")
                if fork.left:
                    self._modules.appendleft(fork.left)
                if self._modules:
                    self._start(session)

    def _failed(self, session: pytest.Session, running: int | None, said: str) -> None:
        item = None if running is None else session.items[running]
        name, place = (item.nodeid, item.location) if item else ("tests/forks.py", ("tests/forks.py", None, "fork"))
        report = pytest.TestReport(name, place, {}, "failed", said, "call")
        session.config.hook.pytest_runtest_logreport(report=report)


class Reporting:
    """Sends the report of each test to the process that prints it."""

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config = config
        self._link = link

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._link.send(("report", data))


def work(session: pytest.Session, link: Connection, given: Mapping[str, str], tally: Tally) -> None:
    """Run the tests that are handed over, until none is."""
    config = session.config
    config.workerinput = given  # type: ignore[attr-defined]  # as xdist names it
    _own_capture(config)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Reporting(config, link))
    random.seed()

    def following() -> list[int]:
        link.send(("next", ""))
        handed: list[int] = link.recv()
        return handed

    module = following()
    while module:
        for at, number in enumerate(module):
            last = at + 1 == len(module)
            # The next module is known before this one ends: what both use is not made anew.
            after = following() if last else module[at + 1 :]
            link.send(("begins", ""))
            config.hook.pytest_runtest_protocol(
                item=session.items[number], nextitem=session.items[after[0]] if after else None
            )
        module = after
    link.send(("ended", tally.say()))


def _own_capture(config: pytest.Config) -> None:
    """Capture into files of this process: those of the parent would be everybody's."""
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    if capturing._global_capturing is not None:
        capturing._global_capturing.stop_capturing()
        capturing._global_capturing = None
        capturing.start_global_capturing()
