"""What a person sees of a Slack message, in any position: text, blocks, attachments, and shared messages.

Other programs post with an empty `text` and put their words into blocks and attachments. Everything is read into
Slack's own notation (`<@U1>`, `<address|label>`, `&amp;`), which `readable` turns into plain text. See
https://docs.slack.dev/reference/block-kit/blocks and …/messaging/formatting-message-text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from adapters.slack.mrkdwn import escaped
from bot.contract import LONGEST_TEXT

Json: TypeAlias = Mapping[str, Any]
Names: TypeAlias = Callable[[str], str]
"""Returns a person's shown name; the id itself while unknown."""

_ANGLE = re.compile(r"<([^<>\n]*)>")
_NO_PREVIEW: Final = "[no preview available]"
"""Slack's text for a message without text."""
_PREVIEWS: Final = ("from_url", "original_url", "app_unfurl_url", "is_share", "is_msg_unfurl", "bot_id")
"""Fields of attachments that their writer did not make."""
_ASIDE: Final = {"text": "", "author_name": "", "footer": "", "fallback": ""}
"""Parts of a shared message that are read separately, or name its place."""
_DEEPEST: Final = 12
"""Nested blocks and shared messages that are read."""
_WORDS: Final = ("title", "subtitle", "text", "body", "description", "details", "output", "alt_text")
"""Fields of blocks with words for people, in the order in which they are shown."""
_WITHIN: Final = ("blocks", "elements", "fields", "rows", "cards", "tasks")
_WORDLESS: Final = frozenset({"divider", "actions", "context_actions"})
"""Blocks that may show no word."""


def shown_text(message: Json, most: int = LONGEST_TEXT, *, own: str = "") -> str:
    """Return what a person sees of a message, with all its attachments, up to `most` characters.

    Args:
        own: the bot's id as a person: for its own messages `text` is complete.
    """
    return _joined((_own_text(message, own), *_attached(message, 0)), most)


def written_text(message: Json, *, own: str = "") -> str:
    """Return what a person sees of a message itself: its text, and the tables pasted into it.

    Slack stores a pasted table as an attachment with only blocks; the other attachments are previews.
    """
    pasted = (line for one in _list(message, "attachments") if _is_pasted(one) for line in _blocks(one["blocks"], 1))
    return _joined((_own_text(message, own), *pasted), LONGEST_TEXT)


def _own_text(message: Json, own: str) -> str:
    """Return what a person sees of a message without its attachments.

    For a person's message `text` contains the rich text of the blocks. If an app shows blocks, `text` is only the
    notification.
    """
    text, blocks = text_in(message), message.get("blocks")
    by_app = bool(message.get("bot_id")) and message.get("user") != (own or None)
    if by_app or not text.strip():
        return _joined(_blocks(blocks, 0), LONGEST_TEXT) or text
    if message.get("bot_id"):
        return text
    return _joined((text, *_blocks([one for one in _only_maps(blocks) if one.get("type") == "table"], 0)), LONGEST_TEXT)


def _is_pasted(attachment: Json) -> bool:
    return bool(attachment.get("blocks")) and not any(attachment.get(name) for name in _PREVIEWS)


def shared_text(shared: Json) -> str:
    """Return what a person sees of a message that was forwarded or linked."""
    return _joined(_of_share(shared, 0), LONGEST_TEXT)


def readable(text: str, me: str, names: Names) -> str:
    """Convert Slack's notation to readable text, without the mention of the bot `me` that addressed it.

    `<@U1>` becomes `@ann`, `<#C1|general>` `#general`, `<address|label>` `label (address)`; entities are decoded.
    """
    around = re.split(rf"<@{re.escape(me)}(?:\|[^<>]*)?>[,:]?", text.replace("\x00", ""))
    # A mention between two pieces becomes one space, together with the spaces beside it.
    text = " ".join(piece.strip(" \t") for piece in around).strip()
    # Odd pieces were between angle brackets; decoded text is never read again.
    pieces = _ANGLE.split(text)
    return "".join(_angle(piece, names) if odd % 2 else decoded(piece) for odd, piece in enumerate(pieces))


def decoded(text: str) -> str:
    """Decode the three characters that Slack escapes."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def text_in(message: Json, field: str = "text") -> str:
    """Return a field of Slack's notation; empty if there is no text in it."""
    value = message.get(field)
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _angle(inner: str, names: Names) -> str:
    target, _, label = (decoded(part) for part in inner.partition("|"))
    if target.startswith("@"):
        known = names(target[1:])
        return f"@{known if known != target[1:] or not label else label}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label if label else f"@{target[1:].partition('^')[0]}"
    bare = target.removeprefix("mailto:").removeprefix("tel:")
    if target == f"http://{label}":
        # Slack's client makes links of hosts, and of names of files like `main.py` and `README.md`.
        return label
    if not label or label in (target, bare) or target.partition("://")[2].rstrip("/") == label.rstrip("/"):
        return bare
    return f"{label} ({target})"


def _joined(parts: Iterator[str] | Sequence[str], most: int) -> str:
    """Join parts line by line, up to `most` characters."""
    found, room = list[str](), most
    for part in parts:
        if room <= 0:
            break
        if text := part[:room]:
            found.append(text)
            room -= len(text) + 1
    return "\n".join(found)


def _attached(message: Json, depth: int) -> Iterator[str]:
    for one in _list(message, "attachments"):
        if one.get("is_share") or one.get("is_msg_unfurl"):
            yield from _of_share(one, depth)
        else:
            yield from _of_attachment(one, depth)


def _of_share(shared: Json, depth: int) -> Iterator[str]:
    """Yield what is seen of a shared message: Slack stores the blocks of an app's message separately."""
    if depth > _DEEPEST:
        return
    inner = [one.get("message") or {} for one in _list(shared, "message_blocks")]
    blocks = [block for one in inner if isinstance(one, Mapping) for block in _list(one, "blocks")]
    text = text_in(shared)
    # A person's message has one rich text, which `text` contains as well.
    if any(block.get("type") != "rich_text" for block in blocks) or not text.strip():
        text = _joined(_blocks(blocks, depth + 1), LONGEST_TEXT) or text
    more = [text, *_of_attachment({**shared, **_ASIDE}, depth)]
    more += _attached(shared, depth + 1)
    if not any(more) and not shared.get("files"):
        # A placeholder for a text also names the author, who did not say it.
        more = [] if text_in(shared, "fallback") == _NO_PREVIEW else [text_in(shared, "fallback")]
    yield from more


def _of_attachment(one: Json, depth: int) -> Iterator[str]:
    """Yield what is seen of an attachment. https://docs.slack.dev/legacy/legacy-messaging/legacy-message-attachments"""
    said = list[str]()
    author, title = text_in(one, "author_name"), text_in(one, "title")
    said += [text_in(one, "pretext"), author, _link(one.get("title_link"), title) if title else ""]
    said.append(text_in(one))
    for field in _list(one, "fields"):
        name, value = text_in(field, "title"), text_in(field, "value")
        said.append(f"{name}: {value}" if name and value else name or value)
    said += _blocks(one.get("blocks"), depth + 1)
    said += [_link(action.get("url"), text_in(action)) for action in _list(one, "actions") if action.get("url")]
    said.append(text_in(one, "footer"))
    if not any(said) and not one.get("files") and (fallback := text_in(one, "fallback")) != _NO_PREVIEW:
        said = [fallback]
    yield from said


def _blocks(blocks: Any, depth: int) -> Iterator[str]:
    for block in blocks if isinstance(blocks, Sequence) and not isinstance(blocks, str) else ():
        if not isinstance(block, Mapping) or depth > _DEEPEST:
            continue
        said, kind = False, str(block.get("type") or "")
        for line in _block(block, kind, depth):
            said = said or bool(line)
            yield line
        if not said and kind not in _WORDLESS:
            # A person sees something there.
            yield f"[{kind[:40].replace('_', ' ')}]"


def _block(block: Json, kind: str, depth: int) -> Iterator[str]:
    match kind:
        case "rich_text":
            for one in _list(block, "elements"):
                yield from _rich(one)
        case "table":
            for row in block.get("rows") or ():
                cells = [" ".join(_block(cell, str(cell.get("type")), depth + 1)) for cell in _only_maps(row)]
                yield " | ".join(cells)
        case "context":
            yield " ".join(part for one in _list(block, "elements") for part in _anything(one, depth + 1))
        case _:
            yield from _anything(block, depth)


def _anything(one: Json, depth: int) -> Iterator[str]:
    """Yield the words of a block or element of any kind, including kinds newer than this program."""
    if depth > _DEEPEST:
        return
    kind = one.get("type")
    if kind == "rich_text":
        yield from _block(one, "rich_text", depth)
        return
    link = one.get("url") or one.get("title_url")
    if kind in ("button", "workflow_button") and not link:
        return
    for name in _WORDS:
        value = one.get(name)
        if isinstance(value, str):
            words = escaped(value) if kind in ("plain_text", "raw_text", "markdown") or name == "alt_text" else value
        elif isinstance(value, Mapping):
            words = " ".join(_anything(value, depth + 1))
        else:
            continue
        if name == "alt_text" and text_in(one, "title"):
            continue
        if words and link:
            words, link = _link(link, words), None
        yield words
    for name in _WITHIN:
        if isinstance(one.get(name), Sequence):
            for inner in _list(one, name):
                yield from _anything(inner, depth + 1)
    if isinstance(accessory := one.get("accessory"), Mapping):
        yield from _anything(accessory, depth + 1)


def _rich(one: Json) -> Iterator[str]:
    """Yield the lines of a section, list, quote or code of rich text."""
    match one.get("type"):
        case "rich_text_list":
            indent, ordered = one.get("indent"), one.get("style") == "ordered"
            before = "  " * (indent if isinstance(indent, int) and 0 <= indent <= 8 else 0)
            offset = one.get("offset")
            first = 1 + (offset if isinstance(offset, int) else 0)
            for number, item in enumerate(_list(one, "elements"), first):
                yield f"{before}{f'{number}.' if ordered else '•'} {_inline(item)}"
        case "rich_text_quote":
            yield "\n".join(f"> {line}" for line in _inline(one).split("\n"))
        case "rich_text_preformatted":
            yield f"```\n{_inline(one)}\n```"
        case _:
            yield _inline(one).strip("\n")


def _inline(section: Json) -> str:
    return "".join(_element(one) for one in _list(section, "elements"))


def _element(one: Json) -> str:
    match one.get("type"):
        case "text":
            return _styled(escaped(text_in(one)), one.get("style"))
        case "link":
            return _link(one.get("url"), escaped(text_in(one)))
        case "user":
            return f"<@{one.get('user_id')}>"
        case "usergroup":
            return f"<!subteam^{one.get('usergroup_id')}>"
        case "channel":
            return f"<#{one.get('channel_id')}>"
        case "broadcast":
            return f"<!{one.get('range')}>"
        case "emoji":
            return _emoji(text_in(one, "unicode")) or f":{text_in(one, 'name')}:"
        case "date":
            return escaped(text_in(one, "fallback") or str(one.get("timestamp") or ""))
        case _:
            return escaped(text_in(one) or text_in(one, "value"))


def _emoji(points: str) -> str:
    try:
        return "".join(chr(int(point, 16)) for point in points.split("-")) if points else ""
    except (ValueError, OverflowError):
        return ""


def _styled(text: str, style: Any) -> str:
    if not isinstance(style, Mapping) or not text.strip():
        return text
    for name, mark in (("code", "`"), ("bold", "*"), ("italic", "_"), ("strike", "~")):
        if style.get(name):
            text = f"{mark}{text}{mark}"
    return text


def _link(url: object, label: str) -> str:
    """Return a link in Slack's notation; for a label that contains links itself, the label."""
    if not isinstance(url, str) or not url or "<" in label:
        return label
    return f"<{escaped(url).replace('|', '%7C')}|{label}>" if label else f"<{escaped(url)}>"


def _list(value: Json, field: str) -> list[Json]:
    found = value.get(field)
    return _only_maps(found) if isinstance(found, Sequence) and not isinstance(found, str) else []


def _only_maps(values: Any) -> list[Json]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, Sequence) else []
