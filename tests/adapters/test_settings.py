"""A platform's settings: what is malformed is one sentence that names the variable and what it should hold."""

from __future__ import annotations

import pytest

from adapters.settings import ConsoleSettings, DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings
from bot.contract import SettingsError
from bot.settings import read


@pytest.mark.parametrize(
    "settings",
    [
        TelegramSettings.model_validate({"telegram_bot_token": "123456:ABC-DEF"}),
        SlackSettings.model_validate({"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}),
        DiscordSettings.model_validate({"discord_bot_token": "a.b.c"}),
    ],
    ids=lambda settings: type(settings).__name__,
)
def test_a_platform_is_wanted_where_its_tokens_are_set_and_only_there(settings: PlatformSettings) -> None:
    settings.require()

    assert settings.configured
    assert not type(settings).model_construct().configured
    assert not ConsoleSettings().configured


@pytest.mark.parametrize("token", ["", "ABC-DEF", "123456", "123456:", "bot:ABC"])
def test_a_token_of_telegram_begins_with_the_bots_number(token: str) -> None:
    with pytest.raises(SettingsError, match="TELEGRAM_BOT_TOKEN should look like 123456:ABC-DEF"):
        TelegramSettings.model_validate({"telegram_bot_token": token}).require()


@pytest.mark.parametrize("token", ["", "abc", "a.b", "a.b.c.d"])
def test_a_token_of_discord_has_three_parts(token: str) -> None:
    with pytest.raises(SettingsError, match="DISCORD_BOT_TOKEN should be three parts"):
        DiscordSettings.model_validate({"discord_bot_token": token}).require()


@pytest.mark.parametrize(
    ("bot", "app", "told"),
    [
        ("xoxb-1", "", ["SLACK_APP_TOKEN is not set, and Slack needs both"]),
        ("", "xapp-1", ["SLACK_BOT_TOKEN is not set, and Slack needs both"]),
        ("xoxp-1", "xapp-1", ["SLACK_BOT_TOKEN should be the app's bot token and begin with xoxb-"]),
        ("xoxp-1", "1", ["SLACK_BOT_TOKEN should be", "SLACK_APP_TOKEN should be"]),
        ("xapp-1", "xoxb-1", ["contain each other's token: swap them"]),
        ("xapp-1", "xapp-2", ["SLACK_BOT_TOKEN should be"]),
    ],
)
def test_slack_needs_two_tokens_each_in_its_place(bot: str, app: str, told: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        SlackSettings.model_validate({"slack_bot_token": bot, "slack_app_token": app}).require()

    sentences = str(caught.value).split("; ")
    assert len(sentences) == len(told)
    assert all(part in sentence for part, sentence in zip(told, sentences, strict=True))


@pytest.mark.parametrize(
    ("url", "understood"),
    [
        ("https://bot.example/telegram", "https://bot.example/telegram"),
        (" https://bot.example:8443/parley/telegram/ ", "https://bot.example:8443/parley/telegram"),
        ("", ""),
    ],
)
def test_telegrams_address_is_kept_without_a_slash_at_its_end(
    monkeypatch: pytest.MonkeyPatch, url: str, understood: str
) -> None:
    monkeypatch.setenv("TELEGRAM_WEBHOOK_URL", url)

    settings = read(TelegramSettings)

    assert (settings.telegram_webhook_url, settings.by_web) == (understood, bool(understood))


@pytest.mark.parametrize(
    "url",
    [
        "bot.example",
        "https://",
        "https://me@b.example",
        "https://b.example/?a=1",
        "https://b.example/a b",
        "https://b/{x}",
    ],
)
def test_an_address_that_nobody_can_post_to_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("TELEGRAM_WEBHOOK_URL", url)

    with pytest.raises(SettingsError, match="TELEGRAM_WEBHOOK_URL"):
        read(TelegramSettings)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"telegram_webhook_url": "https://b.example/bot"}, "TELEGRAM_WEBHOOK_URL should end in /telegram"),
    ],
)
def test_what_telegram_cannot_post_with_is_refused_without_showing_it(wrong: dict[str, str], told: str) -> None:
    settings = TelegramSettings.model_validate({"telegram_bot_token": "123456:ABC-DEF"} | wrong)

    with pytest.raises(SettingsError, match=told) as caught:
        settings.require()
    assert "no~tilde" not in str(caught.value)


@pytest.mark.parametrize("key", ["0" * 63, "0" * 65, "g" * 64, "٣" * 64])
def test_a_public_key_of_discord_is_sixty_four_digits(key: str) -> None:
    settings = DiscordSettings.model_validate({"discord_bot_token": "a.b.c", "discord_public_key": key})

    with pytest.raises(SettingsError, match="DISCORD_PUBLIC_KEY should be 64 digits"):
        settings.require()


def test_slack_posts_where_it_signs_and_no_socket_is_wanted() -> None:
    tokens = {"slack_bot_token": "xoxb-1", "slack_signing_secret": "s" * 32}
    posts = SlackSettings.model_validate(tokens)
    sockets = SlackSettings.model_validate(tokens | {"slack_app_token": "xapp-1"})
    for settings in (posts, sockets):
        settings.require()

    assert (posts.by_web, sockets.by_web) == (True, False)
    assert SlackSettings.model_validate({"slack_signing_secret": "s" * 32}).configured
    with pytest.raises(SettingsError, match="SLACK_BOT_TOKEN is not set"):
        SlackSettings.model_validate({"slack_signing_secret": "s" * 32}).require()
