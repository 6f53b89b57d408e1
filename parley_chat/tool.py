"""All that the author of a tool imports: `from parley_chat.tool import ToolError, tool`; see docs/extending.md."""

from __future__ import annotations

from tools.calling.function import FunctionTool, tool
from tools.contract.base import (
    Arguments,
    Checked,
    Json,
    ProducedFile,
    Source,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    Unavailable,
)
from tools.contract.findings import Finding
from tools.contract.forms import Key, ToolSettings
from tools.contract.late import Late

__all__ = [
    "Arguments",
    "Checked",
    "Finding",
    "FunctionTool",
    "Json",
    "Key",
    "Late",
    "ProducedFile",
    "Source",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolSettings",
    "ToolSpec",
    "Unavailable",
    "tool",
]
