"""What people read of a server's tool: its own title, in a sentence of their language; and of which they are asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.contract.languages import in_language
from tools.mcp.config import Endpoint, ServerConfig
from tools.mcp.listed import ListedTool
from tools.mcp.tool import offers_of

SERVER = ServerConfig(name="github", prefix="github", reach=Endpoint("http://mcp.example"))


@pytest.mark.parametrize(
    ("title", "description", "named", "label"),
    [
        ("List issues", "Use this tool to list issues. Never call it twice.", "List issues", "List issues"),
        ("", "Lists issues of a repository. Never call it twice.", "issues", "Lists issues of a repository."),
        ("", "列出仓库的问题。不要重复调用。", "issues", "列出仓库的问题。"),
        ("", "", "issues", "The tool 'issues'."),
        ("x\u202ey\nz" * 100, "", ("xy z" * 100)[:78] + "…", ("xy z" * 100)[:78] + "…"),
    ],
)
def test_a_tool_is_named_by_its_title_or_the_first_sentence_about_it(
    title: str, description: str, named: str, label: str
) -> None:
    listed = ListedTool(name="issues", title=title, description=description, parameters={"type": "object"})

    [[offer], _] = offers_of(SERVER, "GitHub", [listed])

    assert in_language(offer.spec.verb, "en") == f"Using github {named}"
    assert in_language(offer.spec.verb, "zh-CN") == in_language(offer.spec.verb, "zh-TW") == f"正在使用 github {named}"
    assert in_language(offer.spec.label, "en") == in_language(offer.spec.label, "zh-TW") == label


@pytest.mark.parametrize(
    ("promised", "asks", "outside"),
    [
        (ListedTool(name="do"), True, True),
        (ListedTool(name="do", read_only=True), False, True),
        (ListedTool(name="do", read_only=True, closed=True), False, False),
        (ListedTool(name="do", destroys=False), True, True),
        (ListedTool(name="do", closed=True), True, True),
        (ListedTool(name="do", destroys=False, closed=True), False, False),
    ],
    ids=[
        "nothing",
        "only reads",
        "only reads its own",
        "only adds, in a world that is open",
        "in its own world",
        "only adds to its own",
    ],
)
def test_a_server_that_promises_to_read_or_to_add_to_its_own_data_asks_nobody_and_reaches_nobody(
    promised: ListedTool, asks: bool, outside: bool
) -> None:
    [[offer], _] = offers_of(SERVER, "S", [replace(promised, parameters={"type": "object"})])

    assert (offer.spec.asks, offer.spec.outside) == (asks, outside)
