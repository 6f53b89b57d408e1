"""Names between colons as clients of Slack and Discord draw them, also in the middle of a word.

Only some of the names; each service has about two thousand.
https://docs.slack.dev/messaging/formatting-message-text#emoji, https://github.com/bgptools/issues/issues/222 (Discord)
"""

from __future__ import annotations

import re

_EMOJI = {
    "+1": "👍",
    "100": "💯",
    "1234": "🔢",
    "a": "🅰️",
    "ab": "🆎",
    "abc": "🔤",
    "b": "🅱️",
    "c": "©️",
    "e-mail": "📧",
    "id": "🆔",
    "key": "🔑",
    "m": "Ⓜ️",
    "on": "🔛",
    "rocket": "🚀",
    "tada": "🎉",
    "v": "✌️",
    "x": "❌",
}
NAMED = rf":(?:{'|'.join(map(re.escape, _EMOJI))}):"
"""A pattern for what is drawn as an emoji."""
_NAMED = re.compile(NAMED)


def drawn(text: str) -> str:
    """Draw the names in a text that is not code."""
    return _NAMED.sub(lambda found: _EMOJI[found[0][1:-1]], text) if ":" in text else text
