"""Run Python code, confined, with variables kept for each chat; what it plots and saves goes to the chat.

`sandbox/` does the work and is imported at the first cell. Here: who may run code, what the model is told, and how a
result is written down.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tools.calling.function import FunctionTool
from tools.contract.base import ToolContext, ToolError, ToolResult, ToolStatus, Unavailable
from tools.contract.findings import Finding
from tools.contract.nearness import closest
from tools.settings import CodeSettings

if TYPE_CHECKING:
    from tools.sandbox.cell import Backend, Cell
    from tools.sandbox.choice import Choice

LONGEST_CODE = 100_000
"""Characters of one cell."""
HOUR_PRICE: Final = 0.12
"""Dollars for an hour of a remote sandbox (2 vCPU, 1 GiB). https://e2b.dev/pricing"""
_MARGIN = 3.0
"""Seconds of the call's time that starting a sandbox and reading the result may take."""
_KEYWORDS = (
    *("python", "code", "script", "plot", "chart", "graph", "compute", "simulate", "statistics"),
    *("代码", "运行", "画图", "图表", "计算", "código", "gráfico", "Diagramm", "berechnen", "код", "график"),
    *("コード", "グラフ", "코드", "그래프"),
)
_EXAMPLES = (
    {"code": "sum(n for n in range(1, 1000) if n % 3 == 0 or n % 5 == 0)"},
    {"code": "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9, 16])\nplt.title('Squares')"},
)
_ASKED = (
    "What is the sum of all numbers below 1000 that 3 or 5 divides?",
    "Plot the squares of 1 to 4.",
)


def open_tool(settings: CodeSettings | None) -> CodeRunner:
    """The tool, ready for its first cell; whether the sandbox holds is tried then.

    Raises:
        Unavailable: nothing that confines code is installed, or it is turned off.
    """
    settings = settings or CodeSettings.model_construct()
    if settings.code_backend == "off":
        raise Unavailable("it is turned off (CODE_BACKEND=off)")
    if settings.code_backend == "e2b":
        if not settings.e2b_api_key.get_secret_value().strip():
            raise Unavailable("CODE_BACKEND=e2b needs E2B_API_KEY, a key from e2b.dev", wanted=True)
        return CodeRunner(settings, ("e2b",))
    rich = settings.code_backend == "jupyter"
    wanted = ("bwrap", "monty") if rich or settings.code_backend == "auto" else (settings.code_backend,)
    found = tuple(name for name in wanted if _present(name))
    if rich and "bwrap" not in found:
        raise Unavailable(_MISSING["jupyter"], wanted=True)
    if not found:
        raise Unavailable(_MISSING[settings.code_backend], wanted=settings.code_backend != "auto")
    if "bwrap" in found and (gone := _named_and_missing(settings)):
        raise Unavailable(gone, wanted=True)
    # Each is tried in this order, so the plain interpreter is what remains where the kernel cannot be had.
    return CodeRunner(settings, ("rich", *found) if rich else found)


_MISSING = {
    "auto": "it runs code only confined: install bubblewrap (Linux), or monty (pip install pydantic-monty)",
    "bwrap": "CODE_BACKEND=bwrap needs Linux and the package bubblewrap",
    "jupyter": "CODE_BACKEND=jupyter needs Linux and the package bubblewrap",
    "monty": "CODE_BACKEND=monty needs it: pip install pydantic-monty",
}


def _installed(packages: Iterable[str]) -> tuple[str, ...]:
    """Those of `packages` that are there."""
    found = []
    for name in packages:
        try:
            importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(name)
    return tuple(found)


def _named_and_missing(settings: CodeSettings) -> str:
    """Say which package the operator named that is not installed; empty if all are. The default may lack some."""
    if settings.code_backend == "jupyter" and importlib.util.find_spec("ipykernel") is None:
        return "CODE_BACKEND=jupyter needs ipykernel: pip install ipykernel ipython"
    named = settings.packages
    if settings.code_packages == type(settings).model_fields["code_packages"].default:
        return ""
    for name in named:
        if not _installed([name]):
            there = {found.name for found in importlib.metadata.distributions() if found.name}
            near = closest(name, there, 1, 0.75)
            hint = f"did you mean {near[0]}?" if near else "install it, or leave it out"
            return f"CODE_PACKAGES names {name[:60]!r}, which is not installed; {hint}"
    return ""


def _told_of(packages: Sequence[str]) -> str:
    """What the model is told of the packages: only of those that are there."""
    if not packages:
        return "Only the standard library can be imported."
    figures = " Figures of matplotlib are sent to the chat by themselves." if "matplotlib" in packages else ""
    return f"Beside the standard library these can be imported: {', '.join(packages)}.{figures}"


def _present(name: str) -> bool:
    if name == "bwrap":
        return sys.platform == "linux" and shutil.which("bwrap") is not None
    return importlib.util.find_spec("pydantic_monty") is not None


class CodeRunner(FunctionTool):
    """`run_python`."""

    def __init__(self, settings: CodeSettings, backends: tuple[str, ...]) -> None:
        self._settings = settings
        self._backends = backends
        self._choice: Choice | None = None
        packages = _installed(settings.packages) if {"bwrap", "rich"} & set(backends) else ()
        super().__init__(
            self.cell,
            name="run_python",
            category="code",
            examples=_EXAMPLES if "matplotlib" in packages else _EXAMPLES[:1],
            asked=_ASKED if "matplotlib" in packages else _ASKED[:1],
            keywords=_KEYWORDS,
            same="run execute python code script interpreter sandbox | python",
            icon="🐍",
            verb=("Running code", "正在运行代码", "正在執行程式碼"),
            label=(
                "Run Python code, draw charts, make files",
                "运行 Python 代码、画图表、生成文件",
                "執行 Python 程式碼、繪製圖表、產生檔案",
            ),
            subject="code",
            # Cells change the chat's variables, so they run in the order in which they were asked for.
            effects=True,
            echoes=True,
            timeout=20.0,
            most_chars=LONGEST_CODE + 1000,
            per_minute=20,
        )
        self.spec = replace(self.spec, purpose=f"{self.spec.purpose} {_told_of(packages)}")

    async def cell(self, context: ToolContext, code: str) -> ToolResult:
        """Run Python code in this chat's interpreter and return what it prints and the value of its last line.

        Variables, imports and files are kept between calls. Files saved in the current folder are sent to the chat by
        themselves; files for later use only belong in /tmp. There is no network, no access to this machine and nothing
        can be installed. A cell has 15 seconds and 512 MiB.

        Use when: the answer needs exact calculation, statistics, simulation, data or text processing, a chart, or a
            file to be made, or when the person gives code to try.
        Not for: one arithmetic expression (calculator), the date or time (current_time), or reading web pages.

        Args:
            code: Python source of one cell. Example: "import statistics\\nstatistics.mean([1, 2, 4])"
        """
        from tools.sandbox.cell import SandboxFailed

        if not code.strip():
            raise ToolError("The code is empty: write what to run.")
        if len(code) > LONGEST_CODE:
            raise ToolError(f"The code has {len(code)} characters, at most {LONGEST_CODE} are possible.")
        try:
            backend = await self._chosen().backend()
            seconds, price = max(1.0, context.seconds - _MARGIN), HOUR_PRICE / 3600
            async with context.bill.pay(price * backend.paid_seconds(context.scope, seconds)) as payment:
                with payment.nothing_for(SandboxFailed):
                    done = await backend.run(context.scope, code, seconds)
                payment.dollars = price * done.paid_seconds
        except SandboxFailed as failure:
            raise ToolError(f"Code cannot be run here: {failure}. Answer without running code.", retry=False) from None
        return ToolResult(
            text=written(done, context.chars),
            ok=not done.error,
            status=ToolStatus.FAILED if done.error else ToolStatus.COMPLETED,
            files=done.files,
        )

    async def check(self, *, offline: bool = False) -> Finding:
        """What runs code here and why, for the operator. Makes the self-test; `offline`: not at E2B.

        Raises:
            Unavailable: nothing that is installed confines code.
        """
        from tools.sandbox.cell import SandboxFailed

        if offline and "e2b" in self._backends:
            return Finding.not_asked("E2B is configured")
        try:
            backend = await self._chosen().backend()
        except SandboxFailed as failure:
            raise Unavailable(str(failure), wanted=self._settings.code_backend != "auto") from None
        reasons = self._chosen().reasons
        return Finding.note(f"{backend.summary} ({'; '.join(reasons)})") if reasons else Finding.ok(backend.summary)

    async def prove(self) -> str:
        """What runs code here, as far as this machine alone can tell.

        Raises:
            Unavailable: nothing that is installed confines code.
        """
        return "" if "e2b" in self._backends else (await self.check()).text

    def held_scopes(self) -> Iterable[str]:
        return () if self._choice is None else self._choice.held_scopes()

    async def close(self) -> None:
        choice, self._choice = self._choice, None
        if choice is not None:
            await choice.close()

    def _chosen(self) -> Choice:
        if self._choice is None:
            from tools.sandbox.choice import Choice

            self._choice = Choice([(name, partial(_make, name, self._settings)) for name in self._backends])
        return self._choice


def _make(name: str, settings: CodeSettings) -> Backend:
    """Return a backend; only that of the one that is used is loaded."""
    if name == "e2b":
        from tools.sandbox.e2b import E2B

        key = settings.e2b_api_key.get_secret_value().strip()
        return E2B(key, settings.e2b_api_base_url, settings.e2b_sandbox_base_url)
    if name == "monty":
        from tools.sandbox.monty import Monty

        return Monty()
    from tools.sandbox.bwrap import Bubblewrap

    return Bubblewrap(settings.packages, rich=name == "rich")


def written(cell: Cell, chars: int) -> str:
    """A cell as the model reads it, at most `chars` long: what it printed is cut first, an error last."""
    from tools.sandbox.cell import size

    parts: list[str] = []
    if cell.value:
        parts.append(f"Value:\n{_cut(cell.value, chars // 3)}")
    if cell.error:
        lost = (
            "The state of this chat was lost: the next call starts with a new interpreter, without variables."
            if cell.lost
            else "Correct the code and run it again; what ran before the error is kept."
        )
        parts.append(f"Error:\n{_cut(cell.error, chars // 3)}\n{lost}")
    if cell.files:
        names = ", ".join(f"{file.name} ({size(len(file.content))})" for file in cell.files)
        parts.append(f"Sent to the chat: {names}")
    parts += cell.notes
    rest = "\n\n".join(parts)
    output = cell.output.rstrip()
    if output:
        room = max(80, chars - len(rest) - 20)
        return f"Output:\n{_cut(output, room)}" + (f"\n\n{rest}" if rest else "")
    return rest or "The cell ran. It printed nothing and its last line has no value."


def _cut(text: str, most: int) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= most:
        return text
    middle = f"\n[… {len(text) - most} characters left out …]\n"
    room = max(0, most - len(middle))
    head = room * 2 // 3
    return text[:head] + middle + text[len(text) - (room - head) :]
