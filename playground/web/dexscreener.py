"""Dexscreener with invented pools: tokens on several chains, their pools, and the look-alikes that follow them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from playground.web.service import PublicService, Refused

MOST_PAIRS = 30


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool; the price is that of its first token, as text, as in the service."""

    chain: str
    exchange: str
    symbol: str
    name: str
    address: str
    price: str | None
    change: float | None
    volume: float
    liquidity: float | None
    """None: a token that is still being launched has none."""
    value: float | None = None
    quote: str = "WETH"


_PEPE = "0x6982508145454Ce325dDbE47a25d4ec3d2311933"
_PARLEY = "0x1111111111111111111111111111111111111111"
POOLS: tuple[Pool, ...] = (
    Pool("ethereum", "uniswap", "PEPE", "Pepe", _PEPE, "0.0000112", -2.4, 8.1e6, 2.6e7, 4.7e9),
    Pool("base", "uniswap", "PEPE", "BasedPepe", "0x" + "7" * 40, "0.00000031", 14.0, 2.1e4, 9.0e4, 3.1e5),
    Pool("base", "aerodrome", "USDC", "USD Coin", "0x" + "8" * 40, "1.0001", 0.01, 9.2e7, 4.4e7, 4.0e9),
    Pool("ethereum", "uniswap", "USDC", "USD Coin", "0x" + "a" * 40, "0.9999", 0.0, 3.1e8, 2.2e8, 4.1e10),
    Pool("ethereum", "uniswap", "PARLEY", "Parley", _PARLEY, "0.00001234", 5.31, 1_250_000, 8_400_000, 51_000_000),
    Pool("ethereum", "sushiswap", "PARLEY", "Parley", _PARLEY, "0.00001236", 5.2, 90_000, 600_000, 51_000_000, "USDC"),
    Pool("base", "aerodrome", "PARLEY", "Parley", "0x" + "2" * 40, "0.00001233", 4.9, 310_000, 1_200_000, 50_900_000),
    Pool(
        "solana",
        "raydium",
        "PARLEY",
        "parley",
        "Par1eyFake1111111111111111111111111111111111",
        "0.41",
        912.0,
        88_000,
        2_100,
    ),
    Pool("bsc", "pancakeswap", "PARLEY", "Parley Inu", "0x" + "3" * 40, "0.0000000000071", -88.5, 40, 350),
    Pool(
        "solana",
        "pumpfun",
        "PARLEY",
        "Parley 2",
        "NewPar1ey11111111111111111111111111111111111",
        "0.000003",
        None,
        0,
        None,
    ),
    Pool("ethereum", "uniswap", "WBRG", "Wrapped Bridge", "0x" + "4" * 40, "61234.5", -1.25, 9_000_000, 70_000_000),
    Pool("ethereum", "uniswap", "USDX", "USD Example", "0x" + "5" * 40, "1.0002", 0.01, 5e6, 4e7, 3.2e9, "PARLEY"),
    Pool(
        "solana",
        "orca",
        "BONE",
        "Bone of Dogs",
        "BoneXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "0.02",
        1.0,
        100,
        20_000,
    ),
    Pool("ethereum", "uniswap", "NIL", "No Price", "0x" + "6" * 40, None, None, 0, 0),
)


class DexscreenerServer(PublicService):
    """Dexscreener on loopback."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port)
        self.pools: list[Pool] = list(POOLS)
        self.per_minute = 300
        self.serve("/latest/dex/search", self._search)
        self.serve("/token-pairs/v1/{chain}/{address}", self._pools)

    def too_many(self) -> Refused:
        return Refused(429, {"error": "Too Many Requests"}, Retry_After="12")

    def _search(self, request: web.Request) -> dict[str, Any]:
        wanted = request.query.get("q", "").strip().lower()
        if not wanted:
            raise Refused(400, {"error": "Query parameter q is required"})
        found = [
            pool
            for pool in self.pools
            if any(wanted in text for text in (pool.symbol.lower(), pool.name.lower(), pool.quote.lower()))
            or wanted == pool.address.lower()
        ]
        # By its own notion of relevance, which is not liquidity.
        found.sort(key=lambda pool: -abs(pool.change or 0))
        return {"schemaVersion": "1.0.0", "pairs": [_pair(pool) for pool in found[:MOST_PAIRS]] or None}

    def _pools(self, request: web.Request) -> list[dict[str, Any]]:
        chain, address = request.match_info["chain"], request.match_info["address"].lower()
        return [_pair(pool) for pool in self.pools if (pool.chain, pool.address.lower()) == (chain, address)]


def _pair(pool: Pool) -> dict[str, Any]:
    number = f"0x{zlib.crc32(f'{pool.chain}{pool.exchange}{pool.address}'.encode()):040x}"
    pair: dict[str, Any] = {
        "chainId": pool.chain,
        "dexId": pool.exchange,
        "url": f"https://dexscreener.com/{pool.chain}/{number}",
        "pairAddress": number,
        "baseToken": {"address": pool.address, "name": pool.name, "symbol": pool.symbol},
        "quoteToken": {"address": "0x" + "9" * 40, "name": pool.quote, "symbol": pool.quote},
        "priceNative": "0.000000004",
        "txns": {"h24": {"buys": 812, "sells": 640}},
        "volume": {"h24": pool.volume, "h6": pool.volume / 4, "h1": 0, "m5": 0},
        "priceChange": {} if pool.change is None else {"h24": pool.change, "h6": 0.4},
        "pairCreatedAt": 1_700_000_000_000,
    }
    if pool.price is not None:
        pair["priceUsd"] = pool.price
    if pool.liquidity is not None:
        pair["liquidity"] = {"usd": pool.liquidity, "base": 1, "quote": 1}
    if pool.value is not None:
        pair |= {"fdv": pool.value * 1.1, "marketCap": pool.value}
    return pair
