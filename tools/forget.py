"""Delete a fact that was kept about the person or the chat."""

from __future__ import annotations

from tools.calling.function import FunctionTool, tool
from tools.contract.base import ToolContext, ToolError, facts_of

_EXAMPLES = ({"number": 12},)
_ASKED = ("Forget number 12, please.",)
_KEYWORDS = ("forget", "delete", "remove", "no longer", "not any more", "忘记", "忘掉", "删除", "不再")


def open_tool(settings: object = None) -> FunctionTool:
    """The tool; it needs nothing."""
    return forget


@tool(
    category="memory",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    icon="🗑️",
    verb=("Forgetting a fact", "正在删除记忆", "正在刪除記憶"),
    label=("Forget something I remember", "删除我记住的某件事", "刪除我記住的某件事"),
    effects=True,
    own_words=True,
)
async def forget(context: ToolContext, number: int) -> str:
    """Delete one kept fact for good.

    Use when: the person wants something forgotten, or a kept fact is no longer true (then remember the new one).
    Not for: the conversation itself; the person begins a new one with a command.

    Args:
        number: The fact's number, as recall lists it.
    """
    owners = tuple(dict.fromkeys((context.person, context.scope)))
    if not await facts_of(context).forget(owners, number):
        raise ToolError(f"No fact {number} is kept here. Use recall to see the numbers.")
    return f"Fact {number} is forgotten."
