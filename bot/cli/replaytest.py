"""`parley replay --test FILE`: write a stored turn as a test, with people, chats and keys replaced."""

from __future__ import annotations

import ast
import json
import os
import pprint
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from bot.cli.replay import kept_settings, load, repeat, repeat_once
from bot.contract import ControlPressed, MessageSent, Quoted, ReplyTarget, SettingsError, TimerDue, UserEntry
from bot.settings import Configuration
from bot.store import Recording
from tools.contract.base import Json

_LEAST: Final = 3
"""Letters of a part of a name that is replaced in texts, too; a shorter one is an ordinary word."""
_ID: Final = 4
"""Characters of an id that is replaced; a shorter one identifies nobody."""
_EMAIL: Final = re.compile(r"(?:[\w.+-]|\\_){1,64}(\\?@)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_LINK: Final = re.compile(r"https?://[^\s<>\"')\]]{1,4000}", re.IGNORECASE)
_SECRET: Final = re.compile(r"([?&;#][^=&;#\s]{1,100}=)[\w.~%+$=!*-]{12,}")
"""A value of a query that is long enough for a key; passwords in links are removed before anything is stored."""
_SPEAKER: Final = re.compile(r"(?:\A|\n\n)([^\s:(][^:\n]{0,60}): ")
"""Not at a bracket, with which our own notes begin."""
_STRUCTURE: Final = frozenset({"kind", "status", "state", "platform"})
"""Keys whose values are words of ours."""
_TEMPLATE: Final = '''\
"""A stored turn, repeated offline, as `parley replay` wrote it: read it before you share it."""

import asyncio
import json

from {replay} import repeat
from {recordings} import Recording

SETTINGS = {settings}

TURN = {turn}


def test_the_turn_comes_out_the_same() -> None:
    assert asyncio.run(repeat(Recording.from_json(json.dumps(TURN)), SETTINGS)) == []
'''


async def record(configuration: Configuration, reference: str, file: str, mask: Callable[[str], str]) -> int:
    """Write the newest turn with a reference as a test, if it comes out the same; return the exit code.

    Args:
        mask: removes keys from a text.

    Raises:
        SettingsError: there is no such turn, it cannot be repeated, or the file exists already.
        OSError: the file cannot be written.
        StoreError: the database cannot be read.
    """
    recording = await load(configuration.core.database_url, reference)
    settings = kept_settings(configuration.core)
    differences = await repeat(recording, settings)
    wrong = f"no test is written: {differences[0]}" if differences else ""
    wrong = wrong or await write_test(recording, settings, file, mask)
    print(wrong or f"{file} is written; people who are only mentioned keep their names, so read it before you share it")  # noqa: T201
    return 1 if wrong else 0


async def write_test(recording: Recording, settings: Mapping[str, Any], file: str, mask: Callable[[str], str]) -> str:
    """Write a test that repeats a turn, and return an empty text; or a sentence, if without names and keys the turn
    comes out otherwise.

    Args:
        mask: removes keys from a text.

    Raises:
        SettingsError: the file exists already.
        OSError: it cannot be written.
    """
    anonymous = replace_people(_with_stands(recording, None), mask)
    plain = {name: value for name, value in settings.items() if _is_literal(value)}
    kept: dict[str, Any] = {name: mask(value) if isinstance(value, str) else value for name, value in plain.items()}
    made, differences = await repeat_once(anonymous, kept)
    if differences:
        return f"no test is written, as without names and keys the turn comes out otherwise: {differences[0]}"
    anonymous = _with_stands(anonymous, made)
    text = _TEMPLATE.format(
        replay=repeat.__module__,
        recordings=Recording.__module__,
        settings=pprint.pformat(kept, width=110, sort_dicts=False),
        turn=pprint.pformat(anonymous.to_json(), width=110, sort_dicts=False),
    )
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SettingsError(f"{file!r} exists already; name another file") from None
    with os.fdopen(opened, "w", encoding="utf-8") as written:
        written.write(text)
    return ""


def _with_stands(recording: Recording, made: Recording | None) -> Recording:
    """Return a recording whose messages look at the end as in `made`; with None, it does not say how they look."""
    then = None if recording.then is None else _with_stands(recording.then, made and made.then)
    return replace(recording, stands=made.stands if made is not None else (), then=then)


def replace_people(recording: Recording, mask: Callable[[str], str]) -> Recording:
    """Return a recording with the names and ids of people and chats replaced, the same everywhere, and keys masked."""
    value = recording.to_json()
    part: Json = value
    for number, one in enumerate(recording.all, 1):
        assert isinstance(part, dict)
        for name in ("question", "about"):
            question = part[name]
            if question is None:
                continue
            assert isinstance(question, dict)
            question |= {"delivery": f"d{number}", "target": _elsewhere(one.question.target)}
            question.pop("also", None)
            for enclosed in _enclosed_in(question):
                enclosed["source"] = "a file" if enclosed.get("source") else ""
        part = part["then"]
    names, ids = _names_of(recording), _ids_of(recording)
    words = {name: f"Person{number}" for number, whole in enumerate(names, 1) for name in _parts_of(whole)}
    words |= {id: _same_shape(id, number) for number, id in enumerate(ids, 1)}
    found = sorted(words, key=len, reverse=True)
    pattern = (
        re.compile(rf"(?<![^\W_])(?:{'|'.join(map(_spelled, found))})(?![^\W_])", re.IGNORECASE) if found else None
    )
    folded = {word.casefold(): other for word, other in words.items()}

    def say(text: str) -> str:
        masked = _LINK.sub(lambda link: _SECRET.sub(r"\1hidden", link[0]), mask(text))
        masked = _EMAIL.sub(r"person\1example.org", masked)
        if pattern is None:
            return masked
        return pattern.sub(lambda one: folded.get(one[0].replace("\\", "").casefold(), one[0]), masked)

    return Recording.from_json(json.dumps(_replaced(value, say)))


def _enclosed_in(value: Json) -> Iterator[dict[str, Json]]:
    """Yield the attachments of a message as JSON, and of those that it quotes."""
    match value:
        case list():
            for one in value:
                yield from _enclosed_in(one)
        case dict() if "kind" in value and "source" in value:
            yield value
        case dict():
            for one in value.values():
                yield from _enclosed_in(one)
        case _:
            pass


def _elsewhere(target: ReplyTarget) -> Json:
    """Return a target that leads nowhere, with the properties of the real one."""
    data = target.data.items()
    return {
        "platform": target.platform,
        "data": {name: value if value is None or isinstance(value, bool) else f"some {name}" for name, value in data},
    }


def _replaced(value: Json, say: Callable[[str], str]) -> Json:
    """Return JSON with every text replaced, except for words of ours and the names of tools."""
    match value:
        case str():
            return say(value)
        case list():
            return [_replaced(one, say) for one in value]
        case dict():
            ours = _STRUCTURE | ({"name", "id", "call_id"} if "arguments" in value or "call_id" in value else set())
            return {key: one if key in ours else _replaced(one, say) for key, one in value.items()}
        case _:
            return value


def _asked(recording: Recording) -> list[MessageSent | ControlPressed | TimerDue]:
    """Return what asked, and the question that it continues."""
    return [recording.question, *(() if recording.about is None else (recording.about,))]


def _quotes(recording: Recording) -> list[Quoted]:
    return [quoted for one in _asked(recording) if isinstance(one, MessageSent) for quoted in one.quotes]


def _names_of(recording: Recording) -> list[str]:
    """Return the shown names of all people in a recording: who asked, is quoted, or spoke before in a group."""
    names = []
    for each in recording.all:
        names += [*(one.sender.name for one in _asked(each)), *(quoted.author for quoted in _quotes(each))]
        if each.question.group:
            told = (one.text for one in (*each.before, *each.entries) if isinstance(one, UserEntry))
            names += [name for text in told for name in _SPEAKER.findall(text)]
    return list(dict.fromkeys(name for name in names if name.strip()))


def _spelled(word: str) -> str:
    """Return the pattern of a word as it is, and as Markdown shows it, with its signs escaped."""
    return "".join(sign if sign.isalnum() else rf"\\?{re.escape(sign)}" for sign in word)


def _parts_of(name: str) -> Iterator[str]:
    yield name
    yield from (part for part in re.findall(r"\w+", name) if len(part) >= _LEAST)


def _ids_of(recording: Recording) -> list[str]:
    """Return the ids of people, chats and messages, without the platform's name."""
    whole = list[str]()
    chat = recording.question.chat
    for each in recording.all:
        for one in _asked(each):
            whole += [one.chat.account, one.chat.chat, one.chat.thread, one.sender.id, *one.sender.groups]
            whole += [] if isinstance(one, TimerDue) else [one.message_id, one.replies_to]
        whole += [quoted.message_id for quoted in _quotes(each)]
        whole += [each.summary[1], *(one.origin for one in (*each.before, *each.entries))]
    parts = (part for id in whole for part in re.split(r"[:/]", id.removeprefix(f"{chat.platform}:")))
    return [part for part in dict.fromkeys(parts) if len(part) >= _ID and any(sign.isdigit() for sign in part)]


def _same_shape(id: str, number: int) -> str:
    """Return another id of the same length: a letter stays the first, digits follow."""
    return (id[0] if id[0].isalpha() else "1") + str(number).zfill(len(id) - 1)


def _is_literal(value: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
