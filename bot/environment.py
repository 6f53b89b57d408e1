"""Where settings are written: the file `.env` and the environment, and names there that only look like settings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.contract import SettingsError
from tools.credentials import is_random
from tools.nearness import nearest_file

ENCODING: Final = "utf-8-sig"
"""UTF-8, also with the mark at the beginning that editors on Windows write."""
OURS: Final = frozenset({"PARLEY_ENV_FILE"})
"""Variables that no settings class declares."""
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,39}|[a-z_][a-z0-9_]{0,39}")
_LONG = 12
"""Letters from which two may be wrong in a name that is meant to be ours."""


@dataclass(frozen=True, slots=True)
class Strays:
    """Names that no settings class declares."""

    misspelt: tuple[str, ...] = ()
    """A sentence for each variable of the environment whose name is nearly a setting's."""
    foreign: str = ""
    """One sentence about the names in `.env` that are another program's; empty where there is none."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is to be said, the more important first."""
        return (*self.misspelt, *((self.foreign,) if self.foreign else ()))


def env_file() -> Path | None:
    """The `.env` to read: `PARLEY_ENV_FILE` names another, and set but empty it means none.

    Raises:
        SettingsError: the file that is named is not there, or it cannot be used; see `names_in`.
    """
    named = os.environ.get("PARLEY_ENV_FILE")
    path = Path(".env" if named is None else named)
    if named == "" or not path.is_file():
        if named:
            near = nearest_file(path)
            hint = f"; did you mean {near}?" if near else ""
            raise SettingsError(f"PARLEY_ENV_FILE names {named!r}, and there is no such file{hint}")
        return None
    names_in(path)
    return path


def names_in(file: Path) -> list[str]:
    """The names that `file` sets.

    Raises:
        SettingsError: it cannot be read, is not UTF-8, or has a line that sets nothing.
    """
    from dotenv.parser import parse_stream

    try:
        with file.open(encoding=ENCODING) as opened:
            bindings = list(parse_stream(opened))
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: this file is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror or type(error).__name__}") from None
    names = []
    for binding in bindings:
        name = binding.key
        if binding.error or (
            name is not None and (binding.value is None or not _VARIABLE.fullmatch(name) or is_random(name))
        ):
            # It may be a key that stands alone, or one that was pasted over two lines: it is not shown.
            line = binding.original.line + binding.original.string.count("\n", 0, _start(binding.original.string))
            raise SettingsError(f"line {line} of {file} sets nothing: each must be NAME=value, or begin with #")
        if name is not None:
            names.append(name)
    return names


def strays(file: Path | None, known: Iterable[str]) -> Strays:
    """The names in `file` and in the environment that are no settings.

    A name that is nearly a setting's is refused in `file`, which is written for this program, and only told where
    it stands in the environment, which many programs share. Other names in `file` are another program's: one `.env`
    often serves several.

    Raises:
        SettingsError: `file` cannot be used, or has names that are nearly a setting's.
    """
    settings = OURS.union(known)
    foreign, refused = [], []
    for name in names_in(file) if file is not None else ():
        if name.upper() in settings:
            continue
        if near := nearest(name, settings):
            refused.append(f"{name} in {file} is no setting of this program; did you mean {near}?")
        else:
            foreign.append(name)
    if refused:
        raise SettingsError(*refused)
    misspelt = []
    for name in os.environ:
        # A name of one word is nearly everything.
        if "_" in name and name.upper() not in settings and (near := nearest(name, settings)):
            misspelt.append(f"{name} in the environment is no setting of this program; did you mean {near}?")
    named = ", ".join(dict.fromkeys(foreign))
    told = f"passed over in {file}: {named} (no settings of this program; .env.example lists all)" if foreign else ""
    return Strays(tuple(misspelt), told)


def nearest(name: str, known: Iterable[str]) -> str:
    """The settings that `name` may be meant to be, joined by "or"; empty where it is none of ours.

    It is meant to be one where a letter or two are wrong, or one word is missing or too many.
    """
    upper = name.upper()
    # Neither slip is in the first letter.
    settings = sorted(one for one in known if one[:1] == upper[:1])
    distances = {one: _distance(upper, one) for one in settings}
    least = min(distances.values(), default=_FAR)
    meant = [one for one in settings if (distances[one] == least if least < _FAR else _lacks_a_word(upper, one))]
    return " or ".join(meant)


_FAR: Final = 9


def _distance(name: str, setting: str) -> int:
    """How many letters are wrong, underscores apart; `_FAR` when it is more than a slip."""
    one, two = name.replace("_", ""), setting.replace("_", "")
    most = 2 if min(len(one), len(two)) >= _LONG else 1
    if abs(len(one) - len(two)) > most or one[:1] != two[:1]:
        return _FAR
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, sign in enumerate(one, 1):
        last, before, row = before, row, [i, *row[1:]]
        for j, other in enumerate(two, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != other))
            if i > 1 and j > 1 and sign == two[j - 2] and one[i - 2] == other:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(min(before), min(row)) > most:
            return _FAR
    return row[-1] if row[-1] <= most else _FAR


def _lacks_a_word(name: str, setting: str) -> bool:
    """`TELEGRAM_TOKEN` for `TELEGRAM_BOT_TOKEN`, or the other way round; the first and the last word are right."""
    short, long = sorted((name.split("_"), setting.split("_")), key=len)
    if len(long) - len(short) != 1 or len(short) < 2 or (short[0], short[-1]) != (long[0], long[-1]):
        return False
    return any(long[:place] + long[place + 1 :] == short for place in range(1, len(long) - 1))


def texts(file: Path | None) -> Mapping[str, str]:
    """Every variable of `file` and of the environment, which goes before it; of a file that cannot be read, none."""
    from dotenv import dotenv_values

    try:
        found = dotenv_values(file, encoding=ENCODING) if file is not None else {}
    except (OSError, UnicodeDecodeError):
        found = {}
    return {name.upper(): text or "" for name, text in found.items()} | {
        name.upper(): text for name, text in os.environ.items()
    }


def _start(text: str) -> int:
    """Where the line itself begins, after empty lines."""
    return len(text) - len(text.lstrip())
