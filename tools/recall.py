"""Look up what was kept about the person and the chat."""

from __future__ import annotations

from tools.calling.function import FunctionTool, tool
from tools.contract.base import Arguments, ToolContext, ToolResult, facts_of

_EXAMPLES: tuple[Arguments, ...] = ({"query": "birthday"}, {})
_ASKED = (
    "When is Mia's birthday?",
    "What do you remember about me?",
)
_KEYWORDS = (
    *("recall", "remember", "do you know", "did i tell", "what do you know about me", "my", "facts", "memory"),
    *("记得", "还记得", "我说过", "我告诉过", "你知道我", "记忆", "回忆"),
)
_MOST = 50


def open_tool(settings: object = None) -> FunctionTool:
    """The tool; it needs nothing."""
    return recall


@tool(
    category="memory",
    examples=_EXAMPLES,
    asked=_ASKED,
    keywords=_KEYWORDS,
    icon="🧠",
    verb=("Recalling", "正在回忆", "正在回想"),
    label=("Look up what I remember", "查找我记住的内容", "查詢我記住的內容"),
    subject="query",
    echoes=True,
)
async def recall(context: ToolContext, query: str = "", limit: int = 10) -> ToolResult:
    """Look up facts that were kept about the person and this chat.

    Use when: an answer may depend on something the person told long ago, or they ask what you remember.
    Not for: what this conversation already says.

    Args:
        query: Words to look for; left out, everything is listed, the newest first.
        limit: How many facts at most, up to 50.
    """
    owners = tuple(dict.fromkeys((context.person, context.scope)))
    found = await facts_of(context).recall(owners, query, max(1, min(limit, _MOST)))
    if not found:
        about = f" about {query[:60]!r}" if query.strip() else ""
        return ToolResult(text=f"Nothing is kept{about}.")
    lines = [
        f"{number}. {'(this chat) ' if owner == context.scope != context.person else ''}{' '.join(text.split())}"
        for number, owner, text in found
    ]
    return ToolResult(text="\n".join(lines), untrusted=True)
