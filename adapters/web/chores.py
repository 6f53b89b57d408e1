"""What front ends ask for themselves, through the same address as a person's questions: titles, tags, suggestions.

The words are the beginnings of the prompts of Open WebUI (`backend/open_webui/config.py`) and LibreChat
(`@librechat/agents`). Nothing else tells such a request from a question: it has the headers of the conversation that it
is about.
"""

from __future__ import annotations

from typing import Final

_LOOKED_AT: Final = 200
_TASK: Final = "### Task:"
"""With this Open WebUI also begins a person's question about files, but then tells no history."""
_HISTORY: Final = "<chat_history>"
_BEGINNINGS: Final = (
    f"{_TASK} You are an autocompletion system.",
    "Provide a concise, 5-word-or-less title for the conversation",
    "Analyze this conversation and provide: 1. The detected language of the conversation",
)


def is_chore(text: str) -> bool:
    """Return True if a front end asks this, not a person."""
    beginning = " ".join(text[:_LOOKED_AT].split())
    return beginning.startswith(_BEGINNINGS) or (beginning.startswith(_TASK) and _HISTORY in text)
