"""What can go wrong with an MCP server, named for what to do next."""

from __future__ import annotations


class McpConfigError(Exception):
    """The configuration cannot be used; the text says what to mend, and trying again does not help."""


class ServerGone(Exception):
    """The connection ended: what was asked has no answer, and may or may not have been done."""


class ServerRefused(Exception):
    """The server answered a request with an error of the protocol, or with something that is no answer."""
