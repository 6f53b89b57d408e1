"""Writes `.env.example` from the settings classes: `python -m bot.env_example > .env.example`."""

from __future__ import annotations

from bot import app
from bot.settings import variables

_HEAD = """\
# Every setting with its default. Copy this file to .env and take away the "# " of the lines you change.
# A list is written a,b,c. Ids are written telegram:123, slack:T1/U1, discord:456.
"""


def example() -> str:
    """The whole file."""
    parts = [_HEAD]
    for kind in app.settings_classes():
        table = variables([kind])
        if table:
            title = (kind.__doc__ or kind.__name__).strip().splitlines()[0].rstrip(".")
            parts.append(f"# ---- {title} ----\n")
            parts += [f"# {description}\n# {name}={default}\n" for name, (default, description) in table.items()]
    return "\n".join(parts)


if __name__ == "__main__":
    print(example(), end="")  # noqa: T201
