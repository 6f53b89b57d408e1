"""Which agent answers in which chat: ours, or those of other authors that AGENT and CHANNELS_FILE name."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from bot.agent import Agent
from bot.app.ground import Ground, Process
from bot.app.rules import Rules
from bot.contract import ChatId, SettingsError, answers
from bot.settings import ChannelsFile
from bot.turn import AgentOf
from tools.calling.crashes import describe_crash
from tools.programs.cancelling import Contained

if TYPE_CHECKING:
    from bot.agent import ForeignAgent

GROUP: Final = "parley.agents"
OURS: Final = "parley"
"""The name of our own agent in CHANNELS_FILE."""


async def open_agents(process: Process, ground: Ground, rules: Rules, stack: AsyncExitStack) -> AgentOf:
    """Load and open every agent that is named, and return what chooses among them.

    Raises:
        SettingsError: one cannot be used; a sentence says which, and why.
    """
    default, channels, file = process.core.agent, ground.channels, process.configuration.file
    limits, redact = process.limits, rules.redact
    ours = Agent(rules.registry, process.core, rules.calls, limits, redact)
    if process.agents is not None:
        return process.agents(ours)
    agents: dict[str, Agent | ForeignAgent] = {OURS: ours}
    for name, setting in name_agents(default, channels).items():
        from bot.agent import ForeignAgent

        agent = await open_agent(name, setting, file, stack)
        agents[name] = ForeignAgent(name, agent, process.clock, limits, redact)

    def choose(chat: ChatId) -> Agent | ForeignAgent:
        given = channels.channel_of(chat).agent
        return agents[given.value if given is not None else default or OURS]

    return choose


def name_agents(default: str, channels: ChannelsFile) -> dict[str, str]:
    """Return each agent of another author that the settings name, and which setting does.

    Args:
        default: the value of AGENT.
    """
    named = {default: "AGENT"} if default else {}
    for chat, channel in channels.channels.items():
        if channel.agent is not None and channel.agent.value != OURS:
            named.setdefault(channel.agent.value, f"CHANNELS_FILE ({channel.agent.source}, {chat})")
    return named


async def open_agent(name: str, setting: str, file: Path | None, stack: AsyncExitStack) -> answers.Answers:
    """Load an agent, and open it if it is `async with`.

    Args:
        file: the settings' file; modules beside it are found.
        stack: closes it.

    Raises:
        SettingsError: it cannot be used; says why.
    """
    agent = load_agent(name, setting, file.parent.resolve() if file is not None else Path.cwd())
    if isinstance(agent, AbstractAsyncContextManager):
        try:
            with Contained():
                await stack.enter_async_context(agent)
        except (Exception, SystemExit) as error:
            raise _refused(name, setting, "opened", error) from error
    return agent


def load_agent(name: str, setting: str, folder: Path) -> answers.Answers:
    """Import the agent `module:object`, or the one of the entry point `name`.

    Args:
        setting: what names it.
        folder: where modules are found besides those that are installed.

    Raises:
        SettingsError: it cannot be used; says why.
    """
    module, colon, path = name.partition(":")
    try:
        with Contained():
            found = _import(module, path, folder) if colon else _load_installed(name)
            if isinstance(found, type):
                found = found()
    except (Exception, SystemExit) as error:
        raise _refused(name, setting, "loaded", error) from error
    if not callable(getattr(found, "answer", None)):
        raise SettingsError(
            f"{setting}: {name!r} is a {type(found).__name__} without a method answer(question); see docs/agents.md"
        )
    return cast("answers.Answers", found)


def _refused(name: str, setting: str, what: str, error: BaseException) -> SettingsError:
    return SettingsError(f"{setting}: the agent {name!r} cannot be {what}: {describe_crash(error)}")


def _import(module: str, path: str, folder: Path) -> object:
    # At the end: a module of the operator's may have the name of one of Python's.
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    found: object = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _load_installed(name: str) -> object:
    for entry in importlib.metadata.entry_points(group=GROUP):
        if entry.name == name:
            return entry.load()
    raise ValueError("write module:object, or the name of an agent that an installed package brings")
