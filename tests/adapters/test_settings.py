"""A platform's settings: what is malformed is one sentence that names the variable and what it should hold."""

from __future__ import annotations

import pytest

from adapters.settings import ConsoleSettings, DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings
from bot.contract import SettingsError


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
        ("xapp-1", "xoxb-1", ["hold each other's token: swap them"]),
        ("xapp-1", "xapp-2", ["SLACK_BOT_TOKEN should be"]),
    ],
)
def test_slack_needs_two_tokens_each_in_its_place(bot: str, app: str, told: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        SlackSettings.model_validate({"slack_bot_token": bot, "slack_app_token": app}).require()

    sentences = str(caught.value).split("; ")
    assert len(sentences) == len(told)
    assert all(part in sentence for part, sentence in zip(told, sentences, strict=True))
