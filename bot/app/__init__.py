"""The running program: every part is built once and joined with the others. The one room that looks everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.app.agents import name_agents, open_agent
from bot.app.app import App
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.app.recorded import RecordedModel, RecordedPlatform, RecordedTools, bare
    from bot.app.recordedagents import Script, heard_in, passes_of, stop_running, watched
    from bot.app.recordedquestion import RecordedAttachments, question_as_read
else:
    __getattr__ = load_late(
        __name__,
        {
            "recorded": "RecordedModel RecordedPlatform RecordedTools bare",
            "recordedagents": "Script heard_in passes_of stop_running watched",
            "recordedquestion": "RecordedAttachments question_as_read",
        },
    )
