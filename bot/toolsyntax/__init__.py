"""Calls that a model writes as text, found while the text arrives. Usable alone: it knows no chat and no model.

detector = Detector({"roll_dice": {"properties": {"sides": {"type": "integer"}}}})
for piece in [*detector.feed("Rolling. <tool_call>{"), *detector.feed(rest), *detector.finish()]:
    match piece:
        case Text(text): ...
        case Reasoning(text): ...
        case Call(name, arguments): ...
"""

from bot.toolsyntax.detector import Detector, parse, render_call
from bot.toolsyntax.pieces import Call, Piece, Reasoning, Schema, Text

__all__ = ["Call", "Detector", "Piece", "Reasoning", "Schema", "Text", "parse", "render_call"]
