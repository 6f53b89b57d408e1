"""The length of an answer: the names of its limit in a request, and servers' replies to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bot.contract import ModelRefused, Usage
from bot.model.base import Request

NAMES: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")

_NUMBER: Final = r"(\d[\d,_]{0,11})"
_NAME: Final = r"(?:max_(?:completion_|output_)?tokens|maxoutputtokens)"
_MOST: Final = (
    re.compile(rf"at most {_NUMBER} (?:completion|output) tokens"),
    re.compile(rf"{_NAME}=\d+ ?cannot be greater than (?:\w+=){{1,2}}{_NUMBER}"),
    re.compile(rf"{_NAME}\W{{1,3}}\d+ > {_NUMBER}"),
    re.compile(rf"{_NAME}.{{0,40}}\[\d+, ?{_NUMBER}\]"),
    re.compile(
        rf"{_NAME}.{{0,40}}(?:less than or equal to|at most|<=|not exceed|cannot exceed|maximum(?: value)? (?:is|of))"
        rf"\D{{0,5}}{_NUMBER}"
    ),
)
"""How servers name the most tokens of an answer when they refuse to write more."""
_BELOW: Final = re.compile(rf"{_NAME}.{{0,80}}range is from 1 \(inclusive\) to {_NUMBER} \(exclusive\)")
_PAID_FOR: Final = re.compile(rf"can only afford {_NUMBER}")
_PROMPT: Final = (
    re.compile(
        rf"{_NUMBER} (?:tokens )?(?:of text input|input tokens|prompt tokens|tokens from the input messages"
        r"|(?:in|of|from) (?:the|your) (?:messages|prompt|input))"
    ),
    re.compile(rf"context limit: {_NUMBER} \+ \d"),
    re.compile(rf"given: {_NUMBER} `?inputs`? tokens"),
)
"""How servers name the tokens of a prompt that leaves no room for such an answer."""
_AT_LEAST: Final = re.compile(rf"prompt contains at least {_NUMBER} input tokens")
"""vLLM counts a prompt no further than to where the answer would not fit."""
_LEAST_ROOM: Final = 1_000
_UNFIT: Final = re.compile(r"too large|too big|at most|exceed|out of range|valid range|less than|invalid value|must be")

_LEAST_TRY: Final = 1_000
"""Tokens with which an empty answer is worth requesting again."""


class AnswerTooLong(ModelRefused):
    """The server will not write so many tokens, only `most`.

    The limit on prompt and answer together is `window`, if that is the reason; `lasting`: the limit is the model's own
    and not this request's.
    """

    def __init__(self, message: str, *, most: int, window: int = 0, lasting: bool = False) -> None:
        super().__init__(message)
        self.most = most
        self.window = window
        self.lasting = lasting


def name_in(body: Mapping[str, Any]) -> str:
    """Return the name of the answer's limit in this body, or an empty text."""
    return next((name for name in NAMES if name in body), "")


def refused_length(words: str, window: int, *, asked: int, model: str, shown: str) -> AnswerTooLong | None:
    """Return the meaning of a refusal about the answer's length; None if it is about something else.

    Args:
        words: the server's text, in lower case.
        window: the window that it named.
        asked: the request's limit on the answer's tokens.
    """
    most = first_number(_MOST, words) or max(0, first_number((_BELOW,), words) - 1)
    if 0 < most < asked:
        return AnswerTooLong(f"{model} writes {most:,} tokens at most ({shown})", most=most, lasting=True)
    paid = first_number((_PAID_FOR,), words)
    if paid:
        return AnswerTooLong(f"the account behind {model} pays for {paid:,} tokens only ({shown})", most=paid)
    prompt = first_number(_PROMPT, words) if window else 0
    if window and first_number((_AT_LEAST,), words) == window - asked + 1:
        # One token less would be refused again, and so on.
        most = max(asked // 4, _LEAST_ROOM)
        text = f"{model} has no room for {asked:,} tokens of answer ({shown})"
        return AnswerTooLong(text, most=most, window=window) if most < asked else None
    if 0 < prompt < window:
        text = f"{model} has room for {window - prompt:,} tokens of answer ({shown})"
        return AnswerTooLong(text, most=window - prompt, window=window)
    return None


def is_unfit(words: str, name: str) -> bool:
    """Return True if a refusal blames the limit without naming an allowed one."""
    return name in words and _UNFIT.search(words) is not None


def affords_another(request: Request, used: Usage) -> bool:
    """Return True if the request allows enough tokens to ask once more after so many were used."""
    return not request.max_tokens or without(request, used).max_tokens >= _LEAST_TRY


def without(request: Request, used: Usage) -> Request:
    """Return the request with the tokens that are left after `used`; its prompt is read once more."""
    left = request.max_tokens - used.prompt - used.completion
    return replace(request, max_tokens=max(left, 1)) if request.max_tokens else request


def first_number(forms: tuple[re.Pattern[str], ...], words: str) -> int:
    """Return the number that the first matching form finds in `words`; 0 if none does."""
    for form in forms:
        match = form.search(words)
        if match is not None:
            return int(re.sub(r"[,_]", "", match[1]))
    return 0
