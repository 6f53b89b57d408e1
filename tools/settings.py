"""The tools' settings, a class per tool that needs any."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ToolSettings(BaseSettings):
    """The base: names are the variables' names, an empty value means the default."""

    model_config = SettingsConfigDict(
        extra="ignore", env_ignore_empty=True, case_sensitive=False, frozen=True, env_file_encoding="utf-8"
    )


class SearchSettings(ToolSettings):
    """search_web."""

    tavily_api_key: SecretStr = Field(SecretStr(""), description="Key for web search, from tavily.com.")
    tavily_api_base_url: str = Field("https://api.tavily.com", description="Where Tavily is.")


class McpSettings(ToolSettings):
    """Tools of MCP servers."""

    mcp_config: str = Field("", description="The mcp.json that names MCP servers; empty: ./mcp.json if there is one.")
