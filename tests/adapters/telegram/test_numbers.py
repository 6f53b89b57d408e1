"""The numbers of messages, by which a lost post is found."""

from __future__ import annotations

import asyncio

import pytest

from adapters.telegram.numbers import _KEPT, Numbers

GROUP, SUPERGROUP = -5, -1_000_000_000_005


def message(chat: int, number: int) -> dict[str, object]:
    return {"message_id": number, "chat": {"id": chat}}


async def test_private_chats_and_groups_are_numbered_together_and_each_supergroup_for_itself() -> None:
    numbers = Numbers()
    for chat, number in ((7, 10), (GROUP, 12), (SUPERGROUP, 500)):
        numbers.note(message(chat, number))

    assert (numbers.newest(7), numbers.newest(8), numbers.newest(SUPERGROUP)) == (12, 12, 500)
    assert await numbers.find_unknown(7, 9) == [11, 13, 14, 15, 16, 17, 18, 19]
    assert await numbers.find_unknown(SUPERGROUP, 499) == [501, 502, 503, 504, 505, 506, 507, 508]


async def test_where_no_number_is_known_none_is_tried() -> None:
    assert await Numbers().find_unknown(7, Numbers().newest(7)) == []


async def test_a_post_under_way_is_awaited_and_its_number_is_not_tried() -> None:
    numbers = Numbers()
    numbers.note(message(7, 10))
    with numbers.posting(7):
        finding = asyncio.create_task(numbers.find_unknown(7, 10))
        await asyncio.sleep(0)
        assert not finding.done()
        numbers.note(message(7, 11))

    assert (await finding)[0] == 12


@pytest.mark.parametrize(
    "odd", [None, True, [], {}, {"message_id": "1"}, {"message_id": 1}, {"message_id": 1, "chat": 7}]
)
def test_what_is_no_message_is_ignored(odd: object) -> None:
    numbers = Numbers()
    numbers.note(odd)

    assert numbers.newest(7) == 0


async def test_only_so_many_messages_are_remembered() -> None:
    numbers = Numbers()
    for number in range(1, _KEPT + 3):
        numbers.note(message(7, number))

    assert (await numbers.find_unknown(7, 0), (await numbers.find_unknown(7, 1))[0]) == ([], 2)
