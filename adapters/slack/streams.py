"""Slack's streams: messages that accept more text at their end and use no edit.

Slack reads Markdown in them, fetches the addresses in them, and may end one at any time. So a stream contains only text
that Markdown shows letter for letter, except for bold words, and everything else goes into a further message.

https://docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import error_code, field, translate
from adapters.slack.limits import APPEND_WINDOW, CARD_BYTES, MOST_CARDS, STREAM_BYTES, STREAM_SECONDS, STREAM_WINDOW
from bot.contract import CallCost, Clock, DeliveryError, Full, MessageGone, RateBudget, RateLimited, Status, Unclear
from tools.contract.base import ToolStatus

log = logging.getLogger(__name__)

_BOLD: Final = re.compile(r"\*(\w(?:[^*\n]*\w)?)\*")
"""Bold words in mrkdwn whose end is certain in Markdown."""
_NOT_PLAIN: Final = re.compile(
    r"[*_~`<>&\[\]\\|@#^]"  # marks, mentions, entities
    r"|[^\W\d]\.[^\W\d]|://"  # addresses
    r"|:[\w+-]+:"  # emoji by name
    r"|(?<!\n)\n(?!\n)|\n{3}"  # lines and gaps that Markdown may join
    r"|^(?:[^\S\n]|[-+=•]|\d+[.)]\s)",  # lists, lines under a heading, indented code
    re.MULTILINE,
)


_STATES: Final = {ToolStatus.RUNNING: "in_progress", ToolStatus.COMPLETED: "complete"}
"""The states of a card; every other state is an error."""
_OF_CARDS: Final = re.compile("chunk|task|streaming_mode|^invalid_arg|^no_text$")
"""Refusals of a call's content, not of its place: without cards it may be accepted."""
_PLAIN: Final = str.maketrans("<>&", "‹›＆")


def in_markdown(text: str) -> str:
    """Return the Markdown that shows `text` as mrkdwn does; empty if a stream cannot show it, or has no room."""
    written = _BOLD.sub(r"**\1**", text)
    return "" if _NOT_PLAIN.search(_BOLD.sub(r"\1", text)) or len(written.encode()) > STREAM_BYTES else written


def _chunks(text: str, cards: Sequence[Status]) -> list[dict[str, str]]:
    """Return text and cards as one update of a stream."""
    chunks = [
        {"type": "task_update", "id": one.task, "title": _title(one), "status": _STATES.get(one.state, "error")}
        for one in cards
    ]
    return chunks + ([{"type": "markdown_text", "text": text}] if text else [])


def _fitting(known: Iterable[Status], cards: Sequence[Status]) -> list[Status]:
    """Return the cards to show again, of those that a stream has room for."""
    stand = {one.task: one for one in known}
    room = MOST_CARDS - len(stand)
    new = [one for one in cards if one.task not in stand][:room]
    return [one for one in cards if one.task in stand and stand[one.task] != one] + new


def _title(card: Status) -> str:
    return " ".join(card.text.translate(_PLAIN).split()).encode()[:CARD_BYTES].decode(errors="ignore")


class Streams:
    """Counts a workspace's streams, for all its surfaces."""

    def __init__(self, web: AsyncWebClient, clock: Clock, bot: str) -> None:
        """
        Args:
            bot: our user id there, the author of the messages.
        """
        self.web = web
        self.bot = bot
        self._clock = clock
        self._numbers = itertools.count()
        self._counts_until: dict[int, float] = {}
        self._closed_until = float("-inf")
        self.cards = True
        """They can show tools' states as cards, as far as is known."""

    @property
    def free(self) -> bool:
        """One can be started now, and stopped at any time: a minute has as many stops as starts."""
        now = self._clock.monotonic()
        self._counts_until = {one: until for one, until in self._counts_until.items() if until > now}
        return now >= self._closed_until and len(self._counts_until) < STREAM_WINDOW.calls

    def count(self) -> int:
        """Count a stream for as long as it may be open and its stop counts."""
        number = next(self._numbers)
        self._counts_until[number] = self._clock.monotonic() + STREAM_SECONDS + STREAM_WINDOW.seconds
        return number

    def ended(self, number: int) -> None:
        """Count a stream for as long as its last call does."""
        self._counts_until[number] = self._clock.monotonic() + STREAM_WINDOW.seconds

    def refused(self, seconds: float) -> None:
        """Start none for that long."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + seconds)


class Growing:
    """The streams of one surface, each named by its timestamp."""

    def __init__(self, streams: Streams, *, team: str, channel: str, thread: str, reader: str) -> None:
        self._streams = streams
        self._web = streams.web
        self._channel = channel
        self._place = {"channel": channel, "thread_ts": thread, "recipient_team_id": team, "recipient_user_id": reader}
        self._scope = f"slack:{team}/chat.appendStream"
        # A stop uses no budget: `Streams` has counted it.
        self.cost = CallCost((RateBudget(self._scope, windows=(APPEND_WINDOW,), shared=True),))
        self._numbers: dict[str, int] = {}
        self._stands: dict[str, str] = {}
        """The known text of those that accept more."""
        self._cards: dict[str, dict[str, Status]] = {}
        """The cards in those that accept any, by their calls."""
        self._refusal = ""

    @property
    def possible(self) -> bool:
        """One can be started now."""
        return all(self._place.values()) and self._streams.free

    @property
    def shows_cards(self) -> bool:
        return self._streams.cards

    def knows(self, ts: str) -> bool:
        """It accepts more text, and its present text is known."""
        return ts in self._stands

    def left_by_another(self, message: Mapping[str, Any]) -> bool:
        """Return True for a stream of ours that was neither stopped nor started here."""
        ours = bool(message.get("streaming_state")) and message.get("user") == self._streams.bot
        return ours and not message.get("metadata") and message.get("ts") not in self._numbers

    async def start(self, text: str, cards: Sequence[Status] = ()) -> str:
        """Start one with `text`, and return its timestamp; empty if it cannot show that, or Slack accepts none.

        Raises:
            DeliveryError: it cannot be reached, or did not answer.
        """
        self._refusal = ""
        if not (written := in_markdown(text)):
            return ""
        number = self._streams.count()
        try:
            ts = await self._start(written, cards)
        except Exception as error:
            self._streams.ended(number)
            problem, self._refusal = translate(error), error_code(error)
            if isinstance(problem, RateLimited):
                self._refusal = ""
                self._streams.refused(problem.retry_after)
                return ""
            if not self._refusal or isinstance(problem, Unclear):
                raise problem from error
            return ""
        self._numbers[ts], self._stands[ts] = number, written
        return ts

    async def _start(self, written: str, cards: Sequence[Status]) -> str:
        """Start one with cards; if Slack refuses that, one with only text."""
        refusal = ""
        if self._streams.cards:
            shown = _fitting((), cards)
            try:
                begun = await self._web.chat_startStream(
                    **self._place, chunks=_chunks(written, shown), task_display_mode="timeline"
                )
                ts = field(begun, "ts")
                self._cards[ts] = {one.task: one for one in shown}
                return ts
            except Exception as error:
                if not _OF_CARDS.search(refusal := error_code(error)):
                    raise
        ts = field(await self._web.chat_startStream(**self._place, markdown_text=written), "ts")
        if refusal:
            self._leave_out_cards(refusal)
        return ts

    def posted(self) -> None:
        """Slack accepted as a post what it had refused as a stream: it accepts none there, and none is tried again."""
        if self._refusal:
            log.info("slack: streams are refused (%s), so all answers are shown by posts and edits", self._refusal)
            self._streams.refused(float("inf"))
            self._refusal = ""

    async def add(
        self,
        ts: str,
        text: str,
        *,
        last: bool,
        metadata: dict[str, Any] | None,
        blocks: Sequence[dict[str, Any]],
        cards: Sequence[Status] = (),
    ) -> None:
        """Make a known stream show `text`; the `last` call stops it, with `blocks` below.

        Raises:
            Full: it cannot show that, and is stopped with its present text.
            DeliveryError: it has ended, or its state is unknown: it accepts edits once it is stopped.
        """
        stands, written = self._stands[ts], in_markdown(text)
        goes_on = written.startswith(stands)
        more = written[len(stands) :]
        try:
            if goes_on and not last:
                await self._append(ts, more, cards)
                self._stands[ts] = written
                return
            rest = {"metadata": metadata} | ({"blocks": blocks} if goes_on else {})
            await self._with_cards(ts, more if goes_on else "", cards, partial(self._stop, ts, **rest))
        except Exception as error:
            problem = translate(error, self._scope)
            if not isinstance(problem, RateLimited) and (error_code(error) or isinstance(problem, Unclear)):
                del self._stands[ts]  # it has ended, or it is unknown what arrived
            if isinstance(problem, RateLimited | Unclear | MessageGone):
                raise problem from error
            raise DeliveryError(f"a stream takes no more ({problem})") from error
        del self._stands[ts]
        if not goes_on:
            raise Full("a stream cannot show what comes next", by=0)

    async def _append(self, ts: str, more: str, cards: Sequence[Status]) -> None:
        async def append(**content: Any) -> None:
            if content:
                await self._web.chat_appendStream(channel=self._channel, ts=ts, **content)

        await self._with_cards(ts, more, cards, append)

    async def _with_cards(
        self, ts: str, more: str, cards: Sequence[Status], call: Callable[..., Awaitable[None]]
    ) -> None:
        """Make a call with the text and the new cards, or, if Slack refuses those, with the text alone."""
        if (known := self._cards.get(ts)) is None:
            await call(**({"markdown_text": more} if more else {}))
            return
        new = _fitting(known.values(), cards) if self._streams.cards else []
        try:
            await call(**({"chunks": chunks} if (chunks := _chunks(more, new)) else {}))
        except Exception as error:
            if not new or not _OF_CARDS.search(code := error_code(error)):
                raise
            await call(**({"chunks": _chunks(more, ())} if more else {}))
            self._leave_out_cards(code)
        known |= {one.task: one for one in new}

    def _leave_out_cards(self, code: str) -> None:
        """Slack refused a card: no more are shown."""
        log.info("slack: streams show no task cards (%s)", code)
        self._streams.cards = False

    async def end(self, ts: str) -> None:
        """Make one editable; a stream that has ended already is.

        Raises:
            DeliveryError: Slack does not answer.
        """
        self._stands.pop(ts, None)
        try:
            await self._stop(ts)
        except Exception as error:
            problem = translate(error, self._scope)
            if not error_code(error) or isinstance(problem, RateLimited | Unclear):
                raise problem from error

    async def _stop(self, ts: str, **more: Any) -> None:
        try:
            await self._web.chat_stopStream(channel=self._channel, ts=ts, **more)
        finally:
            if (number := self._numbers.get(ts)) is not None:
                self._streams.ended(number)
