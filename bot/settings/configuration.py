"""The configuration: the settings of all parts, and the adapters and tools that they open."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr, create_model

from bot.contract import LIMITS, Limits, SettingsError, identity
from bot.settings.environment import Strays, env_file, strays
from bot.settings.groups import CoreSettings, ModelSettings, Settings, read, secrets_of, variables
from tools.contract.forms import Key
from tools.contract.network import find_certificate_fault

if TYPE_CHECKING:
    from bot.contract import Adapter
    from bot.model import ModelOptions
    from tools.calling.plugins import Plugin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything in the environment and `.env`."""

    core: CoreSettings
    platforms: Mapping[str, Any]
    """Platform name → its settings, configured or not."""
    tools: Mapping[str, Any]
    """The settings of each tool, of plug-ins by their origin."""
    file: Path | None
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Secrets that must never leave the program → the setting that contains each."""
    strays: Strays = field(default_factory=Strays)
    left_out: tuple[str, ...] = ()
    """A sentence for each platform of another author that cannot be used."""
    limits: Limits = LIMITS
    plugins: tuple[Plugin, ...] = ()
    """Tools of other authors."""
    provider_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The keys of the model servers in the operator's file."""

    @property
    def configured(self) -> list[str]:
        """The platforms whose token is set."""
        return [name for name, settings in self.platforms.items() if settings.configured]

    @property
    def secret_files(self) -> list[Path]:
        """The operator's files that contain keys: `.env` and the file of MCP servers."""
        named = (self.file, self.tools["mcp"].mcp_config)
        files = [Path(name).expanduser() for name in named if name]
        return [file for file in files if os.path.isfile(file)]  # noqa: PTH113 - `Path.is_file` raises in a closed folder

    @property
    def by_web(self) -> list[str]:
        """The platforms that post to our public address."""
        return [name for name in self.configured if self.platforms[name].by_web]


def settings_classes() -> list[type[Any]]:
    """Every settings class of the program, the core's first."""
    platforms = importlib.import_module("adapters").PLATFORMS
    tools = importlib.import_module("tools.settings").SETTINGS
    return [CoreSettings, *(one.settings for one in platforms.values()), *tools.values()]


def configure() -> Configuration:
    """Read all settings.

    Raises:
        SettingsError: some are malformed, or `.env` contains names that are nearly settings', or the certificates named
            in the environment cannot be used; each problem is named.
    """
    file = env_file()
    left_out = importlib.import_module("adapters").add_installed()
    plugins, wrong = _plugins(file)
    keys = _provider_keys(file, wrong)
    kinds = [*settings_classes(), keys, *(plugin.settings for plugin in plugins if plugin.settings is not None)]
    platforms = importlib.import_module("adapters").PLATFORMS
    identity.use({name: one.ids for name, one in platforms.items()})
    wrong += [fault] if (fault := find_certificate_fault()) else []
    values: dict[type[Any], Any] = {}
    found = Strays()
    try:
        found = strays(file, variables(kinds))
    except SettingsError as error:
        wrong += error.args
    for kind in kinds:
        try:
            values[kind] = read(kind, file)
        except SettingsError as error:
            wrong += error.args
    if not wrong:
        wrong = _own_databases(values[CoreSettings].database_url, values)
    if wrong:
        raise SettingsError(*dict.fromkeys(wrong))
    tools = importlib.import_module("tools.settings").SETTINGS
    of_tools = {name: values[kind] for name, kind in tools.items()} | {"mcp": _mcp(values[tools["mcp"]], file)}
    return Configuration(
        core=values[CoreSettings],
        platforms={name: values[one.settings] for name, one in platforms.items()},
        tools=of_tools | {one.origin: values[one.settings] for one in plugins if one.settings is not None},
        file=file,
        secrets=secrets_of(kinds, file),
        strays=found,
        left_out=tuple(left_out),
        plugins=plugins,
        provider_keys={name.removesuffix("_api_key"): key.get_secret_value() for name, key in values[keys]},
    )


def _provider_keys(file: Path | None, wrong: list[str]) -> type[Settings]:
    """Know the model servers of the operator's file; return the settings that hold their keys."""
    from bot.model import use_providers

    use_providers(())
    fields: dict[str, Any] = {}
    try:
        if named := read(ModelSettings, file).providers_file:
            from bot.model import read_providers

            use_providers(rows := read_providers(named))
            fields = {
                f"{row.name}_api_key": (Key, Field(SecretStr(""), description=f"Key for {row.name}.")) for row in rows
            }
    except SettingsError as error:
        wrong += error.args
    return create_model("ProviderKeys", __base__=Settings, **fields) if fields else Settings


def _plugins(file: Path | None) -> tuple[tuple[Plugin, ...], list[str]]:
    """Return the tools of other authors, and what is wrong with their folder."""
    from tools.calling.plugins import find_plugins
    from tools.settings import PluginSettings

    folder = read(PluginSettings, file).tools_dir
    try:
        return find_plugins(folder), []
    except ValueError as error:
        return find_plugins(""), [f"TOOLS_DIR: {error}"]


def _own_databases(own: str, values: Mapping[type[Any], Any]) -> list[str]:
    """Return a sentence for each of `DATABASES` that is this program's own: anybody who may query it could read every
    chat."""
    from tools.databases import parse
    from tools.settings import DatabaseSettings

    try:
        urls = parse(values[DatabaseSettings].databases.get_secret_value())
    except ValueError:
        urls = {}  # the tool reports it
    if not urls:
        return []
    from bot.store import is_same_database

    return [
        f"DATABASES names {name}, which is the database of DATABASE_URL: questions in one chat would show what is said "
        "in others. Leave it out, or copy what may be asked about into a database of its own."
        for name, url in urls.items()
        if is_same_database(own, url)
    ]


def _mcp(settings: Any, file: Path | None) -> Any:
    """Return the settings with the `mcp.json` beside `.env`, if they name no file.

    An `mcp.json` that only happens to be in the working directory is not read: it starts programs, and may be somebody
    else's.
    """
    beside = file.parent / "mcp.json" if file is not None else None
    if settings.mcp_config or beside is None or not beside.is_file():
        return settings
    return settings.model_copy(update={"mcp_config": str(beside)})


def model_options(configuration: Configuration) -> ModelOptions:
    """Return the options of the model client.

    Raises:
        SettingsError: no model is named and no provider's key is set.
    """
    from bot.model import BUILT_IN, ModelOptions, default_model, default_transcriber

    core = configuration.core
    keys = {name: getattr(core, row.key.lower()).get_secret_value() for name, row in BUILT_IN.items()}
    keys |= configuration.provider_keys
    urls = {name: getattr(core, row.base_url_setting.lower()) for name, row in BUILT_IN.items()}
    name = core.model or default_model(keys)
    if not name:
        raise SettingsError(
            "MODEL is not set and no provider's key is: set OPENAI_API_KEY, or MODEL=ollama:qwen3 for a local Ollama"
        )
    of_provider = default_transcriber((name, *core.fallback_models), keys)
    return ModelOptions(
        name=name,
        fallbacks=core.fallback_models,
        choices=core.models,
        transcriber="" if core.transcribe_model.strip().lower() == "off" else core.transcribe_model or of_provider,
        speaker="" if core.speech_model.strip().lower() == "off" else core.speech_model,
        voice=core.speech_voice,
        keys=keys,
        base_urls=urls,
        tool_mode=core.tool_mode,
        limits=configuration.limits,
        turn_seconds=core.turn_seconds,
    )


def open_adapters(configuration: Configuration, names: Iterable[str]) -> dict[str, Adapter]:
    """Load the packages of the platforms in use, and only those.

    A platform that cannot be used is reported and left out; the others run.

    Raises:
        SettingsError: none of them can be used.
    """
    table = importlib.import_module("adapters").PLATFORMS
    adapters: dict[str, Adapter] = {}
    problems: dict[str, SettingsError] = {}
    for name in names:
        settings = configuration.platforms[name]
        try:
            settings.require()
            adapters[name] = importlib.import_module(table[name].module).open_adapter(settings)
        except SettingsError as error:
            problems[name] = error
    if not adapters and problems:
        raise SettingsError(*(sentence for error in problems.values() for sentence in error.args))
    for name, problem in problems.items():
        log.error("%s is off: %s", name, problem)
    return adapters
