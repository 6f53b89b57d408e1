"""`/export`: the history of a chat as a file, sent once.

The file is stored as a call's result before it is sent, and its delivery is recorded like any file's: if the process
dies, the next one sends the same file, unless it already arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.commands.chatfile import ChatWriter, Form, write_chat
from bot.contract import File, MessageSent, Metrics, Surface
from bot.reply import Notices, Replies, Settling, files_before
from bot.safety import LinkPolicy, Redact
from bot.sentences import say
from bot.store import FILE_BYTES, Store, StoredTurn, TurnState
from bot.turn import Run, close_told, finish, write_unsent
from tools.contract.base import ProducedFile, ToolCall, ToolResult

_ALL: Final = "all"
_FORMS: Final = {
    Form.MARKDOWN: ("chat.md", "text/markdown"),
    Form.JSON: ("chat.json", "application/json"),
}


def read_wish(message: MessageSent) -> tuple[Form, bool] | None:
    """Return the requested format, and whether everybody's questions are wanted; None: it is unclear."""
    words = set(message.text.lower().split())
    if not words <= {*Form, _ALL} or words >= {*Form}:
        return None
    return (Form.JSON if Form.JSON in words else Form.MARKDOWN), _ALL in words or not message.group


@dataclass(eq=False, repr=False)
class Exports:
    """Sends chats as files; one object for the whole process."""

    store: Store
    replies: Replies
    notices: Notices
    settling: Settling
    surface: Callable[[MessageSent], Surface]
    metrics: Metrics
    redact: Redact
    zone: str

    async def send(self, run: Run) -> None:
        """Write the file, unless a former process stored it; send it, and close the turn.

        Raises:
            StoreError: the store fails now.
            Unreachable: the platform is not connected now.
        """
        turn, question = run.turn, run.question
        surface, before = self.surface(question), await self.store.turns.load(turn)
        reply = self.replies.answer(
            surface, question.chat, before, LinkPolicy(), run.language, question=question, shown=run.shown
        )
        async with reply:
            async with reply.followed():
                for part in await self._make(run, before, surface):
                    if isinstance(part, File):
                        reply.attach(part)
                    else:
                        reply.append(part)
            await finish(reply, run, TurnState.DONE)
        if reply.undelivered:
            notes = write_unsent(reply.undelivered, run.language, f"t{turn}")
            await self.notices.tell(question, "\n\n".join(notes), turn=f"t{turn}-unsent")
        state = await close_told(self.store, self.settling, turn, question.chat, reply, before)
        self.metrics.turns_ended.add(state)

    async def _make(self, run: Run, before: StoredTurn, surface: Surface) -> list[str | File]:
        """Return the reply and the file, once both are stored."""
        if files := files_before(before):
            said = [call.result.text for call in before.calls if call.result is not None]
            return [*said, *files]
        question, language, limits = run.question, run.language, surface.limits
        wish = read_wish(question)
        form, everything = wish if wish is not None else (Form.MARKDOWN, False)
        from bot.store import Extent

        extent = Extent(
            question.chat, "" if everything else question.sender.id, run.turn, newest_first=True, whole=False
        )
        history = self.store.history
        stored = await history.count_exported(extent)
        if not stored:
            return [say("export_nothing", language)]
        most = min(limits.attachment_bytes, FILE_BYTES)
        written = await write_chat(history.export(extent), ChatWriter(form, self.redact, self.zone), most)
        command = limits.command_form.format(word=f"export {_ALL}")
        parts = [say("export" if everything else "export_own", language, turns=written.turns, all=command)]
        if left_out := stored - written.turns:
            parts.append(say("export_left_out", language, count=left_out, size=most // 2**20))
        name, media_type = _FORMS[form]
        call, told = ToolCall("export", "export", {"form": form}), "\n\n".join(parts)
        await self.store.turns.start_call(run.turn, call, passnumber=1, position=0, effects=False)
        result = ToolResult(text=told, files=(ProducedFile(name, media_type, written.content),))
        await self.store.turns.end_call(run.turn, call.id, result)
        return [told, File(name, media_type, written.content)]
