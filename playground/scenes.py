"""Ready scenes: what a person would type and press to see one thing the bot does, played on one or all platforms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from playground.screen import Shown
from playground.windows import Impossible, Window

Json: TypeAlias = dict[str, Any]
_STOP, _ALLOW = "⏹", "✅"
_SETTLED = 2.0
"""Seconds for which a complete answer has to stay as it is."""
_PATIENCE = 90.0
"""Seconds for which a step waits for the bot."""


@dataclass(frozen=True, slots=True)
class Say:
    """Write a message; `{number}` in it is the last number of the answer before."""

    english: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Change the message that was written last."""

    english: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Press:
    """Press the button whose label begins with a sign, as soon as it is there."""

    sign: str


@dataclass(frozen=True, slots=True)
class Written:
    """Wait until the answer has so many characters."""

    characters: int


@dataclass(frozen=True, slots=True)
class Answered:
    """Wait until the answer is complete."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End the bot as a power cut would."""


Step: TypeAlias = Say | Edit | Press | Written | Answered | Kill


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene: its names and its steps."""

    id: str
    english: str
    chinese: str
    about: str
    steps: tuple[Step, ...]


SCENES: Final = (
    Scene(
        "search",
        "Search",
        "搜索",
        "A tool call, then an answer with its sources",
        (Say("search the latest news about solar power", "搜索太阳能的最新新闻"), Answered()),
    ),
    Scene(
        "long",
        "Long answer",
        "长回答",
        "Longer than one message, with code and tables",
        (Say("long", "长文"), Answered()),
    ),
    Scene(
        "tools",
        "Several tools",
        "几个工具",
        "Two tools at once, one answer",
        (Say("search the weather in Paris and calculate 37.5 * 1.2", "搜索巴黎的天气并计算 37.5 * 1.2"), Answered()),
    ),
    Scene(
        "edit",
        "Edited question",
        "修改问题",
        "The question changes, and so does the answer under it",
        (
            Say("weather in Oslo", "奥斯陆天气"),
            Answered(),
            Edit("weather in Paris", "巴黎天气"),
            Answered(),
        ),
    ),
    Scene(
        "approval",
        "Approval",
        "批准",
        "A tool that changes something asks before it runs",
        (
            Say("remember that I like green tea", "记住我喜欢绿茶"),
            Answered(),
            Say("forget fact {number}", "忘记第{number}"),
            Press(_ALLOW),
            Answered(),
        ),
    ),
    Scene(
        "job",
        "Job",
        "长任务",
        "A plan that is ticked off in one message, and the answer as a new one",
        (Say("/job compare the two offers", "/job 比较两个报价"), Answered()),
    ),
    Scene(
        "broken",
        "Broken model",
        "模型中断",
        "The connection to the model drops in mid-sentence",
        (Say("break", "断开"), Answered()),
    ),
    Scene(
        "kill",
        "Power cut",
        "断电",
        "The bot is killed while it writes; it starts again and finishes",
        (Say("long", "长文"), Written(300), Kill(), Answered()),
    ),
)


class Scenes:
    """Plays scenes; several may play at once, each of them once."""

    def __init__(
        self,
        windows: Mapping[str, Window],
        tell: Callable[[str, Json], None],
        kill: Callable[[], None],
        connected: Callable[[str], Awaitable[None]],
        pause: float = 1.0,
    ) -> None:
        """
        Args:
            pause: seconds between an answer and what a person does with it.
        """
        self._windows, self._tell, self._kill, self._connected = windows, tell, kill, connected
        self._pause = pause
        self._running: dict[str, asyncio.Task[None]] = {}

    def play(self, id: str, platforms: Sequence[str], language: str = "en") -> asyncio.Task[None]:
        """Begin a scene in the first place of each platform.

        Raises:
            Impossible: there is no such scene or platform, or it is playing already.
        """
        scene = next((one for one in SCENES if one.id == id), None)
        windows = [self._windows[name] for name in platforms if name in self._windows]
        if scene is None or not windows:
            raise Impossible("there is no such scene")
        if id in self._running:
            raise Impossible(f"“{scene.english}” is playing already")
        task = asyncio.create_task(self._play(scene, windows, language), name=f"scene {id}")
        self._running[id] = task
        self._tell("scene", {"id": id, "running": True})
        task.add_done_callback(lambda _: self._ended(id))
        return task

    async def close(self) -> None:
        """End what is playing."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, id: str) -> None:
        del self._running[id]
        self._tell("scene", {"id": id, "running": False})

    async def _play(self, scene: Scene, windows: Sequence[Window], language: str) -> None:
        stage = _Stage(len(windows), self._kill)
        plays = (self._play_on(scene, window, language, stage) for window in windows)
        told = await asyncio.gather(*plays, return_exceptions=True)
        for window, error in zip(windows, told, strict=True):
            if isinstance(error, Exception):
                why = "the bot did not answer in time" if isinstance(error, TimeoutError) else str(error)
                self._tell("note", {"text": f"“{scene.english}” stopped on {window.title}: {why}.", "at": 0.0, "id": 0})

    async def _play_on(self, scene: Scene, window: Window, language: str, stage: _Stage) -> None:
        await self._connected(window.name)
        role = _Role(window, language)
        for index, step in enumerate(scene.steps):
            if index and not isinstance(step, Written | Answered | Kill):
                await asyncio.sleep(self._pause)
            match step:
                case Say():
                    role.say(step)
                case Edit():
                    role.edit(step)
                case Press():
                    await role.press(step.sign, self._pause)
                case Written():
                    await role.written(step.characters)
                case Answered():
                    await role.answered()
                case Kill():
                    await stage.kill()


class _Stage:
    """What is done once for all platforms of a scene, when all of them are there."""

    def __init__(self, parts: int, kill: Callable[[], None]) -> None:
        self._parts, self._kill, self._ready = parts, kill, asyncio.Event()

    async def kill(self) -> None:
        self._parts -= 1
        if not self._parts:
            self._kill()
            self._ready.set()
        await asyncio.wait_for(self._ready.wait(), _PATIENCE)


class _Role:
    """The person of a scene on one platform."""

    def __init__(self, window: Window, language: str) -> None:
        self._window, self._chinese = window, language.startswith("zh")
        self._place = window.places[0]
        self._said: Shown | None = None
        self._old: Mapping[str, int] = {}
        """How many versions each message had when the person last wrote or changed something."""
        self._others: set[str] = set()
        """What stood there before the question: no answer to it."""

    def say(self, step: Say) -> None:
        answers = self._answers() if self._said else []
        # Where the bot answers in a thread, the conversation goes on there.
        thread = self._window.locate(answers[-1])[1] if answers else ""
        numbers = re.findall(r"\d+", "\n".join(one.text for one in answers))
        words = self._words(step).replace("{number}", numbers[-1] if numbers else "1")
        self._mark()
        self._others = set(self._old)
        self._window.say(self._place.id, words, thread)
        self._said = self._window.screen.messages[-1]

    def edit(self, step: Edit) -> None:
        if self._said is None or self._said.deleted:
            raise Impossible("the question is gone")
        self._mark()
        self._window.edit(self._said, self._words(step))

    async def press(self, sign: str, pause: float) -> None:
        def asking() -> list[tuple[Shown, str]]:
            return [(one, label) for one in self._answers() for label in one.buttons if label.startswith(sign)]

        await self._until(asking)
        await asyncio.sleep(pause)
        message, label = asking()[0]
        self._window.press(message.chat, message.id, label)

    async def written(self, least: int) -> None:
        await self._until(lambda: any(len(one.text) >= least for one in self._answers()))

    async def answered(self) -> None:
        """Wait for the last page of an answer: it has buttons, and nothing can be stopped or allowed any more."""

        def complete() -> bool:
            answers = self._answers()
            asks = any(label.startswith(_ALLOW) for one in answers for label in one.buttons)
            if asks or not answers or any(one.live for one in answers):
                return False
            stops = any(label.startswith(_STOP) for one in answers for label in one.buttons)
            return bool(answers[-1].buttons and answers[-1].text) and not stops

        # A page that is full may look like the last one until the next begins.
        while True:
            await self._until(complete)
            settled = len(self._answers()), sum(len(one.versions) for one in self._answers())
            await asyncio.sleep(_SETTLED)
            if complete() and settled == (len(self._answers()), sum(len(one.versions) for one in self._answers())):
                return

    async def _until(self, seen: Callable[[], object]) -> None:
        await self._window.screen.until(lambda _: seen(), _PATIENCE)

    def _words(self, step: Say | Edit) -> str:
        text = step.chinese if self._chinese else step.english
        return f"{self._place.mention} {text}".strip()

    def _mark(self) -> None:
        self._old = {f"{one.chat} {one.id}": len(one.versions) for one in self._window.screen.messages}

    def _answers(self) -> list[Shown]:
        return [
            one
            for one in self._window.screen.messages
            if one.author == "bot"
            and not (one.deleted or one.ephemeral)
            and self._window.locate(one)[0] == self._place.id
            and (key := f"{one.chat} {one.id}") not in self._others
            and len(one.versions) > self._old.get(key, 0)
        ]
