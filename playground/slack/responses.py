"""`response_url`: an address that answers one command or press, five times within thirty minutes."""

from __future__ import annotations

import json
from dataclasses import dataclass

from playground.slack.arguments import Arguments
from playground.slack.errors import Json, Refused
from playground.slack.messages import compose
from playground.slack.workspace import Message, Workspace


@dataclass(slots=True)
class Slot:
    """What one response address may still do."""

    channel: str
    person: str
    until: float
    uses: int
    pressed: Message | None = None
    original: Message | None = None
    """What `replace_original` and `delete_original` mean: the pressed message, or the last answer to a command."""


class Responses:
    """All response addresses ever given out."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._slots: dict[str, Slot] = {}

    def give(self, channel: str, person: str, original: Message | None = None) -> str:
        """A new address."""
        key = self._workspace.new_id("R")
        limits = self._workspace.limits
        until = self._workspace.now() + limits.response_lifetime
        self._slots[key] = Slot(channel, person, until, limits.response_uses, original, original)
        return f"{self._workspace.base}/commands/{self._workspace.team_id}/{key}"

    def handle(self, key: str, text: str) -> tuple[int, Json]:
        """One use of an address: the HTTP status and body."""
        slot = self._slots.get(key)
        try:
            body = json.loads(text)
        except ValueError:
            return 400, {"ok": False, "error": "invalid_json"}
        if not isinstance(body, dict):
            return 400, {"ok": False, "error": "json_not_object"}
        if slot is None or slot.until <= self._workspace.now():
            return 404, {"ok": False, "error": "expired_url"}
        if slot.uses <= 0:
            return 404, {"ok": False, "error": "used_url"}
        try:
            self.answer(slot, Arguments(body))
        except Refused as refused:
            return 400, {"ok": False, "error": refused.error} | refused.extra
        slot.uses -= 1
        return 200, {"ok": True}

    def slot(self, address: str) -> Slot:
        """The slot behind an address this server gave out."""
        return self._slots[address.rpartition("/")[2]]

    def answer(self, slot: Slot, sent: Arguments) -> None:
        """Show, replace or delete, whether or not the bot is in the channel. Raises what `compose` refuses."""
        original = slot.original if slot.original and not slot.original.deleted else None
        if sent.flag("delete_original", False):
            if original is None:
                raise Refused("message_not_found")
            self._workspace.delete(original)
            return
        replace = sent.flag("replace_original", False) and original is not None
        thread = sent.text("thread_ts")
        message = compose(self._workspace, sent, slot.channel, thread, update=replace)
        if replace and original is not None:
            before = self._workspace.travel(original)
            original.text, original.blocks, original.markdown = message.text, message.blocks, message.markdown
            original.autolink, original.link_names = message.autolink, message.link_names
            original.attachments = message.attachments
            self._workspace.change(original, before)
            return
        if sent.text("response_type") != "in_channel":
            message.only_for = slot.person
        self._workspace.post(message)
        slot.original = slot.pressed or message
