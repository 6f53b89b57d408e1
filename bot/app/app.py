"""The program: opens its parts in order, runs them, and closes them in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bot.app.agents import open_agents
from bot.app.gauges import add_gauges, describe
from bot.app.ground import Process, open_ground
from bot.app.intake import build_commands, build_dispatcher
from bot.app.output import build_output
from bot.app.rules import open_rules
from bot.app.turns import build_turns
from bot.contract import SettingsError
from bot.intake import Alarm, serve_places, work_beside
from bot.operations import LoopWatch, end_in_order, find_unresolved, read_memory
from bot.policy import try_tools
from bot.store import Keep, writes
from tools.contract.base import Json
from tools.programs.subprocesses import END_SECONDS

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class App(Process):
    """The running program: `async with App(...)` builds and opens it, `serve` runs it until it is asked to end."""

    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    async def __aenter__(self) -> App:
        async with AsyncExitStack() as stack:
            ground = await open_ground(self, stack)
            rules = await open_rules(self, ground, stack)
            output = build_output(self, ground, rules, stack)
            agent_of = await open_agents(self, ground, rules, stack)
            turns = build_turns(self, ground, rules, output, agent_of, stack)
            actions = build_commands(self, ground, rules, output, turns)
            self.dispatcher = build_dispatcher(self, ground, rules, output, turns, actions)
            self.metrics, self.store, self.models = ground.metrics, ground.store, ground.models
            self.access, self.quotas = rules.access, rules.quotas
            self.rules, self.registry = rules, rules.registry
            self.roles, self.rights = rules.roles, rules.rights
            self.pacer, self.platforms, self.settling = output.pacer, output.platforms, output.settling
            self.briefings, self.summaries = turns.briefings, turns.summaries
            self.conversation, self.reminders = turns.conversation, turns.reminders
            self.may_answer = (*ground.models.names, *ground.channels.models)
            self.watch = await stack.enter_async_context(LoopWatch(lambda: self.platforms.listening))
            self.alarm = Alarm(
                store=self.store,
                platforms=self.platforms,
                metrics=self.metrics,
                access=self.access,
                notices=output.notices,
                clock=self.clock,
                late=lambda: self.watch.late,
                memory=read_memory,
                unresolved=self._find_unresolved,
            )
            add_gauges(
                self.metrics, self.dispatcher.queue, self.pacer, self.store, self.platforms, self.watch, self.roles
            )
            await self._open_listeners(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def _find_unresolved(self, platform: str) -> str:
        """Return the host of a platform, or of the model for an empty name, if its name cannot be resolved."""
        settings = self.configuration.platforms.get(platform)
        address = getattr(settings, f"{platform}_api_base_url", "") if platform else self.models.address
        return await find_unresolved(address, self.clock) if address else ""

    async def _open_listeners(self, stack: AsyncExitStack) -> None:
        """Serve health and metrics, and platforms' requests, each on its own port if configured."""
        core = self.core
        token, names = core.admin_token.get_secret_value(), core.http_names
        if core.http_port is not None:
            from bot.operations import AdminPage, HttpServer

            admin = AdminPage(token, self.store.insights.read, self.outlet, self.clock) if token else None
            self.http = await stack.enter_async_context(
                HttpServer(core.http_host, core.http_port, self.state, self.metrics, self.outlet, names, admin)
            )
        elif token:
            log.warning("ADMIN_TOKEN has no effect without HTTP_PORT, where /admin is served")
        by_web = self.adapters.keys() & set(self.configuration.by_web)
        if by_web and self.roles.role.receives:
            from bot.operations import WebServer

            serves = {name: self.configuration.platforms[name].serves for name in by_web}
            ways = self.platforms.entrance, self.metrics, self.clock, serves
            await stack.enter_async_context(WebServer(core.web_host, core.web_port, by_web, *ways))

    async def state(self) -> Mapping[str, Json]:
        """The program's state, for `/ready` and `/state`."""
        stores = await writes(self.store)
        return {
            "ready": stores and self.platforms.ready,
            **self.roles.state,
            "store": "writes" if stores else "cannot be written to",
            "model": self.models.name,
            "settling": self.settling.waiting,
            **describe(self.dispatcher, self.pacer, self.platforms, self.watch),
        }

    async def serve(self, stop: asyncio.Event) -> None:
        """Receive and answer messages until `stop` is set.

        Raises:
            SettingsError: no platform can be used as configured.
        """
        if not self.ownership.shared:
            await self.quotas.settle_killed()
        await self.access.show_pairing_code(keep=self.ownership.shared)
        log.info("starting with %s for %s", self.models.name, ", ".join(self.adapters))
        for line in self.rights.lines:
            log.info("%s", line)
        leave, dispatcher = asyncio.Event(), self.dispatcher
        await dispatcher.report_suspended(lambda platform: platform not in self.adapters)
        running = asyncio.create_task(
            self.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.suspend), name="platforms"
        )
        stopping = asyncio.create_task(stop.wait(), name="stop")
        owning = asyncio.create_task(serve_places(self, self.clock), name="places")
        keep = Keep.from_days(self.core.keep_days, self.core.keep_files_days)
        beside = [asyncio.create_task(work, name=name) for name, work in work_beside(self, self.clock, keep)]
        trying = asyncio.create_task(try_tools(self.registry, self.rules.named), name="tool trials")
        try:
            await asyncio.wait({running, stopping, owning}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stopping, *beside, trying):
                task.cancel()
            await end_in_order(
                turns=dispatcher.close,
                quiet=self.platforms.stop_receiving,
                tools=self.registry.close,
                leave=leave,
                platforms=running,
            )
            owning.cancel()
            await asyncio.wait((stopping, *beside, owning), timeout=1.0)
            # A trial has a running program, and makes sure that nothing of it is left behind.
            await asyncio.wait((trying,), timeout=END_SECONDS)
        if owning.done() and not owning.cancelled():
            owning.result()  # Without places nothing is answered: a supervisor restarts the program.
        if not running.done():
            return
        try:
            await running
        except* SettingsError as group:
            raise group.exceptions[0] from None
