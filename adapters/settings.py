"""The settings of each platform. Imports no platform library."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from pydantic import Field, SecretStr

from bot.contract import SettingsError
from bot.settings import PublicAddress, Settings, refuse_account
from tools.contract.forms import Address, Key, MirrorAddress, Password

_SEAL: Final = re.compile(r"[A-Za-z0-9_-]{43}=")
_PUBLIC_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")


class PlatformSettings(Settings):
    """Base class of the platforms' settings."""

    needs: ClassVar[str] = ""
    """The settings to set for the platform, as named to a person who has set none."""
    begins: ClassVar[bool] = True
    """`parley init` asks for them: people begin with it."""

    @property
    def configured(self) -> bool:
        """True if a token is set, which means that the platform is wanted."""
        return False

    @property
    def by_web(self) -> bool:
        """True if the platform posts events to our public address."""
        return False

    @property
    def receives(self) -> str:
        """How events arrive, for `parley doctor`."""
        return ""

    @property
    def serves(self) -> tuple[tuple[str, str], ...]:
        """Method and address of the requests that it answers itself, at our public address."""
        return ()

    @property
    def identity(self) -> str:
        """The bot's identity, if its token reveals it: the same for a renewed token. Empty if only the platform
        knows."""
        return ""

    def require(self) -> None:
        """Raise SettingsError if the platform is wanted but a setting it needs is missing or malformed."""


class TelegramSettings(PlatformSettings):
    """Telegram."""

    needs = "TELEGRAM_BOT_TOKEN"

    telegram_bot_token: Key = Field(SecretStr(""), description="Telegram: the token from BotFather, as 123456:ABC-DEF.")
    telegram_api_base_url: Address = Field(
        "https://api.telegram.org", description="Telegram's Bot API, or a Bot API server of your own."
    )
    telegram_webhook_url: PublicAddress = Field(
        "",
        description="Your public address for Telegram's posts, as https://bot.example.org/telegram; empty: the bot "
        "polls.",
    )
    telegram_drafts: bool = Field(
        False,
        description="Show a growing answer as a draft in private chats, which notifies nobody until it is complete.",
    )

    @property
    def configured(self) -> bool:
        return bool(self.telegram_bot_token.get_secret_value())

    @property
    def by_web(self) -> bool:
        return bool(self.telegram_webhook_url)

    @property
    def receives(self) -> str:
        if self.by_web:
            return f"by web, at {self.telegram_webhook_url}"
        return "by polling: TELEGRAM_WEBHOOK_URL is not set"

    @property
    def identity(self) -> str:
        return self.telegram_bot_token.get_secret_value().partition(":")[0]

    def require(self) -> None:
        number, _, rest = self.telegram_bot_token.get_secret_value().partition(":")
        if not number.isdigit() or not rest:
            raise SettingsError("TELEGRAM_BOT_TOKEN should look like 123456:ABC-DEF; BotFather shows it")
        if self.by_web and not self.telegram_webhook_url.endswith("/telegram"):
            raise SettingsError(
                "TELEGRAM_WEBHOOK_URL should end in /telegram, by which the bot recognises the platform: "
                "https://bot.example.org/telegram"
            )


class SlackSettings(PlatformSettings):
    """Slack, over Socket Mode or by web."""

    needs = "SLACK_BOT_TOKEN with SLACK_APP_TOKEN"

    slack_bot_token: Key = Field(SecretStr(""), description="Slack: the app's bot token, xoxb-…")
    slack_app_token: Key = Field(SecretStr(""), description="Slack: an app-level token with connections:write, xapp-…")
    slack_signing_secret: Key = Field(
        SecretStr(""),
        description="The signing secret, instead of SLACK_APP_TOKEN: Slack then posts to "
        "https://bot.example.org/slack.",
    )
    slack_client_id: str = Field("", description="The app's client id, if other workspaces install it.")
    slack_client_secret: Key = Field(
        SecretStr(""), description="The app's client secret, if other workspaces install it."
    )
    slack_install_url: PublicAddress = Field(
        "",
        description="The page where they install it, as https://bot.example.org/slack/install; …/slack/installed has "
        "to be a Redirect URL of the app.",
    )
    slack_token_key: Key = Field(
        SecretStr(""),
        description="Encrypts their tokens in the database: 32 random bytes in URL-safe base64; an older key can "
        "follow after a comma.",
    )
    slack_pkce: bool = Field(False, description="True if PKCE is switched on in the app (OAuth & Permissions).")
    slack_follow_threads: bool = Field(
        False,
        description="Answer every message in the bot's threads, without a mention, unless it is addressed to "
        "somebody else.",
    )
    slack_api_base_url: MirrorAddress = Field("https://slack.com/api/", description="Slack's Web API.")

    @property
    def configured(self) -> bool:
        tokens = self.slack_bot_token, self.slack_app_token, self.slack_signing_secret
        return self.installable or any(token.get_secret_value() for token in tokens)

    @property
    def installable(self) -> bool:
        """True if other workspaces can install the app."""
        return bool(self.slack_install_url)

    @property
    def token_keys(self) -> list[str]:
        """The keys that encrypt tokens, the newest first."""
        return [key for one in self.slack_token_key.get_secret_value().split(",") if (key := one.strip())]

    @property
    def by_web(self) -> bool:
        # An app with Socket Mode gets no posts.
        return bool(self.slack_signing_secret.get_secret_value() and not self.slack_app_token.get_secret_value())

    @property
    def receives(self) -> str:
        return "by web: SLACK_APP_TOKEN is not set" if self.by_web else "over Socket Mode: SLACK_APP_TOKEN is set"

    def require(self) -> None:
        refuse_account("SLACK_API_BASE_URL", self.slack_api_base_url)
        bot, app = self.slack_bot_token.get_secret_value(), self.slack_app_token.get_secret_value()
        if bot.startswith("xapp-") and app.startswith("xoxb-"):
            raise SettingsError(
                "SLACK_BOT_TOKEN (xoxb-…) and SLACK_APP_TOKEN (xapp-…) contain each other's token: swap them"
            )
        wrong = []
        needed = [("SLACK_BOT_TOKEN", bot, "xoxb-", "the app's bot token")]
        if self.installable:
            wrong += self._lacking(app)
            needed = needed if bot else []
        elif not self.by_web:
            needed.append(("SLACK_APP_TOKEN", app, "xapp-", "an app-level token with connections:write"))
        for name, token, begin, what in needed:
            if not token:
                also = ", or SLACK_SIGNING_SECRET in its place" if name == "SLACK_APP_TOKEN" else ""
                wrong.append(f"{name} is not set, and Slack needs both: {what}, {begin}…{also}")
            elif not token.startswith(begin):
                wrong.append(f"{name} should be {what} and begin with {begin}")
        if wrong:
            raise SettingsError(*wrong)

    def _lacking(self, app: str) -> list[str]:
        """Return what is missing or wrong for other workspaces to install the app."""
        given = {
            "SLACK_CLIENT_ID": self.slack_client_id,
            "SLACK_CLIENT_SECRET": self.slack_client_secret.get_secret_value(),
            "SLACK_TOKEN_KEY": self.slack_token_key.get_secret_value(),
            "SLACK_SIGNING_SECRET": self.slack_signing_secret.get_secret_value(),
        }
        wrong = [f"{name} is not set; others need it to install the app" for name in given if not given[name]]
        if app:
            wrong.append("SLACK_APP_TOKEN should be unset if others install the app: events then arrive by web")
        if not self.slack_install_url.endswith("/slack/install"):
            wrong.append("SLACK_INSTALL_URL should end in /slack/install: https://bot.example.org/slack/install")
        if any(not _SEAL.fullmatch(key) for key in self.token_keys):
            wrong.append(
                "SLACK_TOKEN_KEY should be 32 random bytes in URL-safe base64, as this prints them: "
                "openssl rand -base64 32 | tr '+/' '-_'"
            )
        return wrong


class DiscordSettings(PlatformSettings):
    """Discord, over the gateway, and commands also by web."""

    needs = "DISCORD_BOT_TOKEN"

    discord_bot_token: Key = Field(SecretStr(""), description="Discord: the bot token from the developer portal.")
    discord_api_base_url: MirrorAddress = Field(
        "https://discord.com/api/v10", description="Discord's API, which also names the gateway."
    )
    discord_threads: bool = Field(False, description="Answer each question in a channel in a thread of its own.")
    discord_public_key: str = Field(
        "",
        description="The application's public key: Discord then posts commands and presses to "
        "https://bot.example.org/discord, its Interactions Endpoint URL.",
    )

    @property
    def configured(self) -> bool:
        return bool(self.discord_bot_token.get_secret_value())

    @property
    def by_web(self) -> bool:
        return bool(self.discord_public_key)

    @property
    def receives(self) -> str:
        commands = "commands by web" if self.by_web else "commands too: DISCORD_PUBLIC_KEY is not set"
        return f"over the gateway, {commands}"

    @property
    def identity(self) -> str:
        # The id of the account, in base64: https://discord.com/developers/docs/reference#authentication
        return self.discord_bot_token.get_secret_value().partition(".")[0]

    def require(self) -> None:
        refuse_account("DISCORD_API_BASE_URL", self.discord_api_base_url)
        if self.discord_bot_token.get_secret_value().count(".") != 2:
            raise SettingsError(
                "DISCORD_BOT_TOKEN should be three parts with dots between; the developer portal shows it"
            )
        if self.by_web and not _PUBLIC_KEY.fullmatch(self.discord_public_key):
            raise SettingsError(
                "DISCORD_PUBLIC_KEY should be 64 digits and letters from a to f; the developer portal shows it under "
                "General Information"
            )


class WebSettings(PlatformSettings):
    """Web pages and programs of your own, at WEB_PORT."""

    needs = "WEB_TOKEN"
    begins = False

    web_token: Password = Field(
        SecretStr(""),
        description="Lets your pages and programs ask at /v1/chat/completions and /agui; empty: nobody can.",
    )

    @property
    def configured(self) -> bool:
        return bool(self.web_token.get_secret_value())

    @property
    def by_web(self) -> bool:
        return True

    @property
    def receives(self) -> str:
        return "by web, at /v1/chat/completions and /agui"

    @property
    def serves(self) -> tuple[tuple[str, str], ...]:
        models = ("GET", "v1/models"), ("GET", "v1/models/parley")
        return *models, ("POST", "v1/chat/completions"), ("POST", "agui")


class ConsoleSettings(PlatformSettings):
    """A terminal; opened by `parley chat`, never by a token."""
