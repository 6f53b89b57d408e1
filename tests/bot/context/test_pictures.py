"""Which pictures of earlier questions a model is shown again: the newest, as far as they are stored and small."""

from __future__ import annotations

from bot.context.brief import BYTES_AGAIN, MOST_SHOWN_AGAIN
from bot.contract import AssistantEntry, Entry, Picture, UserEntry
from tests.bot.conftest import OpenRig, Rig


async def asked(it: Rig, *sizes: int) -> UserEntry:
    """A question with pictures of these sizes, as history has it."""
    put, found = it.bot.store.files.put, list[Picture]()
    for size in sizes:
        it.number += 1
        content = b"%08d" % it.number + b"x" * size
        found.append(Picture(await put("telegram:42/7", f"{it.number}.png", "image/png", content), "image/png"))
    return UserEntry("What is this?", pictures=tuple(found))


def shown(entries: tuple[Entry, ...]) -> list[list[bool]]:
    return [[bool(one.content) for one in entry.pictures] for entry in entries if isinstance(entry, UserEntry)]


async def test_the_newest_pictures_are_shown_again_and_older_ones_are_not(rig: OpenRig) -> None:
    async with rig() as it:
        history: list[Entry] = [await asked(it, 1), AssistantEntry("A cat."), await asked(it, 1, 1, 1)]

        entries = await it.bot.briefings._show_pictures([*history, UserEntry("And?"), await asked(it, 1, 1)])

    assert shown(entries) == [[False], [True, True, False], [], [True, True]]
    assert sum(map(sum, shown(entries))) == MOST_SHOWN_AGAIN


async def test_so_many_bytes_are_shown_again_at_most(rig: OpenRig) -> None:
    async with rig() as it:
        history: list[Entry] = [
            await asked(it, 1),
            await asked(it, BYTES_AGAIN // 2),
            await asked(it, BYTES_AGAIN // 3),
        ]
        assert shown(await it.bot.briefings._show_pictures([*history])) == [[True], [True], [True]]

        history.append(await asked(it, BYTES_AGAIN // 3))

        assert shown(await it.bot.briefings._show_pictures(history)) == [[False], [False], [True], [True]]


async def test_what_is_stored_no_longer_is_only_named(rig: OpenRig) -> None:
    async with rig() as it:
        gone = UserEntry("What is this?", pictures=(Picture(999, "image/png"),))

        assert shown(await it.bot.briefings._show_pictures([gone])) == [[False]]
