"""The proxy before what the core and the platforms reach; `tools.contract.network` reads the environment for all."""

from __future__ import annotations

from bot.contract import SettingsError
from tools.contract import network
from tools.contract.network import is_direct, trusted

__all__ = ["is_direct", "proxy_before", "trusted"]


def proxy_before(address: str, whose: str) -> str | None:
    """The address of the proxy through which `address` is reached; None where it is reached directly.

    Args:
        whose: who is reached there, for the error.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """
    try:
        return network.proxy_before(address, whose)
    except network.UnusableProxy as error:
        raise SettingsError(str(error)) from None
