"""A model whose every request is reserved on the quotas first and settled by what it used."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from bot.contract import ContextTooLong, ModelBusy, ModelRefused, Usage
from bot.model import (
    WIDE_TOKENS,
    Answer,
    Chain,
    Estimator,
    Link,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    token_count,
    tool_token_count,
)
from bot.policy.quotas import ANSWER_TOKENS, PROMPT_MARGIN, WISHED_TOKENS, Quotas


def meter(chain: Chain, quotas: Quotas, estimator: Callable[[str], Estimator]) -> Chain:
    """The same models, each spending only what may be spent; `estimator` knows how each one counts tokens."""
    return chain.each(lambda model: MeteredModel(model, quotas, estimator(model.name).tokens))


class MeteredModel:
    """A model of a chain that reserves before each call, may use no more, and settles after it."""

    def __init__(self, model: Link, quotas: Quotas, tokens: Callable[[str], int]) -> None:
        self._model = model
        self._quotas = quotas
        self._tokens = tokens

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, request: Request, *, longest_wait: float = math.inf) -> AsyncGenerator[Piece, None]:
        """Ask the model, once the call can be paid. See `bot.model.client.ModelClient`.

        Raises:
            Unaffordable: it cannot; nothing was asked.
        """
        prompt = self._estimate_prompt(request)
        most = int(prompt * PROMPT_MARGIN)
        # As many tokens as the characters that may be read have in the script that needs most.
        wished = max(WISHED_TOKENS, int(request.max_output_chars * WIDE_TOKENS))
        reserved = await self._quotas.reserve(self.name, Usage(most, ANSWER_TOKENS), Usage(most, wished))
        request = replace(request, max_tokens=reserved.amount.tokens - most)
        model, used, said = self.name, Usage(prompt), list[str]()
        given_up, began = False, self._quotas.clock.monotonic()
        try:
            async with aclosing(self._model.stream(request, longest_wait=longest_wait)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextPiece(text) | ReasoningPiece(text):
                            said.append(text)
                        case Answer():
                            model, used = piece.model, piece.usage
                            said.clear()
                    yield piece
        except (ModelBusy, ModelRefused, ContextTooLong):
            if not said:
                # Turned away at the door: nobody charges for that.
                used = Usage()
            raise
        except asyncio.CancelledError:
            given_up = True
            raise
        finally:
            # Cut short, no server tells what it used: the prompt was read, and this much was written.
            if said:
                used = Usage(prompt, self._tokens("".join(said)))
            self._quotas.metrics.model_seconds.add(model, amount=self._quotas.clock.monotonic() - began)
            await self._quotas.settle(reserved, model, used, wait=not given_up)

    def _estimate_prompt(self, request: Request) -> int:
        told = token_count(request.entries, self._tokens) + tool_token_count(request.tools, self._tokens)
        return told + self._tokens(request.reminder)
