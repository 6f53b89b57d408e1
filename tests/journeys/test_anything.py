"""Whatever people do, in whatever order: they ask, ask more, change, delete, stop, press and command at random moments.

Every answer is numbered by the model, and so is each of its words: so the screen tells at the end whether an answer is
whole, stands once and in order, and belongs to the question as it reads now. `pytest -m soak` lives forty lives, from
ANYTHING_SEED on.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from bot.contract.limits import Limits
from playground.mixer import Mixer
from playground.model import Reply
from playground.screen import Shown
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_soak import CALLS

FIRST_SEED = int(os.environ.get("ANYTHING_SEED") or 1)
PLATFORMS = ("telegram", "slack", "discord")
LENGTHS = {"plain": 30, "slow": 40, "long": 1200, "code": 60, "search": 30}
COMMANDS = ("new", "stop", "retry", "context", "why", "usage", "memory", "help", "tools")
STOP, GO_ON = "⏹ Stop", "▶️ Continue"
UNPRESSED = ("🔊",)
"""What a press would ask of a model that speaks."""


@dataclass
class Question:
    """One message of a person's, and what became of it."""

    name: str
    kind: str
    message: str
    version: int = 0
    deleted: bool = False

    @property
    def tag(self) -> str:
        return f"{self.name}.{self.version}"


@dataclass
class Answer:
    """What the model said to one request."""

    number: int
    tags: list[str]
    words: int

    @property
    def text(self) -> str:
        words = " ".join(f"w{at}-{self.number}" for at in range(self.words))
        if self.words == LENGTHS["code"]:
            words = f"\n```python\n{words}\n```\n"
        return f"For {' '.join(self.tags)} says {self.number}: {words} end-{self.number}."


class Chat:
    """One person's private chat on one platform."""

    def __init__(self, world: World, platform: str, number: int) -> None:
        self.platform, self.number, self.server = platform, number, getattr(world, platform)
        self.questions: list[Question] = []
        self.stopped = False
        """By the command or the button, which may come before the first word."""
        self.retried = False
        """An answer that is asked for again by the command leaves the former one above it."""
        match platform:
            case "telegram":
                self.server.person(number, f"P{number}")
                self.id = str(number)
            case "slack":
                self.server.person(f"U{number}", f"P{number}")
                self.id = self.server.direct(f"U{number}")
            case _:
                self.server.person(number, f"P{number}")
                self.id = self.server.direct(number).id

    @property
    def shown(self) -> list[Shown]:
        return [one for one in self.server.screen.of(self.id) if not one.ephemeral]

    def say(self, text: str) -> str:
        match self.platform:
            case "telegram":
                return str(self.server.message_id(self.server.say(self.number, text, person=self.number)))
            case "slack":
                return str(self.server.say(self.id, text, person=f"U{self.number}"))
            case _:
                return str(self.server.say(self.id, text, person=self.number))

    def ask(self, kind: str) -> None:
        name = f"{self.number}x{len(self.questions)}"
        self.questions.append(Question(name, kind, self.say(f"please do {kind} {name}.0")))

    def change(self, question: Question) -> None:
        question.version += 1
        text = f"please do {question.kind} {question.tag}"
        match self.platform:
            case "telegram":
                self.server.edit(self.number, int(question.message), text)
            case "slack":
                self.server.edit(self.id, question.message, text)
            case _:
                self.server.edit(question.message, text)

    def delete(self, question: Question) -> None:
        question.deleted = True
        if self.platform == "slack":
            self.server.delete(self.id, question.message)
        else:
            self.server.delete(question.message)

    def command(self, word: str) -> None:
        self.retried |= word == "retry"
        self.stopped |= word == "stop"
        if self.platform == "slack":
            self.server.command("/parley", word, self.id, f"U{self.number}")
        else:
            self.say(f"/{word}")

    def press(self, message: Shown, button: str) -> None:
        match self.platform:
            case "telegram":
                self.server.press(self.number, int(message.id), button, person=self.number)
            case "slack":
                self.server.press(self.id, message.id, button, f"U{self.number}")
            case _:
                self.server.press(message.id, button, self.number)

    def act(self, chance: random.Random) -> str:
        """Do something at random; what it was."""
        open_ones = [one for one in self.questions if not one.deleted]
        deed = chance.choices(("ask", "change", "delete", "press", "command"), (10, 4, 2, 5, 2))[0]
        if deed == "change" and open_ones:
            question = open_ones[-1] if chance.random() < 0.7 else chance.choice(open_ones)
            self.change(question)
            return f"change {question.tag}"
        if deed == "delete" and open_ones and self.platform != "telegram":
            question = open_ones[-1] if chance.random() < 0.7 else chance.choice(open_ones)
            self.delete(question)
            return f"delete {question.name}"
        pressable = [(one, button) for one in self.shown for button in one.buttons if button not in UNPRESSED]
        if deed == "press" and pressable:
            message, button = pressable[-1] if chance.random() < 0.5 else chance.choice(pressable)
            self.press(message, button)
            self.retried |= button == GO_ON
            self.stopped |= button == STOP
            return f"press {button} under {message.id}"
        if deed == "command":
            word = chance.choice(COMMANDS)
            self.command(word)
            return f"/{word}"
        self.ask(chance.choices(list(LENGTHS), (5, 4, 1, 2, 3))[0])
        return f"ask {self.questions[-1].kind} {self.questions[-1].name}"


@dataclass
class Anything:
    """One run."""

    world: World
    seed: int
    answers: dict[int, Answer] = field(default_factory=dict)
    deeds: list[str] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)

    def gather(self, each: int) -> None:
        self.world.model.script = self._script
        self.chats = [
            Chat(self.world, platform, 100 * row + number)
            for row, platform in enumerate(PLATFORMS, 1)
            for number in range(1, each + 1)
        ]

    def _script(self, body: RawJson) -> Reply:
        whole = "\n".join(str(message["content"]) for message in body["messages"])
        if "You keep the memory of a conversation" in whole:
            return Reply("They asked for words.")
        last = max((at for at, one in enumerate(body["messages"]) if "please do" in str(one["content"])), default=None)
        if last is None:
            return Reply("Nothing was asked.")
        # What a changed question read before is quoted.
        asked = re.findall(r"^please do (\w+) (\d+x\d+\.\d+)", str(body["messages"][last]["content"]), re.MULTILINE)
        kind = asked[-1][0]
        if kind == "search" and body.get("tools") and not any(m["role"] == "tool" for m in body["messages"][last:]):
            return Reply("I look.", calls=(("search_web", {"query": f"tea {asked[-1][1]}"}),))
        answer = Answer(len(self.answers), [tag for _, tag in asked], LENGTHS[kind])
        self.answers[answer.number] = answer
        return Reply(answer.text, words_per_second=5 if kind == "slow" else 400)

    async def live(self, chat: Chat, deeds: int, chance: random.Random) -> None:
        for _ in range(deeds):
            deed = chat.act(chance)
            self.deeds.append(f"{asyncio.get_running_loop().time():9.2f} {chat.platform} {chat.number}: {deed}")
            await asyncio.sleep(chance.choice((0.0, 0.05, 0.3, 1.0, 3.0, 8.0, 20.0)))

    def faults(self) -> list[str]:
        """What is wrong with the screens, once everything has come to its end."""
        return [f"{chat.platform} {chat.number}: {fault}" for chat in self.chats for fault in self._faults(chat)]

    def screens(self) -> Iterator[str]:
        """Each chat as it reads now."""
        for chat in self.chats:
            yield f"{chat.platform} {chat.number}"
            for one in chat.shown:
                yield f"    {one.id} {one.text[:100]!r} … {one.text[-40:]!r} {one.buttons}"

    def _faults(self, chat: Chat) -> list[str]:
        text = "\n".join(message.text for message in chat.shown)
        words: dict[int, list[int]] = {}
        for at, number in re.findall(r"\bw(\d+)-(\d+)\b", text):
            words.setdefault(int(number), []).append(int(at))
        ends = [int(number) for number in re.findall(r"\bend-(\d+)\.", text)]
        found = [f"the answer {number} ends twice" for number in sorted({one for one in ends if ends.count(one) > 1})]
        current = {question.tag: question for question in chat.questions}
        for number, ats in words.items():
            answer = self.answers[number]
            if ats != list(range(len(ats))):
                found.append(f"the words of answer {number} ({answer.tags}) are {_runs(ats)}")
            if number in ends and len(ats) != answer.words:
                found.append(f"answer {number} ({answer.tags}) ends after {len(ats)} of {answer.words} words")
            if any(not tag.startswith(f"{chat.number}x") for tag in answer.tags):
                found.append(f"answer {number} is another chat's: {answer.tags}")
            # Who stops a question that they changed keeps the former answer, until the new one has words.
            if not chat.retried and not chat.stopped and not any(tag in current for tag in answer.tags):
                found.append(f"answer {number} is of a question that reads otherwise now: {answer.tags}")
        left = [one for one in chat.shown if one.live or STOP in one.buttons]
        found += [f"message {one.id} is never finished: {one.text[:60]!r}" for one in left]
        # An answer may be stopped before its first word.
        answered = {tag for tags in re.findall(r"\bFor ([^\n]*?) says\b", text) for tag in tags.split()}
        for question in chat.questions:
            if question.deleted and question.tag in answered and not chat.retried:
                found.append(f"the deleted question {question.tag} is answered")
            elif not question.deleted and question.tag not in answered and not chat.stopped:
                found.append(f"the question {question.tag} is not answered")
        order = [int(self.answers[number].tags[-1].split("x")[1].split(".")[0]) for number in words]
        if order != sorted(order) and not chat.retried and not chat.stopped:
            found.append(f"the answers stand in the order {order}")
        return found


def _runs(numbers: list[int]) -> str:
    """Numbers as runs: 0-4, 7-9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" for run in runs)


async def live(
    world: World, start: Start, caplog: pytest.LogCaptureFixture, seed: int, bad_luck: bool, deeds: int = 25
) -> None:
    caplog.set_level("INFO")
    # Refused questions are another matter.
    world.limits = Limits(waiting_per_person=0, turns_per_person=0)
    it = Anything(world, seed)
    it.gather(2)
    for platform, methods in CALLS.items() if bad_luck else ():
        getattr(world, platform).faults.source = Mixer(seed).calls(methods)
    async with start(*PLATFORMS, TOKENS_PER_DAY="0", TOKENS_PER_DAY_PERSON="0") as bot:
        async with asyncio.TaskGroup() as group:
            for chat in it.chats:
                group.create_task(it.live(chat, deeds, random.Random(f"{seed} {chat.number}")))
        await bot.dispatcher.wait_idle()
        await asyncio.sleep(60)
        await bot.dispatcher.wait_idle()

    faults, errors = it.faults(), [one.getMessage() for one in caplog.records if one.levelname in ("ERROR", "CRITICAL")]
    if faults:
        print(*it.deeds, *it.screens(), sep="\n")
    assert (faults, errors) == ([], [])


@pytest.mark.parametrize("bad_luck", [False, True], ids=["", "bad luck"])
async def test_whatever_people_do(world: World, start: Start, caplog: pytest.LogCaptureFixture, bad_luck: bool) -> None:
    await live(world, start, caplog, 0, bad_luck, deeds=10)


@pytest.mark.soak
@pytest.mark.parametrize("bad_luck", [False, True], ids=["", "bad luck"])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 40))
async def test_whatever_people_do_forty_times(
    world: World, start: Start, caplog: pytest.LogCaptureFixture, seed: int, bad_luck: bool
) -> None:
    await live(world, start, caplog, seed, bad_luck)
