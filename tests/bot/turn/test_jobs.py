"""What a job shows of its plan, whatever the model makes of it."""

from __future__ import annotations

import pytest

from bot.contract.transcript import AssistantEntry
from bot.turn.jobs import describe_progress
from tests.conftest import RawJson
from tools.contract.base import Json, ToolCall, ToolContext, ToolError
from tools.plan import plan


def made(text: str, **arguments: RawJson) -> AssistantEntry:
    return AssistantEntry(text, calls=(ToolCall("1", "plan", arguments),))


@pytest.mark.parametrize(
    ("passes", "shown"),
    [
        ([], "I am working on it …"),
        ([AssistantEntry("An answer.")], "I am working on it …"),
        ([made("I begin.", steps=["Read", "Write"])], "- [ ] Read\n- [ ] Write\n\nI begin\\."),
        ([made("", steps=["Read", "Write"]), made("", steps=["Read", "Write"], done=1)], "- [x] Read\n- [ ] Write"),
        ([made("", steps=["a\n\n# b"], done=9)], "- [x] a \\# b"),
        ([made("", steps="Read", done="x")], "I am working on it …"),
        ([made("", steps=[{"step": 1}, None], done=None)], "- [ ] \\{'step': 1\\}\n- [ ] None"),
        ([made("", steps=["s" * 500])], f"- [ ] {'s' * 119}…"),
        ([made("n" * 1000)], "n" * 299 + "…"),
    ],
)
def test_the_newest_plan_and_the_newest_words_are_shown(passes: list[AssistantEntry], shown: str) -> None:
    assert describe_progress(passes, "en").replace("\\", "") == shown.replace("\\", "")


@pytest.mark.parametrize(
    ("steps", "done", "said"), [([], 0, "1 to 20 steps"), (["x"] * 21, 0, "Join or split"), (["x"], 2, "0 to 1")]
)
async def test_a_plan_that_cannot_be_is_explained(steps: list[Json], done: int, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await plan.run({"steps": steps, "done": done}, ToolContext())
