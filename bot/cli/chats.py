"""`parley chats`: list, export and delete stored chats, and trace one question."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator

from bot.cli.backup import confirm
from bot.cli.counts import count_of
from bot.commands import ChatWriter, Form
from bot.contract import ChatId, SettingsError, SystemClock, identity, turns_of
from bot.safety import redact_nothing
from bot.store import Extent, Store, explain_absence

MOST_CHATS = 1_000_000
"""Most chats that are listed."""
_SHOWN_CHARS = 200
"""Most characters of arguments and results in a trace."""


async def list_chats(database_url: str) -> int:
    """Print a line for each stored chat; return the exit code.

    Raises:
        StoreError: the database cannot be used.
    """
    if absent := explain_absence(database_url):
        print(f"no chats yet: {absent}")  # noqa: T201
        return 0
    async with Store.open(database_url, clock=SystemClock()) as store:
        rows = await store.history.list_chats(limit=MOST_CHATS)
    for row in rows:
        rated = f"\t{row.good} good, {row.bad} bad" if row.good or row.bad else ""
        print(f"{row.chat}\t{count_of(row.turns, 'turn')}\t{row.bytes:,} bytes{rated}")  # noqa: T201
    if not rows:
        print("no chats yet")  # noqa: T201
    return 0


async def export(database_url: str, id: str, *, markdown: bool = False) -> int:
    """Print everything stored of a chat, a line for each turn; return the exit code.

    Args:
        markdown: print what people saw, as Markdown, instead of JSON.

    Raises:
        SettingsError: `id` is not a chat's id.
        StoreError: the database cannot be used.
    """
    chat = _parse_chat("export", id)
    if absent := explain_absence(database_url):
        return _print_refusal(f"no chat {str(chat)!r} is stored: {absent}")
    async with Store.open(database_url, clock=SystemClock()) as store:
        if await _count_turns(store, chat) is None:
            return _print_refusal(f"no chat {str(chat)!r} is stored; `parley chats` lists their ids")
        writer = ChatWriter(Form.MARKDOWN, redact_nothing)  # what is printed is masked where it leaves
        async for line in store.history.export(Extent(chat)):
            print(writer.write(line) + "\n" if markdown else json.dumps(line, ensure_ascii=False))  # noqa: T201
    return 0


async def forget(database_url: str, id: str, *, sure: bool) -> int:
    """Delete a chat for good; return the exit code.

    Raises:
        SettingsError: `id` is not a chat's id.
        StoreError: the database cannot be used.
    """
    chat = _parse_chat("forget", id)
    if absent := explain_absence(database_url):
        return _print_refusal(f"no chat {str(chat)!r} is stored: {absent}")
    async with Store.open(database_url, clock=SystemClock()) as store:
        turns = await _count_turns(store, chat)
        if turns is None:
            return _print_refusal(f"no chat {str(chat)!r} is stored; `parley chats` lists their ids")
        if not sure and not await asyncio.to_thread(
            confirm, f"Delete {count_of(turns, 'turn')} of {chat} for good? [y/N] "
        ):
            return _print_refusal("nothing was deleted")
        print(f"{count_of(await store.history.forget(chat), 'turn')} forgotten")  # noqa: T201
        await _tell_of_traces(store)
    return 0


async def _count_turns(store: Store, chat: ChatId) -> int | None:
    """Return how many turns of a chat are stored; None if nothing of it is."""
    turns = await store.history.count_turns(chat)
    return turns if turns or await store.settings.list_of(chat) else None


async def forget_person(database_url: str, id: str, *, sure: bool) -> int:
    """Delete everything stored of one person in all chats; return the exit code.

    Raises:
        SettingsError: `id` is not a person's id.
        StoreError: the database cannot be used.
    """
    try:
        person = identity.person(id)
    except ValueError as error:
        raise SettingsError(f"--person: {error}") from None
    if absent := explain_absence(database_url):
        return _print_refusal(f"nothing is stored of {person}: {absent}")
    async with Store.open(database_url, clock=SystemClock()) as store:
        held = await store.people.count_held(person)
        if not held:
            return _print_refusal(f"nothing is stored of {person}")
        counts = {"turn": held.turns, "fact": held.facts, "reminder": held.reminders}
        kept = ", ".join(count_of(number, thing) for thing, number in counts.items())
        if not sure and not await asyncio.to_thread(
            confirm, f"Delete everything of {person} for good ({kept})? [y/N] "
        ):
            return _print_refusal("nothing was deleted")
        await store.people.forget(person)
        print(f"{kept} of {person} deleted; their rights here stay as they are")  # noqa: T201
        await _tell_of_traces(store)
    return 0


async def _tell_of_traces(store: Store) -> None:
    """Report that deleted data is still in the database's files."""
    if not await store.wipe_traces():
        _print_refusal(
            "another program is reading the database, so its files still contain the deleted data; close that program: "
            "a running bot then overwrites it within an hour, otherwise the next start does"
        )


async def trace(database_url: str, reference: str) -> int:
    """Print everything stored of the turns with this reference; return the exit code.

    Raises:
        SettingsError: it is not a reference.
        StoreError: the database cannot be used.
    """
    unknown = f"no turn has the reference {reference!r}"
    if absent := explain_absence(database_url):
        return _print_refusal(f"{unknown}: {absent}")
    told = False
    async with Store.open(database_url, clock=SystemClock()) as store:
        async for line in _describe_turns(store, reference.lower()):
            print(line)  # noqa: T201
            told = True
    return 0 if told else _print_refusal(unknown)


async def _describe_turns(store: Store, reference: str) -> AsyncIterator[str]:
    """Yield everything stored of the turns with this reference, line by line: the turn, its calls, messages and error.

    Raises:
        SettingsError: it is not a reference.
    """
    try:
        turns = turns_of(reference, await store.turns.find_newest())
    except ValueError:
        raise SettingsError("which reference? write the six characters that the person saw, as a1b2c3") from None
    for turn in turns:
        record = await store.turns.find_record(turn)
        if record is None:
            continue
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record.started_at))
        seconds = max(0.0, record.ended_at - record.started_at)
        yield f"turn t{turn} [{reference}] in {record.chat}, asked by {record.person} at {began} UTC"
        yield f"  {record.state}" + (f" after {seconds:.1f} s" if record.ended_at else "")
        used = record.usage
        tokens = f"{used.prompt} tokens in ({used.cached} cached), {used.completion} out"
        yield f"  {record.model or 'no model'}: {tokens}, ${record.dollars:.4f}"
        for call in await store.turns.list_calls(turn):
            yield f"  pass {call.passnumber}: {call.call.name} {call.status}, {call.seconds:.1f} s"
            yield f"    given {_shorten(json.dumps(dict(call.call.arguments), ensure_ascii=False))}"
            if call.result is not None:
                yield f"    gave {_shorten(call.result.text)}"
        pages = [page for page in (await store.turns.load(turn)).pages if page.ref is not None]
        yield f"  answer of {count_of(len(record.visible), 'character')} in {count_of(len(pages), 'message')}"
        if record.rating:
            yield f"  rated {record.rating}"
        if record.error:
            yield f"  error: {record.error}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"


def _parse_chat(action: str, id: str) -> ChatId:
    try:
        return ChatId.parse(id)
    except ValueError:
        person = f"; for everything of a person: --person {id}" if action == "forget" and _is_person(id) else ""
        raise SettingsError(
            f"which chat to {action}? {id!r} is not a chat's id; `parley chats` lists them, as telegram:42/7{person}"
        ) from None


def _is_person(id: str) -> bool:
    try:
        return bool(identity.person(id))
    except ValueError:
        return False


def _print_refusal(sentence: str) -> int:
    print(f"parley: {sentence}", file=sys.stderr)  # noqa: T201
    return 1
