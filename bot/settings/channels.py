"""The operator's file of single chats (`CHANNELS_FILE`): the agent, instructions for it, the model, the tools, and who
may write there.

    telegram:*:
      model: openai:gpt-5-mini
      tools: [-run_python]
    slack:T1/C1:
      instructions: Answer as the clerk of the town library.
      who: [slack:T1/U1, admins]

Each key is searched at the thread, then the chat, the account's chats (`slack:T1/*`) and the platform (`telegram:*`):
the nearest one applies. The file is a safe kind of YAML: texts and lists of texts. Nothing in it is constructed or
executed, and an alias cannot exceed the file's limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from bot.contract import ADMINS, ChatId, SettingsError, identity
from bot.settings.environment import ENCODING
from tools.contract.nearness import closest, explain_path_error

T = TypeVar("T")

MOST_BYTES: Final = 256 * 1024
MOST_VALUES: Final = 20_000
"""Values of the whole file, counted each time that an alias repeats them."""
MOST_NESTED: Final = 50
"""Brackets and indents within each other; three are needed."""
INSTRUCTIONS_CHARS: Final = 8_000
"""Characters of instructions, which every question of a chat includes."""
EVERYBODY: Final = "everybody"
KEYS: Final = ("agent", "instructions", "model", "tools", "who")
_OFF: Final = "-"
_EXAMPLES: Final = {
    "agent": "agent: myagent:agent",
    "instructions": "instructions: Answer as the clerk of the town library.",
    "model": "model: openai:gpt-5-mini",
    "tools": "tools: [search_web, -run_python]",
    "who": "who: [telegram:123, admins]",
}


@dataclass(frozen=True, slots=True)
class Given(Generic[T]):
    """A value, and where the operator wrote it."""

    value: T
    source: str
    """As `channels.yaml line 4`."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The file's settings for one chat, or for several."""

    agent: Given[str] | None = None
    """An agent of the operator's own, as AGENT names it; `parley` is ours."""
    instructions: Given[str] | None = None
    model: Given[str] | None = None
    tools: Given[tuple[str, ...]] | None = None
    """Names and patterns of the only tools there; or, if all begin with `-`, of the tools that are left out."""
    who: Given[tuple[str, ...]] | None = None
    """The only people who may write there, besides admins."""

    @property
    def tools_only(self) -> tuple[str, ...]:
        """The names and patterns of the only tools; empty: all but `tools_off`."""
        return tuple(one for one in self.tools.value if not one.startswith(_OFF)) if self.tools else ()

    @property
    def tools_off(self) -> tuple[str, ...]:
        """The names and patterns of tools that are off."""
        return tuple(one[1:] for one in self.tools.value if one.startswith(_OFF)) if self.tools else ()


@dataclass(frozen=True, slots=True)
class ChannelsFile:
    """The file's settings for all chats; empty without a file."""

    channels: Mapping[str, Channel] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)
    """The former id of each chat that has moved: its settings still apply."""

    @property
    def models(self) -> tuple[str, ...]:
        """The `provider:name` of every model in the file."""
        return tuple(dict.fromkeys(one.model.value for one in self.channels.values() if one.model))

    @property
    def opens(self) -> bool:
        """Somebody other than admins may write somewhere."""
        return any(set(one.who.value) - {ADMINS} for one in self.channels.values() if one.who)

    def channel_of(self, chat: ChatId) -> Channel:
        """Return the settings for `chat`, each value from the nearest line that names it."""
        if not self.channels:
            return Channel()
        if (former := self.former.get(str(chat.place))) is not None:
            return self._resolve((*_keys_of(chat, alone=True), *_keys_of(ChatId.parse(former))))
        return self._resolve(_keys_of(chat))

    def move(self, former: ChatId, chat: ChatId) -> None:
        """Apply a chat's settings to its new id."""
        self.former[str(chat)] = str(former)

    def resolve(self, key: str) -> Channel:
        """Return the settings for the chats that a key of the file means, like `channel_of`."""
        if "*" in key or "/" not in key:
            return self._resolve((key, f"{key.partition(':')[0]}:*"))
        return self.channel_of(ChatId.parse(key))

    def _resolve(self, keys: Iterable[str]) -> Channel:
        found = [self.channels[one] for one in keys if one in self.channels]
        return Channel(
            next((one.agent for one in found if one.agent is not None), None),
            next((one.instructions for one in found if one.instructions is not None), None),
            next((one.model for one in found if one.model is not None), None),
            next((one.tools for one in found if one.tools is not None), None),
            next((one.who for one in found if one.who is not None), None),
        )


def _keys_of(chat: ChatId, *, alone: bool = False) -> Iterator[str]:
    """Yield the keys that can name a chat, the nearest first.

    Args:
        alone: leave out those of several chats.
    """
    for name in identity.names_of(chat):
        yield name
        if name.count("/") == 1:
            yield f"{chat.platform}:{name.partition('/')[2]}"
    if alone:
        return
    yield f"{chat.platform}:{chat.account}/*"
    yield f"{chat.platform}:*"


def read_channels(name: str) -> ChannelsFile:
    """Read the file called `name`; an empty name is no file.

    Raises:
        SettingsError: it cannot be read, or something in it is wrong; one sentence says what, and where.
    """
    return _Reader(Path(name).expanduser()).read() if name else ChannelsFile()


class _Reader:
    """Reads one file; the YAML nodes give the line numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MOST_VALUES

    def read(self) -> ChannelsFile:
        root = self._parse()
        if root is None:
            return ChannelsFile()
        if root.id != "mapping":
            raise self._error(root, "the file must be a list of chats, each with its keys below it, as telegram:*:")
        channels: dict[str, Channel] = {}
        lines: dict[str, int] = {}
        for key, value in root.value:
            written = self._text(key, "a chat")
            try:
                name = identity.channel(written)
            except ValueError as error:
                raise self._error(key, str(error)) from None
            if name in lines:
                raise self._error(key, f"{name} stands in line {lines[name]} already")
            lines[name] = self._line(key)
            channels[name] = self._channel(name, value)
        return ChannelsFile(channels)

    def _parse(self) -> Any:
        """Return the root of the document, None for an empty file."""
        try:
            with self._path.open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
            text = content.decode(ENCODING)
        except OSError as error:
            raise SettingsError(f"CHANNELS_FILE: {explain_path_error(self._path, error)}") from None
        except UnicodeDecodeError:
            raise self._error(None, "is not UTF-8 text; save it as UTF-8") from None
        if len(content) > MOST_BYTES:
            raise self._error(None, f"is larger than {MOST_BYTES // 1024} KiB")
        import yaml  # loaded only by those who have such a file

        try:
            self._check_depth(text)
            return yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" line {mark.line + 1}" if mark is not None else ""
            what = getattr(error, "problem", None) or " ".join(str(error).split())
            raise SettingsError(f"CHANNELS_FILE: {self._path}{where} is no YAML: {what[:200]}") from None

    def _check_depth(self, text: str) -> None:
        """Refuse deeper nesting than any channel needs, before anything is built from it."""
        import yaml

        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_NESTED:
                raise self._error(event, "too much is nested")

    def _channel(self, name: str, node: Any) -> Channel:
        if node.id != "mapping":
            raise self._error(node, f"{name} must have keys of its own below it: {', '.join(KEYS)}")
        lines: dict[str, int] = {}
        found: dict[str, Any] = {}
        for key, value in node.value:
            word = self._text(key, f"a key of {name}")
            if word not in KEYS:
                near = closest(word, KEYS, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(KEYS)}"
                raise self._error(key, f"{name} has no key {word[:60]!r}; {hint}")
            if word in lines:
                raise self._error(key, f"{word} of {name} stands in line {lines[word]} already")
            lines[word] = self._line(key)
            source = f"{self._path.name} line {lines[word]}"
            read: Callable[[str, str, Any], Any] = self._words if word in ("tools", "who") else self._sentence
            found[word] = Given(read(name, word, value), source)
        return Channel(**found)

    def _sentence(self, name: str, word: str, node: Any) -> str:
        text = self._text(node, f"{word} of {name}", _EXAMPLES[word]).strip()
        if not text:
            raise self._error(node, f"{word} of {name} is empty; leave the key out")
        if len(text) > INSTRUCTIONS_CHARS:
            raise self._error(node, f"{word} of {name} may have at most {INSTRUCTIONS_CHARS:,} characters")
        return text

    def _words(self, name: str, word: str, node: Any) -> tuple[str, ...]:
        nodes = node.value if node.id == "sequence" else [node]
        what = f"{word} of {name}"
        words = tuple(self._text(one, what, _EXAMPLES[word]).strip() for one in nodes)
        if not all(one.removeprefix(_OFF).strip() for one in words) or not words:
            raise self._error(node, f"{what} names nobody and nothing; leave the key out, or write {_EXAMPLES[word]}")
        if word == "who":
            return tuple(self._person(one, what, text) for one, text in zip(nodes, words, strict=True))
        return words

    def _person(self, node: Any, what: str, text: str) -> str:
        if text in (ADMINS, EVERYBODY):
            return text
        try:
            return identity.anyone(text)
        except ValueError as error:
            raise self._error(node, f"{what}: {error}") from None

    def _text(self, node: Any, what: str, example: str = "") -> str:
        """Return a scalar as it is written; numbers and `yes` are texts, too."""
        self._left -= 1
        if self._left < 0:
            raise self._error(node, f"has more than {MOST_VALUES:,} values, those counted that an alias repeats")
        if node.id != "scalar":
            raise self._error(node, f"{what} must be a text" + (f", as {example}" if example else ""))
        return str(node.value)

    def _line(self, node: Any) -> int:
        return int(node.start_mark.line) + 1

    def _error(self, node: Any, what: str) -> SettingsError:
        where = f" line {self._line(node)}" if node is not None else ""
        return SettingsError(f"CHANNELS_FILE: {self._path}{where}{':' if node is not None else ''} {what}")
