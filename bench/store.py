"""What durability costs, and whether a long history slows a chat down.

    python bench/store.py [messages] [rows]

Prints how many messages a second are taken in, each on the disk before it is answered: committed one by one, and in
groups; then how long a chat's last 50 entries take among so many rows of others.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bot.contract.clock import SystemClock
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.store import Store
from bot.store.history import NEWEST

CHATS = 1000
BODY = '{"kind": "user", "text": "' + "What is the weather like in the north today, and will it last? " * 3 + '"}'


def message(number: int) -> MessageSent:
    return MessageSent(
        delivery=str(number),
        chat=ChatId("telegram", "42", str(number % CHATS)),
        sender=Sender(id="telegram:1", name="Ada"),
        target=ReplyTarget("telegram", {"chat": number % CHATS}),
        text="What is the weather like?",
    )


async def intake(folder: str, name: str, messages: int, at_once: int) -> None:
    """Take messages in from so many chats at once."""
    waits: list[float] = []
    numbers = iter(range(messages))

    async def sender(store: Store) -> None:
        for number in numbers:
            began = time.perf_counter()
            await store.intake.take_in(message(number))
            waits.append(time.perf_counter() - began)

    async with Store.open(f"sqlite:///{folder}/intake-{at_once}.db", clock=SystemClock()) as store:
        began = time.perf_counter()
        await asyncio.gather(*(sender(store) for _ in range(at_once)))
        seconds = time.perf_counter() - began
        print(
            f"{name:34} {messages / seconds:7.0f} messages/s   {store.writer.commits:6} commits   "
            f"wait p50 {statistics.median(waits) * 1000:6.2f} ms   "
            f"p99 {statistics.quantiles(waits, n=100)[98] * 1000:6.2f} ms"
        )


async def history(folder: str, rows: int) -> None:
    """Read the last 50 entries of chats among so many rows."""
    path = f"{folder}/history-{rows}.db"
    async with Store.open(f"sqlite:///{path}", clock=SystemClock()):
        pass
    fill(path, rows)
    async with Store.open(f"sqlite:///{path}", clock=SystemClock()) as store:
        times = []
        for number in range(300):
            began = time.perf_counter()
            found = await store.history.list_entries(ChatId("telegram", "42", str(number * 37 % CHATS)), limit=50)
            times.append(time.perf_counter() - began)
            assert len(found) == 50
    connection = sqlite3.connect(path)
    alone = []
    for number in range(300):
        began = time.perf_counter()
        connection.execute(NEWEST, (number * 37 % CHATS + 1, 0, rows, 50)).fetchall()
        alone.append(time.perf_counter() - began)
    connection.close()
    p99 = statistics.quantiles(times, n=100)[98]
    print(
        f"last 50 of {rows:9,} rows   p50 {statistics.median(times) * 1000:5.2f} ms   p99 {p99 * 1000:5.2f} ms   "
        f"of which the query {statistics.median(alone) * 1000:5.3f} ms"
    )


def fill(path: str, rows: int) -> None:
    """Write history straight into the table, a turn of two rows after the other, every tenth body long."""
    each = rows // CHATS
    connection = sqlite3.connect(path)
    connection.executemany(
        "INSERT INTO chats (id, chat, last_at, last_sequence) VALUES (?, ?, 0, ?)",
        ((chat + 1, f"telegram:42/{chat}", each) for chat in range(CHATS)),
    )
    connection.execute("INSERT INTO bodies VALUES (1, ?)", (BODY.replace("What", "What " * 2000),))
    connection.executemany(
        "INSERT INTO history VALUES (?, ?, ?, 60, 0, 0, ?, ?)",
        (
            (
                chat + 1,
                sequence,
                (sequence - 1) // 2,
                None if sequence % 10 == 0 else BODY,
                1 if sequence % 10 == 0 else None,
            )
            for sequence in range(1, each + 1)
            for chat in range(CHATS)
        ),
    )
    connection.commit()
    connection.close()


async def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        await intake(folder, "a commit each (one at a time)", messages // 4, 1)
        await intake(folder, "in groups (20 chats at once)", messages, 20)
        await intake(folder, "in groups (1000 chats at once)", messages, 1000)
        for size in (100_000, rows):
            await history(folder, size)


if __name__ == "__main__":
    asyncio.run(main())
