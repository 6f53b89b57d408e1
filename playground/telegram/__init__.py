"""The Telegram Bot API on loopback: strict where the service is strict, with a person on the other side."""

from playground.telegram.limits import Limits
from playground.telegram.server import TelegramServer

__all__ = ["Limits", "TelegramServer"]
