"""Which proxy stands before an address, and what NO_PROXY takes out."""

from __future__ import annotations

import pytest

from bot.contract.errors import SettingsError
from bot.network import is_direct, proxy_before

pytestmark = pytest.mark.usefixtures("no_proxy_of_this_machine")

PROXY = "http://proxy.test:3128"


@pytest.mark.parametrize("address", ["http://localhost:81", "http://127.0.0.1/v1", "https://[::1]:8443/v1"])
def test_this_machine_is_reached_without_a_proxy(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", PROXY)

    assert proxy_before(address, "the model") is None


@pytest.mark.parametrize(
    ("exception", "address"),
    [
        ("*", "https://model.test"),
        ("model.test", "https://model.test/v1"),
        ("model.test", "https://api.model.test"),
        (".model.test", "https://api.model.test"),
        ("*.model.test", "https://api.model.test"),
        ("other, MODEL.test ,", "https://model.TEST"),
        ("http://model.test/", "http://model.test"),
        ("model.test:81", "http://model.test:81"),
        ("model.test:443", "https://model.test"),
        ("10.0.0.0/8", "http://10.1.2.3:8000/v1"),
        ("10.1.2.3", "http://10.1.2.3"),
        ("10.1.2.3:8000", "http://10.1.2.3:8000"),
        ("fd00::/8", "http://[fd00::1]:8000"),
        ("[fd00::1]", "http://[fd00::1]"),
        ("xn--mller-kva.test", "https://müller.test"),
        ("müller.test", "https://xn--mller-kva.test"),
    ],
)
def test_what_no_proxy_names_is_reached_directly(exception: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", PROXY)
    monkeypatch.setenv("no_proxy", exception)

    assert is_direct(address)
    assert proxy_before(address, "the model") is None


@pytest.mark.parametrize(
    ("exception", "address"),
    [
        ("", "https://model.test"),
        (" , ", "https://model.test"),
        ("model.test", "https://mymodel.test"),
        ("model.test:81", "https://model.test"),
        ("10.0.0.0/8", "http://11.1.2.3"),
        ("10.0.0.0/8", "https://model.test"),
        ("10.0.0.0/8", "http://[fd00::1]"),
        ("..", "https://model.test"),
    ],
)
def test_everything_else_goes_through_it(exception: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", PROXY)
    monkeypatch.setenv("no_proxy", exception)

    assert proxy_before(address, "the model") == PROXY


def test_the_proxy_of_an_addresss_own_scheme_goes_before_the_one_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://all.test:1")
    monkeypatch.setenv("https_proxy", "proxy.test:3128")

    assert proxy_before("https://model.test", "the model") == PROXY
    assert proxy_before("http://model.test", "the model") == "http://all.test:1"


@pytest.mark.parametrize("proxy", ["http://me:secret@proxy.test:99999", "http://me:secret@:1", "http://me:secret@[x"])
def test_a_proxy_that_has_no_valid_address_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", proxy)

    with pytest.raises(SettingsError, match="for the model has no valid host and port") as caught:
        proxy_before("https://model.test", "the model")

    assert "secret" not in str(caught.value)
