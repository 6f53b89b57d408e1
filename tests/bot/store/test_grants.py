"""What accounts granted an app, on both databases."""

from __future__ import annotations

from bot.store import Store


async def test_each_account_of_a_platform_grants_one_thing(store: Store) -> None:
    assert await store.grants.list_kept("slack") == {}

    await store.grants.keep("slack", "T1", "first")
    await store.grants.keep("slack", "T1", "second")
    await store.grants.keep("slack", "T2", "other")
    await store.grants.keep("discord", "T1", "elsewhere")
    assert await store.grants.list_kept("slack") == {"T1": "second", "T2": "other"}

    await store.grants.drop("slack", "T1")
    await store.grants.drop("slack", "T1")
    assert await store.grants.list_kept("slack") == {"T2": "other"}
    assert await store.grants.list_kept("discord") == {"T1": "elsewhere"}
