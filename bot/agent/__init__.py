"""The tool loop: passes of the model, calls, results, until there is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.agent.callpolicy import CallPolicy
from bot.agent.calls import REPEATED
from bot.agent.condensing import Condenser
from bot.agent.events import (
    Asked,
    EarlyCall,
    Event,
    Failed,
    FileProduced,
    Finished,
    Heard,
    ModelReplaced,
    PassEnded,
    ReasoningDelta,
    StateKept,
    TextDelta,
    TextWithdrawn,
    ToolFinished,
    ToolStarted,
    answer_with,
)
from bot.agent.loop import Agent
from bot.agent.modelpass import GAP
from bot.agent.provenance import learn_result, policy_for, spec_of
from bot.agent.task import CallKey, Decision, Task
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.agent.foreign import ForeignAgent
else:
    __getattr__ = load_late(__name__, {"foreign": "ForeignAgent"})
