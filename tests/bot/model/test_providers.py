"""The table of providers, and the name of a model as settings write it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.contract.errors import SettingsError
from bot.model import ModelName, default_model, default_transcriber
from bot.model.providers import PROVIDERS, base_url_of, key_of


@pytest.mark.parametrize("text", ["openai:gpt-5-mini", "ollama:qwen3:8b", "openrouter:a/b:free", "ark:doubao-seed-1-6"])
def test_a_model_s_name_reads_back_as_written(text: str) -> None:
    assert str(ModelName.parse(text)) == text


def test_spaces_and_capitals_of_the_provider_are_forgiven() -> None:
    assert str(ModelName.parse(" OpenAI : gpt-5-mini ")) == "openai:gpt-5-mini"


def test_the_first_provider_with_a_key_is_the_default() -> None:
    assert default_model({"anthropic": "k", "deepseek": "k"}) == "deepseek:deepseek-chat"
    assert default_model({"openai": "k", "ark": "k"}) == "openai:gpt-5-mini"
    assert default_model({"openai": " "}) is None
    assert default_model({}) is None


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_row_s_default_is_a_model_s_name_and_an_address(name: str) -> None:
    provider = PROVIDERS[name]

    assert ModelName.parse(f"{name}:{provider.default_model}").provider is provider
    assert base_url_of(provider, {}).startswith("http")
    assert provider.key.isupper()


@pytest.mark.parametrize("url", ["http://localhost:11434", "http://localhost:11434/", "http://localhost:11434/v1/"])
def test_ollama_is_found_below_its_root_address(url: str) -> None:
    assert base_url_of(PROVIDERS["ollama"], {"ollama": url}) == "http://localhost:11434/v1"


def test_a_server_of_one_s_own_needs_no_key() -> None:
    assert key_of(PROVIDERS["openai"], {}, {"openai": "http://localhost:1234/v1"})
    assert key_of(PROVIDERS["ollama"], {}, {})


def test_a_key_is_missing_also_where_the_provider_s_own_address_is_written_out() -> None:
    for address in ("", "https://api.openai.com/v1", "https://api.openai.com/v1/"):
        with pytest.raises(SettingsError, match="OPENAI_API_KEY must hold its API key"):
            key_of(PROVIDERS["openai"], {}, {"openai": address})


def test_reading_options_loads_no_http_library() -> None:
    code = "import sys, bot.model; print({'openai', 'aiohttp', 'httpx2'} & set(sys.modules))"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("names", "keys", "found"),
    [
        (["openai:gpt-5-mini"], {}, "openai:gpt-4o-mini-transcribe"),
        (["ark:x", "OpenAI:y"], {}, "openai:gpt-4o-mini-transcribe"),
        (["ark:x"], {"openai": "k"}, "openai:gpt-4o-mini-transcribe"),
        (["ark:x", "nobody:y"], {"openai": " ", "ark": "k"}, ""),
    ],
)
def test_the_transcriber_is_the_models_providers_else_one_with_a_key(
    names: list[str], keys: dict[str, str], found: str
) -> None:
    assert default_transcriber(names, keys) == found
