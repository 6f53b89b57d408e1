"""Writes `.env.example` from the settings classes: `python -m bot.cli.env_example > .env.example`."""

from __future__ import annotations

from typing import Final

from bot.configuration import settings_classes
from bot.settings import Settings, variables

_HEAD = """\
# Every setting with its default. Copy this file to .env and take away the "# " of the lines you change.
# A list is written a,b,c. Ids are written telegram:123, slack:T1/U1, discord:456.

# ---- What most people need: these four lines, or those of another platform and provider from below ----
"""
_FIRST: Final = ("TELEGRAM_BOT_TOKEN", "MODEL", "OPENAI_API_KEY", "TAVILY_API_KEY")


def example() -> str:
    """The whole file: the few settings that most people need, then the platforms', the core's and the tools'."""
    core, *others = settings_classes()
    platforms = [kind for kind in others if issubclass(kind, Settings)]
    kinds = [*platforms, core, *(kind for kind in others if kind not in platforms)]
    shown = dict(variables(kinds))
    parts = [_HEAD, *(_lines(name, *shown.pop(name)) for name in _FIRST)]
    for kind in kinds:
        table = {name: shown.pop(name) for name in variables([kind]) if name in shown}
        if table:
            title = (kind.__doc__ or kind.__name__).strip().splitlines()[0].rstrip(".")
            parts.append(f"# ---- {title} ----\n")
            parts += [_lines(name, *about) for name, about in table.items()]
    return "\n".join(parts)


def _lines(name: str, default: str, description: str) -> str:
    return f"# {description}\n# {name}={default}\n"


if __name__ == "__main__":
    print(example(), end="")  # noqa: T201
