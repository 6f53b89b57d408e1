"""What a cell of code costs: `python -m bench.sandbox`. Starts real sandboxes on this machine."""

from __future__ import annotations

import asyncio
import platform
import statistics
import time
from collections.abc import Awaitable, Callable

from tools.sandbox.bwrap import Bubblewrap
from tools.sandbox.cell import Backend, SandboxFailed
from tools.sandbox.monty import Monty

PACKAGES = ("numpy", "pandas", "matplotlib", "sympy")
CELLS = {
    "1 + 1": "1 + 1",
    "10,000 prints": "for n in range(10_000): print(n)",
    "1 MiB file": "open('a.bin', 'wb').write(bytes(2**20))",
}
FIRST_CELLS = {
    "numpy": "import numpy as np; np.arange(10).sum()",
    "pandas": "import pandas as pd; pd.DataFrame({'a': [1, 2]}).sum()",
    "sympy": "import sympy; sympy.integrate('x**2', 'x')",
    "a plot": "import matplotlib.pyplot as plt; plt.plot([1, 4, 9]);",
}


async def main() -> None:
    print(f"Python {platform.python_version()}, Linux {platform.release()}, milliseconds")
    for rich in (False, True):
        try:
            await _bubblewrap(rich)
        except SandboxFailed as failure:
            print(f"bwrap: not on this machine: {failure}")
    try:
        await _monty()
    except SandboxFailed as failure:
        print(f"monty: not on this machine: {failure}")


async def _bubblewrap(rich: bool) -> None:
    backend = Bubblewrap(PACKAGES, rich=rich)
    print("\nbwrap, with a Jupyter kernel (CODE_BACKEND=jupyter)" if rich else "\nbwrap")
    _row("self-test, once a process", await _times(3, backend.check))

    async def start() -> None:
        session = await backend.open()
        started.append(session)

    started: list[object] = []
    _row("start", await _times(20, start))
    ends = []
    for session in started:
        began = time.perf_counter()
        await session.end()  # type: ignore[attr-defined]
        ends.append(time.perf_counter() - began)
    _row("end", ends)
    await _cells(backend)
    for title, code in FIRST_CELLS.items():
        cell = await backend.run(f"scope of {title}", "1", 15.0)
        began = time.perf_counter()
        cell = await backend.run(f"scope of {title}", code, 15.0)
        note = f"   ({cell.error.splitlines()[-1]})" if cell.error else ""
        _row(f"first use of {title}", [time.perf_counter() - began], note)
    await backend.close()


async def _monty() -> None:
    backend = Monty()
    print("\nmonty")
    _row("self-test, once a process", await _times(1, backend.check))

    async def fresh() -> None:
        scopes.append(len(scopes))
        await backend.run(f"scope {len(scopes)}", "1", 15.0)

    scopes: list[int] = []
    _row("start and first cell", await _times(8, fresh))
    await _cells(backend)
    await backend.close()


async def _cells(backend: Backend) -> None:
    await backend.run("scope", "1", 15.0)
    for title, code in CELLS.items():
        if (await backend.run("scope", code, 15.0)).error and backend.name == "monty":
            continue

        async def cell(code: str = code) -> None:
            await backend.run("scope", code, 15.0)

        _row(f"cell: {title}", await _times(50, cell))


async def _times(count: int, action: Callable[[], Awaitable[object]]) -> list[float]:
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        await action()
        taken.append(time.perf_counter() - began)
    return taken


def _row(title: str, seconds: list[float], note: str = "") -> None:
    print(f"  {title:32} p50 {statistics.median(seconds) * 1000:8.2f}   worst {max(seconds) * 1000:8.2f}{note}")


if __name__ == "__main__":
    asyncio.run(main())
