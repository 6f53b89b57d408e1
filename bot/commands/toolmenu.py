"""The tools as `/tools` lists them for people: what each does for them, under a heading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bot.markdown import escape
from bot.safety import clean_name
from bot.sentences import say
from tools.base import ToolSpec
from tools.languages import in_language
from tools.mcp.names import owner

_HEADINGS: Final = {
    "tools_finding": ("web", "files", "knowledge", "research", "weather", "finance", "data"),
    "tools_making": ("math", "code", "images"),
    "tools_keeping": ("memory", "time"),
}
_HEADING_OF: Final = {category: heading for heading, categories in _HEADINGS.items() for category in categories}


def list_tools(specs: Iterable[ToolSpec], language: str, form: str) -> str:
    """Return all tools as Markdown, a short line each: ours by purpose, those of MCP servers by server.

    Args:
        form: how a command is written here, as `/{word}`.
    """
    groups: dict[str, list[str]] = {say(heading, language): [] for heading in _HEADINGS}
    for spec in specs:
        label = in_language(spec.label, language) or spec.name
        groups.setdefault(_heading(spec, language), []).append(
            f"- {spec.icon} {escape(clean_name(label))} · `{spec.name}`"
        )
    parts = [f"**{heading}**\n" + "\n".join(lines) for heading, lines in groups.items() if lines]
    if not parts:
        return say("tools_none", language)
    return "\n\n".join([*parts, say("tools_foot", language, command=form.format(word="tool"))])


def _heading(spec: ToolSpec, language: str) -> str:
    if owner(spec.name):
        return escape(clean_name(spec.category))
    return say(_HEADING_OF.get(spec.category, "tools_more"), language)
