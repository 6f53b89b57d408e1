"""Write settings into `.env` in one step, leaving every other line as it is."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path

from bot.contract import SettingsError
from bot.settings import ENCODING

_PLAIN = re.compile(r"[\w.:/@+,=-]*")
_HEAD = "# Written by `parley init`. Every other setting with its default: .env.example\n"


def write_settings(file: Path, settings: Mapping[str, str]) -> None:
    """Set these in `file`, which only its owner can read afterwards; other lines, comments too, stay as they are.

    Whatever happens, the file is the old one or the new one. A symbolic link stays, and its target changes.

    Raises:
        SettingsError: a value or the file cannot be written.
    """
    for name, text in settings.items():
        check_value(name, text)
    real = Path(os.path.realpath(file))
    fresh = real.with_name(f"{real.name}.new-{os.getpid()}")
    try:
        old = real.read_text(encoding=ENCODING) if real.exists() else _HEAD
        real.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as written:
            written.write(changed(old, settings))
            written.flush()
            os.fsync(written.fileno())
        fresh.replace(real)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        fresh.unlink(missing_ok=True)


def changed(text: str, settings: Mapping[str, str]) -> str:
    """Return the text of a settings file with these set: in their lines, or else at its end."""
    from dotenv.parser import parse_stream

    left = {name: f"{name}={_quoted(value)}" for name, value in settings.items()}
    lines: list[str] = []
    for binding in parse_stream(io.StringIO(text)):
        said = binding.original.string
        name = (binding.key or "").upper()
        if name in settings and not binding.error:
            # If a setting occurs twice, the last line would win.
            blank = said[: len(said) - len(said.lstrip())]
            said = f"{blank}{left.pop(name)}\n" if name in left else blank
        lines.append(said)
    whole = "".join(lines)
    if left:
        whole += ("" if not whole or whole.endswith("\n") else "\n") + "".join(f"{line}\n" for line in left.values())
    return whole


def check_value(name: str, text: str) -> None:
    """Raise SettingsError if a settings file cannot contain this value, for example because of `${`, which inserts
    another."""
    from dotenv import dotenv_values

    if "\0" in text or dotenv_values(stream=io.StringIO(f"{name}={_quoted(text)}\n")).get(name) != text:
        raise SettingsError(
            f"{name} cannot be written into a file as it was typed: some of its characters have another meaning there"
        )


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
