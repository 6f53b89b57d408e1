"""A strict Discord on loopback: REST v10 and the gateway, for tests, benchmarks and the playground.

Always imported by its full name: the plain name belongs to the client library.
"""

from playground.discord.limits import Limits, Window
from playground.discord.server import DiscordServer

__all__ = ["DiscordServer", "Limits", "Window"]
