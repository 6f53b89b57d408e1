"""Faults that a person switches on while they watch: of one platform's calls, or of the model, until switched off."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from playground.discord import DiscordServer
from playground.faults import Fault
from playground.model import ModelServer
from playground.model.reply import Body, Reply
from playground.screen import Shown
from playground.slack import SlackServer
from playground.telegram import TelegramServer
from playground.windows import Impossible, Window

Json: TypeAlias = dict[str, Any]
_WRITES: Final = re.compile(r"send(?!ChatAction)|edit|chat\.|.*/messages|.*/webhooks|.*/callback")
"""The calls that put something on the screen: what only asks is left alone."""
_ONCE: Final = "once"
_LATE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that may go wrong: its names, and how it may."""

    id: str
    name: str
    about: str
    how: tuple[tuple[str, str], ...]
    """(key, words)."""


_OFTEN: Final = ((_ONCE, "next call"), ("every", "every other"))
KINDS: Final = (
    Kind("slow", "Slow network", "Each call takes longer", (("1", "1 s"), ("0.3", "0.3 s"), ("3", "3 s"))),
    Kind("429", "Too many requests", "The platform refuses and names a wait", _OFTEN),
    Kind("500", "Server error", "The platform answers 500 and does nothing", _OFTEN),
    Kind("before", "Lost call", "The connection closes and nothing was done", _OFTEN),
    Kind("after", "Lost answer", "It was done, but the answer never arrives", _OFTEN),
    Kind("late", "Late call", "The connection closes at once, and it is done two seconds later", _OFTEN),
    Kind("again", "Delivered twice", "The last message reaches the bot again", ((_ONCE, "once"),)),
    Kind("words", "Slow model", "On all platforms: the model writes slowly", (("5", "5 words/s"), ("1", "1 word/s"))),
    Kind(
        "broken", "Broken model", "On all platforms: its stream ends half-way", ((_ONCE, "once"), ("all", "until off"))
    ),
)
_OF_THE_MODEL: Final = frozenset({"words", "broken"})


class Switches:
    """What is switched on, by platform; the model's switches are one for all."""

    def __init__(
        self,
        telegram: TelegramServer,
        slack: SlackServer,
        discord: DiscordServer,
        model: ModelServer,
        windows: Mapping[str, Window],
        tell: Callable[[str, Json], None],
    ) -> None:
        self._telegram, self._slack, self._discord, self._model = telegram, slack, discord, model
        self._windows, self._tell = windows, tell
        self._on: dict[tuple[str, str], str] = {}
        self._calls = 0
        for server, name in ((telegram, "telegram"), (slack, "slack"), (discord, "discord")):
            server.faults.source = partial(self._source, name)
        model.script = self._reply

    def told(self) -> list[Json]:
        """What is on."""
        return [{"platform": platform, "kind": kind, "how": how} for (platform, kind), how in self._on.items()]

    def set(self, platform: str, kind: str, how: str) -> None:
        """Switch a fault on, or off with an empty `how`.

        Raises:
            Impossible: there is no such fault or platform, or nothing that could be delivered again.
        """
        found = next((one for one in KINDS if one.id == kind), None)
        if found is None or platform not in self._windows or how not in ("", *(key for key, _ in found.how)):
            raise Impossible("there is no such fault")
        if kind == "again":
            return self._again(platform)
        key = "" if kind in _OF_THE_MODEL else platform, kind
        self._on.pop(key, None)
        if how:
            self._on[key] = how
        self._changed()
        return None

    def _changed(self) -> None:
        self._tell("faults", {"on": self.told()})

    def _source(self, platform: str, method: str) -> Fault | None:
        """The fault for a call, put together from what is on."""
        name = method.partition(" ")[2] or method
        if not _WRITES.match(name):
            return None
        fault = Fault(delay=float(self._on.get((platform, "slow"), "0")))
        self._calls += 1
        for kind in ("429", "500", "before", "after", "late"):
            how = self._on.get((platform, kind))
            if how == _ONCE:
                del self._on[platform, kind]
                self._changed()
            elif how is None or self._calls % 2:
                continue
            if kind in ("before", "after"):
                return replace(fault, drop=kind)
            if kind == "late":
                return replace(fault, drop=kind, delay=fault.delay + _LATE)
            return replace(fault, status=int(kind), retry_after=2.0 if kind == "429" else 0.0)
        return fault if fault.delay else None

    def _reply(self, body: Body) -> Reply:
        reply = self._model.scripted(body)
        if pace := self._on.get(("", "words")):
            reply = replace(reply, words_per_second=float(pace))
        how = self._on.get(("", "broken"))
        if how and len(reply.text) > 40:
            if how == _ONCE:
                del self._on["", "broken"]
                self._changed()
            reply = replace(reply, drop_after=len(reply.text) // 2)
        return reply

    def _again(self, platform: str) -> None:
        """Bring the last message of a person to the bot once more."""
        messages = self._windows[platform].screen.messages
        last = next((one for one in reversed(messages) if one.author != "bot" and not one.deleted), None)
        if last is None or not self._redeliver(platform, last):
            raise Impossible("there is no message that could be delivered again")

    def _redeliver(self, platform: str, last: Shown) -> bool:
        if platform == "discord":
            self._discord.redeliver(last.id)
            return True
        if platform == "telegram":
            for id, update in reversed(self._telegram.world.updates.all.items()):
                if str((update.get("message") or {}).get("message_id")) == last.id:
                    self._telegram.redeliver(id)
                    return True
            return False
        for delivery in reversed(self._slack.deliveries):
            event = delivery.payload.get("event") or {}
            if event.get("ts") == last.id:
                self._slack.redeliver(str(delivery.payload["event_id"]))
                return True
        return False
