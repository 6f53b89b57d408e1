"""The progress of a running turn, from which its history can be completed at any moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.agent import CallKey, Citations
from bot.contract import OURS, AssistantEntry, Entry, File, ToolEntry, Usage, UserEntry, join_origins
from bot.markdown import escape
from bot.safety import Redact, clean_name, new_marker, redact_nothing
from bot.sentences import say
from bot.turn.story import Story


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
        rest = redact("".join(self.current)).strip()
        if rest or not self.passes or self.passes[-1].calls:
            origin = join_origins([told, *(entry.origin for entry in entries)])
            entries.append(AssistantEntry(text=rest or f"({note or 'no answer'})", origin=origin))
        return entries

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
