"""How long an answer may be: what a request asks for at most, what is refused of it, and where a reply is cut."""

from __future__ import annotations

from dataclasses import replace

from playground.model.reply import Body, Reply
from playground.model.strictness import Refused
from playground.model.wire import arguments_of, tokens, words

NAMES = ("max_tokens", "max_completion_tokens")


def asked(body: Body) -> tuple[str, int]:
    """The name and the number under which a Chat Completions request limits the answer; 0: it does not."""
    return next(((name, body[name]) for name in NAMES if body.get(name) is not None), ("", 0))


def check(body: Body, *, prompt: int, window: int, most: int, name: str) -> None:
    """Refuse what a strict server refuses.

    Args:
        prompt: the tokens of the request.
        window: the tokens that prompt and answer may have together.
        most: the tokens that an answer may have; 0: as many as the window holds.
        name: the only name that this model takes; empty: both.

    Raises:
        Refused: in the words of OpenAI.
    """
    given, number = asked(body)
    if not number:
        return
    if name and given != name:
        raise Refused(
            f"Unsupported parameter: '{given}' is not supported with this model. Use '{name}' instead.",
            given,
            code="unsupported_parameter",
        )
    if most and number > most:
        raise Refused(
            f"{given} is too large: {number}. This model supports at most {most} completion tokens, whereas you "
            f"provided {number}.",
            given,
            code="invalid_value",
        )
    if prompt + number > window:
        raise Refused(
            f"This model's maximum context length is {window} tokens. However, you requested {prompt + number} tokens "
            f"({prompt} in the messages, {number} in the completion). Please reduce the length of the messages or "
            "completion.",
            "messages",
            code="context_length_exceeded",
        )


def limited(reply: Reply, most: int) -> Reply:
    """As much of `reply` as has `most` tokens, reasoning first; what is cut finishes with `length`."""
    if reply.status or reply.chunks or reply.endless or tokens_of(reply) <= most:
        return reply
    reasoning, left = _beginning(reply.reasoning, most)
    text, left = _beginning(reply.text, left)
    calls = []
    for name, given in reply.calls:
        written, left = _beginning(arguments_of(given), left - tokens(name))
        if not written:
            break
        calls.append((name, written))
    return replace(reply, reasoning=reasoning, text=text, calls=tuple(calls), finish_reason="length", usage=None)


def tokens_of(reply: Reply) -> int:
    """The tokens that a server counts for a reply."""
    calls = "".join(name + arguments_of(given) for name, given in reply.calls)
    return tokens(reply.reasoning) + tokens(reply.text + calls)


def _beginning(text: str, most: int) -> tuple[str, int]:
    """The first words of `text` that have `most` tokens, and how many tokens are left."""
    if tokens(text) <= most:
        return text, most - tokens(text)
    kept: list[str] = []
    length = 0.0
    for word in words(text):
        for piece in (word,) if len(word) < 20 else word:
            # A token is four characters, or one where the script is wide.
            length += tokens(piece * 4) / 4
            if length > most:
                return "".join(kept), 0
            kept.append(piece)
    return "".join(kept), 0
