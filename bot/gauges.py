"""What is not counted but looked at when somebody asks for the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.upkeep import resident_bytes

if TYPE_CHECKING:
    from bot.app import App


def look_at(app: App) -> None:
    """Add the gauges of a program that is built."""
    for name, help, look in (
        ("parley_turns_running", "Chats with a turn under way.", lambda: app.dispatcher.queue.busy),
        (
            "parley_messages_waiting",
            "Messages that wait behind their chat's turn.",
            lambda: app.dispatcher.queue.length,
        ),
        ("parley_replies_live", "Replies that are being written.", lambda: app.pacer.live),
        ("parley_budgets_known", "Rate budgets that are remembered.", lambda: app.pacer.known_scopes),
        ("parley_writes_waiting", "Operations that wait for the database.", lambda: app.store.writer.waiting),
        (
            "parley_store_in_trouble",
            "1 while the database cannot be written to.",
            lambda: app.store.writer.in_trouble,
        ),
        (
            "parley_token_conflicts",
            "Signs in the last ten minutes that another program receives with one of our tokens.",
            lambda: sum(app.platforms.conflicts.values()),
        ),
        ("parley_loop_block_seconds_max", "The longest time the event loop was late.", lambda: app.watch.longest),
        ("process_resident_memory_bytes", "Memory of this process.", resident_bytes),
    ):
        app.metrics.gauge(name, help, look)
