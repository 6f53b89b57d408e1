"""All figures of `bench.delivery` that are published, in one run of an hour and a quarter.

    python -m bench.everything --save figures.json
    python -m bench.published figures.json --readme --table --loads --chart docs/reader-waits.svg

Bursts and the same questions spread out, then eight a second, then 500 at once: one set-up after another. The steady
loads last: two set-ups at a time, each with a bench process of its own, since together they use less than two cores.
The last column of each line says how long others held it up.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.delivery import options_of, run_platform

PARTS: Sequence[tuple[int, str]] = (
    (1, "--chats 1 20 100 --within 2 5 20"),
    (1, "--chats --steady 0.5 --load --per-second 8"),
    (1, "--platform telegram telegram-group --chats 500"),
    # Slack's limits carry the fewest questions, so it is beside the busiest.
    (2, "--platform discord slack telegram telegram-group discord-mention --chats --steady 5 --per-second"),
)
"""How many set-ups run at a time, and the options of `bench.delivery`."""


def main() -> None:
    """Run all parts and save the figures after each."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--save", type=Path, required=True, help="all figures as JSON, for bench.published")
    save: Path = arguments.parse_args().save
    found: list[dict[str, Any]] = []
    for at_once, given in PARTS:
        options = options_of(given.split())
        with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
            for figures in pool.map(run_platform, options.platform, repeat(options)):
                found += figures
        save.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
