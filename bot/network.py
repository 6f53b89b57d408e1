"""The proxy to the core's and the platforms' servers; `tools.contract.network` reads the environment for all."""

from __future__ import annotations

from bot.contract import SettingsError
from tools.contract import network
from tools.contract.network import httpx2_context, is_direct, trusted

__all__ = ["httpx2_context", "is_direct", "proxy_before", "trusted"]


def proxy_before(address: str, whose: str) -> str | None:
    """Return the address of the proxy for `address`; None if it is reached directly.

    Args:
        whose: the name of the service, for the error.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """
    try:
        return network.proxy_before(address, whose)
    except network.UnusableProxy as error:
        raise SettingsError(str(error)) from None
