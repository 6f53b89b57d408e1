"""Writes `.env.example` from the settings classes: `python -m bot.cli.env_example > .env.example`."""

from __future__ import annotations

from typing import Final

from bot.settings import Settings, mirrors, settings_classes, variables

_HEAD = """\
# Every setting with its default. Copy this file to .env and uncomment the lines you change.
# Lists are written a,b,c. Ids are written telegram:123, slack:T1/U1, discord:456.

# ---- Start here: a model, a platform, and what most people change ----
"""
_FIRST: Final = (
    *("MODEL", "OPENAI_API_KEY"),
    *("TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_BOT_TOKEN"),
    *("TAVILY_API_KEY", "ALLOWED_USERS", "INSTRUCTIONS", "TIME_ZONE", "MONEY_PER_DAY", "DATABASE_URL"),
)


def example() -> str:
    """Return the whole file: the twelve settings that matter most, then the core's groups, the platforms' and the
    tools'."""
    core, *others = settings_classes()
    platforms = [kind for kind in others if issubclass(kind, Settings)]
    tools = [kind for kind in others if kind not in platforms]
    shown = {name: about for name, about in variables([core, *others]).items() if name not in mirrors([core, *others])}
    parts = [_HEAD, *(_lines(name, *shown.pop(name)) for name in _FIRST)]
    for group in (*reversed(core.__bases__), *platforms, *tools):
        table = {name: shown.pop(name) for name in variables([group]) if name in shown}
        if table:
            title, _, whom = (group.__doc__ or group.__name__).strip().partition("\n\n")
            parts.append(f"# ---- {title.rstrip('.')} ----\n" + (f"# {whom.strip()}\n" if whom else ""))
            parts += [_lines(name, *about) for name, about in table.items()]
    return "\n".join(parts)


def _lines(name: str, default: str, description: str) -> str:
    return f"# {description}\n# {name}={default}\n"


if __name__ == "__main__":
    print(example(), end="")  # noqa: T201
