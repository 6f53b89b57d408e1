"""What a process is given, and the foundations that every other part stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bot.agent import Agent
from bot.contract import Adapter, Clock, Limits, Metrics, SystemClock, Watcher
from bot.intake import Alone, Locks, Members, Ownership, Sessions
from bot.model import Models
from bot.operations import Outlet
from bot.settings import ChannelsFile, Configuration, CoreSettings, model_options, read_channels
from bot.store import Store
from bot.turn import AgentOf, Attachments
from tools.calling.registry import ToolRegistry


@dataclass(eq=False, repr=False)
class Process:
    """What one process of the program is given."""

    configuration: Configuration
    adapters: Mapping[str, Adapter]
    people: tuple[str, ...] = ()
    """Ids that may write besides those in the settings: the person at this terminal."""
    outlet: Outlet = field(default_factory=Outlet)
    """Learns the secrets that are known only once the tools are open."""
    ownership: Ownership = field(default_factory=Alone)
    locks: Locks = field(default_factory=Alone)
    sessions: Sessions | None = None
    members: Members | None = None
    worker: str = "run"
    """This process's name in the store, unique among the running processes."""
    open_tools: Callable[..., ToolRegistry] | None = None
    """Opens other tools than those of the settings, from the same arguments: recorded ones."""
    agents: Callable[[Agent], AgentOf] | None = None
    """Given our agent, chooses others than those of the settings: recorded ones."""
    attachments: Attachments | None = None
    """Reads attachments in another way: as they are recorded."""
    watchers: Sequence[Watcher] = ()
    """Are told of the steps of each turn."""
    clock: Clock = field(init=False, default_factory=SystemClock)

    @property
    def core(self) -> CoreSettings:
        """The settings of everything but platforms and tools."""
        return self.configuration.core

    @property
    def limits(self) -> Limits:
        """What one turn, one person and one chat may take."""
        return self.configuration.limits


@dataclass(eq=False, repr=False)
class Ground:
    """Metrics, the store, the models, and the file of channels."""

    metrics: Metrics
    store: Store
    models: Models
    channels: ChannelsFile


async def open_ground(process: Process, stack: AsyncExitStack) -> Ground:
    """Open the foundations."""
    channels = read_channels(process.core.channels_file)
    store = await stack.enter_async_context(
        Store.open(process.core.database_url, clock=process.clock, worker=process.worker, fence=process.ownership.fence)
    )
    channels.former.update(await store.names.list_former())
    models = await stack.enter_async_context(Models(model_options(process.configuration), process.clock))
    models.check()
    return Ground(Metrics(), store, models, channels)
