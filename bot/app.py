"""Builds every object once, joins them, starts and stops them in order. The one module that imports from everywhere."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bot.agent import Agent, CallPolicy, Condenser
from bot.commands import CommandActions, CommandAnswers, Exports, Presses, ReminderList
from bot.configuration import Configuration, model_options
from bot.context import Briefings, ChatBook, Summaries
from bot.contract import Adapter, Clock, Installable, MessageSent, SettingsError, Suggesting, Surface, SystemClock
from bot.gauges import add_gauges, describe
from bot.intake import (
    Admission,
    Alone,
    Dispatcher,
    Locks,
    Members,
    Ownership,
    Platforms,
    Roles,
    Sessions,
    WaitingSigns,
    serve_places,
    work_beside,
)
from bot.model import Chain, Model, Models
from bot.operations import HttpServer, LoopWatch, Metrics, Outlet, WebServer, end_in_order
from bot.pacing import Pacer, begin_sharing
from bot.policy import (
    Access,
    DayPurse,
    Once,
    Prices,
    Quotas,
    ToolRights,
    check_tools,
    meter,
    read_channels,
    read_prices,
    try_tools,
)
from bot.reply import Notices, Replies, Settling
from bot.safety import Redactor, wrapper_length
from bot.store import Keep, Store, writes
from bot.toolchoice import Chooser, small_model
from bot.turn import (
    Approvals,
    AttachmentReader,
    Conversation,
    Listener,
    Merging,
    Narrator,
    Reminders,
    ThreadContext,
    ToolOffer,
    TurnQueue,
)
from tools.contract.base import Json
from tools.documents.reading import DocumentReader
from tools.programs.cancelling import end_tasks
from tools.programs.subprocesses import END_SECONDS

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class App:
    """The running program: `async with App(...)` builds and opens it, `serve` runs it until it is asked to end."""

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
    _clock: Clock = field(init=False, default_factory=SystemClock)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    async def __aenter__(self) -> App:
        async with AsyncExitStack() as stack:
            await self._open_ground(stack)
            self._join_policy(stack)
            await self._join_tools(stack)
            self._join_platforms(stack)
            self._join_context(stack)
            self._join_reply()
            self._join_turn()
            self._join_intake(self._join_commands())
            self.watch = await stack.enter_async_context(LoopWatch(lambda: self.platforms.listening))
            add_gauges(
                self.metrics, self.dispatcher.queue, self.pacer, self.store, self.platforms, self.watch, self.roles
            )
            await self._open_listeners(stack)
            self._stack = stack.pop_all()
        return self

    async def _open_ground(self, stack: AsyncExitStack) -> None:
        """Open the foundations: metrics, the store, the models."""
        core = self.configuration.core
        self._channels = read_channels(core.channels_file)
        self.metrics = Metrics()
        self.store = await stack.enter_async_context(
            Store.open(core.database_url, clock=self._clock, worker=self.worker, fence=self.ownership.fence)
        )
        self._channels.former.update(await self.store.names.list_former())
        self.models = await stack.enter_async_context(Models(model_options(self.configuration), self._clock))
        self.models.check()
        self.may_answer = (*self.models.names, *self._channels.models)

    def _join_policy(self, stack: AsyncExitStack) -> None:
        """Build access, quotas and the memory of notices that are sent once."""
        core = self.configuration.core
        self.access = Access(
            roles=self.store.access,
            clock=self._clock,
            allow_all=core.allow_all,
            users=(*core.allowed_users, *self.people),
            chats=core.allowed_chats,
            admins=core.admins,
            groups=(*core.allowed_workspaces, *core.allowed_roles),
            channels=self._channels,
            people_in_groups=core.people_in_groups,
        )
        self.quotas = Quotas(
            spending=self.store.spending,
            clock=self._clock,
            settings=core,
            limits=self.configuration.limits,
            prices=Prices(read_prices(core.prices)),
            admin=self.access.is_admin_id,
            metrics=self.metrics,
        )
        stack.push_async_callback(self.quotas.close)
        self._once = Once(self.store.access.claim, self._clock)

    async def _join_tools(self, stack: AsyncExitStack) -> None:
        """Open the tools, if this process runs any; their secrets go to the maskers."""
        core = self.configuration.core
        self.roles = Roles(self._clock, self.members, lambda: (spec.name for spec in self.registry.specs()))
        self._writer = self._side_model(core.summary_model, "SUMMARY_MODEL")
        side = self._writer or self._paid(self.models.choose(""))
        room = self.configuration.limits.result_chars - wrapper_length("x" * 40)
        self.registry = importlib.import_module("tools").open_registry(
            self.configuration.tools,
            runs=self.roles.role.answers,
            timeout=self.configuration.limits.tool_seconds,
            result_chars=room,
            off=core.tools_off,
            condense=Condenser(side, self._clock, result_chars=room) if core.condense_results else None,
        )
        stack.push_async_callback(self.registry.close)
        self._secrets = (*self.configuration.secrets, *self.registry.secrets)
        self.outlet.mask(self._secrets)
        self._redact = Redactor(self._secrets).redact
        self._call_policy = CallPolicy(core, core.instructions)
        self.rights = ToolRights(
            self.registry, self.access.is_admin, off=core.tools_off, limits=core.tools_for, channels=self._channels
        )
        await check_tools(self.registry, [*self.rights.named, *self._call_policy.named])

    def _join_platforms(self, stack: AsyncExitStack) -> None:
        """Build the pacing of platform calls, and the platforms."""
        self.pacer = Pacer(self._clock, self.metrics, self.ownership.is_heard, shares=self.ownership.shared)
        stack.push_async_callback(self.pacer.close)
        if self.ownership.shared:
            stack.push_async_callback(end_tasks, begin_sharing(self.pacer, self.store.allowances, self._clock))
        locks = self.locks if self.ownership.shared else None
        self.platforms = Platforms(
            adapters=self.adapters,
            clock=self._clock,
            metrics=self.metrics,
            locks=locks,
            sessions=self.sessions,
            role=self.roles.role,
        )

    def _join_context(self, stack: AsyncExitStack) -> None:
        """Build the model's input: system prompt, history, facts, summaries."""
        core = self.configuration.core
        self._book = ChatBook(self.store.settings, self.models, self._channels)
        self._briefings = Briefings(
            self.store,
            self.models,
            self._clock,
            self._book,
            name=core.bot_name,
            instructions=core.instructions,
            zone=core.time_zone,
            context_tokens=core.context_tokens,
        )
        self.summaries = Summaries(
            self.store.history,
            self._clock,
            at=core.summary_at,
            window=self._briefings.window_of,
            estimator=self.models.tokens_of,
            redact=self._redact,
            model=self._writer,
            metrics=self.metrics,
            limited=self.rights.is_limited,
        )
        stack.push_async_callback(self.summaries.close)

    def _join_reply(self) -> None:
        """Build what shows replies and completes those of former processes."""
        core, secrets, speaks = self.configuration.core, self._secrets, self.models.speaker is not None
        buttons, fresh = core.reply_buttons, core.fresh_message_seconds
        self._replies = replies = Replies(
            store=self.store,
            pacer=self.pacer,
            clock=self._clock,
            secrets=secrets,
            buttons=buttons,
            speaks=speaks,
            fresh_after=fresh,
        )
        self._notices = Notices(replies=replies, surface=self._surface, clock=self._clock)
        self.settling = Settling(store=self.store, replies=replies, clock=self._clock, surface=self.platforms.surface)

    def _join_turn(self) -> None:
        """Build what answers a question, and what shows a reminder."""
        core = self.configuration.core
        self._earlier = ThreadContext(
            store=self.store,
            pacer=self.pacer,
            find=self.platforms.earlier,
            clock=self._clock,
            window=self._briefings.window_of,
            tokens=self.models.tokens_of,
            redact=self._redact,
        )
        self._queue = TurnQueue()
        self._approvals = Approvals(
            store=self.store, settling=self.settling, clock=self._clock, rules=core, limits=self.configuration.limits
        )
        self._joins = Merging(self.store, self._book, self._queue, self._clock)
        self.conversation = Conversation(
            store=self.store,
            settling=self.settling,
            models=self.models,
            agent=Agent(self.registry, core, self._call_policy, self.configuration.limits, self._redact),
            registry=self.registry,
            replies=self._replies,
            notices=self._notices,
            clock=self._clock,
            answers=core,
            turns=core,
            limits=self.configuration.limits,
            redact=self._redact,
            surface=self._surface,
            quotas=self.quotas,
            once=self._once,
            summaries=self.summaries,
            briefings=self._briefings,
            earlier=self._earlier,
            enclosed=AttachmentReader(
                store=self.store,
                fetch=self.platforms.fetch,
                read=DocumentReader().read,
                clock=self._clock,
                redact=self._redact,
                listener=Listener(self.models.transcriber, DayPurse(self.quotas), self.quotas.prices),
            ),
            book=self._book,
            offers=self._offers(),
            joins=self._joins,
            approvals=self._approvals,
            narrator=Narrator(self.models.speaker, DayPurse(self.quotas), self.quotas.prices),
            metrics=self.metrics,
        )
        self.reminders = Reminders(
            store=self.store,
            settling=self.settling,
            replies=self._replies,
            clock=self._clock,
            surface=self._surface,
            zone=core.time_zone,
            unknown_links=core.unknown_links,
        )

    def _offers(self) -> ToolOffer:
        core = self.configuration.core
        small = self._side_model(core.tool_choice_model, "TOOL_CHOICE_MODEL")
        chooser = Chooser(decide=small_model(small, self._clock) if small else None)
        briefings, first = self._briefings, core.pre_search
        return ToolOffer(self.registry, self.rights, chooser, briefings, self.models, search_first=first)

    def _join_commands(self) -> CommandActions:
        """Build the commands."""
        replies, notices, zone = self._replies, self._notices, self.configuration.core.time_zone
        exports = Exports(self.store, replies, notices, self.settling, self._surface, self.metrics, self._redact, zone)
        answers = CommandAnswers(
            store=self.store,
            access=self.access,
            models=self.models,
            registry=self.registry,
            quotas=self.quotas,
            briefings=self._briefings,
            book=self._book,
            rights=self.rights,
            surface=self._surface,
            redact=self._redact,
            reminders=ReminderList(self.store, zone),
            list_tools=self.roles.list_tools,
            thoughts=self.configuration.core.show_reasoning != "off",
        )
        for adapter in self.adapters.values():
            if isinstance(adapter, Suggesting):
                adapter.suggest = answers.suggest
            if isinstance(adapter, Installable):
                adapter.grants = self.store.grants
        return CommandActions(
            store=self.store,
            access=self.access,
            once=self._once,
            queue=self._queue,
            answers=answers,
            conversation=self.conversation,
            exports=exports,
            notices=self._notices,
            approvals=self._approvals,
            summaries=self.summaries,
            earlier=self._earlier,
            surface=self._surface,
        )

    def _join_intake(self, actions: CommandActions) -> None:
        """Build what receives messages and decides about them."""
        admission = Admission(
            store=self.store,
            access=self.access,
            quotas=self.quotas,
            queue=self._queue,
            clock=self._clock,
            limits=self.configuration.limits,
            metrics=self.metrics,
            shared=self.ownership.shared,
        )
        self.dispatcher = Dispatcher(
            store=self.store,
            settling=self.settling,
            approvals=self._approvals,
            access=self.access,
            once=self._once,
            joins=self._joins,
            queue=self._queue,
            admission=admission,
            actions=actions,
            conversation=self.conversation,
            presses=Presses(
                store=self.store,
                access=self.access,
                once=self._once,
                queue=self._queue,
                approvals=self._approvals,
                answers=actions.answers,
            ),
            notices=self._notices,
            reminders=self.reminders,
            clock=self._clock,
            signs=WaitingSigns(self.pacer, self._clock, self._surface),
            pacer=self.pacer,
            ownership=self.ownership,
            held=self.registry.held_scopes,
            redact=self._redact,
        )

    async def _open_listeners(self, stack: AsyncExitStack) -> None:
        """Serve health and metrics, and platforms' requests, each on its own port if configured."""
        core = self.configuration.core
        if core.http_port is not None:
            self.http = await stack.enter_async_context(
                HttpServer(core.http_host, core.http_port, self.state, self.metrics, self.outlet, core.http_names)
            )
        by_web = self.adapters.keys() & set(self.configuration.by_web)
        if by_web and self.roles.role.receives:
            await stack.enter_async_context(
                WebServer(core.web_host, core.web_port, by_web, self.platforms.entrance, self.metrics, self._clock)
            )

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def _paid(self, model: Chain) -> Model:
        """Return the same model, paid from the asker's quotas."""
        return meter(model, self.quotas, self.models.estimator)

    def _side_model(self, name: str, setting: str) -> Model | None:
        """Return the model that `setting` names for side tasks; None if it names none."""
        return self._paid(self.models.only(name, setting)) if name else None

    def _surface(self, message: MessageSent) -> Surface:
        return self.platforms.surface(message.titled)

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
        owning = asyncio.create_task(serve_places(self, self._clock), name="places")
        keep = Keep.from_days(self.configuration.core.keep_days, self.configuration.core.keep_files_days)
        beside = [asyncio.create_task(work, name=name) for name, work in work_beside(self, self._clock, keep)]
        named = [*self.rights.named, *self._call_policy.named]
        trying = asyncio.create_task(try_tools(self.registry, named), name="tool trials")
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
