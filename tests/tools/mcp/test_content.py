"""What a model and a person get of an answer, whatever it is made of."""

from __future__ import annotations

import base64
import json

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from tools.contract.base import ProducedFile, Source
from tools.mcp.content import MOST_FILE_BYTES, MOST_FILES, MOST_TEXT, convert_answer

PNG = base64.b64encode(b"\x89PNG").decode()


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def picture(data: str = PNG, media_type: str = "image/png") -> ImageContent:
    return ImageContent(type="image", data=data, mime_type=media_type)


def test_files_are_named_and_announced_and_the_rest_is_told() -> None:
    note = TextResourceContents(uri="https://tea.example/a%20note.txt", text="Tea is a leaf.")
    sheet = BlobResourceContents(
        uri="file:///kept/leaves.csv", mime_type="text/csv", blob=base64.b64encode(b"a").decode()
    )
    link = ResourceLink(type="resource_link", name="tea", title="Tea", uri="https://tea.example", description="Leaves")
    plain = ResourceLink(type="resource_link", name="tea", uri="tea://1")
    answer = convert_answer(
        CallToolResult(
            content=[
                picture(),
                AudioContent(type="audio", data=PNG, mime_type="no type"),
                EmbeddedResource(type="resource", resource=note),
                EmbeddedResource(type="resource", resource=sheet),
                link,
                plain,
            ]
        ),
        "shop",
    )

    assert answer.files == (
        ProducedFile("shop-1.png", "image/png", b"\x89PNG"),
        ProducedFile("shop-2.bin", "application/octet-stream", b"\x89PNG"),
        ProducedFile("leaves.csv", "text/csv", b"a"),
    )
    assert answer.sources == (
        Source("https://tea.example/a%20note.txt", "https://tea.example/a%20note.txt"),
        Source("Tea", "https://tea.example"),
    )
    assert "[image shop-1.png, image/png, 4 bytes; the person receives it as a file]" in answer.text
    assert "[resource https://tea.example/a%20note.txt]\nTea is a leaf." in answer.text
    assert answer.text.endswith("[link] Tea <https://tea.example>: Leaves\n\n[link] tea <tea://1>")


def test_files_that_are_damaged_too_large_or_too_many_are_left_out() -> None:
    large = "A" * (MOST_FILE_BYTES * 4 // 3 + 5)
    answer = convert_answer(
        CallToolResult(content=[picture("%"), picture(large), *[picture()] * (MOST_FILES + 1)]), "s"
    )

    assert len(answer.files) == MOST_FILES
    for reason in ("it came damaged", "larger than 8 MB", f"more than {MOST_FILES} files"):
        assert answer.text.count(f"[image left out: {reason}]") == 1


def test_of_very_much_text_the_beginning_is_told() -> None:
    much = convert_answer(CallToolResult(content=[text("tea " * MOST_TEXT), text("never seen")]), "s")

    assert much.text.endswith("\n[… cut off …]") and len(much.text) < MOST_TEXT + 100


def test_structured_content_is_told_unless_the_text_says_it_already() -> None:
    said = {"city": "Kyoto", "cups": [1, 2, None]}
    repeated = convert_answer(CallToolResult(content=[text("Kyoto: 1 and 2")], structured_content=said), "s")
    alone = convert_answer(CallToolResult(content=[], structured_content=said), "s")

    assert repeated.text == "Kyoto: 1 and 2"
    assert json.loads(alone.text) == said


def test_what_is_nested_without_end_is_told_so_far() -> None:
    nested: dict[str, object] = {"word": "tea"}
    for _ in range(200):
        nested = {"in": nested}

    answer = convert_answer(CallToolResult(content=[text("in")], structured_content=nested), "s")

    assert answer.text == "in"
    assert "…" in convert_answer(CallToolResult(content=[], structured_content=nested), "s").text


def test_nothing_and_failures_are_said() -> None:
    assert convert_answer(CallToolResult(content=[text("")]), "s").text == "The tool finished and returned nothing."
    failed = convert_answer(CallToolResult(content=[text("no such tea")], is_error=True), "s")
    named = convert_answer(CallToolResult(content=[text("Error: no such tea")], is_error=True), "s")

    assert failed.text == named.text == "Error: no such tea" and not failed.ok
