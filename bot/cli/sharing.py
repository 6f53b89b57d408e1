"""The settings that all processes on one database must share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bot.intake import digest, digest_of_bot
from bot.settings import Configuration

_OWN = {"database_url", "http_host", "http_port", "web_host", "web_port", "log_level", "log_format"}
"""Settings of one machine."""
_FILES = {"channels_file", "mcp_config"}
"""Settings that name a file, whose content must be the same in every process."""


def digests_of(configuration: Configuration) -> str:
    """Return a digest of each setting that all processes must share, as `NAME=digest` separated by spaces, and of the
    bot's identity on each platform.

    For keys it includes only whether they are set.
    """
    groups = (configuration.core, *configuration.platforms.values(), *configuration.tools.values())
    pairs = dict(pair for settings in groups for pair in _values_of(settings))
    digests = [digest(name, value) for name, value in sorted(pairs.items())]
    bots = ((name, settings.identity) for name, settings in configuration.platforms.items())
    return " ".join(digests + [digest_of_bot(name, identity) for name, identity in bots if identity])


def _values_of(settings: object) -> Iterator[tuple[str, bytes]]:
    assert hasattr(settings, "__iter__")  # a pydantic model: each field with its value
    for name, value in settings:
        if name in _FILES:
            yield name.upper(), _content_of(str(value))
        elif name not in _OWN:
            yield name.upper(), str(value).encode()


def _content_of(file: str) -> bytes:
    try:
        return Path(file).expanduser().read_bytes() if file else b""
    except OSError:
        return b""  # its reader reports it
