"""What a person sees of a Telegram message, as the model is told it: rich messages, polls, lists and places."""

from __future__ import annotations

import copy

import pytest
from telegram import Update

from adapters.telegram.updates import incoming
from bot.contract import ChatMoved, MessageEdited
from playground.telegram.entities import Entity, units
from tests.adapters.telegram.test_adapter import ADA, GROUP, Reader, message_of, reader, server
from tests.conftest import RawJson, RawObject

__all__ = ["reader", "server"]


def cell(text: RawJson, **more: RawJson) -> RawJson:
    return {"text": text, "align": "left", "valign": "top", **more}


BLOCKS: dict[str, tuple[RawObject, str]] = {
    "a paragraph": ({"type": "paragraph", "text": "Tea"}, "Tea"),
    "styles": (
        {
            "type": "paragraph",
            "text": [
                "a ",
                {"type": "bold", "text": ["b", {"type": "italic", "text": "c"}]},
                {"type": "code", "text": "x < 1"},
                {"type": "strikethrough", "text": "no"},
                {"type": "underline", "text": "u"},
                {"type": "spoiler", "text": "s"},
            ],
        },
        "a **b_c_**`x < 1`~~no~~us",
    ),
    "a link": (
        {"type": "paragraph", "text": [{"type": "url", "text": "tea", "url": "https://t.example"}, " ",
                                       {"type": "url", "text": "https://t.example/", "url": "https://t.example"}]},
        "tea (https://t.example) https://t.example/",
    ),
    "signs": (
        {"type": "paragraph", "text": [{"type": "mathematical_expression", "expression": "x^2"},
                                       {"type": "custom_emoji", "custom_emoji_id": "5", "alternative_text": "🔥"},
                                       {"type": "later", "text": "!"}]},
        "$x^2$🔥!",
    ),
    "a heading": ({"type": "heading", "text": "Tea", "size": 2}, "## Tea"),
    "code": ({"type": "pre", "text": "a = 1", "language": "python"}, "```python\na = 1\n```"),
    "a formula": ({"type": "mathematical_expression", "expression": "\\frac{1}{2}"}, "$$\\frac{1}{2}$$"),
    "a line": ({"type": "divider"}, "---"),
    "an anchor": ({"type": "anchor", "name": "x"}, ""),
    "a list": (
        {"type": "list", "items": [
            {"label": "1.", "blocks": [{"type": "paragraph", "text": "one"}]},
            {"label": "•", "has_checkbox": True, "is_checked": True, "blocks": [
                {"type": "paragraph", "text": "two"}, {"type": "list", "items": [
                    {"label": "•", "has_checkbox": True, "blocks": [{"type": "paragraph", "text": "three"}]}]}]}]},
        "1. one\n☑ two\n  \n  ☐ three",
    ),
    "a quote": (
        {"type": "blockquote", "blocks": [{"type": "paragraph", "text": "To be"}], "credit": "Will"},
        "> To be\n> — Will",
    ),
    "a pull quote": ({"type": "pullquote", "text": "To be"}, "> To be"),
    "a table": (
        {"type": "table", "caption": "Prices", "cells": [
            [cell("tea", is_header=True), cell("5")], [cell(""), cell("6")]]},
        "Prices\n| tea | 5 |\n|  | 6 |",
    ),
    "details": (
        {"type": "details", "summary": "More", "blocks": [{"type": "paragraph", "text": "inside"}]},
        "More\n\ninside",
    ),
    "a picture": (
        {"type": "photo", "photo": [], "caption": {"text": "A leaf", "credit": "Eve"}},
        "[photo] A leaf — Eve",
    ),
    "pictures": (
        {"type": "slideshow", "blocks": [{"type": "photo"}], "caption": {"text": "Leaves"}},
        "[photo]\n\nLeaves",
    ),
    "a footer": ({"type": "footer", "text": "v1"}, "v1"),
    "a kind of later": ({"type": "new_chart", "series": [1]}, "[new chart]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BLOCKS)
async def test_each_kind_of_block_of_a_paste_is_read_with_its_structure(reader: Reader, kind: str) -> None:
    block, expected = BLOCKS[kind]
    end: RawObject = {"type": "paragraph", "text": "end"}

    sent = message_of(reader.read(reader.raw(reader.server.people.paste(ADA, [block, end], person=ADA))))

    assert sent.text == (f"{expected}\n\nend" if expected else "end")


LINK = {"url": "https://t.example/tea"}
FORMATTED: dict[str, tuple[str, list[tuple[str, str, RawObject]], str]] = {
    "a link": ("🫖 read this now", [("text_link", "read this", LINK)], "🫖 read this (https://t.example/tea) now"),
    "a link that shows itself": ("https://t.example/tea/", [("text_link", "https://t.example/tea/", LINK)],
                                 "https://t.example/tea/"),
    "styles in a link": ("read this now", [("text_link", "read this", LINK), ("bold", "this", {})],
                         "read **this** (https://t.example/tea) now"),
    "styles": ("a bc no d", [("bold", "bc", {}), ("italic", "c", {}), ("strikethrough", "no", {}),
                             ("underline", "d", {}), ("spoiler", "d", {})], "a **b_c_** ~~no~~ d"),
    "code": ("run x = `1` now", [("code", "x = `1`", {})], "run `` x = `1` `` now"),
    "code alone": ("/new", [("code", "/new", {})], "`/new`"),
    "a block": ("see:\na = 1\nb = 2\nwhy?", [("pre", "a = 1\nb = 2", {"language": "python"})],
                "see:\n```python\na = 1\nb = 2\n```\nwhy?"),
    "a block in a line": ("see ``` a why?", [("pre", "``` a", {})], "see \n````\n``` a\n````\n why?"),
    "a quote": ("she:\nyes\nno\nand?", [("blockquote", "yes\nno", {}), ("bold", "no", {})],
                "she:\n> yes\n> **no**\nand?"),
    "a long quote": ("yes\nno", [("expandable_blockquote", "yes\nno", {})], "> yes\n> no"),
    "overlapping": ("one two three", [("bold", "one two", {}), ("italic", "two three", {})], "**one _two_** three"),
}  # fmt: skip
"""Text, entities as (type, the words, fields), and what the model is told."""


def entities_of(text: str, entities: list[tuple[str, str, RawObject]]) -> list[Entity]:
    return [Entity(kind, units(text[: text.index(words)]), units(words), more) for kind, words, more in entities]


@pytest.mark.parametrize("kind", FORMATTED)
async def test_formatting_is_told_as_it_is_seen(reader: Reader, kind: str) -> None:
    """As a question, a caption, a quote, a part that is quoted, a forward, an edit, and behind a mention."""
    text, named, expected = FORMATTED[kind]
    entities = entities_of(text, named)

    def raw(key: str = "text", **more: RawJson) -> RawObject:
        update = reader.raw(reader.server.say(ADA, "x", person=ADA))
        del update["message"]["text"]
        told = [one.json() for one in entities]
        update["message"] |= {key: text, "entities" if key == "text" else f"{key}_entities": told, **more}
        return update

    whole = raw()["message"]
    picture = {"photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]}
    said = [message_of(reader.read(one)) for one in (raw(), raw("caption", **picture))]
    reply = reader.raw(reader.server.say(ADA, "why?", person=ADA))
    reply["message"]["reply_to_message"] = whole
    part = copy.deepcopy(reply)
    part["message"]["quote"] = {"text": text, "entities": whole["entities"], "position": 0}
    forward = reader.read(raw(forward_origin={"type": "hidden_user", "date": 5, "sender_user_name": "Eve"}))
    edited = reader.read({"update_id": 9, "edited_message": whole | {"edit_date": 5}})
    mention = f"{reader.name} {text}"
    group = reader.raw(reader.server.say(GROUP, mention, person=ADA))["message"]
    group["entities"] += [one.json() | {"offset": one.offset + units(mention) - units(text)} for one in entities]
    asked = message_of(reader.read({"update_id": 9, "message": group}))

    assert [one.text for one in said] == [expected] * 2 and {one.command for one in said} == {""}
    quotes = [message_of(one).quoted for one in (reader.read(reply), reader.read(part), forward)]
    assert [one.text for one in quotes if one is not None] == [expected] * 3
    assert isinstance(edited, MessageEdited) and edited.text == expected
    assert asked.text == expected


async def test_entities_of_a_server_that_counts_otherwise_change_nothing_but_themselves(reader: Reader) -> None:
    update = reader.raw(reader.server.say(ADA, "read this", person=ADA))
    update["message"]["entities"] = [
        {"type": "text_link", "offset": 0, "length": 4},
        {"type": "bold", "offset": 2, "length": 0},
        {"type": "bold", "offset": 5, "length": 400},
        {"type": "italic", "offset": 300, "length": 4},
    ]

    assert message_of(reader.read(update)).text == "read **this**"


async def test_a_rich_message_is_known_as_a_quote_a_forward_and_a_command(reader: Reader) -> None:
    blocks: list[RawObject] = [{"type": "heading", "text": "Tea", "size": 1}, {"type": "paragraph", "text": "A leaf."}]
    people = reader.server.people
    pasted = people.paste(ADA, blocks, person=ADA)
    reply = reader.sent(ADA, "why?", reply_to=people.message_id(pasted))
    forward = reader.read(reader.raw(people.paste(ADA, blocks, person=ADA, author="Other bot")))
    command = reader.read(reader.raw(people.paste(ADA, [{"type": "paragraph", "text": "/new"}], person=ADA)))

    quoted = [message_of(one).quoted for one in (reply, forward)]
    assert [one.text for one in quoted if one is not None] == ["# Tea\n\nA leaf."] * 2
    assert message_of(forward).text == "" and message_of(command).command == "new"


async def test_a_mention_in_a_rich_message_is_a_question_in_a_group_and_another_is_none(reader: Reader) -> None:
    update = reader.raw(reader.server.say(GROUP, f"{reader.name} hello", person=ADA))

    def said(*text: RawJson) -> RawJson:
        told = copy.deepcopy(update)
        told["message"] = {key: one for key, one in told["message"].items() if key not in ("text", "entities")}
        told["message"]["rich_message"] = {"blocks": [{"type": "paragraph", "text": list(text)}]}
        return incoming(Update.de_json(told, reader.bot), reader.bot)

    by_name = said({"type": "mention", "text": reader.name, "username": "x"}, " what is tea?")
    by_number = said("hey ", {"type": "text_mention", "text": "bot", "user": {"id": reader.bot.id}}, "why?")

    assert [message_of(one).text for one in (by_name, by_number)] == ["what is tea?", "hey why?"]
    assert said({"type": "mention", "text": "@other"}, " hello") is None


THINGS = {
    "poll": "[poll] Tea?\n• yes\n• no",
    "venue": "[venue] Opera, Kirsten Flagstads plass 1 (",
    "location": "[location] ",
    "contact": "[contact] Eve, +4712345678",
    "sticker": "[sticker] 👍",
    "dice": "[dice] 🎲 4",
}


@pytest.mark.parametrize("kind", THINGS)
async def test_a_poll_a_place_and_a_contact_are_told_in_words_alone_and_quoted(reader: Reader, kind: str) -> None:
    update = reader.server.people.send(ADA, kind, person=ADA)
    alone = message_of(reader.read(reader.raw(update)))
    reply = message_of(reader.sent(ADA, "and?", reply_to=reader.server.people.message_id(update)))

    assert alone.text.startswith(THINGS[kind]) and alone.enclosed == ()
    assert reply.quoted is not None and (reply.quoted.text, reply.quoted.enclosed) == (alone.text, ())


async def test_a_sticker_without_an_emoji_is_told_as_something_unread(reader: Reader) -> None:
    update = copy.deepcopy(reader.raw(reader.server.people.send(ADA, "sticker", person=ADA)))
    del update["message"]["sticker"]["emoji"]

    sent = message_of(reader.read(update))

    assert not sent.text and [one.kind for one in sent.enclosed] == ["sticker"]


async def test_who_moves_while_their_place_is_shown_asks_nothing_anew(reader: Reader) -> None:
    update = reader.raw(reader.server.people.send(ADA, "location", person=ADA))
    moved = {"update_id": 9, "edited_message": update["message"] | {"edit_date": 5}}

    assert not isinstance(reader.read(moved), MessageEdited)


async def test_a_list_to_tick_off_is_told_and_a_group_with_another_id_is_the_same(reader: Reader) -> None:
    update = copy.deepcopy(reader.raw(reader.server.say(ADA, "x")))
    tasks = [{"id": 1, "text": "Tea", "completion_date": 5}, {"id": 2, "text": "Cups"}]
    del update["message"]["text"]
    update["message"]["checklist"] = {"title": "Buy", "tasks": tasks}
    assert message_of(reader.read(update)).text == "[checklist] Buy\n☑ Tea\n☐ Cups"

    for key, ids in (("migrate_to_chat_id", (GROUP, -100_500)), ("migrate_from_chat_id", (-100_500, GROUP))):
        told = copy.deepcopy(update)
        del told["message"]["checklist"]
        told["message"]["chat"] = {"id": GROUP, "type": "group", "title": "Tea"}
        told["message"][key] = -100_500
        moved = reader.read(told)
        assert isinstance(moved, ChatMoved)
        assert (int(moved.former.chat), int(moved.chat.chat)) == ids
