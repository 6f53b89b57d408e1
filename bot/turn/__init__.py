"""One turn from its question to its end. Read `conversation` first."""

from __future__ import annotations

from bot.turn.approvals import Approvals
from bot.turn.attachments import AttachmentReader, Attachments
from bot.turn.closing import is_said
from bot.turn.conversation import Conversation
from bot.turn.draft import write_unsent
from bot.turn.footer import call_lines, describe_reasoning, format_seconds
from bot.turn.footnotes import asks_from_outside, finish_told, is_stop_note
from bot.turn.jobs import is_job
from bot.turn.listening import Listener
from bot.turn.loading import STARTS_AT_ONCE
from bot.turn.merging import Merging
from bot.turn.narration import Narrator
from bot.turn.queue import Running, TurnQueue
from bot.turn.recalling import CallRecall
from bot.turn.reminders import LONGEST_SLEEP, Reminders
from bot.turn.run import EndReason, Run, close_told, finish
from bot.turn.task import AgentOf
from bot.turn.thread_context import ThreadContext
from bot.turn.tool_offer import ToolOffer
