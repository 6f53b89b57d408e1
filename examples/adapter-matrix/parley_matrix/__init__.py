"""Matrix as a platform of Parley: its settings, and how its people and rooms are listed."""

from __future__ import annotations

from pydantic import Field, SecretStr

from parley_chat.adapter import Address, Form, Key, Platform, PlatformIds, PlatformSettings


class MatrixSettings(PlatformSettings):
    """Read from `.env` and the environment like Parley's own."""

    needs = "MATRIX_TOKEN"

    matrix_url: Address = Field("https://matrix.org", description="The homeserver's address.")
    matrix_token: Key = Field(SecretStr(""), description="The access token of the bot's account.")
    matrix_rate: float = Field(0.2, gt=0, description="Events a second that the homeserver takes (its rc_message).")
    matrix_burst: int = Field(10, ge=2, description="Events that it takes at once (its burst_count).")

    @property
    def configured(self) -> bool:
        return bool(self.matrix_token.get_secret_value())


PLATFORM = Platform(
    module="parley_matrix.adapter",
    settings=MatrixSettings,
    ids=PlatformIds(
        person=Form(r"@[^:\s]+:\S+", "@ada:example.org"),
        chat=Form(r"%40[^/\s]+/%21[^/\s]+(?:/%24[^/\s]+)?", "BOT/ROOM"),
        account=Form(r"%40[^/\s]+/\*"),
    ),
    origin=lambda: "log in as the bot in Element; Settings, Help & About shows its access token.",
)
