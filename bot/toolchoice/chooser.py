"""Choose the tools to offer for a question before the first pass, by the cheapest method that decides.

A greeting needs none. Up to twenty tools are all offered. Of more, a ranking offers the ones the question is about
(`index.py`). Where the operator names a small model for it, that model has the last word. A tool that the
question names is always offered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from bot.contract import Clock, ModelError, SystemEntry, UserEntry
from bot.model import Model, Request, ask, tool_token_count
from bot.toolchoice.index import ToolIndex
from bot.toolchoice.smalltalk import is_small_talk
from bot.toolsyntax import parse
from tools.base import ToolSpec
from tools.registry import KINDS_OF_PERSONS

log = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[str, Sequence[ToolSpec]], Awaitable[Sequence[str] | None]]
"""Says which of some tools a question needs, by name; none when it needs none, None when it cannot say."""

SMALL_MODEL_SECONDS: Final = 5.0
_BEFORE_CHARS: Final = 300
_SHORT_CHARS: Final = 40
_QUESTION_CHARS: Final = 2000


class Chooser:
    """Chooses tools; one object for the process, which caches only the indexes of recent tool sets.

    Args:
        many: so many tools are offered whole.
        most: so many are offered of more.
        decide: asked about what the ranking leaves, when there is a small model to ask.
    """

    def __init__(self, *, many: int = 20, most: int = 10, decide: Decide | None = None) -> None:
        self._many = many
        self._most = most
        self._decide = decide
        self._indexes: list[ToolIndex] = []

    def index(self, specs: Sequence[ToolSpec]) -> ToolIndex:
        """Return the index of these tools, cached for the last few tool sets."""
        index = next((one for one in self._indexes if one.covers(specs)), None)
        if index is None:
            index = ToolIndex(specs)
            self._indexes = [index, *self._indexes[: KINDS_OF_PERSONS - 1]]
        return index

    async def offered(
        self, question: str, specs: Sequence[ToolSpec], used: Sequence[str] = (), *, before: str = ""
    ) -> tuple[ToolSpec, ...]:
        """Return the tools to offer for `question`, in the order to declare them.

        Args:
            used: names of tools used in this chat, the latest last.
            before: the bot's last words, so that "ok" after "Shall I look it up?" is no mere nod.
        """
        if is_small_talk(question) and not _asks(before):
            return ()
        ranked = self.ranked(question, specs, used, before=before)
        if self._decide is None or not ranked:
            return ranked
        wanted = await self._decide(question, ranked)
        if wanted is None:
            return ranked
        kept = {spec.name for spec in self.index(specs).named(question)} | set(wanted)
        return tuple(spec for spec in ranked if spec.name in kept)

    def ranked(
        self, question: str, specs: Sequence[ToolSpec], used: Sequence[str] = (), *, before: str = ""
    ) -> tuple[ToolSpec, ...]:
        """Return the tools for a question that is known to need some, without asking a model."""
        if len(specs) <= self._many:
            return tuple(specs)
        # A word like "yes" or "the second one" says nothing by itself.
        short = len(question) <= _SHORT_CHARS and _asks(before)
        about = f"{question}\n{before[-_BEFORE_CHARS:]}" if short else question
        return self.index(specs).best(about, self._most, used)

    @staticmethod
    def fitting(
        question: str, specs: Sequence[ToolSpec], used: Sequence[str], room: int, tokens: Callable[[str], int]
    ) -> tuple[ToolSpec, ...]:
        """Return all `specs` if their declarations fit into `room` tokens, else the best ones that fit."""
        if tool_token_count(specs, tokens) <= room:
            return tuple(specs)
        ranked = ToolIndex(specs).best(question, len(specs), used)
        taken = accumulate(tool_token_count([spec], tokens) for spec in ranked)
        return tuple(spec for spec, sum_so_far in zip(ranked, taken, strict=True) if sum_so_far <= room)


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
        return _names_in(said, [spec.name for spec in specs])

    return decide


def _instructions(specs: Sequence[ToolSpec]) -> str:
    listed = "\n".join(f"- {spec.name}: {spec.purpose}" for spec in specs)
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
            listed = json.loads(said[start : end + 1])
        except ValueError:
            listed = None
        if isinstance(listed, list) and not listed:
            return ()
    found = tuple(name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said))
    if found:
        return found
    return () if re.fullmatch(r"\W*(?:none|no tools?(?: needed)?|无|不需要(?:工具)?)\W*", said, re.IGNORECASE) else None
