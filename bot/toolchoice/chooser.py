"""Choose the tools to offer for a question before the first pass, by the cheapest method that decides.

A greeting needs none. Otherwise all of our own tools are offered, and of the servers' tools the ones that fit the
question, by a ranking (`index.py`). Where the operator names a small model for it, that model chooses among all of
them. A tool that the question names is always offered, and the model gets the names of the tools that are left out: it
may call them as well.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

from bot.contract import Clock, ModelError, SystemEntry, UserEntry
from bot.model import CountTokens, Model, Request, ask, tool_token_count
from bot.toolchoice.index import ToolIndex
from bot.toolchoice.smalltalk import is_small_talk
from bot.toolsyntax import parse
from tools.calling.registry import KINDS_OF_PERSONS
from tools.contract.base import ToolSpec
from tools.contract.json_values import read_json

log = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[str, Sequence[ToolSpec]], Awaitable[Sequence[str] | None]]
"""Says which of these tools, the likeliest first, a question needs, by name; none when it needs none, None when it
cannot say."""

MOST_FOREIGN: Final = 20
"""Tools of servers that are declared for one question, at most."""
SMALL_MODEL_SECONDS: Final = 5.0
_BEFORE_CHARS: Final = 300
_SHORT_CHARS: Final = 40
_QUESTION_CHARS: Final = 2000
_MOST_LISTED: Final = 200
"""Tools that a small model chooses among."""
_PURPOSE_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Choice:
    """The tools offered to a model for one question."""

    tools: tuple[ToolSpec, ...] = ()
    """Those that are declared, in their order."""
    others: tuple[ToolSpec, ...] = ()
    """Tools offered by name alone, the best match first."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a model can take in about tools."""

    size: int
    count: CountTokens


class Chooser:
    """Chooses tools; one object for the process, which caches only the indexes of recent tool sets.

    Args:
        most: so many tools of servers are offered; ours all are.
        decide: chooses among all tools, when there is a small model to ask.
    """

    def __init__(self, *, most: int = MOST_FOREIGN, decide: Decide | None = None) -> None:
        self._most = most
        self._decide = decide
        self._indexes: list[ToolIndex] = []
        self._building = asyncio.Lock()

    async def index(self, specs: Sequence[ToolSpec]) -> ToolIndex:
        """Return the index of these tools, cached for the last few tool sets; a new one is built in a thread."""
        found = self._cached(specs)
        if found is not None:
            return found
        async with self._building:
            found = self._cached(specs)
            if found is None:
                found = await asyncio.to_thread(ToolIndex, specs)
                self._indexes = [found, *self._indexes[: KINDS_OF_PERSONS - 1]]
        return found

    def _cached(self, specs: Sequence[ToolSpec]) -> ToolIndex | None:
        return next((one for one in self._indexes if one.covers(specs)), None)

    async def choose(
        self,
        question: str,
        specs: Sequence[ToolSpec],
        used: Sequence[str] = (),
        *,
        before: str = "",
        certain: Sequence[str] = (),
        room: Room | None = None,
    ) -> Choice:
        """Return the tools to offer for `question`.

        Args:
            used: names of tools used in this chat, the latest last.
            before: the bot's last words, so that "ok" after "Shall I look it up?" is no mere nod.
            certain: names of tools that are declared in any case; with one the question is known to need some.
            room: limits what the model reads about tools, beside the certain ones.
        """
        if not certain and is_small_talk(question) and not _asks(before):
            return Choice()
        # A word like "yes" or "the second one" says nothing by itself.
        short = len(question) <= _SHORT_CHARS and _asks(before)
        about = f"{question}\n{before[-_BEFORE_CHARS:]}" if short else question
        index = await self.index(specs)
        order = index.ranked(about, used, self._most // 2)
        named = {spec.name for spec in index.named(question)}
        foreign = [spec.name for spec in order if spec.name not in index.ours]
        chosen = named | {spec.name for spec in order}.difference(foreign[self._most :])
        if self._decide is not None and specs and not certain:
            wanted = await self._decide(question, order)
            if wanted is not None:
                chosen = named | set(wanted)
                if chosen.isdisjoint(spec.name for spec in specs):
                    return Choice()
        return _fitted(specs, order, chosen, frozenset(certain), room)


def _fitted(
    specs: Sequence[ToolSpec], order: Sequence[ToolSpec], chosen: Set[str], certain: Set[str], room: Room | None
) -> Choice:
    """Return the chosen tools that fit into the room, best first, and then of names."""
    wanted = [spec for spec in order if spec.name in chosen]
    others = [spec for spec in order if spec.name not in chosen]
    if room is not None:
        left = room.size - tool_token_count(wanted, room.count)
        while wanted and left < 0:
            left += tool_token_count(wanted[-1:], room.count)
            others = [wanted.pop(), *others]
        named = accumulate(room.count([spec.name]) + 1 for spec in others)
        others = others[: sum(1 for cost in named if cost <= left)]
    declared = certain | {spec.name for spec in wanted}
    return Choice(
        tuple(spec for spec in specs if spec.name in declared),
        tuple(spec for spec in others if spec.name not in declared),
    )


def _asks(before: str) -> bool:
    return before.rstrip(" *_`)）\n").endswith(("?", "？"))


def small_model(model: Model, clock: Clock, *, seconds: float = SMALL_MODEL_SECONDS) -> Decide:
    """Return a `Decide` that asks this model; it cannot say when the model fails, takes too long or answers nonsense.

    Args:
        seconds: how long the answer is waited for.
    """

    async def decide(question: str, specs: Sequence[ToolSpec]) -> tuple[str, ...] | None:
        request = Request(
            entries=(SystemEntry(_instructions(specs)), UserEntry(_excerpt(question))),
            deadline=clock.monotonic() + seconds,
            max_output_chars=2000,
        )
        try:
            async with asyncio.timeout(seconds):
                answer = await ask(model, request)
        except (ModelError, TimeoutError) as error:
            log.info("%s did not choose among the tools (%s)", model.name, type(error).__name__)
            return None
        said, _ = parse(answer.text, {})
        return _names_in(said, [spec.name for spec in specs[:_MOST_LISTED]])

    return decide


def _instructions(specs: Sequence[ToolSpec]) -> str:
    listed = "\n".join(f"- {spec.name}: {spec.purpose[:_PURPOSE_CHARS]}" for spec in specs[:_MOST_LISTED])
    return (
        "You choose tools for another assistant; you do not answer the message yourself. Which of these tools may be "
        "needed to answer the person's message? When in doubt, name the tool. Answer with a JSON list of names and "
        f'nothing else, as ["a", "b"], or [] when none is needed.\n\n{listed}'
    )


def _excerpt(question: str) -> str:
    if len(question) <= _QUESTION_CHARS:
        return question
    half = _QUESTION_CHARS // 2
    return f"{question[:half]}\n[…]\n{question[-half:]}"


def _names_in(said: str, names: Iterable[str]) -> tuple[str, ...] | None:
    """Return the tool names in an answer; None if it neither names one nor says that none is needed."""
    start, end = said.find("["), said.rfind("]")
    if 0 <= start < end:
        try:
            listed = read_json(said[start : end + 1])
        except ValueError:
            listed = None
        if isinstance(listed, list) and not listed:
            return ()
    found = tuple(name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said))
    if found:
        return found
    return () if re.fullmatch(r"\W*(?:none|no tools?(?: needed)?|无|不需要(?:工具)?)\W*", said, re.IGNORECASE) else None
