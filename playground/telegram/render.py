"""Entities as safe HTML, for the page that shows the chat."""

from __future__ import annotations

from html import escape

from playground.telegram.entities import Entity, Formatted, cut, units

_PLAIN = {
    "bold": ("<b>", "</b>"),
    "italic": ("<i>", "</i>"),
    "underline": ("<u>", "</u>"),
    "strikethrough": ("<s>", "</s>"),
    "spoiler": ('<span class="spoiler">', "</span>"),
    "code": ("<code>", "</code>"),
    "blockquote": ("<blockquote>", "</blockquote>"),
    "expandable_blockquote": ('<blockquote class="expandable">', "</blockquote>"),
    "mention": ('<span class="mention">', "</span>"),
    "text_mention": ('<span class="mention">', "</span>"),
    "bot_command": ('<span class="command">', "</span>"),
    "hashtag": ('<span class="hashtag">', "</span>"),
}
_SCHEMES = ("http://", "https://", "mailto:", "tg://")


def _tags(entity: Entity, text: str) -> tuple[str, str]:
    if entity.type == "pre":
        language = str(entity.extra.get("language", ""))
        name = f' class="language-{escape(language)}"' if language else ""
        return f"<pre><code{name}>", "</code></pre>"
    if entity.type in ("text_link", "url", "email"):
        address = str(entity.extra.get("url", "")) or cut(text, entity.offset, entity.end)
        if entity.type == "email":
            address = f"mailto:{address}"
        elif "://" not in address and not address.startswith("mailto:"):
            address = f"http://{address}"
        if not address.startswith(_SCHEMES):
            return "", ""
        return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" target="_blank">', "</a>"
    return _PLAIN.get(entity.type, ("", ""))


def safe_html(formatted: Formatted) -> str:
    """HTML that shows `formatted` and can do nothing else; line breaks stay line breaks (`white-space: pre-wrap`).

    Entities that overlap without nesting are closed and opened again at the border, so that the HTML always balances.
    """
    length = units(formatted.text)
    borders = {0, length}
    for entity in formatted.entities:
        borders |= {entity.offset, entity.end}
    marks = sorted(borders)
    parts: list[str] = []
    stack: list[Entity] = []
    for start, end in zip(marks, [*marks[1:], length], strict=True):
        ending = [entity for entity in stack if entity.end <= start]
        if ending:
            lowest = min(stack.index(entity) for entity in ending)
            again = [entity for entity in stack[lowest:] if entity.end > start]
            parts += [_tags(entity, formatted.text)[1] for entity in reversed(stack[lowest:])]
            parts += [_tags(entity, formatted.text)[0] for entity in again]
            stack[lowest:] = again
        for entity in formatted.entities:
            if entity.offset == start and entity.length:
                parts.append(_tags(entity, formatted.text)[0])
                stack.append(entity)
        parts.append(escape(cut(formatted.text, start, end)))
    return "".join(parts)
