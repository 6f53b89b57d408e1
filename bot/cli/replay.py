"""`parley replay`: repeat a stored turn offline, from its stored passes and results, and name the first difference."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from bot.app import App
from bot.cli.recorded import RecordedModel, RecordedPlatform, RecordedTools, bare
from bot.context import user_entry, with_spoken
from bot.contract import (
    MessageSent,
    ReplyTarget,
    SettingsError,
    SystemClock,
    ToolEntry,
    Usage,
    UserEntry,
    identity,
    reference_of,
    turns_of,
)
from bot.settings import Configuration, CoreSettings
from bot.store import CallRecord, Recording, Store, TurnState, explain_absence
from tools.contract.base import ToolSpec

_SECONDS: Final = 60.0
"""After this time a repeated turn is given up: nothing in it waits for anybody."""
_SHOWN: Final = 120
"""Most characters of each side of a difference."""
_KEPT: Final = (
    *("bot_name", "time_zone", "show_tools", "show_reasoning", "reply_buttons", "unknown_links", "pre_search"),
    *("max_tool_rounds", "tools_off", "untrusted_calls", "trusted_tools", "trusted_hosts", "confirm_tools"),
)
"""The settings that decide what a turn calls and shows."""


async def replay(configuration: Configuration, reference: str) -> int:
    """Repeat the newest turn with a reference, and print whether it came out the same; return the exit code.

    Raises:
        SettingsError: there is no such turn, or it cannot be repeated.
        StoreError: the database cannot be read.
    """
    recording = await load(configuration.core.database_url, reference)
    differences = await repeat(recording, kept_settings(configuration.core))
    told = differences[0] if differences else f"turn [{reference.lower()}] came out the same"
    print(told)  # noqa: T201
    return 1 if differences else 0


async def load(database_url: str, reference: str) -> Recording:
    """Return the recording of the newest turn with a reference.

    Raises:
        SettingsError: there is no such turn, or it cannot be repeated.
        StoreError: the database cannot be read.
    """
    unknown = f"no turn has the reference {reference!r}"
    if absent := explain_absence(database_url):
        raise SettingsError(f"{unknown}: {absent}")
    async with Store.open(database_url, clock=SystemClock()) as store:
        try:
            turns = turns_of(reference.lower(), await store.turns.find_newest())
        except ValueError:
            raise SettingsError("which reference? write the six characters that the person saw, as a1b2c3") from None
        for turn in turns:
            found = await store.recordings.load(turn)
            if isinstance(found, str):
                raise SettingsError(f"turn [{reference}] cannot be repeated: {found}")
            if found is not None:
                _refuse_unstored(found)
                return found
    raise SettingsError(unknown)


def _refuse_unstored(recording: Recording) -> None:
    """Refuse a turn whose model read more than its question before it.

    Raises:
        SettingsError: it did.
    """
    told, question = _question(recording), user_entry(with_spoken(recording.question)).text
    if told != question and told.endswith(question):
        raise SettingsError(
            f"turn [{reference_of(recording.turn)}] cannot be repeated: the earlier messages of its thread, or the "
            "question before it was changed, which the model read, are not stored"
        )


def kept_settings(core: CoreSettings) -> dict[str, Any]:
    """Return the settings that decide what a turn does, where they are not the default."""
    default = CoreSettings.model_construct()
    return {name: getattr(core, name) for name in _KEPT if getattr(core, name) != getattr(default, name)}


async def repeat(recording: Recording, settings: Mapping[str, Any]) -> list[str]:
    """Repeat a turn in a temporary database, without any network beyond this machine; return the differences.

    Args:
        settings: those that are not the default, by name.
    """
    platforms = importlib.import_module("adapters").PLATFORMS
    identity.use({name: one.ids for name, one in platforms.items()})
    memory = memory_of(recording.question.chat.platform)
    with tempfile.TemporaryDirectory(prefix="parley-replay-") as folder:
        url = f"sqlite:///{Path(folder) / 'replay.db'}"
        async with RecordedModel(recording).open() as model:
            await _write_history(url, recording)
            core = _offline(settings, model.base_url, url)
            try:
                async with asyncio.timeout(_SECONDS):
                    made = await _run(core, recording, memory)
            except TimeoutError:
                return [f"the turn did not end within {_SECONDS:g} s"]
    if made is None:
        return ["the question was not answered"]
    return [*compare(recording, made), *_compare_requests(recording, model)]


def memory_of(platform: str) -> RecordedPlatform:
    """Return a stand-in for a platform."""
    row = importlib.import_module("adapters").PLATFORMS.get(platform)
    if row is None or not row.sheet:
        return RecordedPlatform(platform)
    return RecordedPlatform(platform, importlib.import_module(row.sheet).LIMITS)


def _offline(settings: Mapping[str, Any], model: str, database: str) -> CoreSettings:
    """Return settings that reach nothing but a model at this address, and refuse nobody."""
    alone: dict[str, Any] = {
        **settings,
        "model": "openai:recorded",
        "openai_base_url": model,
        "openai_api_key": SecretStr("recorded-key"),
        "database_url": database,
        "allow_all": True,
        "condense_results": False,
        "summary_at": 1.0,
        **dict.fromkeys(("messages_per_minute", "tokens_per_day_person", "tokens_per_day"), 0),
        **dict.fromkeys(("money_per_day_person", "money_per_day"), 0.0),
    }
    return CoreSettings.model_construct(**alone)


async def _write_history(url: str, recording: Recording) -> None:
    """Make the temporary database, with what the turn continued as one earlier turn."""
    async with Store.open(url, clock=SystemClock()) as store:
        if not recording.before:
            return
        question = recording.question
        earlier = replace(_asked_again(recording), delivery="before", also=(), message_id="before", quoted=None)
        turn = await store.intake.take_in(earlier)
        assert turn is not None
        await store.turns.begin(turn, question.chat, question.sender.id)
        await store.turns.close(
            turn, TurnState.DONE, recording.before, visible="", reasoning="", model="", usage=Usage()
        )


def _asked_again(recording: Recording) -> MessageSent:
    """Return the question as a person would write it now, alone."""
    question = recording.question
    plain: dict[str, Any] = dict.fromkeys(("follow_up", "unfinished", "severed", "beside"), False)
    plain |= dict.fromkeys(("replies_to", "completes", "album"), "")
    target = ReplyTarget(question.target.platform, {})
    return replace(question, **plain, target=target, sent_at=0.0, replaces=0)


async def _run(core: CoreSettings, recording: Recording, memory: RecordedPlatform) -> Recording | None:
    """Ask the question once more; return the recording of its turn."""
    kinds = importlib.import_module("tools.settings").SETTINGS
    tools = {name: kind.model_construct() for name, kind in kinds.items()}
    configuration = Configuration(core=core, platforms={}, tools=tools, file=None)
    app = App(configuration, {memory.platform: memory})
    app.open_tools = lambda settings, **_: RecordedTools(recording, _own_tools(settings))
    async with app:
        leave, dispatcher = asyncio.Event(), app.dispatcher
        running = asyncio.create_task(
            app.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.suspend), name="platforms"
        )
        try:
            await app.platforms.tried.wait()
            await dispatcher.deliver(_asked_again(recording))
            await dispatcher.wait_idle()
        finally:
            await dispatcher.close()
            await app.platforms.stop_receiving()
            leave.set()
            await running
        found = await app.store.recordings.load(await app.store.turns.find_newest())
    return found if isinstance(found, Recording) else None


def _own_tools(settings: Mapping[str, Any]) -> dict[str, ToolSpec]:
    """Return the declarations of our tools that need no settings; nothing of them is run."""
    opened = importlib.import_module("tools").open_registry({**settings, "mcp": None})
    return {spec.name: spec for spec in opened.specs()}


def compare(stored: Recording, made: Recording) -> list[str]:
    """Return a sentence for each difference between a stored turn and its repetition."""
    return [
        f"{what}: stored {_shorten(before)}, now {_shorten(after)}"
        for what, before, after in _pairs(stored, made)
        if before != after
    ]


def _pairs(stored: Recording, made: Recording) -> Iterator[tuple[str, object, object]]:
    """Yield what is compared: its name, the stored side, and the repeated one."""
    yield "the question as the model reads it", _question(stored), _question(made)
    for number, (one, other) in enumerate(zip_longest(stored.passes, made.passes), 1):
        yield f"text of pass {number}", one and one.text, other and other.text
        calls = zip_longest(one.calls if one else (), other.calls if other else ())
        for place, (call, again) in enumerate(calls, 1):
            name = f"call {place} of pass {number}"
            yield f"tool of {name}", call and call.name, again and again.name
            yield f"arguments of {name}", call and dict(call.arguments), again and dict(again.arguments)
    for record, repeated in zip_longest(stored.calls, made.calls):
        known = record or repeated
        name = f"{known.call.name}, call {known.position + 1} of pass {known.passnumber}"
        yield f"whether it was made ({name})", bool(record), bool(repeated)
        if record and repeated:
            yield f"arguments given to {name}", dict(record.call.arguments), dict(repeated.call.arguments)
            yield f"problem of {name}", record.call.problem, repeated.call.problem
            yield f"status of {name}", str(record.status), str(repeated.status)
            yield f"result of {name}", _result(record), _result(repeated)
    yield "results in the history", _results(stored), _results(made)
    yield "the answer", _without_reference(stored), _without_reference(made)
    yield "messages of the answer", stored.pages, made.pages


def _compare_requests(stored: Recording, model: RecordedModel) -> list[str]:
    """Return a sentence for each request to the model that does not contain what it must."""
    if len(model.requests) != len(stored.passes):
        return [f"requests to the model: stored {len(stored.passes)}, now {len(model.requests)}"]
    wrong = []
    for number, request in enumerate(model.requests, 1):
        told = str(request.get("messages"))
        answered = sum(len(one.calls) for one in stored.passes[: number - 1])
        for text in [_question(stored), *_results(stored)[:answered]]:
            if repr(text)[1:-1] not in told and text not in told:
                wrong.append(f"request {number} to the model has no {_shorten(text)}")
    return wrong


def _question(recording: Recording) -> str:
    return next((one.text for one in recording.entries if isinstance(one, UserEntry)), "")


def _results(recording: Recording) -> list[str]:
    return [bare(one.text) for one in recording.entries if isinstance(one, ToolEntry)]


def _result(record: CallRecord) -> str | None:
    return None if record.result is None else bare(record.result.text)


def _without_reference(recording: Recording) -> str:
    return recording.visible.replace(reference_of(recording.turn), "REFERENCE")


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
