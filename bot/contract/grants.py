"""What accounts grant an app when they install it, such as tokens; only the adapter can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


class Grants(Protocol):
    """Stores each account's grant, encrypted by the adapter: the database and its copies contain no readable token."""

    async def list_kept(self, platform: str) -> Mapping[str, str]:
        """Return the stored grants, by account.

        Raises:
            StoreError: they cannot be read now.
        """
        ...

    async def keep(self, platform: str, account: str, sealed: str) -> None:
        """Store an account's grant in place of its previous one.

        Raises:
            StoreError: it was not stored.
        """
        ...

    async def drop(self, platform: str, account: str) -> None:
        """Delete an account's grant, if there is one.

        Raises:
            StoreError: it was not deleted.
        """
        ...


@runtime_checkable
class Installable(Protocol):
    """An adapter whose app other accounts can install."""

    grants: Grants | None
    """Set before the adapter is entered; None: it serves only the account in its settings."""
