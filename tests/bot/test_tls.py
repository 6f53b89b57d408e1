"""Certificates are read once for all clients, and those that the operator names are the ones trusted."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import certifi
import httpx
import httpx2
import pytest

from bot.network import httpx2_context, trusted


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


MAKES = """
import sys
from bot.network import httpx2_context
httpx2_context()
print("httpcore2" in sys.modules)
"""


@pytest.mark.parametrize("missing", [False, True])
def test_the_models_certificates_are_those_that_their_library_trusts(
    missing: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    if missing:
        gone = ssl.get_default_verify_paths()._replace(openssl_cafile=str(tmp_path / "none.pem"))
        monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: gone)

    ours, theirs = httpx2_context(), httpx2.create_ssl_context()

    assert ours.get_ca_certs(binary_form=True) == theirs.get_ca_certs(binary_form=True)
    for name in ("check_hostname", "verify_mode", "verify_flags", "options", "minimum_version", "maximum_version"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.skipif(not Path(ssl.get_default_verify_paths().openssl_cafile).is_file(), reason="no such file here")
def test_the_systems_certificates_are_read_without_the_librarys_connections() -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT_")}

    done = subprocess.run([sys.executable, "-c", MAKES], capture_output=True, text=True, check=True, env=plain)

    assert done.stdout.strip() == "False"
