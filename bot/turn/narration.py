"""Speak an answer beside its text: its first sentences while the rest is written, then the rest.

It speaks the text that has passed the reply's filters, prepared for reading aloud. The text waits for nothing here: if
a service is slow, refuses or fails, the text stays as it is, and one sentence says so.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final

from bot.contract import Closed, ContextTooLong, File, ModelBusy, ModelError, ModelRefused, SoundForm, StoreError
from bot.markdown import first_sentences, seconds_to_say, shorten, to_spoken
from bot.policy import DayPurse, Prices
from bot.reply import FilterChain, VoicePosts
from bot.sentences import language_of, say
from tools.contract.base import ToolError
from tools.contract.payments import Payment
from tools.programs.cancelling import Contained, end_tasks

if TYPE_CHECKING:
    from bot.model import Sound, Speaker

log = logging.getLogger(__name__)

SPEAK_SECONDS: Final = 30.0
"""The time for speaking one text: nobody waits longer for a voice."""
LONGEST: Final = 180.0
"""Seconds of speech of one answer; the rest is left to be read."""
_HEAD_CHARS: Final = 1_000
"""Characters in which first sentences are searched: an answer that begins with code is spoken when it is complete."""
_LOOKS: Final = 8
_READ_CHARS: Final = 12_000
"""Characters of an answer that are searched for speakable text: four times what fits in `LONGEST`."""
_ENDS: Final = frozenset(".!?…。！？；\n")
_HEAD, _REST = 0, 1
_FILES: Final = {"opus": ("ogg", "audio/ogg"), "mp3": ("mp3", "audio/mpeg")}


class Narrator:
    """Has texts spoken on the asker's quotas; one object for the process."""

    def __init__(self, speaker: Speaker | None, purse: DayPurse, prices: Prices) -> None:
        """
        Args:
            speaker: None: nothing is spoken.
        """
        self._speaker = speaker
        self._purse = purse
        self._prices = prices

    @property
    def ready(self) -> bool:
        """Answers can be spoken."""
        return self._speaker is not None

    async def speak(self, text: str, form: SoundForm) -> File:
        """Have `text` spoken, pay for it, and return it as a voice message.

        Raises:
            ToolError: no quota has enough left.
            ModelError: the service failed.
        """
        assert self._speaker is not None
        sound = await self._pay_for(self._speaker, text, form)
        ending, media_type = _FILES[form]
        seconds = sound.seconds or seconds_to_say(text)
        return File(f"answer.{ending}", media_type, sound.content, spoken=seconds)

    async def _pay_for(self, speaker: Speaker, text: str, form: SoundForm) -> Sound:
        prices, name = self._prices, speaker.name
        price = prices.dollars_of_speaking(name, len(text), seconds_to_say(text))
        async with self._purse.pay("speech", price) if price else nullcontext(Payment(0.0)) as payment:
            with payment.nothing_for(ModelBusy, ModelRefused, ContextTooLong):
                sound = await speaker.speak(text, form, SPEAK_SECONDS)
            if sound.seconds:
                payment.dollars = prices.dollars_of_speaking(name, len(text), sound.seconds) or 0.0
        return sound


@dataclass(eq=False, repr=False)
class Narration:
    """One answer that is spoken: `say` its text, `end` it when it is complete, `wait`, and `close` in any case."""

    narrator: Narrator
    posts: VoicePosts
    filters: FilterChain
    form: SoundForm
    language: str
    """The person's language."""
    where: str
    """The turn, for the log."""
    _: KW_ONLY
    whole: bool = False
    """All of it goes into one message."""
    after: Narration | None = None
    """The speech that comes before it."""

    def __post_init__(self) -> None:
        self._written: list[str] = []
        """The text as the model wrote it."""
        self._shown: list[str] = []
        """The text after the filters."""
        self._length, self._looks = 0, _LOOKS if self.whole else 0
        self.spoken = self.posts.begun(_HEAD) or self.posts.begun(_REST)
        """There is something to speak, in the part searched so far."""
        self._head = ""
        self._problem = ""
        self._closed = asyncio.Event()
        self._posting: list[asyncio.Task[None]] = []
        self._speaks_rest = False
        self._rest: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        """Add text from the model; begin to speak once its first sentences are complete."""
        self._written.append(text)
        self._take(self.filters.feed(text))

    def take_back(self, count: int) -> None:
        """Withdraw the latest texts given to `say`."""
        del self._written[len(self._written) - count :]
        self.filters.renew()
        self._shown.clear()
        self._length = 0
        for text in self._written:
            self._take(self.filters.feed(text))

    def _take(self, text: str) -> None:
        self._shown.append(text)
        self._length += len(text)
        looks = not self._head and self._looks < _LOOKS and self._length - len(text) < _HEAD_CHARS
        if not looks or self.posts.begun(_HEAD) or self.posts.begun(_REST) or _ENDS.isdisjoint(text):
            return
        self._looks += 1
        if head := first_sentences(to_spoken("".join(self._shown)[:_HEAD_CHARS], final=False)):
            self._head = head
            self._begin(_HEAD, head.strip())

    def end(self) -> None:
        """The answer is complete: speak the rest of it."""
        self._shown.append(self.filters.finish())
        if not self.posts.begun(_REST):
            self._rest = asyncio.create_task(self._speak_rest(), name=f"{self.where}: voice")
            self._posting.append(self._rest)

    async def ends_spoken(self) -> bool:
        """Return True if `end` left a part to speak, which comes after the whole text."""
        if self._rest is not None:
            await asyncio.wait((self._rest,))
        return self.posts.begun(_REST) or self._speaks_rest

    async def wait(self) -> str:
        """Wait until everything is posted; return the reason why it is not, as a key of `bot.sentences`."""
        while under_way := [task for task in self._posting if not task.done()]:
            await asyncio.wait(under_way)
        return self._problem

    async def close(self) -> None:
        """Stop speaking and posting."""
        await end_tasks(*self._posting)
        self._closed.set()

    async def _speak_rest(self) -> None:
        spoken = await asyncio.to_thread(to_spoken, "".join(self._shown)[:_READ_CHARS])
        said = ""
        if self._head or self.posts.begun(_HEAD):
            said = self._head if self._head and spoken.startswith(self._head) else first_sentences(spoken)
        rest, longest = spoken[len(said) :].strip(), LONGEST - seconds_to_say(said)
        told = shorten(rest, longest)
        if told != rest or sum(map(len, self._shown)) > _READ_CHARS:
            told = f"{told} {say('voice_long', language_of(told, self.language))}"
        if any(map(str.isalnum, told)):
            self._speaks_rest = True
            self._begin(_REST, told)

    def _begin(self, number: int, text: str) -> None:
        self.spoken = True
        before = self._posting[0] if number == _REST and self._head else None
        task = asyncio.create_task(self._make(number, text, before), name=f"{self.where}: voice {number}")
        self._posting.append(task)

    async def _make(self, number: int, text: str, before: asyncio.Task[None] | None) -> None:
        """Have a part of the answer spoken, and post it after the previous one."""
        try:
            if self._problem:
                return
            with Contained():
                file = await self.narrator.speak(text, self.form)
            if before is not None:
                await asyncio.wait((before,))
            if self.after is not None:
                await self.after._closed.wait()
                self.after = None
            if not self._problem and (why := await self.posts.post(number, file)):
                self._problem = "voice_unsure" if why == "file_unsure" else "voice_refused"
        except ToolError:
            self._problem = "voice_spent"
        except (ModelError, Closed, StoreError) as error:
            log.warning("%s: the answer is not spoken: %s", self.where, error)
            self._problem = "voice_failed"
        except Exception:
            log.exception("%s: the answer is not spoken", self.where)
            self._problem = "voice_failed"
