"""What all tests share: a clock they move themselves, and programs that start at once."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias

import pytest
from hypothesis import HealthCheck, settings

from parley_chat.contract.clock import FakeClock as FakeClock
from tests import postgres
from tests.counting import Branches
from tests.forks import Forks, Tally
from tests.patience import PATIENCE
from tests.sandboxes import sandbox_possible as sandbox_possible  # a fixture

# How fast texts are drawn says something of the machine and of what runs beside, and nothing of what is tested.
settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quick")


RawJson: TypeAlias = Any
"""What a service, a file or a database said, as it came: which of its parts there are is what a test finds out."""
RawObject: TypeAlias = dict[str, RawJson]
LONG = Path(__file__).with_name("long.txt")
"""Seconds of processor time before the name of each test that takes more than 0.1 of one; `.ci/long.py` writes it."""
LINE_SECONDS = 0.3
"""What takes longer is left out where nothing is named."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Have what is here after the tests were read left out of every collection that looks for garbage: it stays."""
    gc.disable()
    collected = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return collected


@pytest.fixture(scope="module", autouse=True)
def own_garbage() -> Iterator[None]:
    """Have what a module left open fail in it: garbage fails whichever test runs when it is collected."""
    yield
    gc.collect()
    gc.freeze()  # what is left was imported or is kept for good: no later look goes through it again


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--count", metavar="FILE", help="write the branches that the forks take as JSON; needs slipcover")
    parser.addoption("--forks", type=int, help="run the tests in so many processes, which this one makes; Linux only")
    help = "leave out the tests that take longer, in seconds of tests/long.txt, and those that run others' programs"
    parser.addoption("--at-most", type=float, help=help)
    parser.addoption("--pictures", action="store_true", help="write the README's pictures anew; needs an emoji font")


def pytest_configure(config: pytest.Config) -> None:
    # Only now: what is loaded before `tests.counting` is not counted.
    from adapters import PLATFORMS
    from bot.contract import identity

    # Most tests build what they look at from parts, and no configuration has said before how ids are written.
    identity.use({name: one.ids for name, one in PLATFORMS.items()})
    if forks := config.getoption("forks"):
        report = config.getoption("count")
        tally = Branches(config.rootpath / report) if report else Tally()
        given = lambda: _for_all(config)  # noqa: E731
        config.pluginmanager.register(Forks(forks, seconds=_long(), given=given, tally=tally))
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        # As an option, since workers are told what is to be run.
        config.option.at_most = LINE_SECONDS


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest starts first: at the end everybody else would wait for it.

    Where nothing is named, what takes long is left out, and what runs programs that a machine with only Python has not.
    """
    for item in items:
        # What a PostgreSQL server does, it does with every Python.
        on_server = getattr(getattr(item, "callspec", None), "params", {}).get("database") == "postgres"
        if on_server or "postgres_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real)
    if (seconds := config.getoption("at_most")) is not None:
        long = {name for name, took in _long().items() if took > seconds}
        left_out = {item for item in items if item.get_closest_marker("real")}
        left_out |= {item for item in items if item.nodeid.partition("[")[0] in long}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def _long() -> dict[str, float]:
    """Return how long each test takes that takes long: seconds of processor time."""
    lines = (line.partition(" ") for line in LONG.read_text(encoding="utf-8").splitlines())
    return {name: float(took) for took, _, name in lines}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """It waits for the threads of every database: what they do takes none of its time."""
    # Loaded late, as nothing may be before it is known what is to be counted.
    from bot.store.database import Database

    clock, together = FakeClock(), Database.run_together

    async def noticed(database: Database, work: Any) -> Any:
        done = asyncio.get_running_loop().create_future()
        clock.outside.add(done)
        try:
            return await together(database, work)
        finally:
            clock.outside.discard(done)
            done.set_result(None)

    monkeypatch.setattr(Database, "run_together", noticed)
    return clock


@pytest.fixture(scope="session", autouse=True)
def new_databases_at_once() -> None:
    # Loaded late, as nothing may be before it is known what is to be counted.
    importlib.import_module("tests.databases").quicken()


@pytest.fixture
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the proxies that the environment of the tests names."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass
class Told:
    """How a program ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass
class Started:
    """A program that runs: as much of `asyncio.subprocess.Process` as is needed."""

    pid: int
    _exit: int
    _code: int | None = field(default=None, init=False)

    @property
    def returncode(self) -> int | None:
        """Its exit code, less than zero for a signal; None while it runs."""
        if self._code is None and select.select([self._exit], [], [], 0)[0]:
            self._code = int(os.read(self._exit, 16))
            os.close(self._exit)
        return self._code

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Its exit code, when it has ended."""
        while (code := self.returncode) is None:
            ended = asyncio.Event()
            asyncio.get_running_loop().add_reader(self._exit, ended.set)
            try:
                await ended.wait()
            finally:
                asyncio.get_running_loop().remove_reader(self._exit)
        return code

    def join(self, seconds: float) -> int:
        """The same, without an event loop."""
        if self._code is None and not select.select([self._exit], [], [], seconds)[0]:
            self.kill()
            raise TimeoutError(f"process {self.pid} ran for longer than {seconds} s")
        code = self.returncode
        assert code is not None
        return code


@dataclass
class Recorded:
    """A program that runs, and what it has written."""

    started: Started
    out: IO[bytes]
    err: IO[bytes]

    def told(self, code: int) -> Told:
        for file in (self.out, self.err):
            file.seek(0)
        return Told(code, self.out.read().decode(), self.err.read().decode())


class Nursery:
    """Starts `python -m MODULE …` without the second of loading: see `tests/nursery.py`."""

    def __init__(self, address: str = "") -> None:
        """
        Args:
            address: where one listens already; empty: it is started when it is needed.
        """
        self._address = address
        self._orders: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def listen(self) -> str:
        """Start it where it is not started; where it listens. It loads nothing before somebody comes."""
        if not self._address:
            self._folder = tempfile.TemporaryDirectory(prefix="nursery")
            self._address = f"{self._folder.name}/orders"
            root = Path(__file__).parent.parent
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(self._address)
                listening.listen()
                self._process = subprocess.Popen(
                    [sys.executable, Path(__file__).with_name("nursery.py"), str(listening.fileno())],
                    stdin=subprocess.PIPE,
                    cwd=root,
                    env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONUTF8": "1"},
                    pass_fds=[listening.fileno()],
                )
        return self._address

    def start(
        self,
        module: str,
        *arguments: str,
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        values: Mapping[str, float] | None = None,
    ) -> Started:
        """`streams` are its standard input, output and error; they stay the caller's.

        `values` are what constants of its modules shall be, as `bot.operations.stopping.TURN_SECONDS`.
        """
        if self._orders is None:
            self._orders = socket.socket(socket.AF_UNIX)
            self._orders.connect(self.listen())
        orders = self._orders
        order = {"module": module, "arguments": arguments, "folder": str(folder)}
        body = json.dumps({**order, "environment": dict(environment), "values": dict(values or {})}).encode()
        mine, theirs = os.pipe()
        socket.send_fds(orders, [struct.pack("!I", len(body))], [*streams, theirs])
        orders.sendall(body)
        os.close(theirs)
        return Started(struct.unpack("!I", orders.recv(4, socket.MSG_WAITALL))[0], mine)

    def run(self, module: str, *arguments: str, folder: Path, environment: Mapping[str, str], typed: str = "") -> Told:
        """The same to its end."""
        with self._recorded(module, *arguments, folder=folder, environment=environment, typed=typed) as recorded:
            return recorded.told(recorded.started.join(PATIENCE))

    async def talk(
        self, module: str, *arguments: str, folder: Path, environment: Mapping[str, str], typed: str = ""
    ) -> Told:
        """The same while the event loop goes on."""
        with self._recorded(module, *arguments, folder=folder, environment=environment, typed=typed) as recorded:
            async with asyncio.timeout(PATIENCE):
                return recorded.told(await recorded.started.wait())

    @contextmanager
    def _recorded(
        self, module: str, *arguments: str, folder: Path, environment: Mapping[str, str], typed: str
    ) -> Iterator[Recorded]:
        """Start it with these words typed, and record what it writes; what still runs at the end is killed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            mine, theirs = os.pipe()
            os.write(theirs, typed.encode())
            os.close(theirs)
            streams = (mine, out.fileno(), err.fileno())
            started = self.start(module, *arguments, folder=folder, environment=environment, streams=streams)
            os.close(mine)
            try:
                yield Recorded(started, out, err)
            finally:
                started.kill()

    def close(self) -> None:
        """End it, if it was started here, and everything it has started."""
        if self._orders is not None:
            self._orders.close()
        if self._process is not None and self._process.stdin is not None and self._folder is not None:
            self._process.stdin.close()
            self._process.wait()
            self._folder.cleanup()


_NURSERY = pytest.StashKey[Nursery]()
_POSTGRES = pytest.StashKey[postgres.Shared]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if _NURSERY not in node.config.stash:
        _rewrite([Path(place.partition("::")[0]).resolve() for place in node.config.args])
    node.workerinput.update(_for_all(node.config))


def _for_all(config: pytest.Config) -> dict[str, str]:
    """What is done once for all workers: where they find it."""
    if _NURSERY not in config.stash:
        config.stash[_NURSERY] = Nursery()
        config.stash[_POSTGRES] = postgres.Shared()
    return {"nursery": config.stash[_NURSERY].listen(), "postgres": str(config.stash[_POSTGRES].folder)}


def _rewrite(places: list[Path]) -> None:
    """Have the assertions of tests in these places that changed rewritten, and keep the result for each worker.

    Else each rewrites all of them, which in a fresh clone is more than half of what it does before its first test.
    """
    changed = []
    for file in sorted(Path(__file__).parent.rglob("test_*.py"), key=lambda file: file.stat().st_size):
        if not any(file.is_relative_to(place) for place in places):
            continue
        kept = (file.parent / "__pycache__").glob(f"{file.stem}.{sys.implementation.cache_tag}-pytest-*.pyc")
        if file.stat().st_mtime > max((one.stat().st_mtime for one in kept), default=0.0):
            changed.append(file)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    reading = [
        subprocess.Popen([*command, *half], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for half in (changed[::2], changed[1::2])
        if half
    ]
    for process in reading:
        process.wait()  # what it could not read is told by the workers


def pytest_unconfigure(config: pytest.Config) -> None:
    if _NURSERY in config.stash:
        config.stash[_NURSERY].close()
        config.stash[_POSTGRES].close()


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Iterator[postgres.Postgres]:
    """The server of the whole test run; the test is skipped on a machine without PostgreSQL. No test stops it."""
    if folder := getattr(request.config, "workerinput", {}).get("postgres"):
        yield postgres.start(Path(folder))
    else:
        with postgres.own_server() as server:
            yield server


@pytest.fixture(scope="session")
def _database(request: pytest.FixtureRequest, postgres_server: postgres.Postgres) -> str:
    return postgres_server.make_database(getattr(request.config, "workerinput", {}).get("workerid", "alone"))


@pytest.fixture
def postgres_url(_database: str, postgres_server: postgres.Postgres) -> Iterator[str]:
    """The address of a database whose tables are empty, and which nobody else uses now. No two transactions of a test
    wait for each other in a circle."""
    postgres.empty(_database)
    with postgres_server.without_circles(_database.rpartition("/")[2]):
        yield _database


@pytest.fixture(scope="session")
def nursery(request: pytest.FixtureRequest) -> Iterator[Nursery]:
    """Starts programs."""
    nursery = Nursery(getattr(request.config, "workerinput", {}).get("nursery", ""))
    yield nursery
    nursery.close()


@pytest.fixture
def refusing_bwrap(tmp_path: Path) -> str:
    """A PATH on which bubblewrap says what it says where the kernel forbids namespaces, as in most containers."""
    folder = tmp_path / "refusing"
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """No test hears more or less of the log because another one in its process has set the log up."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = {logger: logger.level for logger in map(logging.getLogger, ("", "bot", "adapters", "tools", "__main__"))}
    yield
    root.handlers[:] = handlers
    for logger, level in levels.items():
        # Setting it forgets what every logger has found out.
        if logger.level != level:
            logger.setLevel(level)
