"""Choose the tools offered for a question, and its first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.context import Briefings, subject_of
from bot.contract import AssistantEntry, Entry, MessageSent, as_written
from bot.model import Models
from bot.policy import Permit, ToolRights
from bot.toolchoice import Choice, Chooser, NamedCall, Room, named_call, pre_search
from bot.turn.jobs import is_job
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolCall, ToolSpec


@dataclass(eq=False, repr=False)
class ToolOffer:
    """Chooses among the tools that the asker may use; one for the process."""

    registry: ToolRegistry
    rights: ToolRights
    chooser: Chooser
    briefings: Briefings
    models: Models
    search_first: bool = False
    """Start with a search if a question plainly needs one."""

    async def prepare(self) -> None:
        """Index the tools before anybody waits for it."""
        await self.chooser.index(self.registry.specs())

    async def find_named(
        self, question: MessageSent, language: str, form: Callable[[], str]
    ) -> tuple[Permit, NamedCall | None]:
        """Return the asker's rights here, and the call that the question names; `form` is the notation of commands."""
        permit = await self.rights.permit_for(question)
        closed = self.rights.explain_closed(permit, language)
        return permit, named_call(as_written(question), self._specs_for(permit, question), language, closed, form)

    def _specs_for(self, permit: Permit, question: MessageSent) -> tuple[ToolSpec, ...]:
        specs = self.registry.specs(None if permit.is_open else permit.allows)
        return specs if is_job(question) else tuple(spec for spec in specs if not spec.jobs)

    def find_starting(self, permit: Permit) -> tuple[str, ...]:
        """Return the starting servers whose tools may be used."""
        return self.registry.starting(permit.allows)

    async def choose_first_call(
        self, question: MessageSent, permit: Permit, named: NamedCall | None
    ) -> ToolCall | None:
        """Return the call to make before the first pass: one that the person named, or a search that is clearly
        needed."""
        if named is not None:
            return named.call
        if not self.search_first or question.quoted is not None:
            return None
        specs = self._specs_for(permit, question)
        return pre_search(question.text, specs, index=await self.chooser.index(specs))

    async def choose_tools(
        self, question: MessageSent, permit: Permit, history: Sequence[Entry], certain: Sequence[str], model: str
    ) -> Choice:
        """Return the tools offered for this question: none for a greeting, and in any case those in `certain`.

        Tools take at most half of a small window: as many as fit are offered, and then named.
        """
        told = [entry for entry in history if isinstance(entry, AssistantEntry)]
        specs = self._specs_for(permit, question)
        certain = [*certain, *(spec.name for spec in specs if spec.jobs)]
        return await self.chooser.choose(
            subject_of(question),
            specs,
            [*(call.name for entry in told for call in entry.calls), *certain],
            before=told[-1].text if told else "",
            certain=certain,
            room=Room(self.briefings.window_of(model) // 2, self.models.tokens_of(model)),
        )
