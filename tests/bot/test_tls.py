"""Certificates are read once for all clients, and those that the operator names are the ones trusted."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import certifi
import httpx
import httpx2
import pytest

from bot.network import trusted


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_clients_of_one_library_share_what_they_trust(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)

    context = trusted(library.create_ssl_context)

    assert trusted(library.create_ssl_context) is context
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_certificates_that_the_operator_names_are_the_only_ones_trusted(
    library: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trusted(library.create_ssl_context)
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    first = begin + Path(certifi.where()).read_text().partition(begin)[2].partition(end)[0] + end
    (tmp_path / "own.pem").write_text(first)

    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))

    assert trusted(library.create_ssl_context).cert_store_stats()["x509"] == 1
