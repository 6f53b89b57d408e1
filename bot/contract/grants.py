"""What others grant an app that they install: kept for the adapter, which alone can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


class Grants(Protocol):
    """Where an adapter keeps what each account granted it, sealed: the store and its copies hold no token."""

    async def list_kept(self, platform: str) -> Mapping[str, str]:
        """Return what is kept, by account.

        Raises:
            StoreError: it cannot be read now.
        """
        ...

    async def keep(self, platform: str, account: str, sealed: str) -> None:
        """Keep what an account granted, in place of what it granted before.

        Raises:
            StoreError: it is not kept.
        """
        ...

    async def drop(self, platform: str, account: str) -> None:
        """Delete what an account granted; nothing kept is no error.

        Raises:
            StoreError: it is not deleted.
        """
        ...


@runtime_checkable
class Installable(Protocol):
    """An adapter whose app others may install in accounts of theirs."""

    grants: Grants | None
    """Set before the adapter is entered; None: it serves only the account of its settings."""
