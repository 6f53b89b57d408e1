"""What people read of a server's tool: its own title, in a sentence of their language."""

from __future__ import annotations

import pytest

from tools.languages import in_language
from tools.mcp.config import Endpoint, ServerConfig
from tools.mcp.listed import ListedTool
from tools.mcp.tool import specs_of

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

    [[(_, spec)], _] = specs_of(SERVER, "GitHub", [listed])

    assert in_language(spec.verb, "en") == f"Using github {named}"
    assert in_language(spec.verb, "zh-CN") == in_language(spec.verb, "zh-TW") == f"正在使用 github {named}"
    assert in_language(spec.label, "en") == in_language(spec.label, "zh-TW") == label
