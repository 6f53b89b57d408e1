"""Settings: what is written is understood or refused in one clear sentence that names the variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters import PLATFORMS
from adapters.settings import DiscordSettings, SlackSettings
from bot.cli.env_example import example
from bot.contract.errors import SettingsError
from bot.model.providers import place_of
from bot.settings import CoreSettings, configuration, mirrors, read, secrets_of, variables
from bot.settings.environment import ENVIRONMENT_ONLY, GONE, OTHERS, env_file, nearest, strays
from tests.conftest import RawJson
from tools.settings import SETTINGS


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine that runs the tests."""
    for name in (*variables([CoreSettings]), *OTHERS, *GONE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PARLEY_ENV_FILE", "")


def told(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    """What a person reads who sets this."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        read(CoreSettings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("MAX_TOOL_ROUNDS", "1", "a whole number from 2 to 50, not '1'"),
        ("MAX_TOOL_ROUNDS", "many", "'many'"),
        ("TOOL_MODE", "magic", "auto, native or prompt, not 'magic'"),
        ("ALLOWED_USERS", "123", "telegram:123"),
        ("ALLOWED_USERS", "telegram:1,-100200", "telegram:BOT/-100200"),
        ("ALLOWED_USERS", "@ada", "telegram:123, slack:T1/U1, discord:456"),
        ("ADMINS", "slack:U1", "'slack:U1'"),
        ("HTTP_PORT", "80000", "65535"),
        ("TURN_SECONDS", "0", "a number above 0"),
        ("ALLOW_ALL", "maybe", "'maybe'"),
    ],
)
def test_a_malformed_value_is_one_sentence_with_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, holds: str
) -> None:
    sentence = told(monkeypatch, name, value)

    assert sentence.startswith(name)
    assert holds in sentence
    assert "\n" not in sentence and "pydantic" not in sentence


def test_lists_and_ids_are_read_as_people_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_USERS", " telegram:1 , slack:T1/U1,,discord:456 ")
    monkeypatch.setenv("FALLBACK_MODELS", "openai:a, ollama:b")

    settings = read(CoreSettings)

    assert settings.allowed_users == ("telegram:1", "slack:T1/U1", "discord:456")
    assert settings.fallback_models == ("openai:a", "ollama:b")


def test_hosts_are_kept_as_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_HOSTS", "Example.org, *.bücher.example,*")

    assert read(CoreSettings).trusted_hosts == ("example.org", "*.xn--bcher-kva.example", "*")

    for wrong in ("https://example.org", "example.org/a", "example.org:443", "*.", "a*b.example", "exa mple.org"):
        monkeypatch.setenv("TRUSTED_HOSTS", wrong)
        with pytest.raises(SettingsError, match=r"TRUSTED_HOSTS: .* is not a host"):
            read(CoreSettings)


def test_an_empty_value_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_TOOL_ROUNDS", "HTTP_PORT", "ALLOWED_USERS", "TOOL_MODE"):
        monkeypatch.setenv(name, "")

    settings = read(CoreSettings)

    assert (settings.max_tool_rounds, settings.http_port, settings.allowed_users, settings.tool_mode) == (
        5,
        None,
        (),
        "auto",
    )


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("BOT_NAME=File\nTIME_ZONE=Europe/Paris\n")
    monkeypatch.setenv("BOT_NAME", "Environment")

    settings = read(CoreSettings, file)

    assert (settings.bot_name, settings.time_zone) == ("Environment", "Europe/Paris")


def test_a_key_is_neither_shown_nor_told_in_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    settings = read(CoreSettings)

    assert "sk-very-secret" not in repr(settings)
    assert tuple(secrets_of([CoreSettings])) == ("sk-very-secret",)


def test_a_token_that_could_be_guessed_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_TOKEN", "hunter2")
    with pytest.raises(SettingsError, match=r"ADMIN_TOKEN.*at least 16 characters") as told:
        read(CoreSettings)
    assert "hunter2" not in str(told.value)

    monkeypatch.setenv("ADMIN_TOKEN", "correct-horse-battery")
    assert read(CoreSettings).admin_token.get_secret_value() == "correct-horse-battery"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("TELEGRAM_BOT_TOKE", "TELEGRAM_BOT_TOKEN"),
        ("telegrm_bot_token", "TELEGRAM_BOT_TOKEN"),
        ("TELEGRAM_BTO_TOKEN", "TELEGRAM_BOT_TOKEN"),
        ("TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN"),
        ("SLACK_TOKEN", "SLACK_APP_TOKEN or SLACK_BOT_TOKEN"),
        ("OPENAI_APIKEY", "OPENAI_API_KEY"),
        ("OPEN_AI_API_KEY", "OPENAI_API_KEY"),
        ("OPENAI_KEY", "OPENAI_API_KEY"),
        ("ALLOWED_USER", "ALLOWED_USERS"),
        ("XAI_API_KEY", ""),
        ("GROQ_API_KEY", ""),
        ("AZURE_OPENAI_API_KEY", ""),
        ("OPENAI_ORG_ID", ""),
        ("OLLAMA_HOST", ""),
        ("DATABASE_NAME", ""),
        ("HTTP_PROXY", ""),
        ("LOG_FILE", ""),
        ("GITHUB_TOKEN", ""),
        ("X" * 10_000, ""),
    ],
)
def test_a_slip_in_a_name_is_known_from_a_name_of_another_program(written: str, meant: str) -> None:
    assert nearest(written, variables(configuration.settings_classes())) == meant


def test_a_name_that_is_nearly_a_settings_is_refused_in_the_file_and_others_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    known = variables(configuration.settings_classes())
    file.write_text("MODEL=openai:x\nPOSTGRES_PASSWORD=hunter2\nexport COMPOSE_PROJECT_NAME=mine\n")

    found = strays(file, known)

    assert found.misspelt == () and "hunter2" not in found.foreign
    assert found.foreign.startswith(f"ignored in {file}: POSTGRES_PASSWORD, COMPOSE_PROJECT_NAME (")
    file.write_text("MODEL=openai:x\nTELEGRAM_BOT_TOKN=1\n")
    with pytest.raises(SettingsError, match=r"^TELEGRAM_BOT_TOKN in .* did you mean TELEGRAM_BOT_TOKEN\?$"):
        strays(file, known)


def test_a_name_in_the_environment_that_is_nearly_a_settings_is_told_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One word alone is nearly everything: `MODE` and `ADMIN` are many programs'."""
    for name in ("TELEGRAM_BOT_TOKN", "XAI_API_KEY", "MODE", "ADMIN", "SOME_OTHER_PROGRAMS_SETTING"):
        monkeypatch.setenv(name, "1")

    assert configuration.configure().strays.sentences == (
        "TELEGRAM_BOT_TOKN in the environment is not a setting of this program; did you mean TELEGRAM_BOT_TOKEN?",
    )


@pytest.mark.parametrize("written", ["IDLE_SECONDS", "idle_seconds"])
def test_a_setting_of_an_earlier_version_is_named_once_with_what_holds_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: str
) -> None:
    """It refuses no start: an update would end the bot. Nor is it taken for a slip, or for another program's."""
    file, now = tmp_path / ".env", "has no effect any more: a model can pause for 30 seconds while it writes"
    file.write_text(f"{written}=90\nADMIN_SHARE=\n")
    monkeypatch.setenv("MESSAGES_WAITING", "9")
    monkeypatch.setenv("TURNS_PER_PERSON", "")
    known = variables(configuration.settings_classes())

    sentences = strays(file, known).sentences
    assert sentences[0] == f"IDLE_SECONDS in {file} {now}"
    assert sentences[1] == (
        "MESSAGES_WAITING in the environment has no effect any more: 2 questions of one person can wait in one chat"
    )
    assert len(sentences) == 3 and sentences[2].startswith(f"ADMIN_SHARE in {file} has no effect")

    monkeypatch.setenv("IDLE_SECONDS", "90")
    assert strays(None, known).sentences[0] == f"IDLE_SECONDS in the environment {now}"


def test_no_setting_of_an_earlier_version_is_one_of_today_or_taken_for_one() -> None:
    known = variables(configuration.settings_classes())

    assert GONE and not GONE.keys() & (known.keys() | OTHERS.keys())
    assert all(now and not now.endswith(".") for now in GONE.values())


OTHER_PROGRAMS = {
    "ALLOW_USERS": "ALLOWED_USERS",
    "ALLOWED_TELEGRAM_USER_IDS": "ALLOWED_USERS",
    "ADMIN_USER_IDS": "ADMINS",
    "OPENAI_MODEL": "MODEL",
    "SYSTEM_PROMPT": "INSTRUCTIONS",
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "OLLAMA_HOST": "OLLAMA_API_URL",
    "TELEGRAM_API_TOKEN": "TELEGRAM_BOT_TOKEN",
    "TZ": "TIME_ZONE",
    "PORT": "HTTP_PORT (health) or WEB_PORT (what platforms post)",
    "REQUESTS_CA_BUNDLE": "SSL_CERT_FILE in the environment",
}


@pytest.mark.parametrize(("other", "ours"), OTHER_PROGRAMS.items())
def test_a_name_by_which_other_programs_call_a_setting_is_refused_in_the_file_and_told_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: str, ours: str
) -> None:
    known = variables(configuration.settings_classes())
    file = tmp_path / ".env"
    file.write_text(f"{other}=somewhere-else\n")

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(SettingsError) as refused:
        strays(file, known)
    monkeypatch.setenv(other, "somewhere-else")
    told = strays(None, known)

    assert refused.value.args == (f"{other} in {file} is not a setting of this program, which calls it {ours}",)
    named = ours.removesuffix(" in the environment")  # said already
    assert told.sentences == (f"{other} in the environment is not a setting of this program, which calls it {named}",)


def test_nothing_is_said_of_another_programs_name_where_ours_is_set_or_has_that_value(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that one `.env` may serve several programs, and a container may have `TZ=UTC`."""
    known = variables(configuration.settings_classes())
    file = tmp_path / ".env"
    file.write_text("OPENAI_MODEL=gpt-5\nMODEL=openai:gpt-5-mini\n")
    monkeypatch.setenv("PORT", "80")
    monkeypatch.setenv("WEB_PORT", "8081")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HOST", "zeus")

    assert strays(file, known).sentences == (
        f"ignored in {file}: OPENAI_MODEL (not settings of this program; .env.example lists all)",
    )


def test_every_setting_that_has_another_name_elsewhere_exists_and_no_name_of_ours_is_taken_for_anothers() -> None:
    known = set(variables(configuration.settings_classes()))

    for other, ours in OTHERS.items():
        assert other not in known
        assert known.union(ENVIRONMENT_ONLY).intersection(re.findall("[A-Z_]+", ours)), other


def test_a_proxy_or_a_certificate_in_the_file_is_refused_unless_the_environment_has_it_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = variables(configuration.settings_classes())
    file = tmp_path / ".env"
    file.write_text("https_proxy=http://me:secret@proxy.test:1\n")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(SettingsError, match=r"^https_proxy in .* has no effect: .* from the environment alone$"):
        strays(file, known)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:1")
    assert strays(file, known).foreign.startswith(f"ignored in {file}: https_proxy")


def test_what_opentelemetry_reads_is_no_stray_and_said_where_only_the_file_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = variables(configuration.settings_classes())
    file = tmp_path / ".env"
    file.write_text("OTEL_EXPORTER_OTLP_ENDPOINT=http://collector.test:4318\nOTEL_SERVICE_NAME=bot\n")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "bot")

    assert strays(file, known).sentences == (
        f"OTEL_EXPORTER_OTLP_ENDPOINT in {file} has no effect: OpenTelemetry reads it from the environment alone",
    )
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.test:4318")
    assert not strays(file, known).sentences


def test_another_file_can_be_named_or_none_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("")
    (tmp_path / "other").write_text("")
    monkeypatch.chdir(tmp_path)

    assert env_file() is None
    monkeypatch.setenv("PARLEY_ENV_FILE", "other")
    assert env_file() == Path("other")
    monkeypatch.setenv("PARLEY_ENV_FILE", "missing")
    with pytest.raises(SettingsError, match="PARLEY_ENV_FILE names 'missing'"):
        env_file()
    monkeypatch.delenv("PARLEY_ENV_FILE")
    assert env_file() == Path(".env")


def test_a_file_that_a_windows_editor_wrote_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"\xef\xbb\xbfBOT_NAME=Someone\r\nTIME_ZONE=Europe/Paris\r\n")
    monkeypatch.setenv("PARLEY_ENV_FILE", str(file))

    core = configuration.configure().core

    assert (core.bot_name, core.time_zone) == ("Someone", "Europe/Paris")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("BOT_NAME=A\n\nsk-4f9a8b7c6d5e\n", 3),
        ("BOT NAME=A\n", 1),
        ("BOT_NAME='A\nTIME_ZONE=UTC\n", 1),
        ("# a\n=x\n", 2),
    ],
)
def test_a_line_that_sets_nothing_is_named_by_its_number_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, line: int
) -> None:
    file = tmp_path / ".env"
    file.write_text(content)
    monkeypatch.setenv("PARLEY_ENV_FILE", str(file))

    with pytest.raises(SettingsError, match=f"^line {line} of .* sets nothing") as told:
        configuration.configure()

    assert "4f9a" not in str(told.value)


def test_databases_that_name_the_programs_own_keep_it_from_starting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = f"sqlite:///{tmp_path}/parley.db"
    monkeypatch.setenv("DATABASE_URL", own)
    monkeypatch.setenv("DATABASES", f"sales=sqlite:///{tmp_path}/sales.db,chats={own}?mode=ro")
    with pytest.raises(SettingsError, match=r"^DATABASES names chats, which is the database of DATABASE_URL"):
        configuration.configure()

    for other in (f"sales=sqlite:///{tmp_path}/sales.db", "not written right"):
        monkeypatch.setenv("DATABASES", other)
        configuration.configure()


def test_without_a_model_and_any_key_the_sentence_says_what_to_set() -> None:
    with pytest.raises(SettingsError, match=r"MODEL is not set.*OPENAI_API_KEY"):
        configuration.model_options(configuration.configure())


@pytest.mark.parametrize(
    ("keys", "provider"),
    [
        (["OPENAI_API_KEY", "ARK_API_KEY"], "openai"),
        (["DEEPSEEK_API_KEY", "ARK_API_KEY"], "ark"),
        (["ANTHROPIC_API_KEY", "GEMINI_API_KEY"], "gemini"),
    ],
)
def test_without_a_model_the_first_provider_with_a_key_answers(
    monkeypatch: pytest.MonkeyPatch, keys: list[str], provider: str
) -> None:
    for key in keys:
        monkeypatch.setenv(key, "k" * 20)

    options: RawJson = configuration.model_options(configuration.configure())

    assert options.name.startswith(f"{provider}:")


@pytest.mark.parametrize(
    ("said", "found"),
    [("", "openai:gpt-4o-mini-transcribe"), ("off", ""), (" OFF ", ""), ("vllm:whisper", "vllm:whisper")],
)
def test_what_transcribes_is_named_or_the_providers_or_nothing(
    monkeypatch: pytest.MonkeyPatch, said: str, found: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.setenv("TRANSCRIBE_MODEL", said)

    options: RawJson = configuration.model_options(configuration.configure())

    assert options.transcriber == found


def test_the_example_begins_with_what_most_people_need_and_shows_nothing_twice() -> None:
    names = re.findall(r"^# ([A-Z0-9_]+)=", example(), re.M)

    assert names[:2] == ["MODEL", "OPENAI_API_KEY"]
    assert {"TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "DISCORD_BOT_TOKEN", "ALLOWED_USERS"} <= set(names[:12])
    assert names.index("DATABASE_URL") < names.index("FALLBACK_MODELS") < names.index("TELEGRAM_WEBHOOK_URL")
    assert len(names) == len(set(names))


def test_an_operator_reads_few_settings_and_no_address_that_only_a_mirror_changes() -> None:
    """At most 69 (the last are the token of the operator's page and an agent of one's own, which nobody else can
    choose), 9 for a platform and 3 for a tool: what no operator could choose better is a constant."""
    names = set(re.findall(r"^# ([A-Z0-9_]+)=", example(), re.M))
    platforms = {name: names & variables([row.settings]).keys() for name, row in PLATFORMS.items()}
    tools = {name: names & variables([settings]).keys() for name, settings in SETTINGS.items()}
    mirrored = mirrors(configuration.settings_classes())

    assert len(names.difference(*platforms.values(), *tools.values())) <= 69
    assert all(len(own) <= 9 for own in platforms.values()), platforms
    assert all(len(own) <= 3 for own in tools.values()), tools
    assert not mirrored.keys() & names
    assert names | mirrored.keys() == variables(configuration.settings_classes()).keys()


def test_the_guide_lists_every_address_that_only_a_mirror_changes() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operating.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([A-Z0-9_]+_URL)` \| (?:`(http[^`]+)`)?", guide, re.M))

    assert listed == mirrors(configuration.settings_classes())


@pytest.mark.parametrize("address", ["https://me:pw@slack.example/api/", "https://me@h/", "https://h/?key=1"])
def test_an_address_that_would_get_in_the_way_of_the_token_is_refused_without_showing_it(address: str) -> None:
    for settings in (
        SlackSettings.model_validate(
            {"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1", "slack_api_base_url": address}
        ),
        DiscordSettings.model_validate({"discord_bot_token": "x", "discord_api_base_url": address}),
    ):
        with pytest.raises(SettingsError, match="_API_BASE_URL must be an address without user, password") as told:
            settings.require()
        assert address not in str(told.value)


def test_a_gateways_key_in_the_path_of_a_base_url_is_masked_and_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://gateway.example/v1/k3yOf7The9Gateway5/openai"
    monkeypatch.setenv("OPENAI_BASE_URL", address)

    assert tuple(secrets_of([CoreSettings])) == ("k3yOf7The9Gateway5",)
    assert "k3y" not in place_of(address) and place_of(address) != place_of(f"{address}/x")


def test_the_password_of_a_proxy_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("http://me:a-long-password@proxy.test:3128", "me:a-long-password@proxy.test:3128"):
        monkeypatch.setenv("https_proxy", proxy)
        assert "a-long-password" in secrets_of([CoreSettings])
