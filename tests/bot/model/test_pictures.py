"""Pictures in a request: how each wire shows them, what they weigh, and what becomes of them where none are taken."""

from __future__ import annotations

import json
from dataclasses import replace

from bot.contract.errors import ModelRefused
from bot.contract.transcript import AssistantEntry, Picture, UserEntry, entry_from_json, entry_to_json
from bot.model import token_count
from bot.model.base import Request
from bot.model.usage import PICTURE_TOKENS
from playground.model import ModelServer, Reply
from playground.model.ollama import Ollama
from tests.bot.model.conftest import Ask, Open
from tests.conftest import RawJson
from tests.letters import count_letters

LOOK = Picture(3, "image/png", b"\x89PNG" + b"\0" * 300_000)
GONE = Picture(2, "image/jpeg")
URL = "data:image/png;base64,iVBORw"


def asked(*pictures: Picture, text: str = "What is this?") -> Request:
    return Request(entries=(UserEntry(text, pictures=pictures),))


def shape(content: RawJson) -> RawJson:
    """A message's content, with what begins as our picture cut short."""
    if isinstance(content, str):
        return content
    return [{name: str(value)[: len(URL)] for name, value in part.items()} for part in content]


async def test_chat_completions_take_text_and_pictures_as_parts(server: ModelServer, opened: Open, asking: Ask) -> None:
    model = opened()
    server.reply(Reply("A cat.", usage={}))

    answer = (await asking(model, asked(LOOK, LOOK))).answer

    [message] = server.requests[0].body["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "image_url"]
    assert message["content"][0]["text"] == "What is this?"
    assert message["content"][1]["image_url"]["url"].startswith(URL)
    assert 2 * PICTURE_TOKENS < answer.usage.prompt < 2 * PICTURE_TOKENS + 100


async def test_two_messages_in_a_row_are_one_with_the_pictures_of_both(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    model = opened()
    server.reply(Reply("Yes."), Reply("Yes."), Reply("Yes."))
    first, second = UserEntry("One.", pictures=(LOOK,)), UserEntry("", pictures=(LOOK,))

    for entries in ((first, UserEntry("Two.")), (UserEntry("Two."), first), (second, first, UserEntry(""))):
        await asking(model, Request(entries=entries))

    kinds = [[part.get("text", "picture") for part in one.body["messages"][0]["content"]] for one in server.requests]
    assert kinds == [["One.", "picture", "Two."], ["Two.", "One.", "picture"], ["picture", "One.", "picture"]]


async def test_what_is_not_shown_any_more_is_only_named(server: ModelServer, opened: Open, asking: Ask) -> None:
    model = opened()
    server.reply(Reply("Yes."), Reply("Yes."))

    await asking(model, asked(GONE))
    await asking(model, asked(GONE, text=""))

    told = [one.body["messages"][0]["content"] for one in server.requests]
    note = "(You cannot see the pictures of this message now.)"
    assert told == [f"What is this?\n\n{note}", note]


async def test_responses_take_input_items_natively_and_without_tools(
    server: ModelServer, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.models.append("gpt-5.4-mini")
    server.reply(*[Reply("A cat.")] * 3)
    for mode in ("native", "prompt"):
        model = opened("openai:gpt-5.4-mini", reasoning_effort="high", tool_mode=mode)
        entries = (
            UserEntry("What is this?", pictures=(LOOK,)),
            AssistantEntry("Look."),
            UserEntry("", pictures=(LOOK,)),
        )
        await asking(model, Request(entries=entries, tools=tool_question.tools))

    for request in server.requests:
        assert request.path == "/v1/responses"
        asked_first, _, asked_last = request.body["input"]
        assert shape(asked_first["content"]) == [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": URL},
        ]
        assert [part["type"] for part in asked_last["content"]] in (["input_image"], ["input_image", "input_text"])


async def test_ollama_takes_them_beside_the_text(server: ModelServer, opened: Open, asking: Ask) -> None:
    server.ollama = Ollama()
    server.reply(Reply("A cat."))

    await asking(opened("ollama:scripted"), asked(LOOK))

    [message] = server.requests[-1].body["messages"]
    assert message["content"] == "What is this?"
    assert [one[:6] for one in message["images"]] == ["iVBORw"]
    assert server.requests[-1].body["options"]["num_ctx"] <= 8_192


async def test_a_refusal_after_the_first_words_is_none_to_ask_again_for(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    model = opened()
    words = "x " * 30
    server.reply(Reply(words, error_object=True, drop_after=40, error={"message": "image input is not supported"}))

    asked_once = await asking(model, asked(LOOK))

    assert asked_once.error is not None and not isinstance(asked_once.error, ModelRefused)
    assert len(server.requests) == 1


async def test_other_refusals_of_a_request_with_a_picture_are_what_they_are(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    model = opened()
    server.reply(Reply(status=400, error={"message": "temperature must be below 2"}))

    assert isinstance((await asking(model, asked(LOOK))).error, ModelRefused)
    assert len(server.requests) == 1 and model.sees(model.name)


async def test_what_the_model_made_is_shown_behind_its_answer_by_every_wire(
    server: ModelServer, opened: Open, asking: Ask, tool_question: Request
) -> None:
    server.models.append("gpt-5.4-mini")
    shown = AssistantEntry("A cat.", pictures=(replace(LOOK, name="picture-1.png"),))
    gone = AssistantEntry("A cat.", pictures=(replace(GONE, name="picture-2.jpg"),))
    entries = (UserEntry("Draw."), shown, UserEntry("Again."), gone, UserEntry("Make it blue."))
    request = Request(entries=entries, tools=tool_question.tools)

    for name in ("openai:scripted", "openai:gpt-5.4-mini", "ollama:scripted"):
        server.ollama = Ollama(longest_window=131_072) if name.startswith("ollama") else None
        for mode in ("native", "prompt"):
            server.reply(Reply("A cat."))
            models = opened(name, reasoning_effort="high", tool_mode=mode)
            await asking(models, request)
            sent = json.dumps(server.requests[-1].body)
            assert sent.count("iVBORw") == 1, (name, mode)
            assert sent.index("picture-1.png") < sent.index("Again.") < sent.index("picture-2.jpg"), (name, mode)
            assert sent.index("You cannot see it now.") < sent.index("Make it blue."), (name, mode)


async def test_it_is_asked_without_what_the_model_made_where_pictures_are_refused(
    server: ModelServer, opened: Open, asking: Ask
) -> None:
    shown = AssistantEntry("A cat.", pictures=(replace(LOOK, name="picture-1.png"),))
    server.reply(Reply.refusal(400, "This model does not support image input."), Reply("It is blue."))

    answer = (await asking(opened(), Request(entries=(UserEntry("Draw."), shown, UserEntry("Blue."))))).answer

    assert answer.text == "It is blue."
    assert "iVBORw" not in json.dumps(server.requests[-1].body)


def test_history_keeps_which_picture_it_was_and_not_what_is_in_it() -> None:
    entry = UserEntry("What is this?", pictures=(LOOK, GONE))

    written = entry_to_json(entry)
    read = entry_from_json(written)

    assert len(written) < 200 and read == entry
    assert isinstance(read, UserEntry) and not any(one.content for one in read.pictures)
    assert token_count([entry], count_letters) - token_count([read], count_letters) == PICTURE_TOKENS


def test_history_keeps_the_pictures_of_an_answer_with_their_names() -> None:
    entry = AssistantEntry("A cat.", pictures=(replace(LOOK, name="picture-1.png"),))

    read = entry_from_json(entry_to_json(entry))

    assert read == entry and isinstance(read, AssistantEntry)
    assert read.pictures[0].content == b""
