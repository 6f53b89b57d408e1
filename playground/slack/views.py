"""views.open: the form that an app may show within three seconds of a shortcut, a command or a press."""

from __future__ import annotations

from dataclasses import dataclass

from playground.slack.arguments import Arguments
from playground.slack.errors import Json, Refused, missing
from playground.slack.workspace import Workspace

TRIGGER_SECONDS = 3.0
TITLE, METADATA, CALLBACK, BLOCKS, WRITTEN = 24, 3_000, 255, 100, 3_000


@dataclass(slots=True)
class Trigger:
    """What allows an app to open one form."""

    person: str
    until: float


class Views:
    """The triggers that were given out, and the forms that stand before people."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._triggers: dict[str, Trigger | None] = {}
        self.open: dict[str, tuple[str, Json]] = {}
        """Id of a view → who sees it, and the view."""

    def trigger(self, person: str) -> str:
        """An id with which the app may open one form."""
        id = self._workspace.new_id("Tr")
        self._triggers[id] = Trigger(person, self._workspace.now() + TRIGGER_SECONDS)
        return id

    def show(self, sent: Arguments) -> Json:
        """views.open."""
        id = sent.required("trigger_id")
        if id not in self._triggers:
            raise Refused("invalid_trigger_id")
        trigger = self._triggers[id]
        if trigger is None:
            raise Refused("exchanged_trigger_id")
        if trigger.until <= self._workspace.now():
            raise Refused("expired_trigger_id")
        view = sent.object("view", "invalid_arguments")
        if view is None:
            raise missing("view")
        self._check(view)
        self._triggers[id] = None
        made = self._workspace.new_id("V")
        shown = view | {"id": made, "team_id": self._workspace.team_id, "app_id": self._workspace.app_id}
        self.open[made] = trigger.person, shown
        self._workspace.screen.notice(trigger.person, f"form:{view['title']['text']}")
        return {"view": shown}

    def submitted(self, id: str, written: dict[str, str]) -> tuple[str, Json]:
        """Send a form off: who did, and the view with what was written.

        Raises:
            KeyError: no such form is open.
            ValueError: a field does not take that.
        """
        person, view = self.open.pop(id)
        values: Json = {}
        for block in view["blocks"]:
            if block["type"] != "input":
                continue
            text, field = written.get(block["block_id"], ""), block["element"]
            if len(text) > int(field.get("max_length") or WRITTEN) or not (text or block.get("optional")):
                raise ValueError(f"the field {block['block_id']} does not take that")
            values[block["block_id"]] = {field["action_id"]: {"type": field["type"], "value": text or None}}
        return person, view | {"state": {"values": values}}

    def _check(self, view: Json) -> None:
        blocks = view.get("blocks")
        if view.get("type") != "modal" or not isinstance(blocks, list) or not 1 <= len(blocks) <= BLOCKS:
            raise Refused("invalid_arguments")
        self._text(view.get("title"), TITLE)
        inputs = [block for block in blocks if block.get("type") == "input"]
        if inputs:
            # A form with fields needs something to send it off with.
            self._text(view.get("submit"), TITLE)
        for block in inputs:
            self._text(block.get("label"), 2_000)
            element = block.get("element") or {}
            if element.get("type") != "plain_text_input" or not block.get("block_id") or not element.get("action_id"):
                raise Refused("invalid_arguments")
            if "placeholder" in element:
                self._text(element["placeholder"], 150)
            if not 1 <= int(element.get("max_length") or WRITTEN) <= WRITTEN:
                raise Refused("invalid_arguments")
        if (
            len(str(view.get("private_metadata") or "")) > METADATA
            or len(str(view.get("callback_id") or "")) > CALLBACK
        ):
            raise Refused("invalid_arguments")

    @staticmethod
    def _text(said: object, most: int) -> None:
        good = isinstance(said, dict) and said.get("type") == "plain_text" and isinstance(said.get("text"), str)
        if not good or not isinstance(said, dict) or not 1 <= len(said["text"]) <= most:
            raise Refused("invalid_arguments")
