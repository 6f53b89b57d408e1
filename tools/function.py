"""`@tool`: an annotated async function with a docstring becomes a tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tools.base import Arguments, Json, ToolContext, ToolResult, ToolSpec
from tools.schema import of_docstring, of_function

Function: TypeAlias = Callable[..., Awaitable[ToolResult | str]]


class FunctionTool:
    """A tool that is one function."""

    def __init__(self, function: Function, spec: ToolSpec) -> None:
        self._function = function
        self._spec = spec
        self._wants_context = "context" in inspect.signature(function).parameters
        self.__doc__ = function.__doc__

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        given: dict[str, Any] = dict(arguments)
        if self._wants_context:
            given["context"] = context
        made = await self._function(**given)
        return ToolResult(text=made) if isinstance(made, str) else made

    async def close(self) -> None:
        return None


def spec_of(
    function: Function, *, name: str = "", examples: tuple[Mapping[str, Json], ...] = (), **more: Any
) -> ToolSpec:
    """Build a spec from a function's signature and docstring; `more` are further fields of `ToolSpec`."""
    parts, descriptions = of_docstring(function.__doc__ or "")
    told = {key: value for key, value in parts.items() if key != "purpose"}
    return ToolSpec(
        name=name or function.__name__,
        purpose=parts.get("purpose", ""),
        parameters=of_function(function, descriptions),
        examples=examples,
        **{**told, **more},
    )


def tool(
    *, name: str = "", examples: tuple[Mapping[str, Json], ...] = (), **more: Any
) -> Callable[[Function], FunctionTool]:
    """Turn the decorated function into a tool; the keywords are fields of `ToolSpec`."""

    def make(function: Function) -> FunctionTool:
        return FunctionTool(function, spec_of(function, name=name, examples=examples, **more))

    return make
