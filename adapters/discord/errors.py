"""Translate discord.py's errors into the core's.

Discord's codes: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Final

import aiohttp
import discord

from bot.contract import (
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    RightMissing,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
    bound_pause,
    origin_of,
)
from tools.contract.json_values import read_json

HOOK_CLOSED: Final = (10015, 10062, 50027)
"""The answer to a slash command cannot be written: never acknowledged, unknown, or expired."""
_NO_RIGHT: Final = {
    50001: "View Channel",
    50013: "Send Messages, Send Messages in Threads, or Attach Files",
    160002: "Read Message History",
}
_CLOSED: Final = (10003, 10004, 50007, 50083, 50278, 160005)
"""Nothing can be written here, whatever the bot's rights: no such place, not to this person, archived, locked."""
FORBIDDEN: Final = (*_NO_RIGHT, *_CLOSED)
GONE: Final = 10008
HARMFUL: Final = 240_000
"""Discord takes an address in the text for harmful, and does not say which."""
_TOO_LARGE: Final = 40005
_INVALID: Final = 50035
_TOO_MANY_FOLLOW_UPS: Final = 40094
_SHORTER_BY: Final = 250
"""Discord does not say by how much a page is too long."""


_OF_A_REPLY: Final = re.compile(r"/channels/\d+/(?:messages|typing)|/webhooks/")
"""Calls that the core paces and repeats; the library may repeat all others."""
_PATIENCE: Final = 30.0
"""Seconds that the library may wait inside any other call."""


class PauseAsked(discord.DiscordException):
    """Discord answered 429."""

    def __init__(self, retry_after: object, everywhere: bool) -> None:
        super().__init__(f"Discord asks for a pause of {retry_after!r} s")
        self.retry_after = retry_after
        self.everywhere = everywhere
        """It applies to every call of the bot."""


def refusals() -> aiohttp.TraceConfig:
    """Return a trace that raises the error of a refused call before the library retries the call.

    The library would wait inside the call (in the answer to a slash command for as long as Discord says; and if it is
    cancelled in a pause for the whole bot, every later call waits for ever), break over a wait that is not a number,
    and repeat a post that may have arrived. Only the core knows which calls may be repeated.
    """
    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(_refuse)
    return trace


async def _refuse(_: aiohttp.ClientSession, __: SimpleNamespace, request: aiohttp.TraceRequestEndParams) -> None:
    response = request.response
    of_a_reply = _OF_A_REPLY.search(request.url.path) is not None
    if response.status >= 500 and of_a_reply:
        raise discord.DiscordServerError(response, (await response.text(errors="replace"))[:200])
    if response.status != 429:
        return
    try:
        body = read_json(await response.text(errors="replace"))
    except ValueError:
        body = None
    said = body if isinstance(body, dict) else {}
    wait = said.get("retry_after", response.headers.get("Retry-After"))
    usable = isinstance(wait, int | float) and bound_pause(wait) == wait <= _PATIENCE
    if of_a_reply or not usable:
        raise PauseAsked(wait, everywhere=said.get("global") is True)


def translate(error: Exception) -> DeliveryError:
    """Translate an error of the library into one of the core."""
    match error:
        case PauseAsked() | discord.RateLimited():
            return RateLimited("Discord asks for a pause", retry_after=error.retry_after)
        case discord.DiscordServerError():
            return Unclear(f"Discord answered {error.status}")
        case discord.HTTPException():
            return _refused(error)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return DeliveryError(f"no connection to Discord ({type(error).__name__})")
        case aiohttp.ClientError() | OSError():
            return Unclear(f"Discord did not answer ({type(error).__name__})")
        case discord.DiscordException() if not isinstance(error, discord.InvalidData):
            return DeliveryError(f"Discord: {type(error).__name__}")
        case _:
            # The call succeeded by its status; the library cannot read the answer.
            return Unclear(f"Discord's answer cannot be read ({origin_of(error)})")


def _refused(error: discord.HTTPException) -> DeliveryError:
    said = f"Discord: {error.text[:200]} ({error.code})"
    if error.code == GONE:
        return MessageGone("the message does not exist any more")
    if error.code == _TOO_LARGE or error.status == 413:
        return TooLong("Discord finds the file too large", by=1)
    if error.code == _INVALID and "or fewer in length" in error.text:
        return TooLong("Discord finds the page too long", by=_SHORTER_BY)
    if error.status == 401:
        refused = f"DISCORD_BOT_TOKEN is refused by {said}"
        return Refused(refused, lasting=RightMissing(refused))
    if error.code in _NO_RIGHT:
        return RightMissing(f"the bot lacks a right there ({_NO_RIGHT[error.code]}): {said}")
    if error.code in (*_CLOSED, *HOOK_CLOSED, _TOO_MANY_FOLLOW_UPS):
        return Unreachable(said)
    if error.status == 403:
        return Refused(said, lasting=RightMissing(f"the bot lacks a right there: {said}"))
    if error.status == 400:
        return Unrenderable(said)
    return Refused(said)


def file_refused(error: DeliveryError) -> DeliveryError:
    """Translate an error of a file upload: a refusal is final, except one of the token or of a right."""
    if isinstance(error, Refused) and not isinstance(error.lasting, RightMissing):
        return Unrenderable(str(error))
    return error
