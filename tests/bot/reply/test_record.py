"""What the next process needs of a reply."""

from __future__ import annotations

from bot.contract.messages import MessageRef
from bot.reply.record import files_before
from bot.store import AttachmentRecord, CallRecord, PageState, StoredTurn
from tools.contract.base import ProducedFile, ToolCall, ToolResult, ToolStatus


def call(position: int, *names: str) -> CallRecord:
    result = ToolResult(text="", files=tuple(ProducedFile(name, "image/png", name.encode()) for name in names))
    return CallRecord(1, position, ToolCall(str(position), "draw", {}), True, ToolStatus.COMPLETED, 0.0, 1.0, result)


def test_files_made_before_a_restart_keep_the_numbers_they_were_posted_under() -> None:
    """Calls end in another order than they stand in; what was posted first stays first, the rest follows."""
    posted = AttachmentRecord(0, 9, "b.png", "image/png", MessageRef("m"), PageState.FINAL, "t1-f0")
    running = CallRecord(1, 2, ToolCall("2", "draw", {}), True, ToolStatus.RUNNING, 0.0)
    state = StoredTurn(1, (), (call(0, "a.png"), call(1, "b.png", "c.png"), running), (), (posted,))

    assert [file.name for file in files_before(state)] == ["b.png", "a.png", "c.png"]
    assert files_before(StoredTurn(1)) == []
