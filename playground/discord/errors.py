"""What Discord answers when it refuses: its JSON error codes, with the texts and statuses that go with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of refusal."""

    status: int
    code: int
    message: str


UNAUTHORIZED = Problem(401, 0, "401: Unauthorized")
NOT_FOUND = Problem(404, 0, "404: Not Found")
METHOD_NOT_ALLOWED = Problem(405, 0, "405: Method Not Allowed")
UNKNOWN_CHANNEL = Problem(404, 10003, "Unknown Channel")
UNKNOWN_MESSAGE = Problem(404, 10008, "Unknown Message")
UNKNOWN_EMOJI = Problem(400, 10014, "Unknown Emoji")
UNKNOWN_WEBHOOK = Problem(404, 10015, "Unknown Webhook")
UNKNOWN_INTERACTION = Problem(404, 10062, "Unknown interaction")
NOT_THIS_APPLICATION = Problem(403, 20012, "You are not authorized to perform this action on this application")
TOO_MANY_FILES = Problem(400, 30015, "Maximum number of attachments in a message reached (10)")
TOO_MANY_COMMANDS = Problem(400, 30032, "Maximum number of application commands reached (100)")
TOO_MANY_DAILY_COMMANDS = Problem(429, 30034, "Max number of daily application command creates has been reached (200)")
OLD_EDITS = Problem(429, 30046, "Maximum number of edits to messages older than 1 hour reached. Try again later.")
TOO_LARGE = Problem(413, 40005, "Request entity too large")
ALREADY_ACKNOWLEDGED = Problem(400, 40060, "Interaction has already been acknowledged.")
TOO_MANY_FOLLOW_UPS = Problem(400, 40094, "This interaction has reached the maximum number of follow up messages")
MISSING_ACCESS = Problem(403, 50001, "Missing Access")
EDIT_OF_ANOTHER = Problem(403, 50005, "Cannot edit a message authored by another user")
EMPTY_MESSAGE = Problem(400, 50006, "Cannot send an empty message")
CANNOT_SEND_TO_USER = Problem(403, 50007, "Cannot send messages to this user")
MISSING_PERMISSIONS = Problem(403, 50013, "Missing Permissions")
WRONG_CHANNEL_TYPE = Problem(400, 50024, "Cannot execute action on this channel type")
INVALID_WEBHOOK_TOKEN = Problem(401, 50027, "Invalid Webhook Token")
INVALID_FORM = Problem(400, 50035, "Invalid Form Body")
ARCHIVED = Problem(
    400,
    50083,
    "Tried to perform an operation on an archived thread, such as editing a message or adding a user to the thread",
)
INVALID_JSON = Problem(400, 50109, "The request body contains invalid JSON.")
HARMFUL_LINK = Problem(400, 240000, "Message blocked by harmful links filter")
THREAD_EXISTS = Problem(400, 160004, "A thread has already been created for this message")


class Refusal(Exception):
    """The call is refused with this problem; nothing was done."""

    def __init__(self, problem: Problem, errors: dict[str, Any] | None = None) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.errors = errors

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"message": self.problem.message, "code": self.problem.code}
        if self.errors:
            body["errors"] = self.errors
        return body


class Form:
    """What is wrong with the fields of one body, collected as Discord nests it."""

    def __init__(self) -> None:
        self._errors: dict[str, Any] = {}

    def add(self, path: str, code: str, message: str) -> None:
        """Note that the field at `path` (`embeds.0.title`) is refused."""
        place = self._errors
        for part in path.split("."):
            place = place.setdefault(part, {})
        place.setdefault("_errors", []).append({"code": code, "message": message})

    def longest(self, path: str, value: str, most: int) -> None:
        """Note when `value` has more than `most` characters."""
        if len(value) > most:
            self.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")

    def check(self) -> None:
        """
        Raises:
            Refusal: at least one field is refused.
        """
        if self._errors:
            raise Refusal(INVALID_FORM, self._errors)


def form_error(path: str, code: str, message: str) -> Refusal:
    """The refusal of one field."""
    form = Form()
    form.add(path, code, message)
    return Refusal(INVALID_FORM, form._errors)
