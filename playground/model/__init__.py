"""An OpenAI-compatible server: strict about what it is sent, answering by script or by a built-in model."""

from playground.model.reply import Body, Reply
from playground.model.server import ModelRequest, ModelServer

__all__ = ["Body", "ModelRequest", "ModelServer", "Reply"]
