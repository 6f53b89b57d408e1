"""What a crypto token costs on decentralised exchanges, by Dexscreener: price, change, volume, liquidity and chain.

Anybody can make a token of any name on any chain. So what is asked for by symbol or name is answered with every token
that carries it, the one with the most money in its pools first, and the rest plainly called what they may be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.calling.function import FunctionTool
from tools.contract.base import Source, ToolContext, ToolError, ToolResult
from tools.contract.findings import Finding
from tools.fetch.entries import joined
from tools.fetch.service import JsonService, fields_of, items_of, number_of, text_of
from tools.settings import TokenPriceSettings

_SHOWN = 5
_THIN = 10_000.0
"""Dollars of liquidity below which a price means little: one purchase moves it."""
_SMALL = 0.02
"""The part of the first one's liquidity below which a namesake is probably a copy."""
_ADDRESS = re.compile(
    r"0x[0-9a-fA-F]{40}$|0x[0-9a-fA-F]{64}(?:::\w+::\w+)?$|[1-9A-HJ-NP-Za-km-z]{32,44}$|[EU]Q[\w-]{46}$"
)
_CHAINS = {
    "eth": "ethereum",
    "erc20": "ethereum",
    "sol": "solana",
    "bnb": "bsc",
    "binance": "bsc",
    "bep20": "bsc",
    "matic": "polygon",
    "arb": "arbitrum",
    "op": "optimism",
    "avax": "avalanche",
    "trx": "tron",
    "以太坊": "ethereum",
    "索拉纳": "solana",
    "币安": "bsc",
    "波场": "tron",
}
_EXAMPLES = (
    {"token": "PEPE"},
    {"token": "USDC", "chain": "base"},
    {"token": "0x6982508145454Ce325dDbE47a25d4ec3d2311933"},
)
_ASKED = (
    "How much is PEPE?",
    "USDC 在 Base 链上是多少钱？",
)
_KEYWORDS = (
    *("token", "crypto", "coin", "price", "liquidity", "dex", "memecoin", "solana", "ethereum", "contract address"),
    *("market cap", "bitcoin", "btc", "eth", "代币", "币价", "加密货币", "价格", "流动性", "合约", "土狗", "多少钱"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token on one chain, with what its pools come to."""

    chain: str
    address: str
    symbol: str
    name: str
    price: float
    change: float | None
    """Per cent in 24 hours."""
    volume: float
    liquidity: float
    value: float | None
    """Market capitalisation, or that of all tokens there can be."""
    pools: int
    exchange: str
    url: str


def open_tool(settings: TokenPriceSettings | None) -> TokenPrice:
    """The prices; they need no key."""
    return TokenPrice(settings if settings is not None else TokenPriceSettings.model_construct())


class TokenPrice(FunctionTool):
    """`token_price`."""

    def __init__(self, settings: TokenPriceSettings) -> None:
        self._service = JsonService(
            "Dexscreener",
            settings.dexscreener_base_url,
            "DEXSCREENER_BASE_URL",
            configured=bool(settings.model_fields_set),
        )
        super().__init__(
            self.price,
            self._service,
            name="token_price",
            category="finance",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="token coin crypto cryptocurrency price quote current latest | token coin crypto cryptocurrency",
            icon="🪙",
            verb=("Checking the price", "正在查询价格", "正在查詢價格"),
            label=("Look up prices of crypto tokens", "查询加密货币价格", "查詢加密貨幣價格"),
            subject="token",
            cache_seconds=30.0,
            timeout=15.0,
        )

    async def price(self, context: ToolContext, token: str, chain: str = "") -> ToolResult:
        """The price of a crypto token on decentralised exchanges: 24 h change, volume, liquidity, chain.

        Use when: the person asks what a crypto token or coin costs, by symbol, name or contract address.
        Not for: shares, currencies and metals (search_web), or advice on what to buy.
        Source: Dexscreener

        Args:
            token: Symbol, name or contract address. Example: "PEPE"
            chain: Only on this chain, as ethereum, solana, base or bsc; every chain when left out.
        """
        token = " ".join(token.split()).lstrip("$")
        if not token or len(token) > 120:
            raise ToolError("token must be a symbol, a name or a contract address.")
        wanted = chain.strip().lower()
        wanted = _CHAINS.get(wanted, wanted)
        if wanted and not re.match(r"[a-z0-9-]{2,30}$", wanted):
            raise ToolError("chain must be a name such as ethereum, solana, base or bsc.")
        by_address = bool(_ADDRESS.match(token))
        if by_address and wanted:
            found = await self._service.get(f"/token-pairs/v1/{wanted}/{token}", {})
        else:
            found = fields_of(await self._service.get("/latest/dex/search", {"q": token})).get("pairs")
        pairs = items_of(found)
        tokens = _tokens(pairs, token, by_address)
        chains = sorted({one.chain for one in tokens})
        if wanted:
            tokens = [one for one in tokens if one.chain == wanted]
        if not tokens:
            where = f" on {wanted}" if wanted else ""
            there = f" It is traded on {', '.join(chains)}." if chains and wanted else ""
            return ToolResult(
                text=f"Dexscreener knows no traded token {token!r}{where}.{there} Check the spelling, or use the "
                "contract address.",
                untrusted=True,
            )
        return _written(token, tokens, by_address, context.chars)

    async def check(self, *, offline: bool = False) -> Finding:
        """Whether Dexscreener answers a search."""
        asked = {"q": "PEPE"}
        return await self._service.check("/latest/dex/search", asked, expected="pairs", offline=offline)


def _tokens(pairs: Sequence[Mapping[str, Any]], query: str, by_address: bool) -> list[Token]:
    """The tokens that `query` may mean, the most liquid first; each pool's price is that of its base token."""
    asked = query.casefold()
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    similar: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for pair in pairs:
        base = fields_of(pair.get("baseToken"))
        address = text_of(base.get("address"))
        key = (text_of(pair.get("chainId")), address.casefold() if address.startswith("0x") else address)
        if not all(key) or number_of(pair.get("priceUsd")) is None:
            continue
        names = [text_of(base.get("symbol")).casefold(), text_of(base.get("name")).casefold()]
        # Addresses of some chains differ by case alone, but nobody makes two such tokens; people write them anyhow.
        if asked == address.casefold() if by_address else asked in (*names, names[0].lstrip("$")):
            groups.setdefault(key, []).append(pair)
        elif not by_address and asked in names[1]:
            similar.setdefault(key, []).append(pair)
    found = [_token(pools) for pools in (groups or similar).values()]
    return sorted(found, key=lambda one: (-one.liquidity, -one.volume))


def _token(pools: Sequence[Mapping[str, Any]]) -> Token:
    """One token; its price is that of its deepest pool."""

    def depth(pool: Mapping[str, Any]) -> float:
        return number_of(fields_of(pool.get("liquidity")).get("usd")) or 0.0

    main = max(pools, key=depth)
    base = fields_of(main.get("baseToken"))
    value = number_of(main.get("marketCap"))
    return Token(
        chain=text_of(main.get("chainId")),
        address=text_of(base.get("address")),
        symbol=text_of(base.get("symbol"))[:30],
        name=text_of(base.get("name"))[:60],
        price=number_of(main.get("priceUsd")) or 0.0,
        change=number_of(fields_of(main.get("priceChange")).get("h24")),
        volume=sum(number_of(fields_of(pool.get("volume")).get("h24")) or 0.0 for pool in pools),
        liquidity=sum(map(depth, pools)),
        value=value if value is not None else number_of(main.get("fdv")),
        pools=len(pools),
        exchange=text_of(main.get("dexId")),
        url=text_of(main.get("url")),
    )


def _written(query: str, tokens: Sequence[Token], by_address: bool, chars: int) -> ToolResult:
    chains = {one.chain for one in tokens}
    head = f"{query}: "
    if len(tokens) == 1:
        head += f"one token on {tokens[0].chain}.\n"
    elif by_address:
        head += f"the same address on {len(chains)} chains.\n"
    else:
        head += (
            f"{len(tokens)} different tokens on {len(chains)} chain{'s' if len(chains) > 1 else ''} carry this name; "
            "the most liquid first. Anybody can make a token of any name: name the chain with the price, and have "
            "the person check the address before trading.\n"
        )
    entries = [_entry(number, one, tokens[0]) for number, one in enumerate(tokens[:_SHOWN], 1)]
    left = len(tokens) - len(entries)
    tail = f"\n({left} more with less liquidity; name the chain to narrow them down.)" if left > 0 else ""
    text, shown = joined(head, entries, chars, what="tokens", tail=tail)
    sources = tuple(
        Source(f"{one.symbol} on {one.chain}", one.url) for one in tokens[:shown] if one.url.startswith("https://")
    )
    return ToolResult(text=text.rstrip("\n"), sources=sources, untrusted=True)


def _entry(number: int, token: Token, first: Token) -> str:
    change = "unknown" if token.change is None else f"{token.change:+.2f} %"
    pools = f"{token.pools} pool{'s' if token.pools > 1 else ''}, the deepest on {token.exchange}"
    lines = [
        f"\n[{number}] {token.symbol} ({token.name}) on {token.chain}: {price(token.price)}, 24 h {change}",
        f"Volume 24 h {money(token.volume)}, liquidity {money(token.liquidity)} in {pools}"
        + (f", market cap {money(token.value)}" if token.value else ""),
        f"Address: {token.address}",
    ]
    if token is not first and token.liquidity < first.liquidity * _SMALL:
        lines.append("Caution: tiny beside the first of this name; probably a look-alike, possibly a scam.")
    elif token.liquidity < _THIN:
        lines.append("Caution: so little liquidity that the price means little and may be made up.")
    elif token is not first and token.chain == first.chain:
        lines.append("Another token of the same name on the same chain, not the first one.")
    elif token is not first:
        lines.append("Another chain: it may be the bridged token or only a namesake; the address tells.")
    return "\n".join(lines) + "\n"


def price(dollars: float) -> str:
    """A price with the digits that count, never in powers of ten: $0.00001234."""
    if dollars == 0 or abs(dollars) >= 1:
        return f"${dollars:,.2f}" if abs(dollars) < 1e15 else f"${dollars:.3g}"
    zeros = len(f"{abs(dollars):.30f}"[2:]) - len(f"{abs(dollars):.30f}"[2:].lstrip("0"))
    return "$" + f"{dollars:.{zeros + 4}f}".rstrip("0").rstrip(".")


def money(dollars: float) -> str:
    """An amount as people say it: $1.2M."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if abs(dollars) >= size:
            return f"${dollars / size:.1f}{letter}"
    return f"${dollars:.0f}"
