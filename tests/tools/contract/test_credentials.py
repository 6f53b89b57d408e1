"""Which of the values that an operator hands on are secrets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tools.contract.credentials import SHORTEST_SECRET, accounts, hidden, in_address, in_arguments, in_table

RANDOM = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def found(values: object) -> set[str]:
    return {value for value in values if len(value) >= SHORTEST_SECRET}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("https://api.example/v1", set()),
        ("https://github.com", set()),
        ("http://me:a-long-password@host:81/x", {"a-long-password"}),
        ("http://me:short@host/x", {"me:short@host"}),
        ("http://somebody:short@host/x", {"somebody:short"}),
        ("https://h/mcp?token=abcdefghijkl&page=2&who=mnopqrstuvwx", {"abcdefghijkl", "mnopqrstuvwx"}),
        (f"https://mcp.example/s/{RANDOM}/mcp", {RANDOM}),
        ("https://mcp.example/s/server-filesystem-2024/mcp", set()),
        ("https://h/v1?api-version=1&v=2", set()),
        ("read more at https://h/x?token=abcdefghijkl today", set()),
        ("postgresql://app:p%40ss-word-long@h/d?sslmode=verify-full-x", {"p%40ss-word-long", "verify-full-x"}),
    ],
)
def test_of_an_address_its_account_its_query_and_what_is_random_in_its_path(address: str, secrets: set[str]) -> None:
    assert found(in_address(address)) == secrets


def test_every_address_in_a_text_has_its_account() -> None:
    text = "crm=postgresql://reader:a-long-password@host/crm,old=postgresql://r:another-password@h/d"

    assert found(accounts(text)) == {"a-long-password", "another-password"}


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("GITHUB_TOKEN", "abcdefghijkl", {"abcdefghijkl"}),
        ("SETTING", "of no telling name", {"of no telling name"}),
        ("GITHUB_HOST", "https://github.com", set()),
        ("DATABASE", "postgresql://me:a-long-password@h/d", {"a-long-password"}),
        ("WEBHOOK_TOKEN", "https://hooks.example/x", {"https://hooks.example/x"}),
        ("MEMORY_FILE", "/srv/assistant/memory.json", set()),
        ("VAULT", "~/Documents/My notes/", set()),
        ("SEED", "/correct-horse-battery", {"/correct-horse-battery"}),
        ("SEED", f"/{RANDOM}/x", {f"/{RANDOM}/x"}),
        ("Accept", "application/json", set()),
        ("AWS_REGION", "eu-central-1", set()),
        ("TZ", "Europe/Berlin", set()),
    ],
)
def test_every_variable_and_header_counts_but_for_addresses_and_what_is_public(
    name: str, value: str, secrets: set[str]
) -> None:
    assert found(in_table({name: value}, public=["aws_region"])) == secrets


@pytest.mark.parametrize(
    ("arguments", "secrets"),
    [
        (["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/projects"], set()),
        (["--api-key", "abcdefghijkl"], {"abcdefghijkl"}),
        (["--access-token=abcdefghijkl"], {"abcdefghijkl"}),
        (["--verbose", "ordinary-argument"], set()),
        (["-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"], set()),
        (["-e", "SETTING=abcdefghijkl"], {"abcdefghijkl"}),
        (["-e", "TZ=Europe/Berlin"], set()),
        (["--header", "X-Who: abcdefghijkl"], {"abcdefghijkl"}),
        (["-H", "Authorization:Bearer abcdefghijkl"], {"Bearer abcdefghijkl"}),
        (["postgresql://me:a-long-password@h/d"], {"a-long-password"}),
        ([RANDOM], {RANDOM}),
        ([f'{{"key": "{RANDOM}"}}'], {RANDOM}),
        (["AKIAIOSFODNN7EXAMPLE"], {"AKIAIOSFODNN7EXAMPLE"}),
        (["mcp-server-fetch==2025.4.7", "--directory=/tmp/parley-fetch-2025"], set()),
    ],
)
def test_of_arguments_what_is_named_a_key_and_what_looks_like_one(arguments: Sequence[str], secrets: set[str]) -> None:
    assert found(in_arguments(arguments)) == secrets


def test_what_a_service_says_loses_the_values_it_knows_the_longest_first() -> None:
    assert (
        hidden("key sk-abcdef-more of sk-abcdef by me", ["sk-abcdef", "me", "sk-abcdef-more"]) == "key *** of *** by me"
    )
