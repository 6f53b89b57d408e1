"""Agents as others write them: they import `parley_chat.agent` and their own libraries, and nothing else of ours."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, ClassVar, Final, TypeAlias

from openai import AsyncOpenAI
from tavily import AsyncTavilyClient

from parley_chat.agent import Ask, Call, Event, File, Message, Question, Result, Text, Used

Body: TypeAlias = dict[str, Any]

SEARCH: Body = {
    "type": "function",
    "function": {
        "name": "search_web",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
}


def as_sent(message: Message) -> Body:
    """The message as the Chat Completions of a server take it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": message.text, **({"tool_calls": calls} if calls else {})}


async def search(query: str) -> str:
    """What the tool of these agents finds."""
    async with AsyncTavilyClient(
        os.environ["TAVILY_API_KEY"], api_base_url=os.environ["TAVILY_API_BASE_URL"]
    ) as client:
        found = await client.search(query)
    return "\n".join(one["content"] for one in found["results"]) or "Nothing."


NOTED: list[str] = []


async def take_note(text: str) -> str:
    """Take a note."""
    NOTED.append(text)
    return "noted"


class Searching:
    """Asks a model, and searches when it wants to; the loop that frameworks bring, written out."""

    asks = False
    """A person must allow each search."""

    async def __aenter__(self) -> Searching:
        # One for all answers: to make one takes as long as a whole answer of ours.
        self._client = AsyncOpenAI(api_key=os.environ["OPENAI_API_KEY"], base_url=os.environ["OPENAI_BASE_URL"])
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.close()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        messages = [{"role": "system", "content": question.instructions}, *map(as_sent, question.messages)]
        if question.decision is not None:
            call = question.decision.call
            messages.append(as_sent(Message(role="assistant", calls=(call,))))
            if question.decision.allowed:
                async for event in self._search(call, messages):
                    yield event
            else:
                messages.append(as_sent(Message(role="tool", call=call.id, text="The person refused it.")))
        while True:
            id, name, arguments = "", "", ""
            asked: Body = {"model": "scripted", "messages": messages, "tools": [SEARCH], "stream": True}
            said = await self._client.chat.completions.create(**asked, stream_options={"include_usage": True})
            async with said:
                async for chunk in said:
                    for choice in chunk.choices:
                        if choice.delta.content:
                            yield Text(choice.delta.content)
                        for part in choice.delta.tool_calls or ():
                            id, name = id or part.id, name or part.function.name
                            arguments += part.function.arguments or ""
                    if chunk.usage is not None:
                        used = chunk.usage
                        yield Used(
                            model="openai:scripted", prompt=used.prompt_tokens, completion=used.completion_tokens
                        )
            called = Call(id=id, name=name, arguments=json.loads(arguments)) if id else None
            if called is None:
                return
            if self.asks:
                yield Ask(call=called, state=json.dumps([called.id]))
                return
            messages.append(as_sent(Message(role="assistant", calls=(called,))))
            async for found in self._search(called, messages):
                yield found

    async def _search(self, call: Call, messages: list[Body]) -> AsyncGenerator[Event, None]:
        yield call
        text = await search(str(call.arguments["query"]))
        messages.append(as_sent(Message(role="tool", call=call.id, text=text)))
        yield Result(id=call.id, text=text)


class Asking(Searching):
    asks = True


class Echo:
    """The smallest one."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        for word in question.messages[-1].text.split():
            yield Text(f"{word} ")
            await asyncio.sleep(0)


class Stubborn:
    """Does not end when it is cancelled."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        yield Text("I go on.")
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3_600)


class Drawing:
    """Posts a file that its tool made."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        yield Call(id="d1", name="draw", arguments={}, status="Drawing")
        yield Result(id="d1", text="Drawn.", files=(File("drawing.svg", "image/svg+xml", b"<svg/>"),))
        yield Text("Here it is.")


class Working:
    """Works for long, shows its plan, and is asked by others meanwhile."""

    job = True
    steps: Final = ("Read", "Write")
    go_on: ClassVar[dict[str, asyncio.Event]] = {}
    """What each step waits for."""
    seconds: ClassVar[list[float]] = []

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        self.seconds.append(question.seconds)
        for done, step in enumerate((*self.steps, "")):
            yield Text(f"I begin to {step.lower()}." if step else "There are 42 teas.")
            if step:
                yield Call(
                    id=f"{done}", name="plan", arguments={"steps": list(self.steps), "done": done}, effects=False
                )
                yield Result(id=f"{done}", text="shown")
                await self.go_on.setdefault(step, asyncio.Event()).wait()


class Failing:
    """Breaks off, as libraries do."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        yield Text("Half an answer.")
        await asyncio.sleep(0.05)
        raise ValueError("no such thing")


class Flooding:
    """Writes without end and lets nobody else run."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        for number in range(200_000):
            yield Text(f"word{number} ")


class Busy:
    """Has hundreds of calls under way at once."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        for number in range(300):
            yield Call(
                id=f"{number}", name=f"look_at_shelf_{number}", arguments={}, status=f"Looking at {number} " * 40
            )
        await asyncio.sleep(5)
        yield Text("There are 42 teas.")


class Wasteful:
    """Says that its first answer has cost more than there is."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        yield Text("Leaves.")
        if len(question.messages) == 1:
            yield Used(prompt=10**30, dollars=1e30)


class Unopened(Echo):
    """What it needs is not there."""

    async def __aenter__(self) -> Unopened:
        raise ConnectionError("nobody listens at 127.0.0.1:9")

    async def __aexit__(self, *exc: object) -> None: ...


class Unclosed(Echo):
    """It ends as badly as libraries do."""

    async def __aenter__(self) -> Unclosed:
        return self

    async def __aexit__(self, *exc: object) -> None:
        raise ValueError("closed already")


class Slow(Echo):
    """It waits for somebody who does not come."""

    async def __aenter__(self) -> Slow:
        await asyncio.Event().wait()
        return self

    async def __aexit__(self, *exc: object) -> None: ...
