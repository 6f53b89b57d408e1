"""Every error the core handles, named for what the caller should do next.

BotError
├── SettingsError       cannot start as configured → exit 2, naming the variable and what it should hold
│   └── OtherBot        other processes are another bot → the same, whichever platform else could be used
├── DeliveryError       a platform did not show something; it did not arrive and may be tried again
│   ├── RateLimited     retry_after → pause, slow down, send the newest text
│   ├── Closed          until → nobody waits so long: show it another way, or then
│   ├── Unclear         it may have arrived → repeat only what repeats safely, else look it up
│   ├── TooLong         by → cut the page again, shorter
│   │   └── Full        what stands stays for good → the rest goes into a further message
│   ├── Refused         in words that nobody knows → once more; the same again as plain text, and then not any more
│   ├── MessageGone     somebody deleted the reply while it was written → end the turn, post nothing again
│   │   └── Uneditable  it stands, and stays as it is → no more progress; the final text once, as a new message
│   ├── Unreachable     blocked, kicked, slot expired → end the turn quietly, keep the history
│   │   ├── RightMissing  the token or a right is missing → the same, and an error in the log that names it
│   │   └── Contested   another program receives with the same token → say so, wait, receive again
│   └── Unrenderable    our notation was refused → the same page as plain text, and a log line: our bug
├── ModelError          a model did not answer
│   ├── ModelBusy       429 or 5xx → back off; once text has been shown, end with an honest sentence
│   │   └── ModelAway   no connection → as busy; say that nobody answers there
│   ├── ModelDropped    the stream ended early or broke → keep what came; ask again, once text was shown to go on
│   │   └── CallRefused    the server cannot read the model's own call → as a drop
│   ├── ModelSlow       a deadline passed → as a drop
│   ├── ModelRefused    key, model name or content → tell the person, tell the operator, do not retry
│   │   ├── ToolsRefused   the server knows no native tools → ask again in prompt mode
│   │   ├── SetupRefused   key, name or account → the next model; the operator's sentence
│   │   │   └── AccountEmpty  no money → the same; its own sentence
│   │   └── ContentRefused the provider refuses what is said → say so, and do not send it again
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
"""Seconds after which a platform is asked again, whatever it named."""
_LEAST_PAUSE = 0.1
_USUAL_PAUSE = 1.0
"""Seconds to wait where a platform named none that can be read."""


class BotError(Exception):
    """The root: its text says what happened, to what, and what helps."""


class SettingsError(BotError):
    """The program cannot start as configured; its arguments are a sentence for each thing that is wrong."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class OtherBot(SettingsError):
    """Another process answers from the same database as another bot."""


class DeliveryError(BotError):
    """A platform did not show something."""


class RateLimited(DeliveryError):
    """The platform asks for a pause."""

    def __init__(self, message: str, *, retry_after: object, scope: str = "") -> None:
        """
        Args:
            retry_after: as the platform named it, which may be anything.
        """
        super().__init__(message)
        self.retry_after = bound_pause(retry_after)
        """Seconds until the next call is allowed."""
        self.scope = scope
        """The budget's scope that was refused; empty when every scope of the call may be meant."""


class Closed(DeliveryError):
    """The platform asked for a longer pause than anybody waits for; no call was made."""

    def __init__(self, message: str, *, until: float) -> None:
        super().__init__(message)
        self.until = until
        """Monotonic time of its end."""


def bound_pause(named: object) -> float:
    """The seconds to wait when a platform named `named`: a usual pause for no number, and never more than a day."""
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
    """A file that came with a message cannot be had, for a reason that its person can do something about."""

    def __init__(self, message: str, *, why: str) -> None:
        super().__init__(message)
        self.why = why
        """The end of the name of the sentence that says so: `unread_…`."""


class Full(TooLong):
    """A message that grows takes no more text; what stands in it stays for good."""


class Refused(DeliveryError):
    """The platform read the call and refused it, for a reason that may pass and may last."""

    def __init__(self, message: str, *, lasting: DeliveryError | None = None) -> None:
        """
        Args:
            lasting: what it is when the next call is refused in the same words; by default the notation's fault.
        """
        super().__init__(message)
        self.lasting = lasting or Unrenderable(message)


class MessageGone(DeliveryError):
    """The message to edit does not exist any more."""


class Uneditable(MessageGone):
    """The message to edit stands, and cannot be changed any more."""


class Unreachable(DeliveryError):
    """Nothing can be shown here any more, or the platform cannot be reached at all."""

    level = logging.INFO
    """How the log says that a reply ended so."""


class RightMissing(Unreachable):
    """Nothing can be shown here because of a token or a right that whoever runs the bot can mend; its text names it."""

    level = logging.ERROR


class Contested(Unreachable):
    """Another program receives with the same token, and takes what people write away from this one."""


class Unrenderable(DeliveryError):
    """The platform refused the notation we rendered."""


class ModelError(BotError):
    """A model did not answer."""

    failed = ""
    """The model that broke off after it had begun."""
    next = ""
    """The model that may go on from there: the one behind it, else the same."""


class ModelBusy(ModelError):
    """The server is overloaded or limited."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds the server asked for, when it did."""


class ModelAway(ModelBusy):
    """Nobody answers at the server's address."""


class ModelDropped(ModelError):
    """The stream ended before its end: closed, broken, or not a stream at all."""


class CallRefused(ModelDropped):
    """The server refuses a call that the model itself has written: asked again, the model may write a better one."""

    def __init__(self, message: str, *, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        """The tool that was called and not declared; empty where the call was refused for another reason."""


class ModelSlow(ModelError):
    """The first token, the next token or the end did not come in time."""


class ModelRefused(ModelError):
    """The server will not answer this: key, model name, or content."""


class SetupRefused(ModelRefused):
    """The key, the model's name or the account is refused: another model may answer."""


class AccountEmpty(SetupRefused):
    """The account that pays for the model has no money left, or may spend no more of it."""


class ContentRefused(ModelRefused):
    """The provider refuses what this conversation says; another question it may answer."""


class ToolsRefused(ModelRefused):
    """The model or endpoint does not support native tools."""


class ContextTooLong(ModelError):
    """The conversation exceeds the model's window."""

    def __init__(self, message: str, *, window: int = 0) -> None:
        super().__init__(message)
        self.window = window
        """Tokens that the model takes at most, as its server says; 0 when it does not say."""


class Unaffordable(ModelError):
    """The call would exceed a quota; the model was not asked."""

    def __init__(self, message: str, *, whose: str, until: float) -> None:
        super().__init__(message)
        self.whose = whose
        """`person`, `chat` or `all`; `nobody` where nothing is used, and the call alone would be too much."""
        self.until = until
        """Wall-clock time at which the quota starts afresh."""


class StoreError(BotError):
    """The database cannot be read or written now."""


def origin_of(error: BaseException) -> str:
    """The type of an exception and the line that raised it, for the log.

    Its message and the values beside it are left out: they may quote what a person wrote.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    return f"{type(error).__name__} in {PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
