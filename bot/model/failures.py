"""Servers' words when they do not answer, translated once into errors named for what to do next.

The texts contain the model's name, a status and a code, never the server's own words: these may repeat the conversation
or a part of the key. For the same reason such an error is raised without its cause.
"""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
import httpx2

from bot.contract import (
    AccountEmpty,
    CallRefused,
    ContentRefused,
    ContextTooLong,
    ModelAway,
    ModelBusy,
    ModelDropped,
    ModelError,
    ModelRefused,
    SetupRefused,
    ToolsRefused,
)
from bot.model import lengths
from bot.model.api import Refused
from bot.model.causes import Cause, find_cause, find_wait
from bot.model.providers import ModelName
from bot.model.rendering import Weighed
from bot.model.unfitparts import refused_history, refused_role, refused_schemas, refused_tool

NETWORK_ERRORS = (
    Refused,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    aiohttp.ClientError,
    OSError,
    EOFError,
    ValueError,
)
"""All exceptions of opening and reading a stream; a dropped connection has many names."""


class KeyRefused(SetupRefused):
    """The key is refused, or may not use this model."""


class NotUnderstood(ModelRefused):
    """The server refuses one part of the request, `part`, and can be asked without it."""

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


class ToolUnfit(ModelRefused):
    """The server refuses the schema of one tool, and can be asked without that tool."""

    def __init__(self, message: str, tool: str) -> None:
        super().__init__(message)
        self.tool = tool


class PicturesRefused(ModelRefused):
    """The server takes no pictures, or not these, and can be asked without."""

    def __init__(self, message: str, *, lasting: bool) -> None:
        """
        Args:
            lasting: the model takes none at all.
        """
        super().__init__(message)
        self.lasting = lasting


_NO = (
    r"(?:not support|n't support|unsupported|not (?:yet )?(?:available|enabled|allowed)"
    r"|unknown|unrecognized|no support)"
)
_TOOLS = re.compile(
    r"does(?: not|n't) support (?:\w+ ){0,2}(?:tools?|functions?)\b"
    r"|(?:tools?|tool use|tool calls?|tool calling|functions?|function calling|function calls)`?'?\"? "
    r"(?:param(?:eter)? )?(?:is|are) (?:not|un|currently not)"
    r"|enable-auto-tool-choice|tool-call-parser|support tool use|support tool calling|requires --jinja"
    rf"|{_NO}\b.{{0,60}}(?:[`'\"]|: ?)(?:tools|functions)\b"
    r"|[`'\"]tools[`'\"].{0,40}(?:extra inputs|not permitted|" + _NO + ")"
)
_PICTURES = re.compile(r"image|picture|vision|multi-?modal")
_BLIND = re.compile(
    rf"{_NO}\b.{{0,80}}(?:image|picture|vision|multi-?modal)|(?:image|picture|vision|multi-?modal).{{0,80}}{_NO}"
    r"|no endpoints found that support image|at most 0 image|only supported by certain models|text-only|mmproj"
    r"|expected `?text"
)
_TOOL_CHOICE = re.compile(rf"tool_choice.{{0,80}}{_NO}|{_NO}.{{0,80}}tool_choice")
_OWN_CALL = re.compile(
    r"error parsing tool call|failed to parse (?:input at pos|tool call)|harmonyerror|while expecting start token"
    r"|(?:remaining in|value found in) (?:message )?header"
)
"""How servers say that they cannot read what their own model wrote: Ollama, llama.cpp, vLLM."""
_UNDECLARED = re.compile(r"attempted to call tool ['\"`]?([\w.-]{1,64})['\"`]? which was not in", re.IGNORECASE)
"""Groq's refusal of a call to a tool that the model knows only by name."""
_REASONING = re.compile(
    r"reasoning_content.{0,60}(?:missing|required|must be (?:passed|provided|included|sent|returned))"
    r"|(?:missing|requires?|must (?:pass|provide|include|send|return)).{0,60}reasoning_content"
)
_TOO_LONG = re.compile(
    r"context_length|context length|context window|context size|context_window|exceed_context"
    r"|prompt is too long|input is too long|request too large|too many (?:input )?tokens"
    r"|token count.{0,60}exceed|tokens?.{0,40}exceeds?.{0,40}(?:max|limit)|reduce (?:the length|your prompt)"
    r"|range of input length|max_prompt_length|maximum (?:prompt|input) length"
    r"|exceeded model token limit|prompt_tokens.{0,40}less than max_seq_len"
)
_WINDOWS = (
    re.compile(r"> ?(\d[\d,_]{1,11})(?: tokens)?(?: maximum| - \d|[,.)'\"])"),
    re.compile(r"model token limit: ?(\d{2,9})"),
    re.compile(r"max_seq_len \(?(\d{2,9})"),
    re.compile(r"n_ctx\W{1,4}(\d{2,9})\b"),
    re.compile(r"tokens allowed \(?(\d[\d,_]{1,11})"),
    re.compile(r"(\d[\d,_]{1,11}) maximum context length"),
    re.compile(r"context.(?:length|size|window|limit)\D{0,20}(\d[\d,_]{1,11})"),
    re.compile(r"input length should be \[\d+, ?(\d{2,9})\]"),
    re.compile(r"maximum prompt length is (\d{2,9})"),
    re.compile(r"current length is \d{1,9} while limit is (\d{2,9})"),
    re.compile(r"`?inputs`? tokens \+ `?max_new_tokens`? must be <= (\d{2,9})"),
)
"""How servers name the window of a model when they refuse a conversation, the most reliable form first."""
_FEATURES = {"stream_options": "usage", "stop": "stop", "reasoning_effort": "effort"}
_UNFIT = re.compile(r"unsupported|unknown|unrecognized|not permitted|extra inputs|not supported|extra_forbidden")
_CONTENT = re.compile(
    r"content_filter|content_policy|content policy|sensitive|moderation|safety|content management|content exists risk"
    r"|inappropriate content|was flagged|data.?inspection"
)
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|modelnotfound|model.{0,60}(?:not found|does not exist|not exist|not a valid|unknown|no such)"
    r"|(?:invalid|unknown|no such) model|not a valid model|invalidendpointormodel|no endpoints found"
)
_REGION = re.compile(r"unsupported_country|country, region, or territory|location is not supported")
_QUOTA = re.compile(
    r"insufficient_quota|insufficient balance|billing|exceeded your current quota|credit balance|arrears"
    r"|balance is insufficient|欠费|预扣费额度|spending.?limit"
    r"|(?:all|any|no|out of|purchase|purchase more|monthly included) (?:available |remaining )?credits"
)
_CRASHED = re.compile(r"model has crashed|\bchannel error\b|model (?:is |was )?unloaded|error: operation canceled")
"""LM Studio's words when it has to load its model anew, with status 400."""
_SOON = 3_600.0
"""Seconds; a quota that is back later is a spent one."""
_OVERLOADED = re.compile(r"overloaded|rate.?limit|too many requests|server_error|temporarily|unavailable|try again")


def holds_pictures(sent: Mapping[str, Any]) -> bool:
    """Return True if a request shows the model a picture."""
    return any(isinstance(part, Weighed) and part.pictures for part in sent.get("messages") or sent.get("input") or ())


def refusal(  # noqa: C901  # a table of what servers say, the surest first
    status: int,
    said: str,
    of: ModelName,
    sent: Mapping[str, Any],
    *,
    code: str = "",
    body: object = None,
    retry_after: float | None = None,
) -> ModelError:
    """Return the error for a refusal: `said` is all the text of the server of the model `of`, `body` the same as JSON
    if it is, `sent` the request."""
    model, key = str(of), of.provider.key
    words = said[:8_000].lower()
    shown = f"status {status}" if status else "an error in the stream"
    if code and re.fullmatch(r"[\w.-]{1,60}", code):
        shown += f", code {code}"
    if undeclared := _UNDECLARED.search(said[:8_000]):
        return CallRefused(f"{model} called a tool that was not declared ({shown})", tool=undeclared[1])
    cause = find_cause(code, body)
    if status not in (401, 402, 403, 429) and holds_pictures(sent) and _PICTURES.search(words):
        lasting = bool(_BLIND.search(words))
        what = "takes no pictures" if lasting else "refuses a picture"
        return PicturesRefused(f"{model} {what} ({shown})", lasting=lasting)
    if status < 429 or status >= 500:
        if _REASONING.search(words):
            return NotUnderstood(f"{model} wants its reasoning back ({shown})", "calls_without_reasoning")
        if form := refused_history(words, sent):
            return NotUnderstood(f"{model} refuses a message of this conversation ({shown})", form)
        if (role := refused_role(words, sent)) == "system":
            return NotUnderstood(f"{model} takes no system message ({shown})", "system")
        if role:
            return ToolsRefused(f"{model} takes no results of tools ({shown}); TOOL_MODE=prompt does without")
        unfit = refused_tool(words, sent) if status in (0, 400, 422) and cause is not Cause.OWN_CALL else ""
        if unfit:
            return ToolUnfit(f"{model} refuses the schema of the tool {unfit} ({shown})", unfit)
        if "v1/responses" in words:
            return NotUnderstood(f"{model} wants the Responses interface ({shown})", "chat")
        if "tool_choice" in sent and "tool_choice" in words and "enable-auto-tool-choice" not in words:
            return NotUnderstood(f"{model} refuses tool_choice ({shown})", "tool_choice")
        if "tools" in sent and (cause is Cause.NO_TOOLS or _TOOLS.search(words) or _TOOL_CHOICE.search(words)):
            return ToolsRefused(f"{model} does not support native tools ({shown}); TOOL_MODE=prompt does without")
        if cause is None and status in (0, 400, 422, 500) and _OWN_CALL.search(words):
            cause = Cause.OWN_CALL
        elif cause is None and status in (0, 400, 422, 500) and refused_schemas(words, sent):
            return NotUnderstood(f"{model} refuses a schema of the tools ({shown})", "schemas")
    window, limit = lengths.first_number(_WINDOWS, words), lengths.name_in(sent)
    if cause is Cause.OWN_CALL:
        return CallRefused(f"{model} wrote a call that its own server cannot read ({shown})")
    if limit and cause in (None, Cause.TOO_LONG) and status not in (401, 403, 404, 429):
        too_long = lengths.refused_length(words, window, asked=sent[limit], model=model, shown=shown)
        if too_long is not None:
            return too_long
    if cause is Cause.TOO_LONG or (cause is None and (status == 413 or _TOO_LONG.search(words))):
        tokens = f", which takes {window:,} tokens" if window else ""
        return ContextTooLong(f"the conversation is too long for {model}{tokens} ({shown})", window=window)
    if cause is None and status in (400, 422):
        for name, part in _FEATURES.items():
            if name in sent and name in words and _UNFIT.search(words):
                return NotUnderstood(f"{model} refuses {name} ({shown})", part)
        if limit and (lengths.is_unfit(words, limit) or (limit in words and _UNFIT.search(words))):
            return NotUnderstood(f"{model} refuses {limit} ({shown})", limit)
    wait = retry_after or find_wait(words)
    # Gemini also says "exceeded your current quota" about the requests of one minute, and then when to ask again.
    soon = status == 429 and 0 < (wait or 0) < _SOON
    if cause is None and (status == 402 or (status != 401 and _QUOTA.search(words) and not soon)):
        cause = Cause.NO_MONEY
    if cause is Cause.NO_MONEY:
        return AccountEmpty(f"the account behind {model} has no quota left ({shown}); see the provider's billing page")
    # OpenRouter refuses content with 403.
    if cause is Cause.CONTENT or (cause is None and status in (0, 400, 403, 422) and _CONTENT.search(words)):
        return ContentRefused(f"{model} refuses the content of this conversation ({shown})")
    if cause is Cause.REGION or (cause is None and _REGION.search(words)):
        return SetupRefused(f"{model} is not offered where this bot runs, or not through this address ({shown})")
    if status == 401:
        return KeyRefused(f"{model} refuses the key of {key} ({shown}); it must hold a valid one")
    crashed = status == 400 and _CRASHED.search(words)
    if cause is Cause.TOO_MANY or status in (408, 409, 425, 429) or status >= 500 or crashed:
        return ModelBusy(f"{model} is busy or failing ({shown})", retry_after=wait)
    if status == 404 or _UNKNOWN_MODEL.search(words):
        return SetupRefused(f"{model} is not known to its server ({shown}); check the name and the base URL")
    if status == 403:
        return KeyRefused(f"{model} may not be used with the key of {key} ({shown})")
    if status:
        return ModelRefused(f"{model} refuses the request ({shown})")
    if _OVERLOADED.search(words):
        return ModelBusy(f"{model} is busy or failing ({shown})", retry_after=wait)
    return ModelDropped(f"{model} broke off with an error ({shown})")


def failure(error: BaseException, of: ModelName, sent: Mapping[str, Any], *, place: str, wall: float) -> ModelError:
    """Translate an exception raised while a stream was opened; `wall` is the time now, for waits given as dates."""
    if isinstance(error, Refused):
        told = error.body if isinstance(error.body, dict) else {}
        code = told.get("code") or told.get("type") or ""
        code = str(code) if isinstance(code, str | int) else ""
        wait = retry_after(error.headers, wall) or reset_in(error.headers, wall)
        # The message once more: in the object its quotes are escaped.
        said = f"{told.get('message') or ''} {error.body}"
        return refusal(error.status, said, of, sent, code=code, body=error.body, retry_after=wait)
    help_ = f"; {of.provider.hint}" if of.provider.hint else ""
    return ModelAway(f"{of} cannot be reached at {place} ({_kind(error)}){help_}")


def stream_fault(error: object, of: ModelName, sent: Mapping[str, Any]) -> ModelError:
    """Translate an error object that came inside a stream."""
    inside = error.get("error", error) if isinstance(error, Mapping) else error
    code = inside.get("code") or inside.get("type") if isinstance(inside, Mapping) else ""
    status = code if isinstance(code, int) else int(code) if isinstance(code, str) and code.isdecimal() else 0
    if not 400 <= status < 600:
        status = 0
    return refusal(status, str(inside), of, sent, code=str(code or ""), body=error)


def dropped(error: BaseException, *, model: str) -> ModelDropped:
    """Translate an exception raised while a stream was read."""
    return ModelDropped(f"the stream of {model} broke ({_kind(error)})")


def _kind(error: BaseException) -> str:
    cause = error.__cause__
    return f"{type(error).__name__} from {type(cause).__name__}" if cause is not None else type(error).__name__


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds to wait that a server asks for; its header contains seconds, milliseconds or a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            parsed = email.utils.parsedate_tz(value)
            if parsed is None:
                continue
            seconds = email.utils.mktime_tz(parsed) - wall
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    return None


_LONGEST_RESET = 86_400.0


def reset_in(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds until a limit on requests or tokens is reset, for servers that say only that.

    `x-ratelimit-reset` is a time in seconds or milliseconds (OpenRouter), or a number of seconds; beside a remainder of
    nothing, `x-ratelimit-reset-tokens` is a duration as `1m2.5s` (OpenAI, Groq).
    """
    try:
        given = float(headers.get("x-ratelimit-reset", ""))
    except ValueError:
        given = math.nan
    for seconds in (given, given - wall, given / 1_000 - wall):
        if 0 < seconds < _LONGEST_RESET:
            return seconds
    for kind in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() == "0":
            wait = find_wait(f"retry in {headers.get(f'x-ratelimit-reset-{kind}', '').strip()[:40]}")
            if wait:
                return wait
    return None
