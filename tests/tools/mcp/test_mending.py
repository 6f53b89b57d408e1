"""Lists that do not follow the protocol, in every version of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RawJson, RawObject

pytest.importorskip("mcp")

import mcp_types as types
from mcp_types import methods

from tools.mcp.mending import mend_list, mended_answer

VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28")
TOOL: RawObject = {"name": "tea", "inputSchema": {"type": "object"}}


def follows(method: str, version: str, result: RawObject) -> bool:
    """Whether the SDK takes a result."""
    form = types.ListToolsResult if method == "tools/list" else types.CallToolResult
    try:
        methods.validate_server_result(method, version, result)
        form.model_validate(result, by_name=False)
    except ValueError:
        return False
    return True


def names(result: RawObject, version: str) -> tuple[list[str], int]:
    """The tools of a list that was mended, and how many were lost."""
    lost = mend_list(result, lambda one: follows("tools/list", version, one))
    assert follows("tools/list", version, result)
    return [tool["name"] for tool in result["tools"]], lost


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "around",
    [{}, {"nextCursor": 7}, {"_meta": []}, {"resultType": 5, "ttlMs": "long"}, {"cacheScope": None, "more": [1]}],
    ids=str,
)
def test_tools_stay_whatever_stands_around_them(around: RawObject, version: str) -> None:
    assert names({"tools": [TOOL, {"name": "milk"}, {"inputSchema": {}}], **around}, version) == (["tea", "milk"], 1)


def test_the_next_page_is_still_named() -> None:
    result: RawObject = {"tools": [{"name": "milk"}], "nextCursor": "2"}

    assert names(result, "2025-06-18") == (["milk"], 0)
    assert result["nextCursor"] == "2"


KEYS = "type text data mimeType content structuredContent isError resource uri _meta name"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS.split()),
            inner | st.sampled_from(["text", "image", "resource", "resource_link"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)
ANSWERS = st.dictionaries(st.sampled_from(["content", "structuredContent", "isError", "_meta", "x"]), JSON)


@given(ANSWERS, st.sampled_from(VERSIONS))
def test_whatever_a_tool_answers_becomes_an_answer(answer: RawJson, version: str) -> None:
    made = mended_answer(answer, lambda one: follows("tools/call", version, one))

    assert follows("tools/call", version, made)
