"""What is not counted but looked at when somebody asks for the metrics."""

from __future__ import annotations

import time

from bot.intake import Platforms
from bot.operations import LoopWatch, Metrics, resident_bytes
from bot.pacing import Pacer
from bot.store import Store
from bot.turn import TurnQueue


def add_gauges(
    metrics: Metrics, queue: TurnQueue, pacer: Pacer, store: Store, platforms: Platforms, watch: LoopWatch
) -> None:
    """Add the gauges of a program that is built."""
    for name, help, look in (
        ("parley_turns_running", "Chats with a turn under way.", lambda: queue.busy),
        ("parley_messages_waiting", "Messages that wait behind their chat's turn.", lambda: queue.length),
        ("parley_replies_live", "Replies that are being written.", lambda: pacer.live),
        ("parley_budgets_known", "Rate budgets that are remembered.", lambda: pacer.known_scopes),
        ("parley_writes_waiting", "Operations that wait for the database.", lambda: store.writer.waiting),
        ("parley_store_in_trouble", "1 while the database cannot be written to.", lambda: store.writer.in_trouble),
        (
            "parley_token_conflicts",
            "Signs in the last ten minutes that another program receives with one of our tokens.",
            lambda: sum(platforms.conflicts.values()),
        ),
        ("parley_loop_block_seconds_max", "The longest time the event loop was late.", lambda: watch.longest),
        ("process_resident_memory_bytes", "Memory of this process.", resident_bytes),
    ):
        metrics.gauge(name, help, look)
    metrics.counter("process_cpu_seconds_total", "Processor time of this process.", time.process_time)
    metrics.gauges(
        "parley_shard_listening",
        "1 while a connection of a platform takes messages in, for each of its shards.",
        ("platform", "shard"),
        lambda: {
            (platform, shard): state == "listening"
            for platform, shards in platforms.shards.items()
            for shard, state in shards.items()
        },
    )
