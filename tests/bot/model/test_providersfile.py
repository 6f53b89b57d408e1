"""Model servers in the operator's file: known like those built in, and every fault in it is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.model import PROVIDERS, ModelName, read_providers, use_providers
from bot.model.providersfile import MOST_BYTES
from bot.settings.configuration import configure, model_options

GROQ = '[groq]\nbase_url = "https://api.groq.example/openai/v1"\n'
WRONG = {
    "groq = 1": "[groq]: the table: ",
    "[groq]\n": "[groq]: base_url: Field required",
    f"{GROQ}colour = 'red'": "[groq]: there is no colour",
    f"{GROQ}contxt_tokens = 1": "[groq]: there is no contxt_tokens; did you mean context_tokens?",
    f"{GROQ}context_tokens = '9'": "[groq]: context_tokens: Input should be a valid integer",
    f"{GROQ}tool_choice = 1": "[groq]: tool_choice: Input should be a valid boolean",
    f"{GROQ}patience = nan": "[groq]: patience: ",
    "[groq]\nbase_url = 'groq.example'": "[groq]: base_url: 'groq.example' lacks http://",
    "[groq]\nbase_url = 'https://me:secret@groq.example/v1'": "[groq]: base_url must hold no user, password or query",
    "[openai]\nbase_url = 'http://x.example/v1'": "[openai]: this name is taken",
    "[local]\nbase_url = 'http://x.example/v1'": "[local]: this name is taken",
    "[Groq]\nbase_url = 'http://x.example/v1'": "[Groq]: a name begins with a small letter",
    "[groq\n": "is not written right: Expected ']'",
    "a = " + "[" * 5000: "is not written right: it is nested too deep",
    "#" * MOST_BYTES + "\n": "has more than 65,536 bytes",
}


@pytest.fixture(autouse=True)
def built_in_alone() -> Iterator[None]:
    """No test leaves a server behind."""
    yield
    use_providers(())


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_every_fault_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(text)

    with pytest.raises(SettingsError) as error:
        read_providers(str(file))

    assert WRONG[text] in str(error.value) and str(error.value).startswith("PROVIDERS_FILE")
    assert "secret" not in str(error.value)


def test_a_file_that_is_not_there_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "providers.toml").write_text(GROQ)

    with pytest.raises(SettingsError, match=r"there is no file .*provider\.toml; did you mean .*providers\.toml\?"):
        read_providers(str(tmp_path / "provider.toml"))
    (tmp_path / "latin.toml").write_bytes(b"[caf\xe9]\n")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        read_providers(str(tmp_path / "latin.toml"))


def test_its_models_and_key_are_settings_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "providers.toml").write_text(f"{GROQ}context_tokens = 131072\ndefault_model = 'llama'")
    (tmp_path / ".env").write_text("PROVIDERS_FILE=providers.toml\nGROQ_API_KEY=gsk-0123456789abcdef0123\n")
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "MODEL"):
        monkeypatch.delenv(name, raising=False)

    configuration = configure()

    options = model_options(configuration)
    assert (options.name, options.keys["groq"]) == ("groq:llama", "gsk-0123456789abcdef0123")
    assert configuration.secrets["gsk-0123456789abcdef0123"] == "GROQ_API_KEY"
    assert ModelName.parse("groq:llama").provider.context_tokens == 131_072
    (tmp_path / ".env").write_text("GROQ_API_KEY=gsk-0123456789abcdef0123\n")
    configure()
    assert "groq" not in PROVIDERS, "a file that is not named any more is forgotten"
