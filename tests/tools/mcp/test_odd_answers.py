"""Answers that do not follow the protocol: what can be read of them is told."""

from __future__ import annotations

import base64
import logging

import pytest

from tests.conftest import RawJson
from tests.tools.mcp.conftest import Bench
from tools.mcp.mending import MOST_BLOCKS

NOTHING = "The tool finished and returned nothing."
FINE = {"type": "text", "text": "tea"}
PNG = base64.b64encode(b"\x89PNG").decode()
ODD: dict[str, tuple[RawJson, str]] = {
    "only data": ({"structuredContent": {"cups": 3}}, '{"cups": 3}'),
    "no content and data": ({"content": None, "structuredContent": {"cups": 3}}, '{"cups": 3}'),
    "a list as data": ({"content": [], "structuredContent": [1, 2]}, '{"result": [1, 2]}'),
    "a list as data beside text": (
        {"content": [FINE], "structuredContent": ["Oolong"]},
        'tea\n\n{"result": ["Oolong"]}',
    ),
    "a number as data": ({"structuredContent": 0}, '{"result": 0}'),
    "null": ({"content": None}, NOTHING),
    "nothing at all": ({}, NOTHING),
    "an unknown part": (
        {"content": [FINE, {"type": "chart", "points": [1]}]},
        'tea\n\n{"type": "chart", "points": [1]}',
    ),
    "an unknown part with text": ({"content": [{"type": "markdown", "text": "**tea**"}, FINE]}, "**tea**\n\ntea"),
    "parts without a type": ({"content": [{"text": "black"}, "green", None, 7]}, "black\n\ngreen\n\n7"),
    "no text in a text": ({"content": [{"type": "text", "text": None}, {"type": "text"}]}, NOTHING),
    "data as a text": ({"content": [{"type": "text", "text": {"cups": 3}}]}, '{"cups": 3}'),
    "a text as content": ({"content": "tea"}, "tea"),
    "a part as content": ({"content": FINE}, "tea"),
    "odd notes": ({"content": [{**FINE, "annotations": "x", "_meta": 5}], "_meta": [], "isError": None}, "tea"),
    "the form of old": ({"toolResult": {"cups": 3}}, '{"toolResult": {"cups": 3}}'),
    "the bare value": ({"cups": 3, "tea": "black"}, '{"cups": 3, "tea": "black"}'),
    "an odd link": (
        {"content": [{"type": "resource_link", "uri": "tea://1"}]},
        '{"type": "resource_link", "uri": "tea://1"}',
    ),
    "a picture of no type": (
        {"content": [{"type": "image", "data": PNG}]},
        "[image a_picture_of_no_type-1.bin, application/octet-stream, 4 bytes; the person receives it as a file]",
    ),
    "very many parts": (
        {"content": [{"type": "text", "text": "a"}] * (MOST_BLOCKS + 5)},
        "a\n\n" * MOST_BLOCKS + "[5 more parts were left out]",
    ),
}
FAILED: dict[str, RawJson] = {
    "failed": {"isError": "true", "content": "no tea"},
    "failed oddly": {"isError": {"code": 7}, "structuredContent": ["no tea"]},
}


async def test_what_can_be_read_of_an_answer_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    answers = {name: answer for name, (answer, _) in ODD.items()} | FAILED
    tools = [{"name": name, "inputSchema": {"type": "object"}, "answers": one} for name, one in answers.items()]
    await bench.open({"odd": bench.listed(*tools)})
    caplog.set_level(logging.WARNING)

    told = {name: await bench.call(f"odd__{name.replace(' ', '_')}") for name in answers}

    assert {name: told[name].text for name in ODD} == {name: text for name, (_, text) in ODD.items()}
    assert all(told[name].ok and told[name].untrusted for name in ODD)
    assert not told["failed"].ok and told["failed"].text == "Error: no tea"
    assert not told["failed oddly"].ok and "no tea" in told["failed oddly"].text
    assert told["a picture of no type"].files[0].content == b"\x89PNG"
    assert caplog.text.count("MCP server 'odd': an answer does not follow the protocol") == 1
