"""A tool in a file: TOOLS_DIR=tools. It counts the days on which people work."""

from datetime import date, timedelta

from parley_chat.tool import ToolError, tool

_LONGEST = 36_600


@tool(category="time", keywords=("working days", "business days", "工作日"), icon="📅", verb="Counting working days")
async def working_days(first: str, last: str, holidays: list[str] | None = None) -> str:
    """Count the days from Monday to Friday between two dates, both included.

    Use when: the person asks how many working days there are, or how many days of leave something takes.
    Not for: the weekday of one date.

    Args:
        first: The first day. Example: 2026-12-21
        last: The last day. Example: 2027-01-03
        holidays: Days that do not count. Example: ["2026-12-25", "2027-01-01"]
    """
    try:
        start, end, *free = (date.fromisoformat(day) for day in (first, last, *(holidays or ())))
    except ValueError as error:
        raise ToolError(f"Dates are written YYYY-MM-DD: {error}.") from error
    if not start <= end <= start + timedelta(days=_LONGEST):
        raise ToolError("The last day must not be before the first, nor a hundred years after it.")
    days = (start + timedelta(days=number) for number in range((end - start).days + 1))
    count = sum(day.weekday() < 5 and day not in free for day in days)
    return f"{count} working days from {start} to {end}."
