"""A store is moved to another database whole, also when the move was cut off, and nothing else is overwritten."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from bot.cli.moving import move
from bot.contract.errors import SettingsError, StoreError
from bot.contract.messages import ChatId
from bot.contract.transcript import AssistantEntry, Entry, Usage, UserEntry
from bot.store import Store, TurnState, copy_store, lock_database
from tests.bot.store.conftest import HandClock, Message, taken_in

CHATS = [ChatId("telegram", "42", "7"), ChatId("slack", "T1", "C1", "1.2"), ChatId("telegram", "42", "-5")]


@pytest.fixture
async def full(tmp_path: Path, clock: HandClock, message: Message) -> Path:
    """A file with three chats, long words, a file, a fact, settings, roles, and a question without an answer."""
    path = tmp_path / "old.db"
    async with Store.open(f"sqlite:///{path}", clock=clock) as store:
        for number in range(30):
            chat = CHATS[number % 3]
            turn = await taken_in(store, message(f"m{number}", f"question {number}", where=chat))
            await store.turns.open(turn, chat, "telegram:1")
            said: list[Entry] = [
                UserEntry(f"question {number}"),
                AssistantEntry("é🍵" * (3_000 if number % 7 == 0 else 3)),
            ]
            await store.turns.close(turn, TurnState.DONE, said, visible="", reasoning="", model="m", usage=Usage(5, 2))
        await store.files.put(str(CHATS[0]), "a.bin", "application/x", bytes(range(256)) * 50)
        await store.facts.remember("telegram:1", "likes tea")
        await store.settings.set(CHATS[0], "persona", "brief")
        await store.access.set_role("telegram:1", "owner")
        gone = await taken_in(store, message("gone", where=CHATS[2]))
        await store.writer.execute("DELETE FROM inbox WHERE id = ?", (gone,))
        await taken_in(store, message("waiting", "still to be answered"))
    return path


async def told_of(store: Store) -> object:
    chats = {str(row.chat): row.turns for row in await store.history.list_chats()}
    entries = [[row.entry for row in (await store.history.load(chat))[1]] for chat in CHATS]
    waiting = [row.incoming.delivery for row in await store.intake.list_waiting()]
    file = await store.files.read(str(CHATS[0]), "a.bin")
    return chats, entries, waiting, file, await store.settings.list_of(CHATS[0]), await store.access.list_roles()


class CutOffError(Exception):
    """The move ends here."""


def cut_off(now: bool) -> None:
    if now:
        raise CutOffError


def cut_off_at(least: int, done: int, total: int) -> None:
    cut_off(done >= least)


async def test_everything_is_moved_to_either_kind_and_no_id_is_given_twice(
    url: str, full: Path, clock: HandClock, message: Message, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Store.open(f"sqlite:///{full}", clock=clock) as store:
        before = await told_of(store)

    assert await move(f"sqlite:///{full}", url) == 0

    said = capsys.readouterr()
    assert "3 chats and 30 turns are now in" in said.out and "1 question without an answer" in said.out
    assert "100 %" in said.err
    async with Store.open(url, clock=clock) as store:
        assert await told_of(store) == before
        async with Store.open(f"sqlite:///{full}", clock=clock) as old:
            wanted = await taken_in(old, message("next"))
        assert await taken_in(store, message("next")) == wanted


async def test_and_back_again(url: str, full: Path, tmp_path: Path, clock: HandClock) -> None:
    await move(f"sqlite:///{full}", url)
    await move(url, f"sqlite:///{tmp_path}/again.db")

    async with (
        Store.open(f"sqlite:///{full}", clock=clock) as one,
        Store.open(f"sqlite:///{tmp_path}/again.db", clock=clock) as other,
    ):
        assert await told_of(one) == await told_of(other)


async def test_a_move_that_was_cut_off_goes_on_where_it_was(url: str, full: Path, clock: HandClock) -> None:
    async with Store.open(f"sqlite:///{full}", clock=clock) as old, Store.open(url, clock=clock) as new:
        for least in (1, 60, 100):
            with pytest.raises(CutOffError):
                await copy_store(old, new, partial(cut_off_at, least))

        seen = list[int]()
        await copy_store(old, new, lambda done, total: seen.append(100 * done // total))

        assert seen == sorted(seen) and seen[-1] == 100
        assert await told_of(new) == await told_of(old)


async def test_what_holds_something_else_is_not_moved_to(
    url: str, full: Path, clock: HandClock, message: Message
) -> None:
    async with Store.open(url, clock=clock) as other:
        await other.intake.take_in(message("theirs"))

    with pytest.raises(SettingsError, match=r"is not empty \(there are rows in 'deliveries'\).*Nothing was changed"):
        await move(f"sqlite:///{full}", url)

    async with Store.open(url, clock=clock) as other:
        assert [row.incoming.delivery for row in await other.intake.list_waiting()] == ["theirs"]


async def test_a_row_that_is_not_what_it_was_is_found(url: str, full: Path, clock: HandClock) -> None:
    async with Store.open(f"sqlite:///{full}", clock=clock) as old, Store.open(url, clock=clock) as new:
        with pytest.raises(CutOffError):
            await copy_store(old, new, lambda done, total: cut_off(done > total // 2))
        await new.writer.execute("UPDATE chats SET title = 'other'")

        with pytest.raises(StoreError, match="What arrived is not what was there"):
            await copy_store(old, new, lambda *_: None)


@pytest.mark.of_the_file
async def test_nothing_is_moved_under_a_running_bot_from_nowhere_or_to_itself(
    url: str, full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"sqlite:///{full}"
    with lock_database(source, "run"), pytest.raises(SettingsError, match="in use by another `parley run`"):
        await move(source, url)
    with pytest.raises(SettingsError, match="There is nothing to move from"):
        await move(f"sqlite:///{tmp_path}/none.db", url)
    with pytest.raises(SettingsError, match="are the same database"):
        await move(source, f"sqlite:///{tmp_path}/./old.db")
    with pytest.raises(SettingsError, match="The variable OTHER_URL is not set"):
        await move(source, "OTHER_URL")
    assert not (tmp_path / "parley.db").exists()

    monkeypatch.setenv("OTHER_URL", url)
    assert await move(source, "OTHER_URL") == 0


async def test_nothing_is_moved_from_under_a_bot_that_runs_on_a_server(
    postgres_url: str, tmp_path: Path, clock: HandClock
) -> None:
    import psycopg

    target = f"sqlite:///{tmp_path}/new.db"
    async with Store.open(postgres_url, clock=clock):
        pass
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("INSERT INTO workers (id, name, version, configuration) VALUES (1, 'east 42', '', '')")
        with pytest.raises(SettingsError, match=r"A bot answers from this database \(process east 42\)"):
            await move(postgres_url, target)
        assert not (tmp_path / "new.db").exists()

        db.execute("UPDATE workers SET seen_at = now() - interval '6 s'")
        assert await move(postgres_url, target) == 0, "a dead one's row stays until the next start"
        db.execute("DELETE FROM workers")
