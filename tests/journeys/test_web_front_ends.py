"""Front ends of others on the chat completions: what they send beside a person's words, and what they ask themselves.

The prompts are those of Open WebUI and LibreChat: their beginnings, as both send them.
"""

from __future__ import annotations

import base64

import openai
import pytest

from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import PNG
from tests.journeys.test_web_programs import ask, client, says, sent

__all__ = ["client"]
HISTORY = "<chat_history>\nUSER: what is tea\nASSISTANT: A leaf.\n</chat_history>"
TITLE = f"### Task:\nGenerate a concise, 3-5 word title.\n### Guidelines:\n- Short.\n### Chat History:\n{HISTORY}"
FOLLOW_UPS = f"### Task:\nSuggest 3-5 relevant follow-up questions.\n### Chat History:\n{HISTORY}"
TAGS = f"### Task:\nGenerate 1-3 broad tags.\n### Chat History:\n{HISTORY}"
COMPLETES = "### Task:\nYou are an autocompletion system. Continue the text in `<text>`.\n<text>what</text>"
LIBRECHAT = (
    "Provide a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation.\n\n"
    "Conversation:\nUser: what is tea\nAI: A leaf.",
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title\n\ntea",
)
ABOUT_FILES = (
    "### Task:\nRespond to the user query using the provided context.\n<context>Leaves.</context>\n<user_query>\nTea?"
)


async def test_what_a_front_end_asks_for_itself_stays_out_of_the_persons_thread(
    world: World, start: Start, client: openai.AsyncOpenAI
) -> None:
    """Titles, tags and suggestions are asked with the headers of the conversation that they are about."""
    world.model.script = lambda body: Reply("A leaf.")
    thread = {"X-Thread-Id": "tea"}
    async with start("web", TOOL_MODE="native"):
        await ask(client, "what is tea", **thread)
        for chore in (TITLE, FOLLOW_UPS, TAGS, COMPLETES, *LIBRECHAT):
            assert await ask(client, chore, **thread) == "A leaf."
        await ask(client, ABOUT_FILES, **thread)
        await ask(client, "### Task:\nWrite a <chat> with history.", **thread)

    *_, about_files, last = sent(world)
    assert all(not request.body.get("tools") for request in world.model.requests[1:7])
    assert all(
        "A leaf." not in "".join(map(str, request.body["messages"][1:-1])) for request in world.model.requests[1:7]
    )
    assert about_files.count("### Task:") == 1 and last.count("### Task:") == 2, "the person's own, with its history"
    assert "what is tea" in about_files and "chat_history" not in last and "autocompletion" not in last


async def test_a_front_end_names_the_thread_and_the_person_in_headers(
    world: World, start: Start, client: openai.AsyncOpenAI
) -> None:
    world.model.script = lambda body: Reply(f"{len(body['messages'])} messages.")
    async with start("web", ALLOW_ALL="false", ALLOWED_USERS="web:ada,web:7b2e01cc-fb38"):
        own = {"X-Thread-Id": "tea", "X-User-Id": "ada"}
        theirs = {"X-OpenWebUI-Chat-Id": "c1", "X-OpenWebUI-User-Id": "7b2e01cc-fb38"}
        answers = [await ask(client, "what is tea", **headers) for headers in (own, own, theirs, theirs)]
        stranger = await ask(client, "what is tea", **own | {"X-User-Id": "eve"})
        for wrong in ({"X-Thread-Id": "{{CHAT_ID}}"}, {"X-User-Id": "{{USER_ID}}"}, {"X-User-Id": "Ada Lovelace"}):
            with pytest.raises(openai.BadRequestError, match=r"X-Thread-Id|X-User-Id"):
                await ask(client, "what is tea", **wrong)

    assert answers[0] == answers[2] != answers[1] == answers[3] and "web:eve" in stranger


async def test_what_an_api_client_can_ask_for_beside_a_question_does_no_harm(
    world: World, start: Start, client: openai.AsyncOpenAI
) -> None:
    world.model.script = lambda body: Reply("A leaf.")
    tools: RawJson = [{"type": "function", "function": {"name": "launch", "parameters": {"type": "object"}}}]
    async with start("web", TOOL_MODE="native"):
        done = await client.chat.completions.create(
            model="gpt-5",
            messages=says("what is tea"),
            tools=tools,
            tool_choice="required",
            max_tokens=1,
            temperature=2.0,
            stop=["leaf"],
            response_format={"type": "json_object"},
            seed=1,
            extra_body={"chat_id": "c1", "session_id": None, "features": {"web_search": True}, "metadata": [1]},
            extra_headers={"X-Thread-Id": "tea"},
        )
        model = await client.models.retrieve("parley")
        stream = await client.chat.completions.create(
            model="parley",
            messages=says("what is tea"),
            stream=True,
            tools=tools,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]

    [choice] = done.choices
    assert (choice.message.content, choice.finish_reason, choice.message.tool_calls) == ("A leaf.", "stop", None)
    assert model.id == "parley" and not any(chunk.choices and chunk.choices[0].delta.tool_calls for chunk in chunks)
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens > 0
    assert "launch" not in str(world.model.requests[0].body)


async def test_what_cannot_be_answered_reaches_the_client_as_a_sentence(
    world: World, start: Start, client: openai.AsyncOpenAI
) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(PNG[2] + bytes(5_000_000)).decode()}"
    linked: RawJson = [{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}]
    large: RawJson = [{"type": "image_url", "image_url": {"url": picture}}]
    async with start("web"):
        for content, kind, said in (
            ("x" * 5_000_000, openai.APIStatusError, "2,097,152"),
            (large, openai.APIStatusError, "2,097,152"),
            (linked, openai.BadRequestError, "not fetched"),
            (None, openai.BadRequestError, "no user message"),
        ):
            with pytest.raises(kind) as refused:
                await client.chat.completions.create(model="parley", messages=[{"role": "user", "content": content}])
            assert said in refused.value.message
        for messages, more, said in (([], {}, "no user message"), (says("tea?"), {"n": 2}, "n must be 1")):
            with pytest.raises(openai.BadRequestError, match=said):
                await client.chat.completions.create(model="parley", messages=messages, **more)  # type: ignore[call-overload]
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="parley", input="tea")
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-5")
        assert [model.id for model in (await client.models.list()).data] == ["parley"]

    assert world.model.requests == []
