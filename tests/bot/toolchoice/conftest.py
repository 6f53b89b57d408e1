"""Sixty-five made-up tools, and questions labelled with the tool that each of them needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RawObject
from tools.contract.base import Json, ToolSpec

HERE = Path(__file__).parent


SERVER = "many__"
"""Begins the names of the sixty-five: they are tools of a server."""


def spec_of(told: RawObject, prefix: str = SERVER) -> ToolSpec:
    """A tool as `tools.json` tells it: parameters are strings, of which the first is required."""
    parameters = told.pop("parameters")
    told["name"] = prefix + told["name"]
    properties: dict[str, Json] = {name: {"type": "string", "description": said} for name, said in parameters.items()}
    return ToolSpec(
        parameters={"type": "object", "properties": properties, "required": [*parameters][:1]},
        **told,
    )


def all_of_them(prefix: str = SERVER) -> tuple[ToolSpec, ...]:
    return tuple(spec_of(told, prefix) for told in json.loads((HERE / "tools.json").read_text()))


@pytest.fixture(scope="session")
def sixty_five() -> tuple[ToolSpec, ...]:
    return all_of_them()


@pytest.fixture(scope="session")
def labelled() -> list[tuple[str, str]]:
    """(question, the tool it needs). Every third was held out: never looked at while the glossary was written."""
    return [(question, SERVER + tool) for question, tool in json.loads((HERE / "questions.json").read_text())]


@pytest.fixture(scope="session")
def few() -> tuple[ToolSpec, ...]:
    """A small installation, with tools of ours: search, sums, the clock and translation."""
    wanted = {"search_web", "calculator", "current_time", "translate_text"}
    return tuple(spec for spec in all_of_them("") if spec.name in wanted)
