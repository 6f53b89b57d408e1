"""`parley usage`: who and what used how much, from the turns that are stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cli.usage import MOST_ROWS, print_usage
from bot.contract import ChatId, MessageSent, ReplyTarget, Sender, Usage
from bot.settings import CoreSettings, read
from bot.store import Store, TurnState
from bot.store.used import first_since
from tests.bot.cli.conftest import Inside
from tests.conftest import FakeClock

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
DAY = 86_400.0


class Asked:
    """A database in which people asked; printing what they used."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = f"sqlite:///{folder}/parley.db"
        self.clock = FakeClock()
        self.clock.started = NOON
        self._capsys = capsys

    async def question(
        self,
        chat: str,
        person: str,
        model: str = "openai:gpt-5-mini",
        *,
        name: str = "",
        at: float = 0.0,
        dollars: float = 0.01,
    ) -> None:
        now, self.clock.started = self.clock.started, NOON + at
        async with Store.open(self.url, clock=self.clock) as store:
            where = ChatId.parse(chat)
            message = MessageSent(
                delivery=f"{chat} {person} {at} {name} {model}",
                chat=where,
                sender=Sender(id=person, name=name),
                target=ReplyTarget(where.platform),
                text="hello",
            )
            turn = await store.intake.take_in(message)
            assert turn is not None
            await store.turns.open(turn, where, person)
            used = Usage(1_000, 200)
            await store.turns.close(
                turn, TurnState.DONE, (), visible="x" * 9_000, reasoning="", model=model, usage=used, dollars=dollars
            )
        self.clock.started = now

    async def printed(self, days: int = 30, *, as_json: bool = False, **settings: str) -> str:
        core = read(CoreSettings).model_copy(update={"database_url": self.url, **settings})
        assert await print_usage(core, days, as_json=as_json, clock=self.clock) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(tmp_path, capsys)


async def test_an_operator_reads_who_and_what_used_how_much(asked: Asked) -> None:
    await asked.question("telegram:42/7", "telegram:7", name="Ada", at=-DAY)
    await asked.question("telegram:42/7", "telegram:7", name="Ada L.", dollars=0.02)
    await asked.question("slack:T1/C1/17.1", "slack:T1/U8", "openai:unheard-of", dollars=0.0)
    await asked.question("slack:T1/C1/17.2", "slack:T1/U8", "openai:unheard-of", dollars=0.0)
    await asked.question("telegram:42/7", "telegram:7", at=-40 * DAY)

    lines = [line.split() for line in (await asked.printed()).splitlines()]

    assert ["2026-11-24", "1", "1,200", "0.0100"] in lines and ["2026-11-25", "3", "3,600", "0.0200"] in lines
    assert ["all", "4", "4,800", "0.0300"] in lines
    assert ["telegram:7", "2", "2,400", "0.0300", "Ada", "L."] in lines
    assert ["slack:T1/C1", "2", "2,400", "0.0000"] in lines
    assert ["openai:gpt-5-mini", "2", "2,400", "0.0300"] in lines
    unknown = "Without a known price, and so not in dollars: openai:unheard-of. PRICES adds prices."
    assert unknown.split() in lines


async def test_days_are_those_of_the_quotas_and_json_holds_every_row(asked: Asked) -> None:
    for number in range(MOST_ROWS + 5):
        await asked.question(f"telegram:42/{number}", f"telegram:{number}", dollars=0.01 * number)
    await asked.question("telegram:42/7", "telegram:7", at=-DAY / 2 - 60)

    shown = await asked.printed(1)
    told = json.loads(await asked.printed(1, as_json=True))

    assert shown.startswith("Used today (UTC)") and "2026-11-24" not in shown
    assert ["(5", "others)", "5", "6,000", "0.1000"] in [line.split() for line in shown.splitlines()]
    assert len(told["by_person"]) == len(told["by_chat"]) == MOST_ROWS + 5
    assert told["by_day"] == [
        {"day": "2026-11-25", "questions": 25, "prompt_tokens": 25_000, "completion_tokens": 5_000, "dollars": 3.0}
    ]
    assert told["by_model"][0]["price_known"] and told["all"]["questions"] == 25


async def test_where_nothing_was_asked_it_says_so(asked: Asked) -> None:
    assert (await asked.printed()).startswith("nothing was asked yet: there is no ")
    assert json.loads(await asked.printed(as_json=True))["by_day"] == []
    await asked.question("telegram:42/7", "telegram:7", at=-40 * DAY)
    assert await asked.printed(7) == "Nothing was asked in the last 7 days (UTC).\n"


async def test_a_turn_that_began_late_is_counted_in_its_own_day(asked: Asked) -> None:
    """It waited for a decision, while the ids of later questions passed by."""
    for hours in (-30, -25, 1, -23, 2):
        await asked.question("telegram:42/7", "telegram:7", at=hours * 3600 - 12 * 3600 + 60)
    told = json.loads(await asked.printed(1, as_json=True))
    assert told["all"]["questions"] == 2


def test_the_turns_of_a_period_are_found_among_a_million_by_a_few_looks(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "many.db")) as db:
        db.execute("CREATE TABLE turns (id INTEGER PRIMARY KEY, started_at REAL)")
        db.execute(
            "INSERT INTO turns WITH RECURSIVE n (id) AS (SELECT 7 UNION ALL SELECT id + 7 FROM n LIMIT 100000) "
            "SELECT id, id * 10.0 FROM n WHERE id NOT BETWEEN 5000 AND 60000"
        )
        looks: list[str] = []
        db.set_trace_callback(looks.append)
        for wall, first in ((0.0, 7), (70.1, 14), (49_990.0, 60_004), (6_999_999.0, 700_000), (1e9, None)):
            found = first_since(db, wall)
            assert db.execute("SELECT min(id) FROM turns WHERE id >= ?", (found,)).fetchone()[0] == first
        assert len(looks) <= 5 * 23


@pytest.mark.parametrize("days", ["0", "-1", "10000"])
def test_what_is_no_number_of_days_is_one_sentence(inside: Inside, tmp_path: Path, days: str) -> None:
    told = inside.run("usage", "--days", days, folder=tmp_path, environment={"PARLEY_ENV_FILE": ""})

    assert told.code == 2
    assert told.err == f"parley: --days must be a number from 1 to 9999, not {days}\n"


def test_the_command_reads_the_database_of_the_settings(inside: Inside, tmp_path: Path) -> None:
    told = inside.run(
        *("usage", "--json", "--days", "2"),
        folder=tmp_path,
        environment={"PARLEY_ENV_FILE": "", "DATABASE_URL": "sqlite:///nowhere.db"},
    )
    assert told.code == 0 and json.loads(told.out)["days"] == 2
