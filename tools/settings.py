"""The tools' settings, a class per tool that needs any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from pydantic import AliasChoices, Field, SecretStr, field_validator

from tools.contract.forms import Key, MirrorAddress, ToolSettings

_HOST_AND_PORT: Final = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):[1-9]\d{0,4}")


class SearchSettings(ToolSettings):
    """search_web."""

    tavily_api_key: Key = Field(SecretStr(""), description="Key for web search, from tavily.com.")
    tavily_api_base_url: MirrorAddress = Field("https://api.tavily.com", description="Tavily.")
    search_fallback: Literal["", "ddgs"] = Field(
        "",
        description="ddgs: search DuckDuckGo, Brave and Mojeek if Tavily has no key or fails.",
    )


class McpSettings(ToolSettings):
    """Tools of MCP servers."""

    mcp_config: str = Field(
        "", description="The file with your MCP servers; empty: mcp.json beside .env, if it exists."
    )


class PluginSettings(ToolSettings):
    """Tools of your own."""

    tools_dir: str = Field(
        "", description="A folder with tools of your own, one in each .py file; see docs/extending.md."
    )


class ReadPageSettings(ToolSettings):
    """read_page."""

    fetch_allow: str = Field(
        "",
        description="Hosts outside the public internet that read_page may open, as wiki.corp.example:443.",
    )

    @field_validator("fetch_allow")
    @classmethod
    def _ports(cls, value: str) -> str:
        hosts = [part.strip() for part in value.split(",") if part.strip()]
        for host in hosts:
            if not _HOST_AND_PORT.fullmatch(host):
                raise ValueError(f"{host[:60]!r} must be written host:port, as wiki.corp.example:443")
        return ",".join(hosts)


class _ContactSettings(ToolSettings):
    """Services whose rules ask bots for a contact."""

    contact: str = Field(
        "", description="Your e-mail address or page, sent to Wikipedia and OpenAlex, which ask for it."
    )


class SearchPapersSettings(_ContactSettings):
    """search_papers."""

    openalex_base_url: MirrorAddress = Field("https://api.openalex.org", description="OpenAlex (search_papers).")
    openalex_api_key: Key = Field(
        SecretStr(""), description="A free key from openalex.org; without one about 100 searches a day work."
    )


class WeatherSettings(ToolSettings):
    """get_weather."""

    open_meteo_base_url: MirrorAddress = Field(
        "https://api.open-meteo.com", description="Open-Meteo's forecast (get_weather)."
    )
    open_meteo_geocoding_url: MirrorAddress = Field(
        "https://geocoding-api.open-meteo.com", description="Open-Meteo's search for places (get_weather)."
    )


class WikipediaSettings(_ContactSettings):
    """wikipedia."""

    wikipedia_base_url: MirrorAddress = Field(
        "https://{language}.wikipedia.org", description="Wikipedia; {language} becomes en, zh, …"
    )


class TokenPriceSettings(ToolSettings):
    """token_price."""

    dexscreener_base_url: MirrorAddress = Field("https://api.dexscreener.com", description="Dexscreener (token_price).")


class CodeSettings(ToolSettings):
    """run_python."""

    code_backend: Literal["auto", "bwrap", "jupyter", "monty", "e2b", "off"] = Field(
        "auto",
        description="Where code runs: bwrap (a sandbox on Linux), jupyter (a Jupyter kernel in it; needs the extra "
        "code-rich), monty (a small interpreter), e2b (remote), off; auto: bwrap, or else monty.",
    )
    code_packages: str = Field(
        "numpy,pandas,matplotlib,sympy,scipy,pillow,networkx,openpyxl",
        description="Installed packages that code can import in the bwrap sandbox.",
    )
    e2b_api_key: Key = Field(SecretStr(""), description="Key for remote sandboxes, from e2b.dev.")
    e2b_api_base_url: MirrorAddress = Field("https://api.e2b.app", description="E2B (run_python).")
    e2b_sandbox_base_url: MirrorAddress = Field("", description="E2B's sandboxes; empty: each at its own address.")

    @property
    def packages(self) -> tuple[str, ...]:
        """The names in `code_packages`."""
        return tuple(name.strip() for name in self.code_packages.split(",") if name.strip())


class DatabaseSettings(ToolSettings):
    """query_database."""

    databases: SecretStr = Field(
        SecretStr(""),
        description="Databases to read, as sales=sqlite:////data/sales.db,crm=postgresql://reader:…@host/crm.",
    )


class ImageSettings(ToolSettings):
    """generate_image."""

    image_model: str = Field("", description="The model that makes images, as openai:gpt-image-1; empty: none.")
    image_api_key: Key = Field(
        SecretStr(""),
        validation_alias=AliasChoices("image_api_key", "openai_api_key"),
        description="Its key; empty: OPENAI_API_KEY.",
    )
    image_base_url: MirrorAddress = Field(
        "https://api.openai.com/v1",
        validation_alias=AliasChoices("image_base_url", "openai_base_url"),
        description="The server that makes images; without this line OPENAI_BASE_URL.",
    )
    image_price: str = Field(
        "",
        description="Dollars for a square image of low/medium/high quality, as 0.011/0.042/0.167, or one number; "
        "empty: OpenAI's list price.",
    )

    @field_validator("image_model")
    @classmethod
    def _openai(cls, value: str) -> str:
        provider, _, name = value.strip().partition(":")
        if value.strip() and (provider.strip().lower() != "openai" or not name.strip()):
            meant = f"openai:{(name or provider).strip()[:60] or 'gpt-image-1'}"
            raise ValueError(
                f"{value[:60]!r} must be written openai:name, as {meant}; IMAGE_BASE_URL names another server that "
                "speaks OpenAI's Images API"
            )
        return f"openai:{name.strip()}" if value.strip() else ""

    @field_validator("image_price")
    @classmethod
    def _amounts(cls, value: str) -> str:
        parts = value.strip().split("/") if value.strip() else []
        if len(parts) not in (0, 1, 3) or not all(re.fullmatch(r"\d{1,4}(\.\d{1,9})?", part) for part in parts):
            raise ValueError(f"{value!r} must be low/medium/high in dollars, as 0.011/0.042/0.167, or one number")
        return value.strip()


SETTINGS: Final[Mapping[str, type[ToolSettings]]] = {
    "run_python": CodeSettings,
    "search_web": SearchSettings,
    "mcp": McpSettings,
    "plugins": PluginSettings,
    "read_page": ReadPageSettings,
    "query_database": DatabaseSettings,
    "generate_image": ImageSettings,
    "search_papers": SearchPapersSettings,
    "get_weather": WeatherSettings,
    "wikipedia": WikipediaSettings,
    "token_price": TokenPriceSettings,
}
"""Each tool that has settings, and their class."""
