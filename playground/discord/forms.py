"""Modals: what Discord refuses about one, and what it sends when a person has filled it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from playground.discord.errors import form_error
from playground.discord.world import Json

ROW, TEXT, LABEL = 1, 4, 18


def read_form(data: Json) -> Json:
    """A modal as it was given.

    Raises:
        Refusal: something of it breaks Discord's rules.
    """
    for name, most in (("custom_id", 100), ("title", 45)):
        _check(data.get(name), f"data.{name}", 1, most)
    rows = data.get("components")
    if not isinstance(rows, list) or not 1 <= len(rows) <= 5:
        raise form_error("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    for number, row in enumerate(rows):
        path = f"data.components.{number}"
        if row.get("type") == LABEL:
            _check(row.get("label"), f"{path}.label", 1, 45)
    seen = set()
    for field in fields(data):
        _check(field.get("custom_id"), "data.components.custom_id", 1, 100)
        if field["custom_id"] in seen:
            raise form_error("data.components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id is duplicated")
        seen.add(field["custom_id"])
        _check(field.get("placeholder") or "x", "data.components.placeholder", 1, 100)
        if not 1 <= int(field.get("max_length") or 4000) <= 4000:
            raise form_error("data.components.max_length", "NUMBER_TYPE_MAX", "int value should be <= 4000.")
    return data


def fields(form: Json) -> Iterator[Json]:
    """The text inputs of a modal."""
    for row in form["components"]:
        for one in row.get("components") or [row.get("component") or {}]:
            if row.get("type") not in (ROW, LABEL) or one.get("type") != TEXT:
                raise form_error("data.components", "UNION_TYPE_CHOICES", "Value must be one of {4}.")
            yield one


def filled(form: Json, written: Mapping[str, str]) -> Json:
    """What Discord sends when a person has written this into its fields.

    Raises:
        ValueError: the person's Discord would not send it: a field is missing, or holds too much.
    """
    for field in fields(form):
        text = written.get(field["custom_id"], "")
        if len(text) > int(field.get("max_length") or 4000) or (field.get("required", True) and not text):
            raise ValueError(f"the field {field['custom_id']} cannot hold that")
    rows: list[Json] = []
    for row in form["components"]:
        inner = [
            {"type": TEXT, "id": 2, "custom_id": one["custom_id"], "value": written.get(one["custom_id"], "")}
            for one in row.get("components") or [row["component"]]
        ]
        within: Json = {"component": inner[0]} if row["type"] == LABEL else {"components": inner}
        rows.append({"type": row["type"], "id": 1} | within)
    return {"custom_id": form["custom_id"], "components": rows}


def _check(text: object, path: str, least: int, most: int) -> None:
    if not isinstance(text, str) or not least <= len(text) <= most:
        raise form_error(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")
