"""A conversation as messages of Chat Completions, natively or for a model that calls by writing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from bot.contract import AssistantEntry, Entry, SystemEntry, ToolEntry, UserEntry
from bot.model.assembly import table_in, tables_in
from bot.model.base import Request
from bot.model.learned import Learned, Part
from bot.model.protocol import results_message, results_texts, tool_protocol, written_call
from bot.model.providers import Provider
from tools.contract.base import ToolCall, ToolSpec
from tools.contract.plaintext import plain_values, to_plain

Message: TypeAlias = dict[str, Any]

_LONGEST_DESCRIPTION = 1_024
_MOST_DECLARED = 1_000
"""Tools that are remembered as requests declare them; servers of tools may come and go."""
_UNFIT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_COMMON_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
NO_RESULT = "Error: there is no result, the call was cancelled."


NOT_KEPT = "(not kept)"
"""Takes the place of the reasoning that a server insists on where another model wrote the message; an empty text is
refused."""
NO_WORDS = "(calls tools)"
"""Takes the place of the text beside calls where a server insists on one."""
NOT_SHOWN = "(You cannot see the pictures of this message now.)"


class Weighed(dict[str, Any]):
    """A part of a request with its text and its pictures, to reckon with in place of its JSON."""

    def __init__(self, values: Mapping[str, Any], text: str, pictures: int) -> None:
        super().__init__(values)
        self.text = text
        self.pictures = pictures


class Declared(Weighed):
    """A tool as native requests declare it, and the same as text."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values, json.dumps(values, ensure_ascii=False), 0)


class Declarations:
    """Tools in the form of one wire, each written once: they are the same from request to request."""

    def __init__(self, form: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """
        Args:
            form: puts a tool's schema into what the wire calls a tool.
        """
        self._form = form
        self._known: dict[str, tuple[ToolSpec, Declared]] = {}

    def of(self, specs: Iterable[ToolSpec]) -> list[Declared]:
        """Other requests share them, so they must not be changed."""
        declared: list[Declared] = []
        for spec in specs:
            known = self._known.get(spec.name)
            if known is None or known[0] is not spec:
                if len(self._known) >= _MOST_DECLARED:
                    self._known.clear()
                known = self._known[spec.name] = (spec, Declared(self._form(tool_schema(spec))))
            declared.append(known[1])
        return declared


def tool_schema(spec: ToolSpec) -> dict[str, Any]:
    """A tool as native requests describe it."""
    description = spec.description
    if len(description) > _LONGEST_DESCRIPTION:
        description = description[: _LONGEST_DESCRIPTION - 1] + "…"
    parameters = dict(spec.parameters) or {"type": "object", "properties": {}}
    return {"name": spec.name, "description": to_plain(description), "parameters": plain_values(parameters)}


def tool_name(name: str) -> str:
    """A tool's name as history may hold it: what a model made up can break every rule for names."""
    return _UNFIT_IN_NAME.sub("_", name)[:64] or "unknown"


def told(entry: UserEntry) -> str:
    """A person's message as text, with a note in the place of pictures that are not shown."""
    hidden = not all(one.content for one in entry.pictures)
    return f"{entry.text}\n\n{NOT_SHOWN}".strip() if hidden else entry.text


def posted(entry: AssistantEntry) -> str:
    """The text behind an answer with pictures that the model made, as no server takes them in its own message."""
    names = ", ".join(one.name for one in entry.pictures)
    seen = "" if all(one.content for one in entry.pictures) else " You cannot see it now."
    return f"(With your answer above, {names} was posted in this chat.{seen})" if names else ""


def data_urls(entry: UserEntry | AssistantEntry) -> list[str]:
    """The pictures of a message that are shown, as addresses that hold them."""
    shown = [one for one in entry.pictures if one.content]
    return [f"data:{one.media_type};base64,{base64.b64encode(one.content).decode()}" for one in shown]


def call_id(call: str, *, own: bool, short: bool = False) -> str:
    """An id as it may be sent: this server's own byte for byte, another's only if every server takes it; or a `short`
    one for servers that take only nine letters and digits (Mistral's)."""
    if short:
        return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:9]
    if own or _COMMON_ID.fullmatch(call):
        return call
    return f"call_{hashlib.sha256(call.encode('utf-8', 'replace')).hexdigest()[:16]}"


def results_of(entry: AssistantEntry, following: Sequence[Entry]) -> tuple[list[ToolEntry], int]:
    """Exactly one result per call, in the calls' order, and how many of the following entries these are."""
    taken = 0
    found: dict[str, ToolEntry] = {}
    while taken < len(following) and isinstance(result := following[taken], ToolEntry):
        found.setdefault(result.call_id, result)
        taken += 1
    return [found.get(call.id) or ToolEntry(call.id, call.name, NO_RESULT, ok=False) for call in entry.calls], taken


def written(entry: AssistantEntry) -> str:
    """An answer with its calls as text: as the model wrote it, else in the taught format."""
    if entry.written and not entry.native:
        return entry.written
    calls = "\n".join(written_call(call.name, call.arguments) for call in entry.calls)
    return f"{entry.text}\n{calls}" if entry.text else calls


class ChatRendering:
    """Renders for one provider; `identity` is how history marks that provider's own messages."""

    def __init__(self, provider: Provider, identity: str, learned: Learned | None = None) -> None:
        self._provider = provider
        self._identity = identity
        self._learned = learned or Learned()

    def messages(self, request: Request, *, native: bool, protocol: bool) -> list[Message]:
        """All messages. `native`: calls and results have their own roles; `protocol`: tools are taught in words."""
        system = [entry.text for entry in request.entries if isinstance(entry, SystemEntry) and entry.text]
        if protocol and request.tools:
            system.insert(0, to_plain(tool_protocol(request.tools)))
        messages: list[Message] = []
        entries = [entry for entry in request.entries if not isinstance(entry, SystemEntry)]
        place = 0
        while place < len(entries):
            entry = entries[place]
            place += 1
            match entry:
                case UserEntry():
                    _say(messages, told(entry), data_urls(entry))
                case AssistantEntry(calls=()):
                    if entry.text:
                        messages.append(self._answer(entry, after_tool=_ends_with(messages, "tool")))
                    if entry.pictures:
                        _say(messages, posted(entry), data_urls(entry))
                case AssistantEntry():
                    results, taken = results_of(entry, entries[place:])
                    place += taken
                    own = self._own(entry)
                    if native and self._takes(entry, own=own):
                        messages.append(self._with_calls(entry, own=own))
                        for result, text in zip(results, results_texts(results), strict=True):
                            given = call_id(result.call_id, own=own, short="call_ids" in self._learned.refused)
                            messages.append({"role": "tool", "tool_call_id": given, "content": text})
                    else:
                        messages.append({"role": "assistant", "content": written(entry)})
                        _say(messages, results_message(results))
                case _:
                    pass  # a result without its call: an older cut of history, and refused by servers
        if request.reminder:
            if _ends_with(messages, "tool"):
                # Behind the results a further message of ours would look like a new question.
                system.append(request.reminder)
            else:
                _say(messages, request.reminder)
        if system:
            told_first = "\n\n".join(system)
            if "system" in self._learned.refused:
                _say_first(messages, told_first)
            else:
                messages.insert(0, {"role": "system", "content": told_first})
        return [_weighed(message) if isinstance(message.get("content"), list) else message for message in messages]

    def _own(self, entry: AssistantEntry) -> bool:
        return bool(entry.raw) and entry.provider == self._identity

    def _takes(self, entry: AssistantEntry, *, own: bool) -> bool:
        """The server takes the calls of a message as such; otherwise they are text."""
        if "unsigned_calls" in self._learned.refused:
            calls = tables_in(entry.raw.get("tool_calls"))
            return own and (any("extra_content" in call for call in calls) or "reasoning_details" in entry.raw)
        return own or not self._provider.calls_need_raw

    def _answer(self, entry: AssistantEntry, *, after_tool: bool) -> Message:
        message: Message = {"role": "assistant", "content": entry.text}
        self._give_back(entry, message, reasoning=after_tool, own=self._own(entry))
        return message

    def _with_calls(self, entry: AssistantEntry, *, own: bool) -> Message:
        kept = tables_in(entry.raw.get("tool_calls")) if own else ()
        raw_calls = {str(call.get("id")): call for call in kept}
        content = entry.text or (None if self._provider.null_content else "")
        message: Message = {"role": "assistant", "content": content}
        if not content and "no_content" in self._learned.refused:
            message["content"] = NO_WORDS
        elif not content and "empty_content" in self._learned.refused:
            del message["content"]
        message["tool_calls"] = [self._call(call, raw_calls.get(call.id, {}), own=own) for call in entry.calls]
        self._give_back(entry, message, reasoning=True, own=own)
        return message

    def _give_back(self, entry: AssistantEntry, message: Message, *, reasoning: bool, own: bool) -> None:
        """Add what the provider wants to see again of its own message; `reasoning`: also what it thought."""
        raw = entry.raw if own and "given_back" not in self._learned.refused else {}
        for name in ("extra_content", *(self._provider.reasoning_back if reasoning else ())):
            if raw.get(name):
                message[name] = raw[name]
        wanted: Part = "calls_without_reasoning" if reasoning else "answers_without_reasoning"
        if wanted in self._learned.refused:
            message["reasoning_content"] = raw.get("reasoning_content") or raw.get("reasoning") or NOT_KEPT

    def _call(self, call: ToolCall, raw: Mapping[str, Any], *, own: bool) -> Message:
        function = {"name": tool_name(call.name), "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
        function = {**table_in(raw.get("function")), **function}
        raw = {} if "given_back" in self._learned.refused else raw
        given = call_id(call.id, own=own, short="call_ids" in self._learned.refused)
        return {**raw, "id": given, "type": "function", "function": function}


def _ends_with(messages: Sequence[Message], role: str) -> bool:
    return bool(messages) and messages[-1]["role"] == role


def _say(messages: list[Message], text: str, pictures: Sequence[str] = ()) -> None:
    """Add a person's message; two in a row become one, as many templates insist on taking turns."""
    if not text and not pictures:
        return
    if not _ends_with(messages, "user"):
        messages.append({"role": "user", "content": ""})
    last = messages[-1]
    if isinstance(last["content"], str) and not pictures:
        last["content"] = "\n\n".join(part for part in (last["content"], text) if part)
        return
    # A message with pictures has parts: https://platform.openai.com/docs/guides/images-vision
    parts = [_part(last["content"])] if isinstance(last["content"], str) else last["content"]
    shown = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
    last["content"] = [part for part in (*parts, _part(text), *shown) if part.get("text") != ""]


def _say_first(messages: list[Message], text: str) -> None:
    """Put every message of another role before the first message of a person."""
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": text})
    elif isinstance(content := messages[0]["content"], str):
        messages[0]["content"] = "\n\n".join(part for part in (text, content) if part)
    else:
        messages[0]["content"] = [_part(text), *content]


def _part(text: str) -> Message:
    return {"type": "text", "text": text}


def _weighed(message: Message) -> Weighed:
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    return Weighed(message, "\n\n".join(texts), len(message["content"]) - len(texts))
