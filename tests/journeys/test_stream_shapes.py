"""What servers really stream, by every wire, on every platform and in both modes, is shown once and whole."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest

from playground.model import Reply
from playground.model.ollama import Ollama
from playground.screen import Screen
from tests.conftest import RawJson, RawObject
from tests.journeys.conftest import Start, World, more_than

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BASE64 = base64.b64encode(PNG).decode()
PICTURE: RawObject = {"image_url": {"url": f"data:image/png;base64,{BASE64}"}}
SAID = "It is 391."
ARGUMENTS = '{"expression": "17*23"}'
WRITTEN = ('<tool_call>{"name": "calculator", "argu', f'ments": {ARGUMENTS}}}</tool_call>')
DONE = "data: [DONE]"
MISSET = r"The model is not set up correctly\. .*"
LENGTH, WITHHELD = r"It is\s+The answer stops here: .*", r"It is\s+The model's provider withheld the rest .*"

Lines: TypeAlias = tuple[str, ...]
Shape: TypeAlias = Callable[[str, str], Lines]
"""A way of sending two parts of a text."""


@dataclass(frozen=True)
class Wire:
    """What servers send on one of the three wires."""

    texts: Mapping[str, Shape]
    calls: Mapping[str, Lines]
    """The call of the calculator."""
    endings: Mapping[str, tuple[Reply, str]] = field(default_factory=dict)
    """A whole answer, with what a person must read at last."""
    settings: Mapping[str, str] = field(default_factory=dict)


# Chat Completions


def event(finish: str | None = None, *, index: int = 0, message: RawJson = None, **delta: RawJson) -> str:
    choice: RawObject = {"index": index, "delta": delta, "finish_reason": finish}
    return json.dumps({"choices": [choice | ({"message": message} if message else {})]})


def said(text: str) -> RawObject:
    return {"role": "assistant", "content": text}


def data(*events: str) -> Lines:
    return (*(f"data: {one}" for one in events), DONE)


def call(arguments: RawJson, identifier: str = "", name: str = "") -> str:
    function: RawObject = {"arguments": arguments, **({"name": name} if name else {})}
    return event(tool_calls=[{"index": 0, "function": function, **({"id": identifier} if identifier else {})}])


def loose(**piece: RawJson) -> str:
    return event(tool_calls=[piece])


def begun(finish: str) -> Reply:
    return Reply(lines=data(event(content="It is "), event(finish)))


CHAT = Wire(
    texts={
        "[DONE] without a reason": lambda a, b: data(event(content=a), event(content=b)),
        "a reason without [DONE]": lambda a, b: data(event(content=a), event("stop", content=b))[:-1],
        "a reason in capitals": lambda a, b: data(event(content=a), event("FinishReason.STOP", content=b)),
        "a whole message at the end": lambda a, b: data(
            event(content=a), event(content=b), event("stop", message=said(a + b))
        ),
        "a whole message alone": lambda a, b: data(event("stop", message=said(a + b))),
        "one message in the place of another": lambda a, b: data(
            event(message=said("It is 390.")), event("stop", message=said(a + b))
        ),
        "messages that grow": lambda a, b: data(event(message=said(a)), event("stop", message=said(a + b))),
        "an index that counts": lambda a, b: data(event(content=a, index=0), event("stop", content=b, index=1)),
        "two events in a line": lambda a, b: data(event(content=a) + event(content=b), event("stop")),
        "a frame cut off": lambda a, b: data(event(content=a), event(content="x")[:40] + event("stop", content=b)),
        "parts of content": lambda a, b: data(
            event(content=[{"type": "text", "text": a}]), event("stop", content=[{"type": "text", "text": b}])
        ),
        "thoughts in a field": lambda a, b: data(event(reasoning="Hm."), event(content=a), event("stop", content=b)),
    },
    calls={
        "arguments anew": data(call('{"expression"', "a", "calculator"), call('{"expression": "17'), call(ARGUMENTS)),
        "the whole once more": data(call('{"expression"', "a", "calculator"), call(': "17*23"}'), call(ARGUMENTS)),
        "empty ones first": data(call("{}", "a", "calculator"), call(ARGUMENTS)),
        "objects in parts": data(call({}, "a", "calculator"), call({"expression": "17*23"})),
        "an unknown ending": data(call(ARGUMENTS, "a", "calculator"), event("unknown")),
        "without an index": data(
            loose(id="a", function={"name": "calculator", "arguments": '{"expression"'}),
            loose(function={"arguments": ': "17*23"}'}),
            event("stop"),
        ),
        "the form before it": data(
            event(function_call={"name": "calculator", "arguments": ""}),
            event("function_call", function_call={"arguments": ARGUMENTS}),
        ),
        "in a whole message": data(
            event("tool_calls", message={"tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "calculator", "arguments": ARGUMENTS}}
            ]})
        ),
        "under a decorated name": data(call(ARGUMENTS, "a", "functions.calculator:0"), event("stop")),
        "a bad call first": data(event("function_call_filter: MALFORMED_FUNCTION_CALL")),
    },
    endings={
        "MAX_TOKENS": (begun("MAX_TOKENS"), LENGTH),
        "the window's end": (begun("model_context_window_exceeded"), LENGTH),
        "withheld": (begun("content_filter: RECITATION"), WITHHELD),
        "an unknown word": (begun("abort"), SAID),
        "a bad call behind words": (begun("MALFORMED_FUNCTION_CALL"), SAID),
        "the body's end": (Reply(lines=data(event(content="It is "))[:-1]), SAID),
        "silence": (Reply(lines=data(event("stop", content="\u2800\ufe0f&nbsp;<!-- -->"))), SAID),
        "pictures": (Reply(chunks=({"content": SAID}, {"images": [PICTURE]}, {"images": [PICTURE]})), SAID),
        "a web page": (Reply(html_200=True), MISSET),
        "a code": (Reply(body='{"code": 401, "msg": "invalid token"}'), MISSET),
        "no success": (Reply(body='{"success": false, "message": "no"}'), MISSET),
        "a detail": (Reply(body='{"detail": "Not Found"}'), MISSET),
        "an error of Spark": (Reply(lines=('data: {"header": {"code": 10013, "message": "no"}}',)), MISSET),
        "no choices": (Reply(lines=data('{"id": "x", "choices": []}', '{"id": "x", "choices": []}')), MISSET),
    },
)  # fmt: skip


# Responses


def item(kind: str, **fields: RawJson) -> str:
    return json.dumps({"type": f"response.{kind}", **fields})


def added(arguments: str = "", *, done: bool = False) -> str:
    made = {"type": "function_call", "call_id": "a", "name": "calculator", "arguments": arguments}
    return item(f"output_item.{'done' if done else 'added'}", output_index=0, item=made)


def piece(text: str) -> str:
    return item("output_text.delta", output_index=0, delta=text)


def whole(text: str) -> str:
    content = [{"type": "output_text", "text": text}]
    return item("output_item.done", output_index=0, item={"type": "message", "content": content})


def incomplete(**details: RawJson) -> Reply:
    return Reply(lines=data(piece("It is "), item("incomplete", response={"incomplete_details": details})))


COMPLETED = item("completed", response={})
RESPONSES = Wire(
    texts={
        "deltas": lambda a, b: data(piece(a), piece(b), whole(a + b), COMPLETED)[:-1],
        "items without deltas": lambda a, b: data(whole(a + b), COMPLETED),
        "two events in a line": lambda a, b: data(piece(a) + piece(b), COMPLETED),
        "a frame cut off": lambda a, b: data(piece(a), piece("x")[:40] + piece(b), COMPLETED),
        "[DONE] without an end": lambda a, b: data(piece(a), piece(b)),
    },
    calls={
        "in pieces": data(
            added(), *(item("function_call_arguments.delta", output_index=0, delta=one) for one in ARGUMENTS), COMPLETED
        ),
        "whole at its end": data(added(), added(ARGUMENTS, done=True), COMPLETED),
        "never begun": data(added(ARGUMENTS, done=True), COMPLETED),
    },
    endings={
        "the length": (incomplete(reason="max_output_tokens"), LENGTH),
        "withheld": (incomplete(reason="content_filter"), WITHHELD),
        "an unknown word": (incomplete(), SAID),
        "the body's end": (Reply(lines=data(piece("It is "))[:-1]), SAID),
        "silence": (Reply(lines=data(piece("\u200d"), COMPLETED)), SAID),
        "pictures": (
            Reply(
                lines=data(
                    piece(SAID),
                    item("output_item.done", output_index=1, item={"type": "image_generation_call", "result": BASE64}),
                    COMPLETED,
                )
            ),
            SAID,
        ),
        "a web page": (Reply(html_200=True), MISSET),
        "a detail": (Reply(body='{"detail": "Not Found"}'), MISSET),
        "no choices": (Reply(lines=data('{"id": "x", "choices": []}')), MISSET),
    },
)  # fmt: skip


# Ollama's own


def line(text: str = "", *, done: bool = False, reason: str = "", **message: RawJson) -> str:
    ended: RawObject = {"done_reason": reason} if reason else {}
    return json.dumps({"message": {"role": "assistant", "content": text, **message}, "done": done, **ended})


def own(arguments: RawJson) -> str:
    return line(tool_calls=[{"function": {"name": "calculator", "arguments": arguments}}])


ENDED = line(done=True, reason="stop")
OLLAMA = Wire(
    settings={"MODEL": "ollama:scripted"},
    texts={
        "pieces": lambda a, b: (line(a), line(b), ENDED),
        "the last words at the end": lambda a, b: (line(a), line(b, done=True, reason="stop")),
        "no reason": lambda a, b: (line(a), line(b), line(done=True)),
        "two in a line": lambda a, b: (line(a) + line(b), ENDED),
        "a line cut off": lambda a, b: (line(a), line("x")[:40] + line(b), ENDED),
        "thoughts in a field": lambda a, b: (line(thinking="Hm."), line(a), line(b), ENDED),
    },
    calls={
        "an object": (own({"expression": "17*23"}), ENDED),
        "a text": (own(ARGUMENTS), ENDED),
        "an unknown ending": (own({"expression": "17*23"}), line(done=True, reason="unknown")),
    },
    endings={
        "the length": (Reply(lines=(line("It is "), line(done=True, reason="length"))), LENGTH),
        "an unknown word": (Reply(lines=(line("It is "), line(done=True, reason="abort"))), SAID),
        "the body's end": (Reply(lines=(line("It is "),)), SAID),
        "silence": (Reply(lines=(line("\u2800"), ENDED)), SAID),
        "pictures": (Reply(lines=(line(SAID), line(images=[BASE64]), ENDED)), SAID),
        "a web page": (Reply(html_200=True), MISSET),
        "a detail": (Reply(body='{"detail": "Not Found"}'), MISSET),
    },
)
WIRES = {"chat": CHAT, "responses": RESPONSES, "ollama": OLLAMA}
ASKED = re.compile(r"what is 17\*23, by (.+)\?")
PLATFORMS = ("telegram", "slack", "discord")


class Server:
    """A model whose first pass calls and whose second answers, each in the shape that the question names.

    Who asks once more, because of what came the first time, is answered in the plainest way.
    """

    def __init__(self, wire: Wire, mode: str) -> None:
        self.expected: dict[str, str] = {name: shown for name, (_, shown) in wire.endings.items()}
        self._first: dict[str, Reply] = {name: reply for name, (reply, _) in wire.endings.items()}
        self._second: dict[str, Reply] = {}
        self._asked: set[str] = set()
        self._responses = wire is RESPONSES
        """Chat Completions, which say `stream` here, are refused."""
        self._form = "" if mode == "native" else "hermes"
        texts, calls = list(wire.texts.items()), list(wire.calls.items()) if mode == "native" else []
        for number in range(max(len(texts), len(calls))):
            text, shape = texts[number % len(texts)]
            called, lines = calls[number % len(calls)] if calls else (text, shape(*WRITTEN))
            name = f"{called}, then {text}"
            self._first[name], self._second[name] = Reply(lines=lines), Reply(lines=shape("It is ", "391."))
            self.expected[name] = re.escape(SAID)

    def answer(self, body: RawJson) -> Reply:
        role, last = (str(body["messages"][-1].get(name)) for name in ("role", "content"))
        told = "\n".join(str(message.get("content")) for message in body["messages"])
        if self._responses and "stream" in body:
            return Reply.refusal(400, "This model is only supported in v1/responses and not in v1/chat/completions.")
        [key] = set(ASKED.findall(told))
        name = key.rpartition(" on ")[0]
        if role == "tool" or "<tool_result" in last:
            assert "391" in last
            return self._second[name]
        unread = "could not be read" in last
        if unread or "was interrupted" in last:
            assert unread == ("bad call" in name)
            if name not in self._second:
                return Reply("391.")
        again = key in self._asked
        self._asked.add(key)
        if again and name in self._second:
            return Reply(calls=(("calculator", json.loads(ARGUMENTS)),), text_calls=self._form)
        return Reply(SAID) if again else self._first[name]


@pytest.mark.parametrize("mode", ["native", "prompt"])
@pytest.mark.parametrize("wire", WIRES)
async def test_every_shape_is_shown_once_and_whole(world: World, start: Start, wire: str, mode: str) -> None:
    server = Server(WIRES[wire], mode)
    world.model.script = server.answer
    world.model.ollama = Ollama(longest_window=131_072) if wire == "ollama" else None
    settings = {"TOOL_MODE": mode, "REPLY_BUTTONS": "false", "OLLAMA_API_URL": world.model.base_url}
    places: dict[tuple[str, str], tuple[Screen, str]] = {}
    async with start(*PLATFORMS, **settings, **WIRES[wire].settings) as bot:
        for number, name in enumerate(server.expected, 100):
            question = f"what is 17*23, by {name} on "
            world.telegram.person(number, "Ada")
            slack, discord = world.slack.direct(f"U{number}"), world.discord.direct(number)
            world.telegram.say(number, f"{question}telegram?", person=number)
            world.slack.say(slack, f"{question}slack?", person=f"U{number}")
            world.discord.say(discord, f"{question}discord?", person=number)
            for platform, place in zip(PLATFORMS, (str(number), slack, str(discord.id)), strict=True):
                places[name, platform] = getattr(world, platform).screen, place
        for screen, place in places.values():
            await screen.until(more_than(0, place))
        await bot.dispatcher.wait_idle()

    shown = {key: screen.of(place) for key, (screen, place) in places.items()}
    texts = {key: "\n".join(message.text for message in messages).strip() for key, messages in shown.items()}
    wrong = {key: text for key, text in texts.items() if not re.fullmatch(server.expected[key[0]], text, re.DOTALL)}
    assert not wrong
    ever = {key: [one.text for message in messages for one in message.versions] for key, messages in shown.items()}
    assert not {key: seen for key, seen in ever.items() if any(set("<{\u2800") & set(text) for text in seen)}
    files = {key: [file[2] for message in messages for file in message.files] for key, messages in shown.items()}
    assert {key: found for key, found in files.items() if found} == {
        ("pictures", platform): [PNG] for platform in PLATFORMS
    }
    paths = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "ollama": "/api/chat"}
    answered = {request.path for request in world.model.requests if request.status == 200}
    assert answered - {"/api/show", "/api/ps"} == {paths[wire]}


async def test_a_server_that_wants_its_reasoning_back_answers_from_the_result_on_every_platform(
    world: World, start: Start
) -> None:
    world.model.wants_reasoning = "calls"
    world.telegram.person(7, "Ada")
    world.slack.person("U7", "Ada")
    world.discord.person(7, "Ada")
    slack, discord = world.slack.direct("U7"), world.discord.direct(7).id
    places = ((world.telegram.screen, "7"), (world.slack.screen, slack), (world.discord.screen, str(discord)))

    def answer(body: RawJson) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply(SAID)
        return Reply(reasoning="I had better calculate it.", calls=(("calculator", json.loads(ARGUMENTS)),))

    world.model.script = answer
    async with start("telegram", "slack", "discord", TOOL_MODE="native") as bot:
        for number in range(2):
            world.telegram.say(7, "what is 17*23?", person=7)
            world.slack.say(slack, "what is 17*23?", person="U7")
            world.discord.say(discord, "what is 17*23?", person=7)
            for screen, place in places:
                await screen.until(more_than(number, place))
            await bot.dispatcher.wait_idle()

    for screen, place in places:
        assert [message.text for message in screen.of(place)] == [SAID] * 2, place
    refused = [request.status for request in world.model.requests].count(400)
    assert 1 <= refused <= 3, "once for each question that was under way when it was learned"
