"""Who repeats a mistake is told once in a while, in memory or across restarts."""

from __future__ import annotations

import pytest

from bot.contract import ChatId
from bot.policy import Once, OncePer, once_in_chat, once_per_person
from bot.policy import once as module
from bot.store import Store
from tests.conftest import FakeClock

HERE, THERE = ChatId("telegram", "42", "7"), ChatId("telegram", "42", "8")


@pytest.fixture
def once(store: Store, clock: FakeClock) -> Once:
    return Once(store.access.claim, clock)


@pytest.mark.parametrize("lasting", [True, False])
async def test_a_key_comes_up_once_in_its_time_and_again_after_it(once: Once, clock: FakeClock, lasting: bool) -> None:
    per = OncePer("queue_full_person", 60.0, lasting=lasting)

    assert [await once.claim(per) for _ in range(3)] == [True, False, False]
    await clock.advance(59.9)
    assert not await once.claim(per)
    await clock.advance(0.1)
    assert [await once.claim(per) for _ in range(2)] == [True, False]


async def test_only_what_lasts_is_known_to_the_next_process(once: Once, store: Store, clock: FakeClock) -> None:
    lasting, passing = OncePer("stranger", 60.0, lasting=True), OncePer("queue_full_person", 60.0)
    assert await once.claim(lasting) and await once.claim(passing)

    later = Once(store.access.claim, clock)

    assert not await later.claim(lasting)
    assert await later.claim(passing)


async def test_each_chat_and_each_person_is_told_what_it_was_not_told(once: Once) -> None:
    assert await once.claim(once_in_chat(HERE, "queue_full_person"))
    assert not await once.claim(once_in_chat(HERE, "queue_full_person"))
    assert await once.claim(once_in_chat(HERE, "too_big")) and await once.claim(
        once_in_chat(THERE, "queue_full_person")
    )

    assert await once.claim(once_per_person("stranger", "telegram:7", 60.0))
    assert not await once.claim(once_per_person("stranger", "telegram:7", 60.0))
    assert await once.claim(once_per_person("stranger", "telegram:8", 60.0))


async def test_when_memory_is_full_nothing_new_comes_up_until_something_ends(
    once: Once, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)

    assert [await once.claim(OncePer(str(key), 60.0)) for key in range(5)] == [True, True, True, False, False]
    await clock.advance(60.0)
    assert [await once.claim(OncePer(str(key), 60.0)) for key in range(5)] == [True, True, True, False, False]
