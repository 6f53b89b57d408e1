"""An answer in progress, on top of the results of earlier attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.agent import CallKey, Failed, Finished, learn_result, spec_of
from bot.contract import OURS, AssistantEntry, Entry, File, SurfaceLimits, ToolEntry, Usage, UserEntry, join_origins
from bot.markdown import escape
from bot.policy import Prices
from bot.reply import ReplyStream, files_before
from bot.safety import Citations, LinkPolicy, Redact, clean_name, enclosures, new_marker, redact_nothing, tool_entry
from bot.sentences import say
from bot.settings import AnswerSettings
from bot.store import FILE_BYTES
from bot.turn import footer
from bot.turn.jobs import describe_progress
from bot.turn.loading import Known
from bot.turn.narration import Narration
from bot.turn.run import Run
from bot.turn.story import Story
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolResult


@dataclass(slots=True)
class Progress:
    """The passes, results and words of one turn."""

    story: Story
    passes: list[AssistantEntry] = field(default_factory=list)
    results: dict[CallKey, ToolEntry] = field(default_factory=dict)
    current: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    """Reasoning of the pass in progress."""
    early: bool = False
    """Calls of the pass in progress already run."""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    dollars: float = 0.0
    """Dollars, for the models with a known price."""
    visible: list[str] = field(default_factory=list)
    last_token: float = 0.0
    """Monotonic time of the model's last token."""
    marker: str = field(default_factory=new_marker)
    citations: Citations = field(default_factory=Citations)
    heard: dict[int, list[Entry]] = field(default_factory=dict)
    """What the person added while it was made, by the number of passes before it."""
    unsent: list[tuple[File, str]] = field(default_factory=list)
    """Files that cannot be posted, each with the reason."""

    def to_entries(
        self, question: UserEntry, note: str, redact: Redact = redact_nothing, *, told: str = OURS
    ) -> list[Entry]:
        """Return the turn as history entries: exactly one result per call, and always an answer after the question.

        Args:
            told: the origin of what the model got before its first pass.
        """
        entries: list[Entry] = [question]
        for number, made in enumerate(self.passes, 1):
            entries.append(made)
            entries.extend(
                self.results.get(
                    (number, call.id), ToolEntry(call.id, call.name, "Error: cancelled before it ended.", False)
                )
                for call in made.calls
            )
            entries.extend(self.heard.get(number, ()))
        rest = redact("".join(self.current)).strip()
        if rest or not self.passes or self.passes[-1].calls:
            origin = join_origins([told, *(entry.origin for entry in entries)])
            entries.append(AssistantEntry(text=rest or f"({note or 'no answer'})", origin=origin))
        return entries

    def pass_of(self, call: str) -> int:
        """Return the number of the newest pass that requested the call with this id.

        Raises:
            ValueError: none did.
        """
        return max(number for number, made in enumerate(self.passes, 1) if any(one.id == call for one in made.calls))

    def all_ended(self, *, but_last: bool = False) -> bool:
        """Return True if every call has a result; `but_last`: those of the newest pass have not begun."""
        passes = self.passes[:-1] if but_last else self.passes
        return all((number, call.id) in self.results for number, made in enumerate(passes, 1) for call in made.calls)

    @property
    def reasoning(self) -> str:
        """The reasoning of all passes, in order."""
        return "\n\n".join(part for part in (*(one.reasoning for one in self.passes), "".join(self.thinking)) if part)

    @property
    def shown(self) -> str:
        """The whole text that a person reads."""
        return "".join(self.visible)


def write_unsent(unsent: Sequence[tuple[File, str]], language: str, reference: str) -> list[str]:
    """Return a sentence for each file that cannot be posted, as Markdown; the log names it by `reference`."""
    return [
        say(why, language, name=escape(clean_name(file.name)), size=_size(file), id=reference) for file, why in unsent
    ]


def _size(file: File) -> str:
    return f"{len(file.content) / 2**20:.1f} MB"


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
                entry = made.passes[record.passnumber - 1]
                made.results[key] = tool_entry(record.call, record.result, made.marker, entry.origin)
                made.citations.add(record.result.sources)
                learn_result(self.policy, spec_of(registry, entry, record.call), record.call, record.result)
            elif record.effects:
                self.unknown.add(key)
        for file in files_before(before):
            self.attach(file)

    def show_again(self) -> None:
        """Write the text of the passes that earlier attempts made."""
        for entry in self.made.passes:
            if entry.text and not (self.run.job and entry.calls):
                self.say(entry.text)
        if self.run.job:
            self.show_progress()

    def show_progress(self) -> None:
        """Show how far a job is, above the words of the pass in progress."""
        self.reply.rewrite(f"{describe_progress(self.made.passes, self.run.language)}\n\n{self.made.shown}")

    def end_pass(self) -> None:
        """Let the plan of a job take in the words that a pass said beside its calls: they are not the answer."""
        if self.made.passes[-1].calls:
            self.made.visible.clear()
            self.show_progress()

    def end_progress(self, outcome: Finished | Failed) -> None:
        """Leave only the answer of a job; one without an answer keeps its plan."""
        if self.run.job and isinstance(outcome, Finished):
            self.reply.rewrite(self.made.shown)

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
