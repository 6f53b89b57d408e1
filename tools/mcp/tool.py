"""One tool of an MCP server as a `Tool` of the registry."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tools.calling.descriptions import Description, fits
from tools.calling.schema import of_docstring
from tools.contract.base import Arguments, ToolContext, ToolError, ToolResult, ToolSpec
from tools.contract.languages import Words
from tools.contract.names import tool_names
from tools.mcp.argument_names import ArgumentNames
from tools.mcp.config import ServerConfig
from tools.mcp.content import convert_answer
from tools.mcp.errors import ServerGone, ServerRefused
from tools.mcp.listed import ListedTool
from tools.mcp.parameters import UsableSchema, usable_schema
from tools.mcp.plain import plain_text

if TYPE_CHECKING:
    from tools.mcp.session import Session

PURPOSE_CHARS = 600
HINT_CHARS = 300
LABEL_CHARS = 80
PROGRESS_CHARS = 80
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
ARGUMENT_CHARS = 400_000
"""The most that a model writes in one answer; the server checks how much of it it accepts."""


class Line(Protocol):
    """The part of a server that a tool uses."""

    async def session(self, seconds: float) -> Session:
        """Return the connection, waiting a little for one; raises ToolError if there is none."""
        ...

    def doubt(self) -> None:
        """Check the connection after a failed call."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A listed tool in the form offered to models."""

    own_name: str
    """The server's name of it."""
    spec: ToolSpec
    names: ArgumentNames
    """The server's names of its arguments."""


class McpTool:
    """A tool of an MCP server."""

    def __init__(self, line: Line, server: str, offer: Offer) -> None:
        self._line = line
        self._server = server
        self.offer = offer

    @property
    def spec(self) -> ToolSpec:
        return self.offer.spec

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Call it; on cancellation or timeout the server is notified."""

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            if message:
                context.progress(plain_text(message, PROGRESS_CHARS))

        session = await self._line.session(context.seconds)
        try:
            given = self.offer.names.restored(arguments)
            answer = await session.call(self.offer.own_name, given, context.seconds + 1.0, heard)
        except ServerGone as error:
            self._line.doubt()
            raise ToolError(
                f"The MCP server {self._server!r} stopped before it answered; whether it did what was asked is "
                "unknown. It is being started again.",
                retry=False,
            ) from error
        except ServerRefused as error:
            self._line.doubt()
            refusal = f"{self.spec.name} was refused by its server: {plain_text(str(error), 500)}"
            return replace(ToolResult.failed(refusal, own_words=False), untrusted=True)
        # Ten megabytes may come: searched in the event loop they would hold up every chat.
        return await asyncio.to_thread(convert_answer, answer, self.offer.own_name)

    async def close(self) -> None:
        """Do nothing: the connection belongs to the server."""


def offers_of(config: ServerConfig, title: str, listed: Iterable[ListedTool]) -> tuple[list[Offer], list[str]]:
    """Return a server's usable tools, in its order, and a sentence for each that is unusable or shortened."""
    wanted: dict[str, ListedTool] = {}
    for tool in listed:
        if config.offers(tool.name):
            wanted.setdefault(tool.name, tool)
    names = tool_names(config.prefix, wanted)
    offered: list[Offer] = []
    sentences: list[str] = []
    for tool in wanted.values():
        named = f"{tool.name[:80]!r}"
        if tool.as_task:
            sentences.append(
                f"{named} is not offered: it runs only as a task in the background, which is not possible here"
            )
            continue
        parts, arguments = of_docstring(tool.description[:20_000])
        schema = usable_schema(tool.parameters, arguments)
        if left_out := (*tool.left_out, *schema.left_out):
            sentences.append(f"{named} is offered without {', '.join(left_out)}")
        spec = _spec(config, title, tool, names[tool.name], parts, schema)
        told = config.descriptions.get(tool.name, Description())
        sentences += [
            f"{named}: an example in the file does not fit: {one!r:.100}"
            for one in told.examples
            if not fits(spec, one)
        ]
        offered.append(Offer(tool.name, told.of(spec), schema.names))
    sentences += [
        f"{name[:80]!r} is described in the file and not listed by the server"
        for name in config.descriptions
        if name not in wanted
    ]
    return offered, sentences


def _spec(
    config: ServerConfig, title: str, tool: ListedTool, name: str, parts: Mapping[str, str], schema: UsableSchema
) -> ToolSpec:
    told = plain_text(tool.title, 80)
    purpose = plain_text(parts.get("purpose", ""), PURPOSE_CHARS) or told or f"The tool {tool.name!r:.80}."
    server = plain_text(config.name, 60)
    own_data = tool.closed and (tool.read_only or not tool.destroys)
    label = told or plain_text(_SENTENCE_END.split(purpose, maxsplit=1)[0], LABEL_CHARS)
    return ToolSpec(
        name=name,
        purpose=purpose,
        parameters=schema.parameters,
        category=server,
        use_when=plain_text(parts.get("use_when", ""), HINT_CHARS),
        not_for=plain_text(parts.get("not_for", ""), HINT_CHARS),
        source=plain_text(parts.get("source", ""), HINT_CHARS) or f"the MCP server {plain_text(title, 80) or server}",
        icon="🔌",
        verb=_using(f"{server} {told or plain_text(tool.name, 60)}"),
        label=label,
        effects=not tool.read_only,
        # The protocol's defaults for undeclared hints: it changes things for good, and reaches others.
        # https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
        asks=not (tool.read_only or own_data),
        # Also one that only reads, such as a fetcher, unless it declares that it cannot send its arguments anywhere.
        # The operator chose the server: its own declaration counts, not other people's text that passes through it.
        outside=not own_data,
        aliases={own: name for name, own in schema.names.own.items()},
        timeout=config.timeout,
        most_chars=ARGUMENT_CHARS,
    )


def _using(title: str) -> Words:
    """Return the status line while it runs, of which only the title is the server's."""
    return f"Using {title}", f"正在使用 {title}", f"正在使用 {title}"
