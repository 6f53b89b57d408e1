"""`parley doctor`: checks every token, the model, the tools and the machine, and says how to fix what fails."""

from __future__ import annotations

import asyncio
import importlib
import io
import time
import wave
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from bot.agent import CallPolicy
from bot.cli.agentcheck import examine_agents
from bot.cli.fleetcheck import Result
from bot.cli.machine import examine_machine
from bot.cli.sharing import digests_of
from bot.context import write_system_prompt
from bot.contract import BotError, Clock, SettingsError, SystemClock, SystemEntry, UserEntry
from bot.model import (
    PROVIDERS,
    Estimator,
    KeyRefused,
    Model,
    ModelName,
    Models,
    Request,
    Speaker,
    Transcriber,
    ask,
    token_count,
    tool_token_count,
)
from bot.operations import Outlet, set_up
from bot.policy import ToolRights, find_misnamed
from bot.settings import ChannelsFile, Configuration, CoreSettings, model_options, read_channels
from bot.toolchoice import MOST_FOREIGN
from tools.calling.crashes import describe_crash
from tools.calling.registry import ToolRegistry
from tools.contract.base import Checked, ToolError, ToolSpec, Unavailable
from tools.contract.credentials import SHORTEST_SECRET
from tools.contract.findings import Finding, Verdict

SETTLE_SECONDS = 15.0
"""How long MCP servers may take to list their tools."""
_WIDTH = max(map(len, Verdict))


class _Report:
    """Prints findings as they come, with secrets masked."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._counts = dict.fromkeys(Verdict, 0)
        self._bad: dict[str, None] = {}

    @property
    def well(self) -> bool:
        return not self._bad

    def add(self, what: str, finding: Finding) -> None:
        self._counts[finding.verdict] += 1
        if not finding.well:
            self._bad[what] = None
        self._print(f"{finding.verdict:<{_WIDTH}}  {what}: {' '.join(finding.text.split())}")

    def add_sum(self) -> None:
        """Print how often each word occurred, and everything BAD."""
        notes = self._counts[Verdict.NOTE]
        words = {Verdict.NOTE: "note" if notes == 1 else "notes"}
        told = ", ".join(f"{count} {words.get(verdict, verdict)}" for verdict, count in self._counts.items())
        self._print(told + (f": {', '.join(self._bad)}" if self._bad else ""))

    def _print(self, line: str) -> None:
        print(self._outlet.line(line), flush=True)  # noqa: T201


async def examine(configuration: Configuration, outlet: Outlet, *, offline: bool = False) -> int:
    """Check everything; print a line for each finding and a total; return 0 if nothing is BAD, else 1.

    Args:
        offline: ask no service and start no MCP server; check only this machine.
    """
    # Each fault is reported here in one sentence; a library's traceback would add nothing.
    set_up("CRITICAL", "console", outlet)
    report = _Report(outlet)
    report.add("settings", Finding.ok(f"read from {'.env and ' if configuration.file else ''}the environment"))
    for sentence in configuration.strays.misspelt:
        report.add("settings", Finding.bad(sentence))
    for sentence in configuration.strays.sentences[len(configuration.strays.misspelt) :]:
        report.add("settings", Finding.note(sentence))
    await _examine_platforms(configuration, report, offline)
    try:
        channels = read_channels(configuration.core.channels_file)
    except SettingsError as error:
        report.add("channels", Finding.bad(str(error)))
        channels = ChannelsFile()
    models = await _examine_models(configuration, channels, report, offline)
    async for finding in examine_agents(configuration, channels):
        report.add("agent", finding)
    for line in describe_channels(channels, configuration.core):
        report.add("channels", Finding.ok(line))
    report.add("access", Finding.note(describe_access(configuration.core)))
    specs = await _examine_tools(configuration, channels, report, outlet, offline)
    files, platforms = configuration.secret_files, configuration.configured
    machine = await examine_machine(
        configuration.core,
        models,
        SystemClock(),
        platforms,
        files,
        by_web=bool(configuration.by_web),
        digests=digests_of(configuration),
        prompt=estimate_prompt(configuration.core, specs),
    )
    for what, finding in (*machine, *_examine_secrets(configuration)):
        report.add(what, finding)
    report.add_sum()
    return 0 if report.well else 1


def describe_access(core: CoreSettings) -> str:
    """Return where the listed people may write."""
    if core.allow_all:
        return "everybody may write (ALLOW_ALL)"
    if core.people_in_groups:
        return "listed people may write in every group (PEOPLE_IN_GROUPS=false: only in listed ones)"
    return "listed people may write in private and in listed groups (PEOPLE_IN_GROUPS=false)"


def describe_channels(channels: ChannelsFile, core: CoreSettings) -> Iterator[str]:
    """Yield a line for each chat in the operator's file: what applies there, and where each value comes from."""
    for key in channels.channels:
        held = channels.resolve(key)
        model, instructions, tools, who = held.model, held.instructions, held.tools, held.who
        parts = [
            f"model {model.value} ({model.source})" if model else f"model {core.model or 'by key'} (MODEL)",
            f"instructions ({instructions.source})" if instructions else "no instructions of its own",
            f"tools {', '.join(tools.value)} ({tools.source})"
            if tools
            else "tools as everywhere (TOOLS_OFF, TOOLS_FOR)",
            f"who {', '.join(who.value)} ({who.source})" if who else "who as everywhere (ALLOWED_…)",
        ]
        yield f"{key}: {'; '.join(parts)}"


def platform_table() -> Mapping[str, Any]:
    """Return all platforms by name: `adapters.Platform`."""
    table: Mapping[str, Any] = importlib.import_module("adapters").PLATFORMS
    return table


async def check_platform(name: str, settings: Any) -> list[Finding]:
    """Check a platform's token; return the findings.

    Raises:
        SettingsError: it refuses the token.
        BotError: it does not answer.
    """
    found: list[Finding] = await importlib.import_module(platform_table()[name].module).check(settings)
    return found


async def _examine_platforms(configuration: Configuration, report: _Report, offline: bool) -> None:
    for sentence in configuration.left_out:
        report.add("platforms", Finding.bad(sentence))
    if not configuration.configured:
        report.add("platforms", Finding.note("none is configured; `parley playground` needs none"))
    for name in configuration.configured:
        try:
            settings = configuration.platforms[name]
            settings.require()
            if offline:
                report.add(name, Finding.not_asked(f"is configured; it receives {settings.receives}"))
                continue
            for finding in await check_platform(name, settings):
                report.add(name, finding)
        except BotError as error:
            report.add(name, Finding.bad(str(error)))


async def _examine_models(
    configuration: Configuration, channels: ChannelsFile, report: _Report, offline: bool
) -> tuple[str, ...]:
    """Ask every model for a word, and one model of each other provider with a key; return the names of all models that
    can answer."""
    core, clock = configuration.core, SystemClock()
    try:
        options = model_options(configuration)
        async with Models(options, clock) as models:
            side = [(core.tool_choice_model, "TOOL_CHOICE_MODEL"), (core.summary_model, "SUMMARY_MODEL")]
            side += [(name, "CHANNELS_FILE") for name in channels.models]
            asked = [(name, "MODEL") for name in models.names]
            asked += [(name, setting) for name, setting in side if name and name not in models.names]
            for name, setting in asked:
                try:
                    chosen = models.only(name, setting)
                    if offline:
                        report.add("model", Finding.not_asked(f"{name} is configured"))
                        continue
                    await ask_a_word(chosen, clock)
                    report.add("model", Finding.ok(f"{name} answers"))
                except BotError as error:
                    report.add("model", Finding.bad(str(error)))
            used = {name.partition(":")[0] for name, _ in asked}
            others = [provider for provider, key in options.keys.items() if key and provider not in used]
            for finding in await asyncio.gather(*(_examine_key(models, one, offline) for one in others)):
                report.add("model", finding)
            report.add("voice", await _examine_voice(models.transcriber, offline, chosen=bool(core.transcribe_model)))
            report.add("speech", await _examine_speech(models.speaker, offline))
            beside = [one.name for one in (models.transcriber, models.speaker) if one is not None]
            return tuple(dict.fromkeys([*(name for name, _ in asked), *beside]))
    except SettingsError as error:
        report.add("model", Finding.bad(str(error)))
        return ()


async def _examine_voice(transcriber: Transcriber | None, offline: bool, *, chosen: bool) -> Finding:
    """Transcribe a second of silence, and report what transcribes voice messages.

    Args:
        chosen: the operator chose it; if a provider's own default fails, the settings are not at fault.
    """
    if transcriber is None:
        return Finding.note("voice messages are not transcribed; set TRANSCRIBE_MODEL to change that")
    if offline:
        return Finding.not_asked(f"{transcriber.name} should transcribe voice messages")
    try:
        await transcriber.transcribe(_silence(), "silence.wav", "audio/wav", 30.0)
    except BotError as error:
        text = f"voice messages are not transcribed: {error}"
        return Finding.bad(text) if chosen else Finding.note(text)
    return Finding.ok(f"{transcriber.name} transcribes voice messages")


async def _examine_speech(speaker: Speaker | None, offline: bool) -> Finding:
    """Have a word spoken, and report what speaks answers."""
    if speaker is None:
        return Finding.note("answers are not spoken (/voice); set SPEECH_MODEL to change that")
    if offline:
        return Finding.not_asked(f"{speaker.name} should speak answers")
    try:
        await speaker.speak("Ready.", "opus", 30.0)
    except BotError as error:
        return Finding.bad(f"answers are not spoken: {error}")
    return Finding.ok(f"{speaker.name} speaks answers (/voice)")


def _silence() -> BinaryIO:
    """Return a recording of one second of silence."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(16_000))
    return written


async def ask_a_word(model: Model, clock: Clock) -> None:
    """Ask a model for a short answer.

    Raises:
        ModelError: it does not answer.
    """
    request = Request(
        entries=(UserEntry("Say the word ready."),), deadline=clock.monotonic() + 30.0, max_output_chars=200
    )
    await ask(model, request)


async def _examine_key(models: Models, provider: str, offline: bool) -> Finding:
    """Check the key of a provider that `/model` can choose; it may open only some of its models."""
    row = PROVIDERS[provider]
    if offline or not row.default_model:
        return Finding.not_asked(f"the key of {row.key} is set; /model can choose its models")
    try:
        await ask_a_word(models.only(str(ModelName(row, row.default_model)), row.key), SystemClock())
    except (KeyRefused, SettingsError) as error:
        return Finding.bad(str(error))
    except BotError as error:
        return Finding.note(f"the key of {row.key} was not refused, but {error}")
    return Finding.ok(f"the key of {row.key} is accepted; /model can choose its models")


async def _examine_tools(
    configuration: Configuration, channels: ChannelsFile, report: _Report, outlet: Outlet, offline: bool
) -> Sequence[ToolSpec]:
    """Check every tool; return those that a model sees: ours, and as many of the servers' as it sees at once."""
    open_registry = importlib.import_module("tools").open_registry
    # Without an event loop no MCP server is started.
    core = configuration.core
    opening = partial(open_registry, configuration.tools, plugins=configuration.plugins, off=core.tools_off)
    registry = await asyncio.to_thread(opening)
    outlet.mask(registry.secrets)
    try:
        if not offline:
            await registry.settle(SETTLE_SECONDS)
        await registry.prove()
        specs = registry.specs()
        found = await asyncio.gather(*(_examine_tool(registry, spec, offline) for spec in specs))
        for spec, finding in zip(specs, found, strict=True):
            report.add(spec.name, finding)
        faults = {**registry.faults, **registry.broken}
        for name, reason in registry.unavailable.items():
            if name in faults or (name.startswith("MCP ") and not offline):
                report.add(name, Finding.bad(f"not offered: {reason}"))
            elif name.startswith("MCP "):
                report.add(name, Finding.not_asked("is configured; offline no server is started"))
            else:
                # A tool without configuration is a choice; a configured tool that does not work is a fault.
                report.add(name, Finding.note(f"not offered: {reason}"))
        rights = ToolRights(registry, off=core.tools_off, limits=core.tools_for, channels=channels)
        for line in rights.lines:
            report.add("tools", Finding.note(line))
        policy = CallPolicy(core)
        if asking := [spec.name for spec in registry.specs() if policy.asks_first(spec)]:
            report.add("tools", Finding.note(f"ask before they run: {', '.join(asking)}"))
        named = [*rights.named, *policy.named]
        for sentence in await find_misnamed(registry, named, 0.0 if offline else SETTLE_SECONDS):
            report.add("tools", Finding.bad(sentence))
        foreign = registry.foreign()
        return [*(spec for spec in specs if spec not in foreign), *foreign[:MOST_FOREIGN]]
    finally:
        await registry.close()


def estimate_prompt(core: CoreSettings, specs: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of a first question's prompt, without the person's message."""
    outside = any(spec.outside for spec in specs)
    system = write_system_prompt(name="Parley", today=time.time(), extra=core.instructions, withholds=outside)
    count = Estimator().count
    return token_count([SystemEntry(system)], count) + tool_token_count(specs, count)


async def _examine_tool(registry: ToolRegistry, spec: ToolSpec, offline: bool) -> Finding:
    """Run a tool's own check, if it has one; the tool is opened in any case."""
    tool = registry.tool(spec.name)
    if isinstance(tool, Checked):
        try:
            return await tool.check(offline=offline)
        except Unavailable as lack:
            text = f"not offered: {lack}"
            return Finding.bad(text) if lack.wanted else Finding.note(text)
        except ToolError as error:
            return Finding.bad(str(error))
        except Exception as error:  # noqa: BLE001 - its check is that tool's fault alone
            return Finding.bad(f"its check failed: {describe_crash(error)}")
    if spec in registry.foreign():
        return Finding.ok(f"offered by its server: {spec.purpose}")
    if spec.outside or spec.address:
        return Finding.not_asked(f"opened; it has no check of what it reaches: {spec.purpose}")
    return Finding.ok(f"opened: {spec.purpose}")


def _examine_secrets(configuration: Configuration) -> list[Result]:
    short = [where for secret, where in configuration.secrets.items() if len(secret) < SHORTEST_SECRET]
    if not short:
        return []
    named = ", ".join(dict.fromkeys(short))
    text = f"{named}: shorter than {SHORTEST_SECRET} characters, so replies do not mask it; is it copied whole?"
    return [("secrets", Finding.bad(text))]
