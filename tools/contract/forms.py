"""The base of the tools' settings, types that check their values, and one sentence for each malformed value."""

from __future__ import annotations

import re
import types
from collections.abc import Container
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

import annotated_types
from pydantic import AfterValidator, AliasChoices, BaseModel, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from tools.contract.credentials import is_random

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_HOST = re.compile(r"(?:[A-Za-z][\w.-]*|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w./-]*)?")
_KEY = re.compile(r"[!#-&(-~]*")
"""Printable ASCII without spaces and quotes: what can be sent in a header."""
_SHOWN_CHARS = 60


class ToolSettings(BaseSettings):
    """The base: names are the variables' names, an empty value means the default."""

    model_config = SettingsConfigDict(
        extra="ignore",
        env_ignore_empty=True,
        case_sensitive=False,
        frozen=True,
        env_file_encoding="utf-8-sig",
        allow_inf_nan=False,
    )


def checked_address(text: str) -> str:
    """Return a URL without surrounding spaces.

    Raises:
        ValueError: HTTP cannot reach it. A value that may be a misplaced key is not shown.
    """
    text = text.strip()
    try:
        parts = urlsplit(text)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("this is no address: its host or port is not written right") from None
    if not text or (parts.scheme in ("http", "https") and whole):
        return text
    if "://" not in text and _HOST.fullmatch(text) and not is_random(text):
        raise ValueError(f"{text!r} lacks http:// or https:// at its beginning")
    raise ValueError("this is no address: it must begin with https:// or http:// and name a host")


SHORTEST_PASSWORD: Final = 16
"""Characters of a key that the operator thinks up."""


def _checked_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value().strip()
    if not _KEY.fullmatch(text):
        raise ValueError("it holds a space, a quote or another sign that no key has: copy it again")
    return SecretStr(text)


def _unguessable(key: SecretStr) -> SecretStr:
    if 0 < len(key.get_secret_value()) < SHORTEST_PASSWORD:
        raise ValueError(f"it must have at least {SHORTEST_PASSWORD} characters; `openssl rand -hex 24` writes one")
    return key


Address = Annotated[str, AfterValidator(checked_address)]
"""The address of a service: `https://host/path`."""
MIRROR: Final = "mirror"
"""Marks an address that only a mirror or a test changes: not in `.env.example`, but in docs/operating.md."""
MirrorAddress = Annotated[Address, MIRROR]
"""The address of a service that is almost always the default."""
Key = Annotated[SecretStr, AfterValidator(_checked_key)]
"""A key or token."""
Password = Annotated[Key, AfterValidator(_unguessable)]
"""A key that the operator thinks up."""


def sentences(kind: type[BaseModel], error: ValidationError, written: Container[str] = ()) -> list[str]:
    """Return one sentence for each malformed value, never showing a key.

    Each names the variable: of those that a field is read from, the one in `written`.
    """
    return list(dict.fromkeys(_sentence(kind, one, written) for one in error.errors(include_url=False)))


def _sentence(kind: type[BaseModel], wrong: ErrorDetails, written: Container[str]) -> str:
    name = str(wrong["loc"][0]) if wrong["loc"] else ""
    field = kind.model_fields.get(name)
    if field is not None and isinstance(field.validation_alias, AliasChoices):
        name = next((str(one) for one in field.validation_alias.choices if str(one).upper() in written), name)
    if wrong["type"] == "value_error":
        return f"{name.upper()}: {wrong['msg'].removeprefix('Value error, ')}"
    got = " ".join(str(wrong["input"]).split())
    if (field is not None and field.annotation is SecretStr) or is_random(got) or len(got) > _SHOWN_CHARS:
        got = ""
    form = _form(field.annotation, tuple(field.metadata)) if field is not None else "written otherwise"
    return f"{name.upper()} must be {form}" + (f", not {got!r}" if got else "")


def _form(annotation: Any, metadata: tuple[Any, ...]) -> str:
    """Describe a field's form."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(one for one in get_args(annotation) if one is not type(None))
    if get_origin(annotation) is Literal:
        *others, last = (str(one) for one in get_args(annotation) if one)
        return f"{', '.join(others)} or {last}" if others else last
    if annotation is bool:
        return "true or false"
    if annotation not in (int, float):
        return "a text"
    return f"{'a whole number' if annotation is int else 'a number'}{_bounds(metadata)}"


def _bounds(metadata: tuple[Any, ...]) -> str:
    least = next((one.ge for one in metadata if isinstance(one, annotated_types.Ge)), None)
    above = next((one.gt for one in metadata if isinstance(one, annotated_types.Gt)), None)
    most = next((one.le for one in metadata if isinstance(one, annotated_types.Le)), None)
    begin = f"from {least}" if least is not None and most is not None else f"of at least {least}"
    begin = f"above {above}" if above is not None else begin if least is not None else ""
    end = ("" if most is None else f" to {most}") if above is None else "" if most is None else f" and at most {most}"
    return f" {begin}{end}" if begin else ""
