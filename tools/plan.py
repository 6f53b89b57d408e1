"""Show the person the plan of a job, and how far it is."""

from __future__ import annotations

from typing import Final

from tools.calling.function import FunctionTool, tool
from tools.contract.base import ToolError

NAME: Final = "plan"
MOST_STEPS: Final = 20
_EXAMPLES = (
    {"steps": ["Find the three latest reports", "Compare their figures", "Write the summary"]},
    {"steps": ["Find the three latest reports", "Compare their figures", "Write the summary"], "done": 1},
)
_ASKED = ("Read the three latest reports, compare their figures, and write a summary.",)
_KEYWORDS = ("plan", "steps", "progress", "计划", "步骤", "进度")


def open_tool(settings: object = None) -> FunctionTool:
    """The tool, which needs no settings."""
    return plan


@tool(
    category="jobs",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    icon="🗒️",
    verb=("Planning", "正在规划", "正在規劃"),
    label=("Show the plan of a job", "显示任务计划", "顯示任務計畫"),
    timeout=5.0,
    per_minute=30,
    own_words=True,
    jobs=True,
)
async def plan(steps: list[str], done: int = 0) -> str:
    """Show the person the plan of this job, and tick off the steps that are done.

    Use when: a job begins, a step of it is done, or its plan changes.
    Not for: answers that come at once.
    Source: what you write

    Args:
        steps: The whole plan in order, each step in a few words. Example: ["Find the reports", "Compare them"]
        done: How many of the steps are done, from the first on. Example: 1
    """
    if not 0 < len(steps) <= MOST_STEPS:
        raise ToolError(f"A plan has 1 to {MOST_STEPS} steps; these are {len(steps)}. Join or split some.")
    if not 0 <= done <= len(steps):
        raise ToolError(f"done is the number of steps that are done, 0 to {len(steps)}.")
    return f"The person sees it: {done} of {len(steps)} done."
