"""`@tool`: an annotated async function with a docstring becomes a tool."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tools.calling.schema import of_docstring, of_function
from tools.contract.base import Arguments, ToolContext, ToolResult, ToolSpec
from tools.contract.late import Resource

Function: TypeAlias = Callable[..., Awaitable[ToolResult | str]]


class FunctionTool:
    """A tool that is one function."""

    def __init__(self, function: Function, *resources: Resource, **fields: Any) -> None:
        """`resources` are closed with the tool; `fields` are those of `ToolSpec` that the function does not give.

        Raises:
            ValueError: the function is not `async`, or an argument has no type.
        """
        if not inspect.iscoroutinefunction(function):
            raise ValueError(f"{getattr(function, '__name__', 'a tool')} must be written `async def`")
        self._function = function
        self._resources = resources
        self.spec = spec_of(function, **fields)
        self._wants_context = "context" in inspect.signature(function).parameters
        self.__doc__ = function.__doc__

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        given: dict[str, Any] = dict(arguments)
        if self._wants_context:
            given["context"] = context
        made = await self._function(**given)
        return ToolResult(text=made) if isinstance(made, str) else made

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._resources))


def spec_of(function: Function, **fields: Any) -> ToolSpec:
    """Build a spec from a function's signature and docstring; `fields` are further ones of `ToolSpec`, and win."""
    parts, descriptions = of_docstring(function.__doc__ or "")
    told = {"name": function.__name__, "purpose": "", **parts, **fields}
    return ToolSpec(parameters=of_function(function, descriptions), **told)


def tool(**fields: Any) -> Callable[[Function], FunctionTool]:
    """Turn the decorated function into a tool; the keywords are fields of `ToolSpec`."""
    return lambda function: FunctionTool(function, **fields)
