"""What the service refuses: the ranges and choices of `/search`, in its words."""

from __future__ import annotations

import re
from typing import Any

LONGEST_QUERY = 400
MOST_RESULTS = 20
MOST_INCLUDED = 300
MOST_EXCLUDED = 150
RANGES = {"day": 1, "week": 7, "month": 31, "year": 366, "d": 1, "w": 7, "m": 31, "y": 366}
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\Z")


class Refused(Exception):
    """A request the service answers with an error; the text is `detail.error` of its body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_search(body: dict[str, Any]) -> None:
    """Refuse what `/search` refuses.

    Raises:
        Refused: with status 400.
    """
    query = body.get("query")
    if not isinstance(query, str) or not query.strip():
        raise Refused(400, "Query is missing.")
    if len(query) > LONGEST_QUERY:
        raise Refused(400, f"Query is too long. Max query length is {LONGEST_QUERY} characters.")
    _choice(body, "search_depth", "basic", "advanced", "fast", "ultra-fast")
    _choice(body, "topic", "general", "news", "finance")
    _choice(body, "time_range", *RANGES)
    _choice(body, "include_domains_mode", "restrict", "prefer")
    _choice(body, "include_answer", True, False, "basic", "advanced")
    _choice(body, "include_raw_content", True, False, "markdown", "text")
    for key in ("include_images", "include_favicon", "include_usage", "auto_parameters", "exact_match"):
        _choice(body, key, True, False)
    _integer(body, "max_results", 0, MOST_RESULTS)
    _integer(body, "chunks_per_source", 1, 3)
    _integer(body, "days", 1, 365)
    _domains(body, "include_domains", MOST_INCLUDED)
    _domains(body, "exclude_domains", MOST_EXCLUDED)
    for key in ("start_date", "end_date"):
        if body.get(key) is not None and not (isinstance(body[key], str) and _DATE.match(body[key])):
            raise Refused(400, f"Invalid {key}. Must be in the format YYYY-MM-DD.")
    if body.get("country") is not None and body.get("topic", "general") != "general":
        raise Refused(400, "Country is only available with topic 'general'.")


def _choice(body: dict[str, Any], key: str, *choices: object) -> None:
    value = body.get(key)
    # True == 1 in Python, and 1 is no truth value in JSON.
    if value is not None and not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in choices
    ):
        raise Refused(400, f"Invalid {key}. Must be one of {', '.join(repr(choice) for choice in choices)}.")


def _integer(body: dict[str, Any], key: str, least: int, most: int) -> None:
    value = body.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most):
        raise Refused(400, f"Invalid {key}. Must be between {least} and {most}.")


def _domains(body: dict[str, Any], key: str, most: int) -> None:
    value = body.get(key)
    if value is None:
        return
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Refused(400, f"Invalid {key}. Must be a list of domains.")
    if len(value) > most:
        raise Refused(400, f"Invalid {key}. Max {most} domains are allowed.")
