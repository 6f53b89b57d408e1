"""Block Kit: which blocks the service takes, and what a person sees of them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from playground.slack.errors import Json, Refused
from playground.slack.limits import Limits
from playground.slack.markdown import draw_markdown
from playground.slack.mrkdwn import Drawn, draw_mrkdwn

ATTACHMENTS = 100
SECTION_TEXT, HEADER_TEXT, BUTTON_TEXT, ID_LENGTH, URL_LENGTH = 3_000, 150, 75, 255, 3_000
SHOWN_ONLY = frozenset(
    [
        *("divider", "file", "video", "input", "call", "rich_text", "table"),
        *("task_card", "plan", "alert", "card", "container", "carousel"),
    ]
)
"""Block types that are taken as they are; their inner rules are not checked."""


@dataclass(slots=True)
class DrawnBlocks(Drawn):
    """Blocks as a person sees them, and what can be pressed in them."""

    buttons: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    """Addresses the service fetches to show a picture."""


def parse_list(value: object, error: str) -> list[Json]:
    """Blocks, attachments or chunks, sent as JSON or as a string that holds JSON.

    Raises:
        Refused: `error`, when it is no list of objects.
    """
    if value in (None, ""):
        return []
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise Refused(error) from None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Refused(error)
    return value


def check_blocks(blocks: list[Json], limits: Limits) -> None:
    """Refuse what the service refuses.

    Raises:
        Refused: too_many_blocks, invalid_blocks (with the place), msg_blocks_too_long.
    """
    if len(blocks) > limits.blocks:
        raise Refused("too_many_blocks")
    seen: set[str] = set()
    markdown = 0
    for index, block in enumerate(blocks):
        where = f"/blocks/{index}"
        id = block.get("block_id", "")
        _demand(isinstance(id, str) and len(id) <= ID_LENGTH, "must be at most 255 characters", f"{where}/block_id")
        _demand(not id or id not in seen, "block_id already exists", f"{where}/block_id")
        seen.add(id)
        check = _CHECKS.get(block.get("type", ""))
        _demand(check is not None or block.get("type") in SHOWN_ONLY, "unsupported type", f"{where}/type")
        if check:
            check(block, where)
        if block.get("type") == "markdown":
            markdown += len(block["text"])
    if markdown > limits.markdown_text or sum(len(text) for text in _texts(blocks)) > limits.blocks_text:
        raise Refused("msg_blocks_too_long")


def check_attachments(attachments: list[Json], limits: Limits) -> None:
    """Refuse attachments that the service refuses, and in their blocks what it refuses in a message's.

    https://docs.slack.dev/messaging/formatting-message-text

    Raises:
        Refused: too_many_attachments, no_text, and what `check_blocks` raises.
    """
    if len(attachments) > ATTACHMENTS:
        raise Refused("too_many_attachments")
    for attachment in attachments:
        blocks = attachment.get("blocks", [])
        if not isinstance(blocks, list) or not all(isinstance(one, dict) for one in blocks):
            raise Refused("invalid_attachments")
        if not blocks and not any(
            attachment.get(name) for name in ("text", "fallback", "title", "pretext", "image_url")
        ):
            raise Refused("no_text")
        check_blocks(blocks, limits)


def blocks_of(blocks: list[Json], attachments: list[Json]) -> list[Json]:
    """A message's blocks, then those of its attachments."""
    return [*blocks, *(block for one in attachments for block in one.get("blocks") or [])]


def _demand(kept: bool, rule: str, where: str) -> None:
    if not kept:
        raise _invalid(rule, where)


def _invalid(rule: str, where: str) -> Refused:
    return Refused("invalid_blocks", response_metadata={"messages": [f"[ERROR] {rule} [json-pointer:{where}]"]})


def _check_text(value: Any, where: str, most: int, *, plain: bool = False) -> None:
    _demand(isinstance(value, dict), "must provide an object", where)
    kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
    _demand(value.get("type") in kinds, f"must be one of {', '.join(kinds)}", f"{where}/type")
    text = value.get("text")
    _demand(isinstance(text, str) and bool(text), "must be more than 0 characters", f"{where}/text")
    _demand(len(text) <= most, f"must be less than {most + 1} characters", f"{where}/text")


def _check_section(block: Json, where: str) -> None:
    fields = block.get("fields")
    _demand("text" in block or bool(fields), "missing required field: text", where)
    if "text" in block:
        _check_text(block["text"], f"{where}/text", SECTION_TEXT)
    if fields is not None:
        _demand(isinstance(fields, list) and 1 <= len(fields) <= 10, "must provide 1 to 10 items", f"{where}/fields")
        for index, item in enumerate(fields):
            _check_text(item, f"{where}/fields/{index}", 2_000)
    if "accessory" in block:
        _check_element(block["accessory"], f"{where}/accessory")


def _check_header(block: Json, where: str) -> None:
    _check_text(block.get("text"), f"{where}/text", HEADER_TEXT, plain=True)


def _check_context(block: Json, where: str) -> None:
    for index, item in enumerate(_elements(block, where, 10)):
        if item.get("type") == "image":
            _check_image(item, f"{where}/elements/{index}")
        else:
            _check_text(item, f"{where}/elements/{index}", SECTION_TEXT)


def _check_actions(block: Json, where: str) -> None:
    elements = _elements(block, where, 25)
    for index, item in enumerate(elements):
        _check_element(item, f"{where}/elements/{index}")
    named = [item["action_id"] for item in elements if item.get("action_id")]
    _demand(len(named) == len(set(named)), "action_id already exists", f"{where}/elements")


def _check_context_actions(block: Json, where: str) -> None:
    for index, item in enumerate(_elements(block, where, 5)):
        at = f"{where}/elements/{index}"
        _demand(item.get("type") in ("feedback_buttons", "icon_button"), "unsupported type", f"{at}/type")
        if item["type"] == "feedback_buttons":
            for side in ("positive_button", "negative_button"):
                button = item.get(side)
                if not isinstance(button, dict):
                    raise _invalid(f"missing required field: {side}", at)
                _check_text(button.get("text"), f"{at}/{side}/text", BUTTON_TEXT, plain=True)


def _check_image(block: Json, where: str) -> None:
    url = block.get("image_url", "")
    _demand(bool(url) or "slack_file" in block, "missing required field: image_url", where)
    _demand(isinstance(url, str) and len(url) <= URL_LENGTH, "must be less than 3001 characters", f"{where}/image_url")
    _demand(bool(block.get("alt_text")), "missing required field: alt_text", where)


def _check_markdown(block: Json, where: str) -> None:
    _demand(isinstance(block.get("text"), str) and bool(block["text"]), "missing required field: text", where)


def _check_element(item: Any, where: str) -> None:
    _demand(isinstance(item, dict) and isinstance(item.get("type"), str), "must provide an element", where)
    if item["type"] == "button":
        _check_text(item.get("text"), f"{where}/text", BUTTON_TEXT, plain=True)
        _demand(len(item.get("value", "")) <= 2_000, "must be less than 2001 characters", f"{where}/value")
    _demand(len(item.get("action_id", "")) <= ID_LENGTH, "must be less than 256 characters", f"{where}/action_id")


def _elements(block: Json, where: str, most: int) -> list[Json]:
    elements = block.get("elements")
    good = isinstance(elements, list) and 1 <= len(elements) <= most and all(isinstance(e, dict) for e in elements)
    _demand(good, f"must provide 1 to {most} items", f"{where}/elements")
    return elements or []


_CHECKS: Mapping[str, Callable[[Json, str], None]] = {
    "section": _check_section,
    "header": _check_header,
    "context": _check_context,
    "actions": _check_actions,
    "context_actions": _check_context_actions,
    "image": _check_image,
    "markdown": _check_markdown,
}


def _texts(value: Any) -> Iterator[str]:
    """Every text a block shows, wherever it hides."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("text", "title", "alt_text", "details", "output") and isinstance(item, str):
                yield item
            else:
                yield from _texts(item)


def draw_blocks(blocks: list[Json], names: Mapping[str, str]) -> DrawnBlocks:
    """Blocks one under the other, as text and safe HTML."""
    drawn = DrawnBlocks()
    for block in blocks:
        _draw(block, names, drawn)
    return drawn


def _draw(block: Json, names: Mapping[str, str], drawn: DrawnBlocks) -> None:
    match block.get("type"):
        case "section":
            for item in [*([block["text"]] if "text" in block else []), *(block.get("fields") or [])]:
                drawn.add(_draw_text(item, names))
            if "accessory" in block:
                _draw_element(block["accessory"], drawn)
        case "header":
            title = _draw_text(block["text"], names)
            drawn.add(Drawn(title.text, f"<b>{title.html}</b>"))
        case "markdown":
            drawn.add(draw_markdown(block["text"], names))
        case "context":
            for item in block["elements"]:
                if item.get("type") == "image":
                    _draw_element(item, drawn)
                else:
                    drawn.add(_draw_text(item, names))
        case "actions" | "context_actions":
            for item in block["elements"]:
                _draw_element(item, drawn)
        case "image":
            _draw_element(block, drawn)
        case "divider":
            drawn.add(Drawn("", "<hr>"))
        case "rich_text":
            drawn.add(_draw_rich(block.get("elements") or [], names))
        case _:
            for text in _texts(block):
                drawn.add(Drawn(text, html.escape(text)))


def _draw_text(item: Json, names: Mapping[str, str]) -> Drawn:
    if item.get("type") == "mrkdwn":
        return draw_mrkdwn(item["text"], names, autolink=not item.get("verbatim", False))
    return Drawn(item["text"], html.escape(item["text"]).replace("\n", "<br>"))


def _draw_element(item: Json, drawn: DrawnBlocks) -> None:
    match item.get("type"):
        case "button":
            drawn.buttons.append(item["text"]["text"])
        case "feedback_buttons":
            drawn.buttons += [item[side]["text"]["text"] for side in ("positive_button", "negative_button")]
        case "image":
            drawn.add(Drawn(item["alt_text"], html.escape(item["alt_text"])))
            if item.get("image_url"):
                drawn.images.append(item["image_url"])
        case _:
            for text in _texts(item):
                drawn.buttons.append(text)


def _draw_rich(elements: list[Json], names: Mapping[str, str]) -> Drawn:
    drawn = Drawn()
    for item in elements:
        match item.get("type"):
            case "text":
                drawn.add(Drawn(item.get("text", ""), html.escape(item.get("text", ""))), "")
            case "link":
                label = item.get("text") or item.get("url", "")
                drawn.add(Drawn(label, html.escape(label), [item.get("url", "")]), "")
            case "user":
                name = f"@{names.get(item.get('user_id', ''), item.get('user_id', ''))}"
                drawn.add(Drawn(name, html.escape(name), mentions=[item.get("user_id", "")]), "")
            case "broadcast":
                name = f"@{item.get('range', 'channel')}"
                drawn.add(Drawn(name, html.escape(name), mentions=[f"!{item.get('range', 'channel')}"]), "")
            case "emoji":
                drawn.add(Drawn(f":{item.get('name', '')}:", html.escape(f":{item.get('name', '')}:")), "")
            case _:
                drawn.add(_draw_rich(item.get("elements") or [], names))
    return drawn


def pressable(blocks: list[Json]) -> Iterator[tuple[str, Json, Json]]:
    """(label, block, the action a press sends) of everything that can be pressed."""
    for block in blocks:
        elements = block.get("elements") if isinstance(block.get("elements"), list) else [block.get("accessory")]
        for item in elements or []:
            if not isinstance(item, dict):
                continue
            base = {"action_id": item.get("action_id", ""), "block_id": block.get("block_id", ""), "type": item["type"]}
            if item["type"] == "button":
                yield item["text"]["text"], block, base | {"text": item["text"], "value": item.get("value", "")}
            elif item["type"] == "feedback_buttons":
                for side in ("positive_button", "negative_button"):
                    button = item[side]
                    yield (
                        button["text"]["text"],
                        block,
                        base | {"text": button["text"], "value": button.get("value", "")},
                    )
