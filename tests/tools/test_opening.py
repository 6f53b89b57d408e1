"""A tool that cannot be opened, or that breaks: its fault alone, said in one line."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import tools
from tools.calling.crashes import describe_crash
from tools.contract import languages
from tools.contract.base import ToolCall, ToolContext
from tools.contract.languages import phrase
from tools.shell import run as shell

WRITTEN = {
    "no_python": "def open_tool(settings:\n",
    "no_import": "import a_library_that_nobody_has\n",
    "no_tool": "",
    "no_opening": "def open_tool(settings):\n    raise RuntimeError('the printer\\nis on fire')\n",
    "no_spec": "def open_tool(settings):\n    return None\n",
    "no_name": """
from tools.calling.function import tool

@tool()
async def another() -> str:
    "Say another."
    return "another"

def open_tool(settings):
    return another
""",
    "breaks": """
from tools.calling.function import tool

@tool()
async def breaks(number: int = 0) -> str:
    "Divide by a number."
    return str(1 // number)

def open_tool(settings):
    return breaks
""",
}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table holds tools that somebody wrote wrong, each in a module of its own, beside the calculator."""
    for name, text in WRITTEN.items():
        (tmp_path / f"written_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    table = {name: f"written_{name}" for name in WRITTEN}
    monkeypatch.setattr(tools, "TOOLS", {**table, "calculator": "tools.calculator"})
    yield
    for name in table.values():
        sys.modules.pop(name, None)


async def test_a_tool_that_cannot_be_opened_is_left_out_and_the_others_work(written: None) -> None:
    registry = tools.open_registry({})

    done = await registry.run(ToolCall("1", "calculator", {"expression": "6*7"}), ToolContext())
    await registry.close()

    assert [spec.name for spec in registry.specs()] == ["breaks", "calculator"] and done.ok
    faults = registry.broken
    assert faults == registry.unavailable and set(faults) == WRITTEN.keys() - {"breaks"}
    assert not registry.faults, "no setting is wrong"
    assert faults["no_opening"] == (
        "it cannot be opened: RuntimeError: the printer is on fire (written_no_opening.py, line 2)"
    )
    assert "SyntaxError" in faults["no_python"] and "a_library_that_nobody_has" in faults["no_import"]
    assert "open_tool" in faults["no_tool"] and "'another'" in faults["no_name"]


def test_a_tool_that_breaks_in_a_shell_is_one_line(written: None, capsys: pytest.CaptureFixture[str]) -> None:
    code = shell.main({}, "breaks", "{}")
    told = capsys.readouterr()
    listed = shell.main({}, None, "{}")

    assert (code, told.out) == (1, "")
    # Python 3.14 words it otherwise: "division by zero".
    words = re.escape("(written_breaks.py, line 7)")
    assert re.fullmatch(rf"tools: breaks failed: ZeroDivisionError: .*by zero {words}\n", told.err)
    assert listed == 0 and "✗ no_opening: not available, it cannot be opened: " in capsys.readouterr().out


def test_a_fault_in_a_library_is_told_by_the_tools_line_that_called_it() -> None:
    with pytest.raises(ValueError, match="Single") as caught:
        phrase("{", "en")

    assert Path(traceback.extract_tb(caught.value.__traceback__)[-1].filename).stem in ("string", "__init__")
    lines = Path(languages.__file__).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "_NOUNS.vformat" in text)
    said = f"ValueError: Single '{{' encountered in format string (languages.py, line {line})"
    assert describe_crash(caught.value) == said
