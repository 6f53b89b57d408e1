"""Translate failed Slack calls into the core's errors."""

from __future__ import annotations

import re
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError, SlackRequestError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.contract import (
    DeliveryError,
    MessageGone,
    RateLimited,
    Refused,
    RightMissing,
    TooLong,
    Unclear,
    Uneditable,
    Unreachable,
    Unrenderable,
    origin_of,
)

TOKEN: Final = frozenset(
    {"account_inactive", "invalid_auth", "not_allowed_token_type", "not_authed", "token_expired", "token_revoked"}
)
"""Slack's words about a bad token; now and then also about a good one."""
REFUSED_TOKEN: Final = TOKEN | {"no_permission", "missing_scope"}
NOT_INSIDE: Final = frozenset({"channel_not_found", "not_in_channel"})
"""The bot is not a member: the `response_url` of a command still works there."""

_RESTRICTED: Final = "restricted_action"
"""The common beginning of errors about what a workspace forbids in a place, or in a locked thread."""
_UNREACHABLE: Final = NOT_INSIDE | {
    "access_denied",
    "as_user_not_supported",
    "cannot_dm_bot",
    "ekm_access_denied",
    "expired_url",
    "is_archived",
    "messages_tab_disabled",
    "org_login_required",
    "team_access_not_granted",
    "cannot_reply_to_message",
    "posting_to_channel_denied",
    "thread_not_found",
    "used_url",
    "user_is_restricted",
    "user_not_found",
}
_GONE: Final = "message_not_found"
_STANDS: Final = frozenset({"cant_update_message", "edit_window_closed", "cant_delete_message"})
_LARGE: Final = frozenset({"file_upload_size_restricted", "snippet_too_large"})
_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_long"})
_UNREADABLE: Final = frozenset({"no_text", "invalid_blocks", "invalid_blocks_format", "invalid_metadata_schema"})
# For these the service itself says that part of the work may have been done.
_UNSURE: Final = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})

_NOT_MADE: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


def error_code(error: BaseException) -> str:
    """Return Slack's error code; empty if there is none."""
    data = getattr(getattr(error, "response", None), "data", None)
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def field(answer: AsyncSlackResponse, name: str) -> str:
    """Return a text field of a successful answer.

    Raises:
        KeyError: there is no such text.
    """
    value = answer.get(name)
    if not isinstance(value, str) or not value:
        raise KeyError(name)
    return value


def translate(error: Exception, scope: str = "") -> DeliveryError:
    """Translate a failed call; `scope` is the rate scope that a 429 refers to."""
    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, SlackApiError):
        response = error.response
        # A body that is not JSON leaves the HTTP library's own response in the error.
        status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 0)
        headers = getattr(response, "headers", None) or {}
        return refused(status, error_code(error), str(headers.get("Retry-After", "")), scope)
    if isinstance(error, _NOT_MADE):
        return DeliveryError(f"no connection to Slack ({type(error).__name__})")
    if isinstance(error, SlackClientError | aiohttp.ClientError | OSError):
        return Unclear(f"Slack did not answer ({type(error).__name__})")
    # The call succeeded by its status; its answer cannot be read.
    return Unclear(f"Slack's answer cannot be read ({origin_of(error)})")


def refused(status: int, code: str, retry_after: str = "", scope: str = "") -> DeliveryError:
    """Translate an unsuccessful answer by its HTTP status and Slack's error code."""
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return RateLimited("Slack asks for a pause", retry_after=retry_after, scope=scope)
    if status >= 500 or code in _UNSURE or (status == 200 and not code):
        return Unclear(f"Slack may or may not have done it ({code or status})")
    if code == _GONE:
        return MessageGone("the message does not exist any more")
    if code in _STANDS:
        return Uneditable(f"Slack does not let the message be changed any more ({code})")
    if code in _LONG:
        return TooLong("Slack finds the page too long", by=500)
    if code in _UNREADABLE:
        return Unrenderable(f"Slack cannot show the page ({code})")
    if code in _UNREACHABLE or code.startswith(_RESTRICTED):
        return Unreachable(f"Slack: {code}")
    if code in REFUSED_TOKEN:
        said = f"SLACK_BOT_TOKEN is refused by Slack ({code})"
        return Refused(said, lasting=RightMissing(said)) if code in TOKEN else RightMissing(said)
    return Refused(f"Slack refuses the call ({code or status})")


def file_refused(error: Exception) -> DeliveryError:
    """Translate a failed upload.

    Slack has dozens of codes for a refused file (its type, the workspace's storage, a shared channel's rules) and adds
    new ones; a retry helps with none of them, except a pause and Slack's own trouble.
    """
    if isinstance(error, SlackRequestError):
        # The bytes did not arrive, so nothing was posted. The library gives the status only in its text.
        status = int(found[1]) if (found := re.search(r"status: (\d{3})\b", str(error))) else 0
        if status == 413:
            return TooLong("Slack finds the file too large", by=1)
        said = f"Slack does not take the file ({status or 'no status'})"
        return Unrenderable(said) if 400 <= status < 500 and status != 429 else DeliveryError(said)
    problem, code = translate(error), error_code(error)
    if code in _LARGE:
        return TooLong("Slack finds the file too large", by=1)
    of_right = isinstance(problem, Refused) and isinstance(problem.lasting, RightMissing)
    if code and not of_right and not isinstance(problem, RateLimited | RightMissing | Unclear):
        return Unrenderable(f"Slack does not take the file ({code})")
    return problem
