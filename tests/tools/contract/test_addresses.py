"""Addresses from outside come apart as the standard library takes them apart, but not at any price."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tools.contract.addresses import LONGEST_PLACE, split_address


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:key@example.org:8443/a//b?c=//d#e",
        "https://" + "a" * LONGEST_PLACE + "/path",
        "https://example.org/" + "a" * 5_000,
        "https://example.org?" + "/" * 5_000,
        "mailto:ada@example.org",
        "",
    ],
)
def test_an_address_comes_apart_as_ever(url: str) -> None:
    assert split_address(url) == urlsplit(url)


def test_a_host_longer_than_any_is_refused_before_it_is_put_into_normal_form() -> None:
    with pytest.raises(ValueError, match="too long"):
        split_address("https://" + "\u0323\u0301" * 20_000)
