"""`python -m tools calculator '{"expression": "2+2"}'`: any tool, without a bot."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO, cast

from pydantic import SecretStr, ValidationError

from tools.calling.plugins import Plugin, find_plugins
from tools.contract.credentials import accounts, hidden, in_address
from tools.contract.forms import ToolSettings, sentences
from tools.programs.output import MaskedStream, inert
from tools.settings import SETTINGS, PluginSettings
from tools.shell import run as shell


def main(arguments: Sequence[str]) -> int:
    """Run one tool, or list them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools", description="Run one tool, or list the tools.")
    parser.add_argument("name", nargs="?", help="the tool to run")
    parser.add_argument(
        "arguments", nargs="?", default="{}", help='its arguments as JSON, as \'{"expression": "2+2"}\''
    )
    parser.add_argument("--data", metavar="FILE", type=Path, help="a file that keeps what tools remember")
    options = parser.parse_intermixed_args(list(arguments))
    secrets: set[str] = set()

    def through(text: str) -> str:
        return inert(hidden(text, secrets))

    sys.stdout = cast("TextIO", MaskedStream(sys.stdout, through))
    sys.stderr = cast("TextIO", MaskedStream(sys.stderr, through))
    try:
        settings, plugins = read_settings(Path(os.environ.get("PARLEY_ENV_FILE") or ".env"))
    except ValueError as error:
        print(f"tools: {error}", file=sys.stderr)  # noqa: T201
        return 2
    secrets.update(_secrets(settings.values()))
    try:
        return shell.main(
            settings,
            options.name,
            options.arguments,
            data=options.data,
            plugins=plugins,
            program="python -m tools",
            mask=secrets.update,
        )
    except (KeyboardInterrupt, BrokenPipeError):
        return 130


def _secrets(settings: Iterable[ToolSettings]) -> Iterator[str]:
    """Yield the secrets in these settings."""
    for one in settings:
        for value in dict(one).values():
            if isinstance(value, SecretStr):
                yield value.get_secret_value()
                yield from accounts(value.get_secret_value())
            elif isinstance(value, str):
                yield from in_address(value)


def read_settings(file: Path) -> tuple[dict[str, ToolSettings], tuple[Plugin, ...]]:
    """Read every tool's settings from the environment and `file`, and find the tools of other authors.

    Raises:
        ValueError: one is malformed; the sentence names the variable.
    """

    def read(kinds: Mapping[str, type[ToolSettings]]) -> dict[str, ToolSettings]:
        settings = {}
        for name, kind in kinds.items():
            try:
                settings[name] = kind(_env_file=file)  # type: ignore[call-arg]  # pydantic's
            except ValidationError as error:
                raise ValueError("; ".join(sentences(kind, error))) from None
        return settings

    try:
        settings = read(SETTINGS)
        folder = settings["plugins"]
        assert isinstance(folder, PluginSettings)
        try:
            plugins = find_plugins(folder.tools_dir)
        except ValueError as error:
            raise ValueError(f"TOOLS_DIR: {error}") from error
        return settings | read({one.origin: one.settings for one in plugins if one.settings is not None}), plugins
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the settings file {str(file)!r} cannot be read: {type(error).__name__}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
