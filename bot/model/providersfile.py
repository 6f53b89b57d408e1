"""The operator's file of model servers (`PROVIDERS_FILE`), in TOML: a table for each, with the fields of `Provider`.

    [groq]
    base_url = "https://api.groq.com/openai/v1"
    default_model = "llama-3.3-70b-versatile"
    context_tokens = 131072

Its models are then written `groq:NAME`, and `GROQ_API_KEY` holds its key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.contract import SettingsError
from bot.model.providers import BUILT_IN, Provider, base_url_of
from tools.contract.nearness import closest, explain_path_error

MOST_BYTES: Final = 64 * 1024
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")
_RESERVED: Final = frozenset({*BUILT_IN, "local"})
"""`local:` begins the name of a speech model on this machine, and of a model without a price."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    base_url: str
    default_model: str = Field("", max_length=200)
    key_needed: bool = True
    transcription_model: str = Field("", max_length=200)
    context_tokens: int = Field(32_768, ge=1_000, le=100_000_000)
    hint: str = Field("", max_length=200)
    max_tokens_name: str = Field("max_tokens", pattern=r"^[a-z_]{1,40}$")
    null_content: bool = False
    reasoning_back: list[str] = Field(default=[], max_length=10)
    calls_need_raw: bool = False
    tool_choice: bool = True
    last_pass_keeps_tools: bool = True
    stop_words: bool = True
    patience: float = Field(1.0, ge=0.1, le=20.0, strict=False)


def read_providers(file: str) -> tuple[Provider, ...]:
    """Return the model servers that the operator's file names; none where `file` is empty.

    Raises:
        SettingsError: it cannot be read, or is not written right; a sentence for each fault names the place.
    """
    if not file:
        return ()
    path = Path(file).expanduser()
    try:
        with path.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"PROVIDERS_FILE: {explain_path_error(path, error)}") from None
    if len(content) > MOST_BYTES:
        raise SettingsError(f"PROVIDERS_FILE: {path} has more than {MOST_BYTES:,} bytes")
    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SettingsError(f"PROVIDERS_FILE: {path} is not UTF-8 text; save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise SettingsError(f"PROVIDERS_FILE: {path} is not written right: {why}") from None
    rows, wrong = list[Provider](), list[str]()
    for name, table in tables.items():
        faults = [*_faults_of_name(name)]
        if not faults:
            try:
                rows.append(_row(name, table))
            except ValidationError as error:
                faults = [*_faults(error)]
            except SettingsError as error:
                faults = [str(error)]
        wrong += [f"PROVIDERS_FILE, [{name[:40]}]: {fault}" for fault in faults]
    if wrong:
        raise SettingsError(*wrong)
    return tuple(rows)


def _row(name: str, table: object) -> Provider:
    values = _Row.model_validate(table).model_dump()
    reasoning_back = tuple(values.pop("reasoning_back"))
    made = Provider(name=name, base_url_setting="base_url", reasoning_back=reasoning_back, **values)
    base_url_of(made, {})
    return made


def _faults_of_name(name: str) -> Iterator[str]:
    if name in _RESERVED:
        yield "this name is taken; choose another one"
    elif not _NAME.fullmatch(name):
        yield "a name begins with a small letter and has small letters, digits and _, 31 at most"


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        field = ".".join(str(part) for part in fault["loc"]) or "the table"
        if fault["type"] == "extra_forbidden":
            near = closest(field, _Row.model_fields, 1)
            yield f"there is no {field[:60]}" + (f"; did you mean {near[0]}?" if near else "")
        else:
            yield f"{field[:60]}: {fault['msg']}"
