"""What is not counted but looked at when somebody asks for the metrics."""

from __future__ import annotations

import asyncio
import time

from bot.contract import Metrics
from bot.intake import Dispatcher, Platforms, Roles
from bot.operations import LoopWatch, resident_bytes
from bot.pacing import Pacer
from bot.store import Store
from bot.turn import TurnQueue
from tools.contract.base import Json


def describe(dispatcher: Dispatcher, pacer: Pacer, platforms: Platforms, watch: LoopWatch) -> dict[str, Json]:
    """The figures that `/state` shows about the work under way."""
    return {
        "platforms": dict(platforms.state),
        "shards": {name: dict(shards) for name, shards in platforms.shards.items()},
        "conflicts": dict(platforms.conflicts),
        "rights": list[Json](platforms.rights.told),
        "busy": dispatcher.queue.busy,
        "waiting": dispatcher.queue.length,
        "resting": dict(dispatcher.resting),
        "replies": pacer.live,
        "tasks": len(asyncio.all_tasks()),
        "longest_block": round(watch.longest, 3),
        "longest_computing": round(watch.longest_computing, 3),
        "computed_by": watch.where,
    }


def add_gauges(
    metrics: Metrics,
    queue: TurnQueue,
    pacer: Pacer,
    store: Store,
    platforms: Platforms,
    watch: LoopWatch,
    roles: Roles,
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
        ("parley_unserved", "1 while no process receives, or none answers.", lambda: bool(roles.lack)),
        ("parley_loop_block_seconds_max", "The longest time the event loop was late.", lambda: watch.longest),
        ("process_resident_memory_bytes", "Memory of this process.", resident_bytes),
    ):
        metrics.gauge(name, help, look)
    metrics.counter("process_cpu_seconds_total", "Processor time of this process.", time.process_time)
    metrics.gauges(
        "parley_role", "1 for what this process does: all, intake or turns.", ("role",), lambda: {(roles.role,): 1}
    )
    metrics.gauges(
        "parley_platform_listening",
        "1 while messages arrive from a platform, here or in another process for which this one stands by.",
        ("platform",),
        lambda: {(platform,): state in ("listening", "standing by") for platform, state in platforms.state.items()},
    )
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
