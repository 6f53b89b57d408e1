"""What an operator may choose about models, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bot.contract import LIMITS, Limits

LOCAL: Final = "local:"
"""The prefix in `TRANSCRIBE_MODEL` before a folder of this machine."""
ToolMode: TypeAlias = Literal["auto", "native", "prompt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The model and its fallbacks, with everything needed to ask them."""

    name: str
    """`provider:name`."""
    tool_mode: ToolMode
    turn_seconds: float
    """The longest a request may take whose own deadline says nothing."""
    fallbacks: tuple[str, ...] = ()
    """Asked in this order when the first cannot answer."""
    choices: tuple[str, ...] = ()
    """What chats may choose besides the first; empty: the fallbacks."""
    transcriber: str = ""
    """Transcribes what people say; empty: nothing does."""
    speaker: str = ""
    """Speaks answers; empty: nothing does."""
    voice: str = ""
    """The voice that it speaks with, by the name that its server knows."""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By provider name."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """By provider name; missing or empty: the provider's own."""
    limits: Limits = LIMITS
    reasoning_effort: str = ""
    """Sent when set: `none`, `minimal`, `low`, `medium`, `high`."""
    max_tokens: int = 0
    """Sent when set; 0: the server's own limit."""
