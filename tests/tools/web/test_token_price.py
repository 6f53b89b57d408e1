"""token_price against Dexscreener on loopback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.web import DexscreenerServer
from tests.conftest import RawJson
from tests.tools.web.conftest import Call, Caller
from tools.settings import TokenPriceSettings
from tools.token_price import money, open_tool, price

PARLEY = "0x1111111111111111111111111111111111111111"


@pytest.fixture
def prices(dexscreener: DexscreenerServer, caller: Caller) -> Call:
    return caller(open_tool(TokenPriceSettings.model_construct(dexscreener_base_url=dexscreener.base_url)))


async def test_a_token_is_told_with_price_change_volume_liquidity_and_chain(prices: Call) -> None:
    result = await prices(token="WBRG")

    assert result.text == (
        "WBRG: one token on ethereum.\n\n"
        "[1] WBRG (Wrapped Bridge) on ethereum: $61,234.50, 24 h -1.25 %\n"
        "Volume 24 h $9.0M, liquidity $70.0M in 1 pool, the deepest on uniswap\n"
        "Address: 0x4444444444444444444444444444444444444444"
    )
    assert result.untrusted
    assert result.sources[0].url.startswith("https://dexscreener.com/ethereum/")


async def test_namesakes_are_ranked_by_liquidity_and_called_what_they_may_be(prices: Call) -> None:
    """The service itself puts the look-alike with +912 % first."""
    result = await prices(token="$parley")

    entries = result.text.split("\n\n")[1:]
    assert "5 different tokens on 4 chains" in result.text
    assert "Anybody can make a token of any name" in result.text
    assert entries[0].startswith("[1] PARLEY (Parley) on ethereum: $0.00001234, 24 h +5.31 %")
    assert "liquidity $9.0M in 2 pools" in entries[0]
    assert "Caution" not in entries[0]
    assert entries[1].startswith("[2] PARLEY (Parley) on base")
    assert "bridged token or only a namesake" in entries[1]
    for entry in entries[2:]:
        assert "probably a look-alike, possibly a scam" in entry


async def test_a_chain_narrows_by_its_usual_names(prices: Call) -> None:
    for chain in ("base", "BASE"):
        result = await prices(token="PARLEY", chain=chain)
        assert "one token on base" in result.text
    assert "on ethereum" in (await prices(token="PARLEY", chain="ETH")).text
    assert "on ethereum" in (await prices(token="PARLEY", chain="以太坊")).text


async def test_a_chain_without_the_token_says_where_it_is(prices: Call) -> None:
    result = await prices(token="PARLEY", chain="tron")

    assert "no traded token 'PARLEY' on tron. It is traded on base, bsc, ethereum, solana." in result.text


@pytest.mark.parametrize("chain", ["", "ethereum"])
@pytest.mark.parametrize("written", [PARLEY, PARLEY.upper().replace("X", "x")])
async def test_an_address_is_one_token(written: str, chain: str, prices: Call) -> None:
    result = await prices(token=written, chain=chain)

    assert "one token on ethereum" in result.text
    assert "$0.00001234" in result.text


async def test_the_price_of_the_other_half_of_a_pool_is_not_taken_for_it(prices: Call) -> None:
    """USDX is traded for PARLEY; the pool's price is that of USDX."""
    assert "1.0002" not in (await prices(token="PARLEY")).text


async def test_a_name_in_parts_is_found_when_nothing_bears_it_whole(prices: Call) -> None:
    assert "BONE (Bone of Dogs)" in (await prices(token="bone of")).text


async def test_a_token_without_a_price_is_not_told(prices: Call) -> None:
    assert "knows no traded token 'NIL'" in (await prices(token="NIL")).text


async def test_thin_pools_are_warned_of(dexscreener: DexscreenerServer, prices: Call) -> None:
    dexscreener.pools = [pool for pool in dexscreener.pools if pool.name == "Parley Inu"]

    assert "price means little" in (await prices(token="parley inu")).text


@pytest.mark.parametrize("wrong", [{"token": " $ "}, {"token": "x" * 200}, {"token": "x", "chain": "../admin"}])
async def test_a_wrong_argument_is_named(wrong: RawJson, prices: Call) -> None:
    assert not (await prices(**wrong)).ok


async def test_a_short_result_is_cut_between_tokens(dexscreener: DexscreenerServer, caller: Caller) -> None:
    settings = TokenPriceSettings.model_construct(dexscreener_base_url=dexscreener.base_url)

    result = await caller(open_tool(settings), chars=700)(token="PARLEY")

    assert len(result.text) <= 700
    assert "of 5 tokens are shown.)" in result.text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0, "$0.00"),
        (61234.5, "$61,234.50"),
        (1.0002, "$1.00"),
        (0.41, "$0.41"),
        (0.00001234, "$0.00001234"),
        (7.1e-12, "$0.0000000000071"),
        (0.99999, "$1"),
    ],
)
def test_prices_are_written_with_the_digits_that_count(dollars: float, text: str) -> None:
    assert price(dollars) == text


@given(st.floats(1e-20, 1e14))
def test_a_written_price_is_near_the_price(dollars: float) -> None:
    written = float(price(dollars).lstrip("$").replace(",", ""))

    assert abs(written - dollars) <= (0.005 + dollars * 1e-9 if dollars >= 1 else dollars * 1e-3)


@pytest.mark.parametrize(("dollars", "text"), [(0, "$0"), (350, "$350"), (8.4e6, "$8.4M"), (3.2e9, "$3.2B")])
def test_amounts_are_written_as_people_say_them(dollars: float, text: str) -> None:
    assert money(dollars) == text
