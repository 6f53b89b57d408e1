"""Every error the core handles, named for what the caller should do next.

BotError
├── SettingsError       cannot start as configured → exit 2, naming the variable and what it should hold
│   └── OtherBot        other processes are another bot → the same, whichever platform else could be used
├── DeliveryError       a platform did not show something; it did not arrive and may be tried again
│   ├── RateLimited     retry_after → pause, slow down, send the newest text
│   ├── Closed          until → too long to wait: show it another way, or then
│   ├── Unclear         it may have arrived → repeat only what repeats safely, else look it up
│   ├── TooLong         by → cut the page again, shorter
│   │   └── Full        the text so far stays for good → the rest goes into a further message
│   ├── Refused         in words we do not know → once more; if refused again, as plain text, and then not any more
│   ├── MessageGone     somebody deleted the reply while it was written → end the turn, post nothing again
│   │   └── Uneditable  it stays as it is → no more progress; the final text once, as a new message
│   ├── Unreachable     blocked, kicked, slot expired → end the turn quietly, keep the history
│   │   ├── RightMissing  the token or a right is missing → the same, and an error in the log that names it
│   │   └── Contested   another program receives with the same token → say so, wait, receive again
│   └── Unrenderable    our notation was refused → the same page as plain text, and a log line: our bug
├── ModelError          a model did not answer
│   ├── ModelBusy       429 or 5xx → back off; once text has been shown, end with an honest sentence
│   │   └── ModelAway   no connection → as busy; say that the server does not answer
│   ├── ModelDropped    the stream ended early or broke → keep what came; ask again, once text was shown to go on
│   │   └── CallRefused    the server cannot read the model's own call → as a drop
│   ├── ModelSlow       a deadline passed → as a drop
│   ├── ModelRefused    key, model name or content → tell the person, tell the operator, do not retry
│   │   ├── ToolsRefused   the server knows no native tools → ask again in prompt mode
│   │   ├── SetupRefused   key, name or account → the next model; the operator's sentence
│   │   │   └── AccountEmpty  no money → the same; its own sentence
│   │   └── ContentRefused the provider refuses the text → say so, and do not send it again
│   ├── ContextTooLong  window → drop the oldest turns, cut results, leave the tools out, until it fits
│   └── Unaffordable    whose, until → nothing was asked; say when the quota starts afresh
└── StoreError          the database is unusable → answer nothing that cannot be recorded
ToolError               in tools/contract/base.py; leaves the registry only as a ToolResult the model can read
"""

from __future__ import annotations

import datetime
import logging
import math
from pathlib import PurePath

LONGEST_PAUSE = 86_400.0
"""The longest pause before a platform is called again, whatever it demanded."""
_LEAST_PAUSE = 0.1
_USUAL_PAUSE = 1.0
"""Seconds to wait if a platform demanded no readable pause."""


class BotError(Exception):
    """The root: its text says what happened, to what, and what helps."""


class SettingsError(BotError):
    """The program cannot start as configured; its arguments are one sentence for each problem."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class OtherBot(SettingsError):
    """Another process serves the same database as a different bot."""


class DeliveryError(BotError):
    """A platform did not show something."""


class RateLimited(DeliveryError):
    """The platform asks for a pause."""

    def __init__(self, message: str, *, retry_after: object, scope: str = "") -> None:
        """
        Args:
            retry_after: the platform's value, which may be anything.
        """
        super().__init__(message)
        self.retry_after = bound_pause(retry_after)
        """Seconds until the next call is allowed."""
        self.scope = scope
        """The refused scope of the budget; empty if it may be any scope of the call."""


class Closed(DeliveryError):
    """The platform demanded a pause that is too long to wait for; no call was made."""

    def __init__(self, message: str, *, until: float) -> None:
        super().__init__(message)
        self.until = until
        """The monotonic time at which it ends."""


def bound_pause(named: object) -> float:
    """Return the seconds to wait if a platform demanded `named`: the usual pause if it is not a number, and at most a
    day."""
    if isinstance(named, datetime.timedelta):
        named = named.total_seconds()
    if not isinstance(named, str | int | float):
        return _USUAL_PAUSE
    try:
        seconds = float(named)
    except ValueError:
        return _USUAL_PAUSE
    except OverflowError:
        return LONGEST_PAUSE
    if math.isnan(seconds) or seconds < 0:
        return _USUAL_PAUSE
    return min(max(seconds, _LEAST_PAUSE), LONGEST_PAUSE)


class Unclear(DeliveryError):
    """The request was written but no answer came: it may have arrived."""


class TooLong(DeliveryError):
    """The rendered page exceeds the platform's limit."""

    def __init__(self, message: str, *, by: int) -> None:
        super().__init__(message)
        self.by = by
        """Units over the limit, as the platform counts."""


class FileWithheld(DeliveryError):
    """A file of a message cannot be fetched, for a reason that the person can remove."""

    def __init__(self, message: str, *, why: str) -> None:
        super().__init__(message)
        self.why = why
        """The end of the key of the sentence for it: `unread_…`."""


class Full(TooLong):
    """A growing message accepts no more text, and keeps its text for good."""


class Refused(DeliveryError):
    """The platform understood the call and refused it; a retry may or may not help."""

    def __init__(self, message: str, *, lasting: DeliveryError | None = None) -> None:
        """
        Args:
            lasting: the error to raise if the next call is refused in the same words; by default the notation's fault.
        """
        super().__init__(message)
        self.lasting = lasting or Unrenderable(message)


class MessageGone(DeliveryError):
    """The message to edit does not exist any more."""


class Uneditable(MessageGone):
    """The message to edit exists, and cannot be changed any more."""


class Unreachable(DeliveryError):
    """Nothing can be shown here any more, or the platform cannot be reached."""

    level = logging.INFO
    """The log level for replies that end in this way."""


class RightMissing(Unreachable):
    """A token or a right is missing that the operator can add; the text names it."""

    level = logging.ERROR


class Contested(Unreachable):
    """Another program receives with the same token and takes some of the messages."""


class Unrenderable(DeliveryError):
    """The platform refused the notation we rendered."""


class ModelError(BotError):
    """A model did not answer."""

    failed = ""
    """The model that broke off after it had started."""
    next = ""
    """The model that may continue: the next in the chain, or else the same."""


class ModelBusy(ModelError):
    """The server is overloaded or limited."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the server asked for, if it did."""


class ModelAway(ModelBusy):
    """No server answers at the address."""


class ModelDropped(ModelError):
    """The stream ended before its end: closed, broken, or not a stream at all."""


class CallRefused(ModelDropped):
    """The server refuses a call that the model wrote: if asked again, the model may write a better one."""

    def __init__(self, message: str, *, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        """The called tool that was not declared; empty if the call was refused for another reason."""


class ModelSlow(ModelError):
    """The first token, the next token or the end did not come in time."""


class ModelRefused(ModelError):
    """The server will not answer this: key, model name, or content."""


class SetupRefused(ModelRefused):
    """The key, the model's name or the account is refused: another model may answer."""


class AccountEmpty(SetupRefused):
    """The account that pays for the model is empty, or has reached its limit."""


class ContentRefused(ModelRefused):
    """The provider refuses this conversation's content; it may answer another question."""


class ToolsRefused(ModelRefused):
    """The model or endpoint does not support native tools."""


class ContextTooLong(ModelError):
    """The conversation exceeds the model's window."""

    def __init__(self, message: str, *, window: int = 0) -> None:
        super().__init__(message)
        self.window = window
        """The model's limit in tokens, as its server reports it; 0 if it does not."""


class Unaffordable(ModelError):
    """The call would exceed a quota; the model was not asked."""

    def __init__(self, message: str, *, whose: str, until: float) -> None:
        super().__init__(message)
        self.whose = whose
        """`person`, `chat` or `all`; `nobody` if nothing is used yet and the call alone exceeds the quota."""
        self.until = until
        """Wall-clock time at which the quota resets."""


class StoreError(BotError):
    """The database cannot be read or written now."""


def origin_of(error: BaseException) -> str:
    """Return an exception's type and the line that raised it, for the log.

    Its message and values are left out: they may quote what a person wrote.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    return f"{type(error).__name__} in {PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
