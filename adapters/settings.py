"""The settings of each platform. Imports no platform library."""

from __future__ import annotations

from pydantic import Field, SecretStr

from bot.contract import SettingsError
from bot.settings import Settings, refuse_account
from tools.forms import Address, Key


class PlatformSettings(Settings):
    """Base class of the platforms' settings."""

    @property
    def configured(self) -> bool:
        """True if a token is set, which means that the platform is wanted."""
        return False

    def require(self) -> None:
        """Raise SettingsError if the platform is wanted but a setting it needs is missing or malformed."""


class TelegramSettings(PlatformSettings):
    """Telegram."""

    telegram_bot_token: Key = Field(SecretStr(""), description="From BotFather, as 123456:ABC-DEF.")
    telegram_api_base_url: Address = Field(
        "https://api.telegram.org", description="Where the Bot API is; for a local Bot API server."
    )

    @property
    def configured(self) -> bool:
        return bool(self.telegram_bot_token.get_secret_value())

    def require(self) -> None:
        number, _, rest = self.telegram_bot_token.get_secret_value().partition(":")
        if not number.isdigit() or not rest:
            raise SettingsError("TELEGRAM_BOT_TOKEN should look like 123456:ABC-DEF; BotFather shows it")


class SlackSettings(PlatformSettings):
    """Slack, over Socket Mode."""

    slack_bot_token: Key = Field(SecretStr(""), description="Bot token of the app, xoxb-…")
    slack_app_token: Key = Field(SecretStr(""), description="App-level token with connections:write, xapp-…")
    slack_follow_threads: bool = Field(
        False,
        description="Answer every message in threads where the bot takes part, without a mention; "
        "the app needs the events message.channels and message.groups.",
    )
    slack_api_base_url: Address = Field("https://slack.com/api/", description="Where the Web API is.")

    @property
    def configured(self) -> bool:
        return bool(self.slack_bot_token.get_secret_value() or self.slack_app_token.get_secret_value())

    def require(self) -> None:
        refuse_account("SLACK_API_BASE_URL", self.slack_api_base_url)
        bot, app = self.slack_bot_token.get_secret_value(), self.slack_app_token.get_secret_value()
        if bot.startswith("xapp-") and app.startswith("xoxb-"):
            raise SettingsError(
                "SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…) hold each other's token: swap them"
            )
        wrong = []
        for name, token, begin, what in (
            ("SLACK_BOT_TOKEN", bot, "xoxb-", "the app's bot token"),
            ("SLACK_APP_TOKEN", app, "xapp-", "an app-level token with connections:write"),
        ):
            if not token:
                wrong.append(f"{name} is not set, and Slack needs both: {what}, {begin}…")
            elif not token.startswith(begin):
                wrong.append(f"{name} should be {what} and begin with {begin}")
        if wrong:
            raise SettingsError(*wrong)


class DiscordSettings(PlatformSettings):
    """Discord, over the gateway."""

    discord_bot_token: Key = Field(SecretStr(""), description="Bot token from the developer portal.")
    discord_api_base_url: Address = Field(
        "https://discord.com/api/v10", description="Where the API is; the gateway's address is taken from its /gateway."
    )

    @property
    def configured(self) -> bool:
        return bool(self.discord_bot_token.get_secret_value())

    def require(self) -> None:
        refuse_account("DISCORD_API_BASE_URL", self.discord_api_base_url)
        if self.discord_bot_token.get_secret_value().count(".") != 2:
            raise SettingsError(
                "DISCORD_BOT_TOKEN should be three parts with dots between; the developer portal shows it"
            )


class ConsoleSettings(PlatformSettings):
    """A terminal; opened by `parley chat`, never by a token."""
