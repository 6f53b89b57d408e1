"""Why a server refuses, by its codes: they are more reliable than its sentences, and the same in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

_DEEPEST: Final = 4
"""Levels of an error's JSON in which codes are searched."""
_MOST: Final = 40
"""Values of one error that are examined."""


class Cause(StrEnum):
    """The cause of a refusal, which decides what follows."""

    CONTENT = "content"
    """The conversation's content: another question may be answered."""
    TOO_MANY = "too many"
    """Requests or tokens in a short time: retry a little later."""
    NO_MONEY = "no money"
    """The account is empty, or has reached its owner's limit."""
    TOO_LONG = "too long"
    OWN_CALL = "own call"
    """The server cannot read its own model's call."""
    NO_TOOLS = "no tools"
    REGION = "region"
    """The provider does not serve the country of the request."""


_CODES: Final[Mapping[str, Cause]] = {
    # OpenAI and those that copy its codes
    "insufficient_quota": Cause.NO_MONEY,
    "billing_hard_limit_reached": Cause.NO_MONEY,
    "billing_not_active": Cause.NO_MONEY,
    "rate_limit_exceeded": Cause.TOO_MANY,
    "context_length_exceeded": Cause.TOO_LONG,
    "content_policy_violation": Cause.CONTENT,
    "unsupported_country_region_territory": Cause.REGION,
    # Azure
    "content_filter": Cause.CONTENT,
    "responsibleaipolicyviolation": Cause.CONTENT,
    # Groq
    "tool_use_failed": Cause.OWN_CALL,
    # Moonshot
    "exceeded_current_quota_error": Cause.NO_MONEY,
    "rate_limit_reached_error": Cause.TOO_MANY,
    # Zhipu
    "1113": Cause.NO_MONEY,
    "1261": Cause.TOO_LONG,
    "1301": Cause.CONTENT,
    "1302": Cause.TOO_MANY,
    "1303": Cause.TOO_MANY,
    "1308": Cause.NO_MONEY,
    "1309": Cause.NO_MONEY,
    "1310": Cause.NO_MONEY,
    "1305": Cause.TOO_MANY,
    # Ark
    "setlimitexceeded": Cause.NO_MONEY,
    "accountoverdueerror": Cause.NO_MONEY,
    "sensitivecontentdetected": Cause.CONTENT,
    "inputtextsensitivecontentdetected": Cause.CONTENT,
    "outputtextsensitivecontentdetected": Cause.CONTENT,
    "inputimagesensitivecontentdetected": Cause.CONTENT,
    # DashScope
    "arrearage": Cause.NO_MONEY,
    "allocationquota.freetieronly": Cause.NO_MONEY,
    "freetieronly": Cause.NO_MONEY,
    "datainspectionfailed": Cause.CONTENT,
    "data_inspection_failed": Cause.CONTENT,
    "throttling": Cause.TOO_MANY,
    "throttling.ratequota": Cause.TOO_MANY,
    "throttling.allocationquota": Cause.TOO_MANY,
    "limit_requests": Cause.TOO_MANY,
    # SiliconFlow
    "20037": Cause.NO_TOOLS,
    "30001": Cause.NO_MONEY,
    # one-api and new-api
    "insufficient_user_quota": Cause.NO_MONEY,
    "pre_consume_token_quota_failed": Cause.NO_MONEY,
}
_NAMES: Final = ("code", "type", "status", "reason")
"""Servers' names of the field with a code."""


def find_cause(code: str, body: object) -> Cause | None:
    """Return the cause that a refusal's codes give, the outer ones first; None if none is known.

    Args:
        body: the error as JSON; servers wrap it in objects and lists of their own.
    """
    return next((_CODES[one] for one in (code.lower(), *_codes_in(body)) if one in _CODES), None)


def _codes_in(body: object) -> Iterator[str]:
    level: list[object] = [body]
    looked = 0
    for _ in range(_DEEPEST):
        deeper: list[object] = []
        for part in level:
            values = part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()
            for name in _NAMES if isinstance(part, Mapping) else ():
                value = part.get(name) if isinstance(part, Mapping) else None
                if isinstance(value, str | int):
                    yield str(value).lower()[:80]
            for value in values:
                looked += 1
                if looked > _MOST:
                    break
                if isinstance(value, Mapping | list):
                    deeper.append(value)
        level = deeper


_WAIT: Final = re.compile(
    r"(?:retry|try again)(?:_?delay|_?after)?\W{0,4}(?:in |after )?\W{0,2}"
    r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,3})m)?(?P<seconds>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|s)\b"
    r"|(?:retry|try again|wait)(?: in| after| for)? (?:(?P<more>\d{1,3}) ?m)?(?P<whole>\d{1,6}) ?sec"
)


def find_wait(words: str) -> float | None:
    """Return the seconds after which a server wants to be asked again, by its words; None if they do not say."""
    found = _WAIT.search(words)
    if found is None:
        return None
    minutes = int(found["hours"] or 0) * 60 + int(found["minutes"] or found["more"] or 0)
    return minutes * 60 + float(found["seconds"] or found["whole"]) * (0.001 if found["unit"] == "ms" else 1.0)
