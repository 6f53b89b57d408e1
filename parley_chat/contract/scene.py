"""What the suites look at and act through: a platform with a person at it, who is called Ada."""

from __future__ import annotations

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NoReturn, Protocol

import pytest

from adapters import Platform
from bot.contract import Adapter, CallCost, MessageRef, Page, ReplyTarget, Surface
from parley_chat.contract import waiting


class Call(StrEnum):
    """What a fault is for."""

    POST = "post"
    """A new message."""
    EDIT = "edit"
    FILE = "file"
    """A file below the text."""


class Version(Protocol):
    """A message as it looked for a while."""

    @property
    def text(self) -> str:
        """What a person reads, with the platform's markup taken away."""
        ...

    @property
    def markup(self) -> str:
        """What the adapter sent, byte for byte."""
        ...


class Shown(Protocol):
    """One message of the bot, as people see it."""

    @property
    def id(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def versions(self) -> Sequence[Version]:
        """Everything it ever showed, oldest first."""
        ...

    @property
    def buttons(self) -> Sequence[str]:
        """The labels below it."""
        ...

    @property
    def files(self) -> Sequence[tuple[str, str, bytes]]:
        """(name, media type, content) of each."""
        ...

    @property
    def ephemeral(self) -> bool:
        """Only the person who asked sees it."""
        ...

    @property
    def live(self) -> bool:
        """A draft or an open stream: it does not stay by itself."""
        ...


def awaited_amiss(written: type, contract: type) -> list[str]:
    """Name each method that is `async` where the contract's is not, or the other way round."""
    amiss = []
    for name, method in vars(contract).items():
        own = getattr(written, name, None)
        if not inspect.isfunction(method) or not inspect.isfunction(own) or name in ("__init__", "__init_subclass__"):
            continue
        if inspect.iscoroutinefunction(own) != inspect.iscoroutinefunction(method):
            form = "async def" if inspect.iscoroutinefunction(method) else "def"
            amiss.append(f"{written.__name__}.{name} must be written `{form}`")
    return amiss


def lacks(what: str) -> NoReturn:
    """Skip a test for which this platform, or its scene, has no way."""
    pytest.skip(f"this platform, or its scene, has no {what}")


class Scene(Protocol):
    """One place a reply is shown at, on an emulator that refuses what the platform refuses.

    What is marked abstract every platform has. The rest skips its tests until it is written.
    """

    platform: Platform
    """The row that the package's entry point names."""
    target: ReplyTarget
    """The place."""
    surface: Surface
    """Writes there, by the adapter of a process that `enter` began."""
    private: bool = False
    """The platform can show a message to the person who asked alone."""
    aside: bool = True
    """It can answer a press for who pressed alone."""
    buttons: bool = True
    """It has buttons below messages."""
    file_refusals: Sequence[str] = ()
    """Names of the reasons for which the platform refuses a file for good: `refuse_file` is called with each."""

    def __init_subclass__(cls, **how: object) -> None:
        super().__init_subclass__(**how)
        if wrong := awaited_amiss(cls, Scene):
            raise TypeError("; ".join(wrong))

    # What people see

    @property
    @abstractmethod
    def shown(self) -> Sequence[Shown]:
        """The bot's messages that stand at the place, oldest first."""

    @property
    @abstractmethod
    def calls(self) -> int:
        """How many calls reached the platform so far."""

    @property
    @abstractmethod
    def signs(self) -> int:
        """How many signs that are no message (typing) were shown so far."""

    @property
    @abstractmethod
    def previews(self) -> Sequence[object]:
        """The addresses that the platform would have fetched for a message of the bot."""

    @property
    @abstractmethod
    def pings(self) -> Sequence[object]:
        """Whom messages of the bot would have woken."""

    @property
    def told(self) -> Sequence[str]:
        """What was told to who pressed, and to nobody else; only where `aside` is true."""
        return lacks("answers to who pressed alone")

    @property
    def texts(self) -> list[str]:
        """What a person reads: signs without width only tell text from notation."""
        return [one.text.replace("\u200b", "") for one in self.shown]

    # What people do, in words that address the bot as the platform needs it

    @abstractmethod
    async def enter(self) -> Adapter:
        """Start another process of the same bot: an adapter that is entered, until the scene ends."""

    @abstractmethod
    def delete(self, ref: MessageRef) -> None:
        """Somebody deletes a message of the bot."""

    @abstractmethod
    def say(self, text: str) -> str:
        """Ada asks the bot something, at the place; the id of her message."""

    @abstractmethod
    def ask(self, text: str) -> None:
        """She asks in a channel of several people."""

    def ask_in_thread(self, text: str) -> None:
        """She asks in a thread or topic of that channel."""
        lacks("threads")

    def say_to_others(self, text: str) -> None:
        """She writes in that channel without addressing the bot."""
        lacks("channels of several people")

    def mention_later(self, text: str) -> None:
        """She writes in that channel to others, and mentions the bot by editing her message."""
        lacks("events of edits")

    def edit(self, id: str, text: str) -> None:
        """She changes a message, by its id, to another text for the bot."""
        lacks("events of edits")

    def touch(self, id: str) -> None:
        """The platform tells of a change of it that no reader sees: a preview, a pin, a reaction."""
        lacks("events of changes that nobody sees")

    def withdraw(self, id: str) -> None:
        """She deletes it."""
        lacks("events of deletions")

    def send(self, file: tuple[str, str, bytes]) -> None:
        """She sends the bot a file: its name, media type and content."""
        lacks("files")

    def press(self, id: str, label: str) -> None:
        """She presses a button under a message."""
        lacks("buttons")

    def quote(self, words: str, text: str) -> None:
        """A program has written these words there, in whatever form its platform has for programs (blocks, embeds, a
        rich message) and with no plain text; she asks the bot something about that message."""
        lacks("quotes")

    def forward(self, words: str, text: str) -> None:
        """She forwards such a message to the bot as her client does it, with a comment if there is one."""
        lacks("forwards")

    # What goes wrong

    @abstractmethod
    def gateway(self, call: Call, status: int) -> None:
        """Something before the platform answers the next such call with this status, in its own words."""

    @abstractmethod
    def late(self, call: Call, until: asyncio.Event) -> asyncio.Event:
        """The next such call loses its connection at once, and is done all the same when `until` is set.

        Returns:
            An event that is set when it was done.
        """

    @abstractmethod
    def garble(self, answer: str) -> None:
        """The next call, whichever, is done, and where that went well this is its answer."""

    @abstractmethod
    def limit(self, call: Call, named: str | None) -> float | None:
        """The platform refuses the next such call for a while, and names these seconds, byte for byte, where it names
        them; None: it names nothing.

        Returns:
            The seconds to wait, where this platform's form makes something else of them than `float` does; else None.
        """

    @abstractmethod
    def recover(self) -> None:
        """No fault that still waits will happen."""

    def refuse_file(self, reason: str) -> None:
        """The next file is refused for this reason of `file_refusals`."""
        lacks("refusals of files")

    def close_private(self) -> None:
        """The way to show something to who asked alone is closed from now on."""
        lacks("private messages")


async def show(surface: Surface, page: Page, at: MessageRef | None, nonce: str = "") -> MessageRef:
    """Draw a page and show it."""
    return await surface.show(surface.draw(page), at, nonce)


def cost_of(surface: Surface, page: Page, at: MessageRef | None) -> CallCost:
    """What showing a page draws on."""
    return surface.cost(surface.draw(page), at)


async def grow(scene: Scene, *bodies: str, nonce: str = "t1-0") -> MessageRef:
    """Show a page as it grows; the last body is final."""
    ref = None
    for number, body in enumerate(bodies, 1):
        ref = await show(scene.surface, Page(body, final=number == len(bodies)), ref, nonce)
    assert ref is not None
    return ref


async def until(seen: Callable[[], object]) -> None:
    """Wait until something is seen.

    Raises:
        TimeoutError: it never was.
    """
    async with asyncio.timeout(waiting.seconds):
        while not seen():
            await asyncio.sleep(0.001)
