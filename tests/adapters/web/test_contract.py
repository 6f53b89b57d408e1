"""The suites of `parley_chat.contract`, for a platform on which nobody edits, deletes or refuses anything.

What they cannot say of it: that a surface needs no rate budget; that what was shown stays, whoever takes it back; that
the notation itself is sent; that another process's messages reach a reader by way of the store. So those tests are left
out here, each with its reason, and `FailureContract` altogether: no service is between this surface and its reader.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from adapters import PLATFORMS
from adapters.settings import WebSettings
from adapters.web.adapter import WebAdapter
from adapters.web.runs import Run, Said, Sent, StepBegan, StepEnded
from bot.contract import Adapter, MessageRef, Page, ReplyTarget, Status, Surface, TooLong, Unrenderable, WebStream
from parley_chat.contract.suites import Call, EventContract, Scene, SurfaceContract
from tests.adapters.plain import render
from tests.conftest import RawObject

CHAT, RUN = "web:client/tea", "t0"


@dataclass
class Text:
    """A text that a reader had for a while."""

    markup: str
    text: str


@dataclass
class Message:
    """A message as a reader has it now."""

    id: str
    versions: list[Text] = field(default_factory=list)
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    buttons: Sequence[str] = ()
    ephemeral = False
    live = False

    @property
    def text(self) -> str:
        return "\n".join([*(one.text for one in self.versions[-1:]), *self.steps])


class WebScene(Scene):
    """A thread with one reader, who gets all news of its run."""

    platform = PLATFORMS["web"]
    target = ReplyTarget("web", {"chat": CHAT, "run": RUN, "reaches": False})
    pings = previews = ()
    aside = buttons = False
    signs = 0
    surface: Surface

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._numbers = itertools.count(1)
        self._sending: set[asyncio.Task[None]] = set()
        self.run = Run()

    @property
    def shown(self) -> list[Message]:
        """What a reader makes of the news: a message for each id, with what its tools do below the last one."""
        messages: dict[str, Message] = {}
        markup: dict[str, str] = {}
        steps: list[str] = []
        for number, news in enumerate(self.run._news):
            match news:
                case Said(message, text):
                    markup[message] = markup.get(message, "") + text
                    # A page of nothing but signs is nested more deeply than any that a chat shows.
                    read = (
                        render(markup[message], final=False).text if len(markup[message]) < 10_000 else markup[message]
                    )
                    messages.setdefault(message, Message(message)).versions.append(Text(markup[message], read))
                case Sent(file):
                    name = f"file {number}"
                    messages[name] = Message(name, files=[(file.name, file.media_type, file.content)])
                case StepBegan(line):
                    steps.append(line)
                case StepEnded(line):
                    steps.remove(line)
        if steps:
            name = next(reversed(messages), "steps")
            messages.setdefault(name, Message(name)).steps = steps
        return list(messages.values())

    @property
    def calls(self) -> int:
        return len(self.run._news)

    async def enter(self) -> Adapter:
        adapter = WebAdapter(WebSettings.model_validate({"web_token": SecretStr("0123456789abcdef" * 2)}))
        self.adapter = await self._stack.enter_async_context(adapter)
        if self.adapter._runs.find(CHAT, RUN) is None:
            # The reader has the runs of each process in one place, which only a test can.
            self.adapter._runs._runs[CHAT, RUN] = self.run
        return self.adapter

    def say(self, text: str) -> str:
        return self._send(text)

    def send(self, file: tuple[str, str, bytes]) -> None:
        name, media_type, content = file
        source = {"type": "data", "value": base64.b64encode(content).decode(), "mimeType": media_type, "name": name}
        self._send([{"type": "document", "source": source}])

    def _send(self, content: str | list[RawObject]) -> str:
        """Ask as a program does that sends a refused request again."""
        run = f"r{next(self._numbers)}"
        asked = {"threadId": "tea", "runId": run, "messages": [{"role": "user", "content": content}]}
        body = json.dumps(asked).encode()

        async def sending() -> None:
            while not isinstance(answer := await self.adapter.answer("agui", {}, body), WebStream):
                assert answer.status == 503
            await answer.pieces.aclose()

        self._sending.add(asyncio.create_task(sending()))
        return run

    async def close(self) -> None:
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    # What nobody can do here

    def delete(self, ref: MessageRef) -> None:
        pytest.skip("what a reader has stays with the reader")

    def ask(self, text: str) -> None:
        pytest.skip("a thread has one person")

    def gateway(self, call: Call, status: int) -> None:
        pytest.skip("no service is between")

    def late(self, call: Call, until: asyncio.Event) -> asyncio.Event:
        pytest.skip("no service is between")

    def garble(self, answer: str) -> None:
        pytest.skip("no service is between")

    def limit(self, call: Call, named: str | None) -> float | None:
        pytest.skip("no service is between")

    def recover(self) -> None:
        return None


@pytest.fixture
async def scene() -> AsyncIterator[WebScene]:
    async with AsyncExitStack() as stack:
        scene = WebScene(stack)
        scene.surface = (await scene.enter()).surface(scene.target)
        yield scene
        await scene.close()


class TestSurface(SurfaceContract):
    """What a reply looks like."""

    async def test_what_is_for_who_asked_is_shown_to_others_only_where_the_platform_cannot_help_it(
        self, scene: Scene
    ) -> None:
        pytest.skip("the suite wants a rate budget, and there is none; nobody else reads along")

    async def test_drawing_sends_nothing_and_gives_the_same_every_time(self, scene: Scene) -> None:
        """As far as it holds where the notation itself is sent, in which two texts never look the same."""
        page = Page("It **rains**", (Status("Reading <a>…"),))
        before = scene.calls

        drawn = scene.surface.draw(page)

        assert (await scene.enter()).surface(scene.target).draw(page) == drawn and scene.calls == before
        with pytest.raises(TooLong):
            scene.surface.draw(Page("x" * (scene.surface.limits.hard_length + 1), plain=True))
        with pytest.raises(Unrenderable):
            scene.surface.draw(Page("", final=True))

    async def test_a_reply_makes_no_call_for_what_looks_the_same(self, scene: Scene) -> None:
        pytest.skip("the notation itself is sent, so no two texts look the same")

    async def test_every_call_names_the_budget_it_draws_on(self, scene: Scene) -> None:
        pytest.skip("there is no rate budget: nobody limits the calls")

    async def test_a_message_can_be_taken_back_and_taken_back_again(self, scene: Scene) -> None:
        pytest.skip("what a reader has stays with the reader")


class TestEvents(EventContract):
    """What is delivered, and when."""
