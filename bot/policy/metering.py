"""A model whose every request is reserved on the quotas first and settled by its usage."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

from bot.contract import ContextTooLong, ModelBusy, ModelRefused, Unaffordable, Usage
from bot.model import (
    LENGTH,
    WIDE_TOKENS,
    Answer,
    AskedAgain,
    CallPiece,
    Chain,
    CountTokens,
    Estimator,
    Link,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    picture_token_count,
    token_count,
    tool_token_count,
)
from bot.policy.answersizes import AnswerSize
from bot.policy.budgets import ANSWER_TOKENS, PROMPT_MARGIN, WISHED_TOKENS
from bot.policy.quotas import LOOK_SECONDS, Quotas
from bot.store import Amount, Refused, Reserved
from tools.contract.base import ToolCall, Unpaid
from tools.contract.payments import Payment

_AHEAD = 50
"""Tokens that an agent of another author may write before more is reserved."""


def meter(chain: Chain, quotas: Quotas, estimator: Callable[[str], Estimator]) -> Chain:
    """Return the same models, each limited to the quotas; `estimator` knows how each one counts tokens."""

    def metered(model: Link) -> MeteredModel:
        known = estimator(model.name)
        return MeteredModel(model, quotas, known.count, known.tokens_once)

    return chain.each(metered)


@dataclass(slots=True)
class _Call:
    """One call: its reservation, and the visible part of its answer."""

    reserved: Reserved
    pictures: int
    """Tokens of its pictures, by our count."""
    words: int
    """Tokens of the rest of its prompt, by our count."""
    read: int
    """The most tokens that its prompt can have."""
    wished: int = 0
    """Tokens after which its server ends the answer."""
    refused_at: int = -1
    """The value of `Quotas.given_back` when the last request for more failed."""
    look_at: float = 0.0
    """When to request again, whatever was returned: other processes do not announce it."""
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    seen: float = 0.0
    """Tokens of the visible text, by our count."""
    step: float = 0.0
    """The most of them that came at once."""
    again: int = 0
    """Tokens of prompts that were read once more."""

    @property
    def room(self) -> int:
        """The tokens reserved for its answer."""
        return self.reserved.amount.tokens - self.read

    def see(self, tokens: float) -> None:
        self.seen += tokens
        self.step = max(self.step, tokens)


@dataclass(eq=False, repr=False)
class MeteredModel:
    """A model of a chain that reserves before each call, uses no more, and settles after it."""

    model: Link
    quotas: Quotas
    count: CountTokens
    tokens_once: Callable[[str], float] | None = None
    """Like `count`, for one text that is not seen again."""

    def __post_init__(self) -> None:
        self.name = self.model.name
        self._tokens_once = self.tokens_once or (lambda text: self.count([text]))

    async def stream(self, request: Request, *, longest_wait: float = math.inf) -> AsyncGenerator[Piece, None]:
        """Ask the model, once the call can be paid; an answer that outgrows the quota ends there, as `length`.

        See `bot.model.client.ModelClient`.

        Raises:
            Unaffordable: it cannot be paid; nothing was asked.
        """
        prompt, size = self._estimate_prompt(request), await self.quotas.size_of(self.name)
        pictures = picture_token_count(request.entries)
        read = size.prompt.most(prompt - pictures, pictures)
        # As many tokens as these characters have in the script that needs most.
        wished = max(WISHED_TOKENS, int(request.max_output_chars * WIDE_TOKENS))
        least, most = size.wanted(wished)
        fair = None if size.grows else Usage(read, min(WISHED_TOKENS, most))
        reserved = await self.quotas.reserve(self.name, Usage(read, least), Usage(read, most), Usage(read), fair)
        call = _Call(reserved, pictures, prompt - pictures, read)
        call.wished = min(wished, self.quotas.most_for(reserved, self.name) - read) if size.grows else call.room
        request = replace(request, max_tokens=call.wished)
        model, used = self.name, Usage(prompt)
        given_up, whole, cut, began = False, False, False, self.quotas.clock.monotonic()
        try:
            async with aclosing(self.model.stream(request, longest_wait=longest_wait)) as pieces:
                async for piece in pieces:
                    self._see(call, piece)
                    if isinstance(piece, Answer):
                        model, used, whole = piece.model, piece.usage, True
                        size.learn(used.completion, call.seen, call.step)
                        if not call.again and not pictures:
                            size.prompt.learn(prompt, used.prompt)
                    yield piece
                    if not whole and not await self._has_room(call, size):
                        # Its server may be ahead of the visible text: the whole reservation counts.
                        used, whole, cut = Usage(prompt, max(call.room, math.ceil(call.seen))), True, True
                        break
            if cut:
                yield self._cut(call, used)
        except (ModelBusy, ModelRefused, ContextTooLong):
            if not call.seen:
                # Refused before it began: nobody charges for that.
                used, whole = Usage(), True
            raise
        except asyncio.CancelledError:
            given_up = True
            raise
        finally:
            # After a cut no server reports the usage: the prompt was read, and this much was written.
            if not whole:
                used = Usage(prompt + call.again, math.ceil(call.seen))
            self.quotas.metrics.model_seconds.add(model, amount=self.quotas.clock.monotonic() - began)
            await self.quotas.settle(call.reserved, model, used, wait=not given_up)

    def _see(self, call: _Call, piece: Piece) -> None:
        """Count what a piece shows of the answer."""
        match piece:
            case TextPiece(text):
                call.text.append(text)
                call.see(self._tokens_once(text))
            case ReasoningPiece(text):
                call.reasoning.append(text)
                call.see(self._tokens_once(text))
            case CallPiece(one):
                call.calls.append(one)
                call.see(self._tokens_once(one.name + json.dumps(dict(one.arguments), ensure_ascii=False)))
            case AskedAgain():
                call.text.clear()
                call.again += call.read
            case Answer():
                # Calls that became complete only at the end are seen only here.
                for one in piece.calls[len(call.calls) :]:
                    call.see(self._tokens_once(one.name + json.dumps(dict(one.arguments), ensure_ascii=False)))

    async def _has_room(self, call: _Call, size: AnswerSize) -> bool:
        """Return True if the answer may continue: its reservation is raised before it is used up."""
        call.read = size.prompt.most(call.words, call.pictures)  # calls that ended meanwhile taught more about it
        room = call.room
        if call.wished <= room or not size.grows:
            return True
        written, now, ahead = call.seen * size.factor + call.again, self.quotas.clock.monotonic(), size.ahead
        back = self.quotas.given_back
        if written + 2 * ahead > room and (call.refused_at != back or now >= call.look_at):
            # A prompt that was read once more costs far more than the growth of an answer.
            least = max(ahead, math.ceil(written + ahead - room))
            extended = await self.quotas.extend(call.reserved, self.name, least, max(least + ahead, room))
            call.refused_at, call.look_at = back, now + LOOK_SECONDS
            if isinstance(extended, Reserved):
                call.reserved, call.refused_at = extended, -1
                room = call.room
        return written + ahead <= room

    def _cut(self, call: _Call, used: Usage) -> Answer:
        """Return the end of an answer for which no more can be paid."""
        return Answer(
            text="".join(call.text),
            reasoning="".join(call.reasoning),
            calls=tuple(call.calls),
            finish=LENGTH,
            usage=used,
            model=self.name,
            native=True,
        )

    def _estimate_prompt(self, request: Request) -> int:
        told = token_count(request.entries, self.count) + tool_token_count(request.tools, self.count)
        return told + self.count([request.reminder])


class AgentMeter:
    """Pays for an agent that asks models by itself. See `bot.agent.Meter`.

    A request is reserved as one of ours to a model of unknown size, and more while its answer grows. Its dollars are
    known once the agent has named a model with a known price, in this turn or an earlier one.
    """

    def __init__(self, quotas: Quotas, agent: str, models: dict[str, str], count: CountTokens, prompt: int) -> None:
        """
        Args:
            agent: its name.
            models: the model that each agent named last; learns this one's.
            count: counts tokens.
            prompt: the tokens of what it is given.
        """
        self._quotas = quotas
        self._agent = agent
        self._models = models
        self._count = count
        self._prompt = prompt
        self._read = prompt
        """Tokens that its next request reads, as far as is known."""
        self._reserved: Reserved | None = None
        self._room = 0
        """Tokens that are reserved for what it writes."""
        self._seen = 0.0
        """Tokens since the last report: of its text, and of prompts that its model read once more."""
        self._reads = False
        """Its model reads a result, and has not written since."""
        self._reported = False

    async def reserve(self, seen: str = "") -> None:
        if seen:
            self._seen += self._count([seen])
            self._reads = False
        if self._reserved is None:
            least = Usage(self._read, ANSWER_TOKENS)
            most = Usage(int(self._read * PROMPT_MARGIN), WISHED_TOKENS)
            self._reserved = await self._quotas.reserve(self._model, least, most, sure=Usage(self._read))
            self._room = self._reserved.amount.tokens - self._read
        if (over := math.ceil(self._seen) + _AHEAD - self._room) > 0:
            extended = await self._quotas.extend(self._reserved, self._model, over, max(over, ANSWER_TOKENS))
            if isinstance(extended, Refused):
                raise self._quotas.refused(extended.limit, extended.until)
            self._room += extended.amount.tokens - self._reserved.amount.tokens
            self._reserved = extended

    async def read(self, result: str) -> None:
        self._read += self._count([result])
        if self._reserved is not None and not self._reads:
            # It has not reported the request before: this is another one.
            self._seen += self._read
        self._reads = True
        await self.reserve()

    async def settle(self, model: str, used: Usage, dollars: float | None) -> None:
        self._reported, self._seen, self._read = True, 0.0, max(self._read, used.prompt + used.completion)
        self._models[self._agent] = model or self._model
        reserved, self._reserved = self._reserved, None
        await self._quotas.settle(reserved, self._model, used, dollars=dollars)

    async def close(self) -> None:
        reserved, self._reserved = self._reserved, None
        used = Usage(0 if self._reported else self._prompt, math.ceil(self._seen))
        if reserved is not None:
            await self._quotas.settle(reserved, self._model, used, wait=False)

    @property
    def _model(self) -> str:
        return self._models.get(self._agent, self._agent)


class DayPurse:
    """A `tools.contract.payments.Purse` for everybody: who pays is who is named by `bot.policy.quotas.charge`."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    @asynccontextmanager
    async def pay(self, what: str, dollars: float) -> AsyncIterator[Payment]:
        """Set `dollars` aside for the request that is made within. See `tools.contract.payments.Purse`."""
        try:
            reserved = await self._quotas.hold(Amount(dollars=dollars))
        except Unaffordable as error:
            raise Unpaid(
                f"{what} has to be paid for, and the quota for today is used up. Do not call it again; answer without "
                "it, and say so.",
                retry=False,
            ) from error
        payment, given_up = Payment(dollars), False
        try:
            yield payment
        except asyncio.CancelledError:
            given_up = True
            raise
        finally:
            await self._quotas.release(reserved, Amount(dollars=payment.dollars), tool=what, wait=not given_up)
