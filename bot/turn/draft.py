"""An answer in progress, on top of the results of earlier attempts."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.agent import CallKey, learn_result
from bot.contract import File, SurfaceLimits
from bot.policy import Prices
from bot.reply import ReplyStream, files_before
from bot.safety import LinkPolicy, enclosures, tool_entry
from bot.settings import AnswerSettings
from bot.store import FILE_BYTES
from bot.turn import footer
from bot.turn.loading import Known
from bot.turn.narration import Narration
from bot.turn.progress import Progress
from bot.turn.run import Run
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolResult


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer in progress: what is known, the output of models and tools, and the reply that shows it."""

    run: Run
    known: Known
    settings: AnswerSettings
    policy: LinkPolicy
    reply: ReplyStream
    limits: SurfaceLimits
    made: Progress
    results: dict[CallKey, ToolResult] = field(default_factory=dict)
    """Results of calls that earlier attempts made, in this process or before."""
    voice: Narration | None = None
    """Speaks it, if its chat wants that."""
    unknown: set[CallKey] = field(default_factory=set)
    """Calls with effects that an earlier attempt began without a stored result."""

    @property
    def unread(self) -> str:
        """The sentence that is the whole answer if the question contains nothing readable; else empty."""
        return enclosures.answer_unread(self.known.question, self.run.language)

    def resume(self, registry: ToolRegistry, prices: Prices) -> None:
        """Resume the passes, results and files of earlier attempts, so nothing is requested or called again."""
        made, before = self.made, self.known.before
        for one in before.passes:
            made.passes.append(one.entry)
            made.model, made.usage = one.model, made.usage + one.usage
            made.dollars += prices.dollars_of(one.model, one.usage) or 0.0
        for record in before.calls:
            key = (record.passnumber, record.call.id)
            if record.result is not None:
                made.dollars += record.result.dollars
                self.results[key] = record.result
                origin = made.passes[record.passnumber - 1].origin
                made.results[key] = tool_entry(record.call, record.result, made.marker, origin)
                made.citations.add(record.result.sources)
                learn_result(self.policy, registry.spec(record.call.name), record.call, record.result)
            elif record.effects:
                self.unknown.add(key)
        for file in files_before(before):
            self.attach(file)

    def show_again(self) -> None:
        """Write the text of the passes that earlier attempts made."""
        for entry in self.made.passes:
            if entry.text:
                self.say(entry.text)

    def say(self, text: str) -> None:
        """Append a model's text; a new pass begins a new paragraph."""
        text = text if self.made.current else footer.gap_after(self.made.visible, self.settings) + text
        self._put(text)
        if self.voice is not None:
            self.voice.say(text)

    def take_back(self, count: int) -> None:
        """Withdraw the model's latest texts from the reply."""
        del self.made.current[-count:], self.made.visible[-count:]
        self.reply.rewrite("".join(self.made.visible))
        if self.voice is not None:
            self.voice.take_back(count)

    def write(self, words: str) -> None:
        """Write a sentence of our own as a separate paragraph."""
        self._put(footer.as_paragraph(self.made.visible, words))

    def _put(self, text: str) -> None:
        self.made.visible.append(text)
        self.reply.append(text)

    def attach(self, file: File) -> None:
        """Post a file after the text, if it can be posted."""
        if len(file.content) > min(self.limits.attachment_bytes, FILE_BYTES):
            self.made.unsent.append((file, "file_too_large"))
        else:
            self.reply.attach(file)
