"""Calls that a model writes as text, found while the text arrives. Usable alone: it knows no chat and no model.

detector = Detector({"roll_dice": {"properties": {"sides": {"type": "integer"}}}})
for piece in [*detector.feed("Rolling. <tool_call>{"), *detector.feed(rest), *detector.finish()]:
    match piece:
        case Text(text): ...
        case Reasoning(text): ...
        case Call(name, arguments): ...
        case Withdrawn(): ...  # what came before was no answer
"""

from bot.toolsyntax.arguments import Registry, split, unwrap
from bot.toolsyntax.detector import Detector, parse
from bot.toolsyntax.families import FOLD, MARKERS, WORDINGS
from bot.toolsyntax.pieces import Call, Piece, Reasoning, Schema, Text, Withdrawn
from bot.toolsyntax.python_calls import PythonScan
from bot.toolsyntax.repair import object_in
