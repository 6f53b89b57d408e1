"""`parley replay`: repeat a stored turn offline, from its stored passes and results, and name the first difference."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from bot.app import (
    App,
    RecordedAttachments,
    RecordedModel,
    RecordedPlatform,
    RecordedTools,
    Script,
    bare,
    heard_in,
    passes_of,
    question_as_read,
    stop_running,
    watched,
)
from bot.cli.comparison import compare, compare_places, compare_requests, question_of
from bot.context import user_entry, with_spoken
from bot.contract import (
    JOB,
    AssistantEntry,
    Control,
    ControlPressed,
    Entry,
    MessageSent,
    SettingsError,
    SystemClock,
    TimerDue,
    Usage,
    UserEntry,
    identity,
    reference_of,
    turns_of,
)
from bot.settings import Configuration, CoreSettings
from bot.store import DECIDED, Recording, Store, TurnState, explain_absence
from tools.contract.base import ToolSpec
from tools.contract.folders import temporary_folder

_SECONDS: Final = 60.0
"""After this time a repeated turn is given up: nothing in it waits for anybody."""
_HEARD_TRIES: Final = 1000
"""How often, each 5 ms, it is checked whether further words of the person wait to be heard."""
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
                for one in found.all:
                    _refuse_unstored(one)
                return found
    raise SettingsError(unknown)


def _refuse_unstored(recording: Recording) -> None:
    """Refuse a turn whose model read more than its question before it.

    Raises:
        SettingsError: it did.
    """
    if not isinstance(recording.question, MessageSent):
        return
    first = replace(question_as_read(recording), text=heard_in(recording)[0])
    told, question = bare(question_of(recording)), bare(user_entry(with_spoken(first)).text)
    if told != question and told.endswith(question):
        why = (
            "the earlier messages of its thread, or the question before it was changed, which the model read, are not "
            "stored"
        )
    elif told != question and recording.question.joined:
        why = "further messages joined it while it ran, and an earlier version did not store when"
    else:
        return
    raise SettingsError(f"turn [{reference_of(recording.turn)}] cannot be repeated: {why}")


def kept_settings(core: CoreSettings) -> dict[str, Any]:
    """Return the settings that decide what a turn does, where they are not the default."""
    default = CoreSettings.model_construct()
    return {name: getattr(core, name) for name in _KEPT if getattr(core, name) != getattr(default, name)}


async def repeat(recording: Recording, settings: Mapping[str, Any]) -> list[str]:
    """Repeat a turn in a temporary database, without any network beyond this machine; return the differences.

    Args:
        settings: those that are not the default, by name.
    """
    return (await repeat_once(recording, settings))[1]


async def repeat_once(recording: Recording, settings: Mapping[str, Any]) -> tuple[Recording | None, list[str]]:
    """Return what the repetition stored, and the differences; see `repeat`."""
    platforms = importlib.import_module("adapters").PLATFORMS
    identity.use({name: one.ids for name, one in platforms.items()})
    memory = memory_of(recording.question.chat.platform)
    turn = _Repetition(recording)
    said = [one for each in recording.all for one in passes_of(each)]
    with temporary_folder() as folder:
        url = f"sqlite:///{Path(folder) / 'replay.db'}"
        async with RecordedModel(said, turn.script.model_hangs).open() as model:
            await _write_history(url, recording)
            core = _offline(settings, model.base_url, url)
            try:
                async with asyncio.timeout(_SECONDS):
                    made = await turn.run(core, memory)
            except TimeoutError:
                return None, [f"the turn did not end within {_SECONDS:g} s"]
    if made is None:
        return None, ["the question was not answered"]
    pairs = zip(recording.all, made.all, strict=False)
    places = compare_places(recording, memory.targets)
    differences = [one for stored, again in pairs for one in compare(stored, again)]
    return made, [*differences, *places, *compare_requests(recording, model)]


def memory_of(platform: str) -> RecordedPlatform:
    """Return a stand-in for a platform."""
    row = importlib.import_module("adapters").PLATFORMS.get(platform)
    if row is None or not row.sheet:
        return RecordedPlatform(platform)
    draws = importlib.import_module(row.drawing).draw_page if row.drawing else None
    return RecordedPlatform(platform, importlib.import_module(row.sheet).LIMITS, draws)


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
    """Make the temporary database, with what the turn continued as one earlier turn, and a summary of what was before
    as that of another one."""
    summary, origin = recording.summary
    async with Store.open(url, clock=SystemClock()) as store:
        if summary:
            await _write_turn(store, recording, "summarised", (UserEntry("…"), AssistantEntry("…")))
            await store.history.set_summary(asked_first(recording).chat, summary, 2, origin, first=1, after=0)
        if recording.before or recording.about is not None:
            await _write_turn(store, recording, "before", recording.before)
        if recording.kept:
            await _write_replaced(store, recording)


async def _write_turn(store: Store, recording: Recording, name: str, entries: Sequence[Entry]) -> None:
    """Write entries into the history of the question's chat, as a turn of its person."""
    question = asked_first(recording)
    word = "" if recording.about is None else question.command  # a continued job is one, too
    earlier = replace(question, delivery=name, also=(), message_id=name, quoted=None, enclosed=(), command=word)
    turn = await store.intake.take_in(earlier)
    assert turn is not None
    await store.turns.begin(turn, question.chat, question.sender.id)
    await store.turns.close(turn, TurnState.DONE, entries, visible="", reasoning="", model="", usage=Usage())


async def _write_replaced(store: Store, recording: Recording) -> None:
    """Write the turn that the question was asked in before, with the calls that are not repeated."""
    question, [told, made, *_] = recording.question, recording.entries
    before = await store.turns.find_newest()
    former = replace(question, turn=before) if isinstance(question, ControlPressed) else asked_first(recording)
    turn = await store.intake.take_in(replace(former, delivery="replaced", also=()))
    assert turn is not None and isinstance(made, AssistantEntry)
    await store.turns.begin(turn, asked_first(recording).chat, question.sender.id)
    await store.turns.save_pass(turn, 1, made, "", Usage())
    for one in recording.kept:
        await store.turns.start_call(turn, one.call, passnumber=1, position=one.position, effects=True)
        # Of a call whose outcome was not known the turn has only that.
        if one.result is not None and (one.result.ok or one.call.id.startswith(DECIDED)):
            await store.turns.end_call(turn, one.call.id, one.result)
    entries = (told, made, AssistantEntry("…"))
    await store.turns.close(turn, TurnState.DONE, entries, visible="", reasoning="", model="", usage=Usage())


def asked_first(recording: Recording) -> MessageSent:
    """Return the question as a person would write it now, alone, without what joined it later; for *Continue*, the one
    whose answer it continues."""
    question, about = recording.question, recording.about
    if about is not None:
        question = replace(about, sender=question.sender, target=question.target)
    if isinstance(question, TimerDue):
        return question.as_message
    assert isinstance(question, MessageSent)
    plain: dict[str, Any] = dict.fromkeys(("follow_up", "unfinished", "severed", "beside"), False)
    plain |= dict.fromkeys(("replies_to", "completes", "album"), "")
    text = question.text if about is not None else heard_in(recording)[0]
    return replace(question, **plain, text=text, sent_at=0.0, replaces=0, joined=False)


class _Repetition:
    """One repetition of a turn, and of those that decisions about its calls began."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._question = asked_first(recording)
        self._said = 0
        self.script = Script(recording, self._say, self._stop)

    async def run(self, core: CoreSettings, memory: RecordedPlatform) -> Recording | None:
        """Ask the question once more, and decide as was decided; return the recordings."""
        kinds = importlib.import_module("tools.settings").SETTINGS
        tools = {name: kind.model_construct() for name, kind in kinds.items()}
        configuration = Configuration(core=core, platforms={}, tools=tools, file=None)
        app = App(configuration, {memory.platform: memory})
        app.open_tools = lambda settings, **_: RecordedTools(
            self._recording, _own_tools(settings), self.script.call_begins
        )
        app.attachments = RecordedAttachments(self._recording)
        app.agents = lambda ours: lambda _: watched(ours, self._recording, self.script)
        async with app:
            self._dispatcher, self._store, self.script.once = app.dispatcher, app.store, app.rules.once
            leave, dispatcher = asyncio.Event(), app.dispatcher
            running = asyncio.create_task(
                app.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.suspend), name="platforms"
            )
            try:
                await app.platforms.tried.wait()
                made = [found for one in self._recording.all if (found := await self._repeat(one)) is not None]
            finally:
                await dispatcher.close()
                await app.platforms.stop_receiving()
                leave.set()
                await running
        whole: Recording | None = None
        for one in reversed(made):
            whole = replace(one, then=whole)
        return whole

    async def _repeat(self, one: Recording) -> Recording | None:
        """Ask, or decide, and return the recording of the turn."""
        question = one.question
        if one.kept:
            await self._store.recordings.number_next(one.turn)
            await self._dispatcher.deliver(await self._press_again(one))
        elif isinstance(question, MessageSent):
            if heard_in(one)[1]:
                await self._store.settings.set(question.chat, "busy", "steer")
            await self._store.recordings.number_next(one.turn)
            await self._dispatcher.deliver(self._question)
        elif isinstance(question, TimerDue):
            await self._store.recordings.number_next(one.turn)
            await self._dispatcher.deliver(question)
        else:
            answered = await self._store.turns.find_newest()
            approval = await self._store.approvals.load(answered)
            if approval is None and one.about is None:
                return None
            await self._store.recordings.number_next(one.turn)
            mark = "" if approval is None else approval.mark
            pressed = replace(question, turn=answered, mark=mark, sender=self._question.sender)
            await self._dispatcher.deliver(replace(pressed, sent_at=0.0))
        await self._dispatcher.wait_idle()
        found = await self._store.recordings.load_alone(await self._store.turns.find_newest())
        return found if isinstance(found, Recording) else None

    async def _press_again(self, one: Recording) -> ControlPressed:
        """Return a press of *Regenerate* under the newest answer."""
        newest, asked = await self._store.turns.find_newest(), one.question
        return ControlPressed(
            delivery=asked.delivery,
            chat=self._question.chat,
            sender=asked.sender,
            target=asked.target,
            group=asked.group,
            control=Control.REGENERATE,
            turn=newest,
        )

    async def _say(self, words: str) -> None:
        """Deliver further words of the person, and wait until they can be heard."""
        self._said += 1
        name = f"further-{self._said}"
        command = JOB if self._question.command == JOB else ""
        further = replace(
            self._question, delivery=name, also=(), message_id=name, text=words, quoted=None, command=command
        )
        await self._dispatcher.deliver(further)
        queue, chat = self._dispatcher.queue, further.chat
        for _ in range(_HEARD_TRIES):
            job = queue.find_job(chat)
            if queue.peek(chat) is not None or (job is not None and job.said):
                return
            await asyncio.sleep(0.005)

    def _stop(self) -> None:
        """Stop the running turn, as its button does."""
        stop_running(self._dispatcher.queue, self._question.chat)


def _own_tools(settings: Mapping[str, Any]) -> dict[str, ToolSpec]:
    """Return the declarations of our tools that need no settings; nothing of them is run."""
    opened = importlib.import_module("tools").open_registry({**settings, "mcp": None})
    return {spec.name: spec for spec in opened.specs()}
