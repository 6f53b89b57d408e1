"""Mattermost for Parley: the platform's row, its settings and how its ids are written. Imports no library."""

from __future__ import annotations

from pydantic import Field, SecretStr

from parley_chat.adapter import (
    Address,
    Form,
    Key,
    Platform,
    PlatformIds,
    PlatformSettings,
    PublicAddress,
    SettingsError,
)


class MattermostSettings(PlatformSettings):
    """Read from `.env` and the environment like Parley's own."""

    needs = "MATTERMOST_URL with MATTERMOST_TOKEN"

    mattermost_url: Address = Field("", description="Mattermost: the server's address, as https://chat.example.org.")
    mattermost_token: Key = Field(SecretStr(""), description="Mattermost: the access token of the bot account.")
    mattermost_actions_url: PublicAddress = Field(
        "",
        description="Your public address for presses of buttons, ending in /mattermost; empty: there are no buttons.",
    )

    @property
    def configured(self) -> bool:
        return bool(self.mattermost_token.get_secret_value())

    @property
    def by_web(self) -> bool:
        return bool(self.mattermost_actions_url)

    @property
    def receives(self) -> str:
        return f"over a WebSocket{', presses of buttons by web' if self.by_web else ' and without buttons'}"

    def require(self) -> None:
        if not self.mattermost_url:
            raise SettingsError("MATTERMOST_TOKEN needs MATTERMOST_URL, the server's address")
        if self.by_web and not self.mattermost_actions_url.endswith("/mattermost"):
            raise SettingsError("MATTERMOST_ACTIONS_URL should end in /mattermost, by which the bot knows the platform")


_ID = "[a-z0-9]{26}"  # https://developers.mattermost.com/api-documentation/: ids of people, channels and posts
PLATFORM = Platform(
    module="parley_mattermost.adapter",
    settings=MattermostSettings,
    ids=PlatformIds(
        person=Form(_ID, "USER"), chat=Form(f"{_ID}/{_ID}(?:/{_ID})?", "BOT/CHANNEL"), account=Form(rf"{_ID}/\*")
    ),
)
