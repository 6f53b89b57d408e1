"""What accounts of a platform granted an app when they installed it; encrypted by the adapter, which alone can read
it."""

from __future__ import annotations

from bot.store.queries import Queries


class StoredGrants(Queries):
    """See `bot.contract.Grants`."""

    async def list_kept(self, platform: str) -> dict[str, str]:
        rows = await self._readers.fetch_rows("SELECT account, sealed FROM grants WHERE platform = ?", (platform,))
        return {str(account): str(sealed) for account, sealed in rows}

    async def keep(self, platform: str, account: str, sealed: str) -> None:
        await self._writer.run(
            lambda db: db.execute(
                "INSERT INTO grants (platform, account, sealed, kept_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (platform, account) DO UPDATE SET sealed = excluded.sealed, kept_at = excluded.kept_at",
                (platform, account, sealed, self._clock.wall()),
            )
        )

    async def drop(self, platform: str, account: str) -> None:
        await self._writer.run(
            lambda db: db.execute("DELETE FROM grants WHERE platform = ? AND account = ?", (platform, account))
        )
