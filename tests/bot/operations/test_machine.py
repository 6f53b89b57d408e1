"""What the machine has left, as the system says it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bot.contract import SystemClock
from bot.operations.machine import UNKNOWN, find_unresolved, read_memory
from tests.conftest import FakeClock

GONE = Path("/nowhere")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  400 kB\nHugePages\n")
    return file


def container(folder: Path, limit: str, used: int, cached: int) -> Path:
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 7\ninactive_file {cached}\nactive_file 1\n\n")
    return folder


def test_the_machines_memory_counts_where_no_container_limits_it(proc: Path, tmp_path: Path) -> None:
    assert read_memory(proc, GONE) == (400 * 1024, 1000 * 1024)
    assert read_memory(proc, container(tmp_path, "max", 9, 0)) == (400 * 1024, 1000 * 1024)


def test_the_containers_memory_counts_where_less_is_left_of_it_and_files_can_be_forgotten(
    proc: Path, tmp_path: Path
) -> None:
    assert read_memory(proc, container(tmp_path, "1000", 900, 40)) == (141, 1000)
    assert read_memory(proc, container(tmp_path, "1000", 2000, 0)) == (0, 1000)


def test_where_the_system_does_not_say_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("MemTotal: 3\n")

    assert read_memory(GONE, GONE) == read_memory(tmp_path / "other", GONE) == UNKNOWN


def test_this_machine_says_it() -> None:
    left, whole = read_memory()

    assert (left, whole) == UNKNOWN or 0 < left <= whole


async def test_a_host_whose_name_cannot_be_resolved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await find_unresolved("http://127.0.0.1:9/v1", SystemClock()) == ""

    def fail(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert await find_unresolved("https://slack.example/api/", SystemClock()) == "slack.example"
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert await find_unresolved("https://slack.example/api/", SystemClock()) == "proxy.example"
    monkeypatch.setenv("HTTPS_PROXY", "ftp://proxy.example")
    assert await find_unresolved("https://slack.example/api/", SystemClock()) == "slack.example"


async def test_a_name_server_that_is_silent_resolves_nothing(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    def late(seconds: float, action: object) -> object:
        assert callable(action)
        action()
        return clock.__class__.after(clock, seconds, action)

    monkeypatch.setattr(clock, "after", late)

    assert await find_unresolved("https://127.0.0.1/", clock) == "127.0.0.1"


async def test_an_address_that_is_none_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise UnicodeError("label too long")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert await find_unresolved("https://slack.example/", SystemClock()) == ""
