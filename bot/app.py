"""Builds every object once, joins them, starts and stops them in order. The one module that looks everywhere."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from bot.contract import Clock, SettingsError, SystemClock
from bot.operations import Outlet
from tools.base import Json

if TYPE_CHECKING:
    from bot.contract import Adapter, MessageSent, Surface
    from bot.model import Chain, Model
from bot.configuration import Configuration, model_options

log = logging.getLogger(__name__)


class App:
    """The running program: `async with App(...)` builds and opens it, `serve` runs it until it is asked to end."""

    def __init__(
        self,
        configuration: Configuration,
        adapters: Mapping[str, Adapter],
        clock: Clock | None = None,
        *,
        people: tuple[str, ...] = (),
        outlet: Outlet | None = None,
    ) -> None:
        """
        Args:
            people: ids that may talk to the bot besides those the settings name: who sits at this terminal.
            outlet: is told of secrets that are known only once the tools are there.
        """
        self._configuration = configuration
        self._people = people
        self._adapters = adapters
        self._clock = clock or SystemClock()
        self._outlet = outlet or Outlet()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> App:
        from bot.agent import Agent, AgentLimits, CallPolicy, Condenser
        from bot.commands import CommandActions, CommandAnswers
        from bot.context import Briefings, ChatBook, Summaries
        from bot.gauges import add_gauges
        from bot.intake import Admission, AdmissionLimits, Dispatcher, Platforms, WaitingSigns
        from bot.model import open_models
        from bot.operations import LoopWatch, Metrics
        from bot.pacing import Pacer
        from bot.policy import Access, BudgetLimits, Budgets, Once, Prices, ToolRights, read_chats, read_prices
        from bot.reply import Notices, Replies, Settling
        from bot.safety import Redactor, wrapper_length
        from bot.store import Store
        from bot.toolchoice import Chooser, ToolDescriber, small_model
        from bot.turn import Conversation, EarlierWords, Offers, Reminders, TurnOptions, TurnQueue

        core, clock = self._configuration.core, self._clock
        options, chats = model_options(core), read_chats(core.chats_file)
        registry_of = importlib.import_module("tools").open_registry
        async with AsyncExitStack() as stack:
            self.metrics = Metrics()
            self.watch = await stack.enter_async_context(LoopWatch())
            self.store = await stack.enter_async_context(Store.open(core.database_url, clock=clock))
            self.models = await stack.enter_async_context(open_models(options, clock))
            self.access = Access(
                self.store.access,
                clock,
                allow_all=core.allow_all,
                users=(*core.allowed_users, *self._people),
                chats=core.allowed_chats,
                admins=core.admins,
                groups=(*core.allowed_workspaces, *core.allowed_roles),
            )
            self.budgets = Budgets(
                self.store.spending,
                clock,
                BudgetLimits(
                    messages_per_minute=core.messages_per_minute,
                    tokens_person=core.tokens_per_day_person,
                    tokens_chat=core.tokens_per_day_chat,
                    tokens_all=core.tokens_per_day,
                    money_person=core.money_per_day_person,
                    money_all=core.money_per_day,
                    admin_share=core.admin_share,
                ),
                Prices(read_prices(core.prices)),
                self.access.is_admin,
            )
            stack.push_async_callback(self.budgets.close)
            once = Once(self.store.access.once, clock)
            writer = None
            if core.summary_model:
                writer = self._paid(self.models.only(core.summary_model, "SUMMARY_MODEL"))
            side = writer or self._paid(self.models.choose(""))
            room = core.tool_result_chars - wrapper_length("x" * 40)
            self.registry = registry_of(
                self._configuration.tools,
                timeout=core.tool_seconds,
                result_chars=room,
                off=core.tools_off,
                condense=Condenser(side, clock, result_chars=room) if core.condense_results else None,
            )
            stack.push_async_callback(self.registry.close)
            self.pacer = Pacer(clock, self.metrics)
            stack.push_async_callback(self.pacer.close)
            self.platforms = Platforms(self._adapters, clock, self.metrics)
            secrets = (*self._configuration.secrets, *self.registry.secrets)
            self._outlet.mask(secrets)
            redact = Redactor(secrets).redact
            describer = ToolDescriber(self.registry, self.store.descriptions, side, clock, redact)
            self.describer = describer if core.describe_tools else None
            agent = Agent(
                self.registry,
                AgentLimits(
                    rounds=core.max_tool_rounds,
                    calls_per_pass=core.max_calls_per_pass,
                    output_chars=core.max_output_chars,
                ),
                redact,
                CallPolicy(hosts=core.trusted_hosts, tools=core.trusted_tools, words=core.instructions),
            )

            def surface(message: MessageSent) -> Surface:
                return self.platforms.surface(message.target)

            book = ChatBook(self.store.settings, self.models, chats)
            self.may_answer = (*self.models.names, *chats.models)
            rights = self.rights = ToolRights(
                self.registry, self.access.admin, off=core.tools_off, limits=core.tools_for, chats=chats
            )
            briefings = Briefings(
                self.store,
                self.models,
                clock,
                book,
                name=core.bot_name,
                instructions=core.instructions,
                zone=core.time_zone,
                context_tokens=core.context_tokens,
            )
            self.summaries = Summaries(
                self.store.history,
                clock,
                at=core.summary_at,
                window=briefings.window,
                estimator=lambda name: self.models.estimator(name).tokens,
                secrets=secrets,
                model=writer,
                metrics=self.metrics,
            )
            stack.push_async_callback(self.summaries.close)
            chooser = Chooser()
            if core.tool_choice_model:
                small = self._paid(self.models.only(core.tool_choice_model, "TOOL_CHOICE_MODEL"))
                chooser = Chooser(decide=small_model(small, clock))
            replies = Replies(self.store, self.pacer, clock, secrets=secrets)
            settling = self.settling = Settling(
                store=self.store, replies=replies, clock=clock, surface=self.platforms.surface
            )
            earlier = EarlierWords(
                self.store,
                self.pacer,
                self.platforms.earlier,
                clock,
                window=briefings.window,
                tokens=lambda name: self.models.estimator(name).tokens,
                redact=redact,
            )
            notices = Notices(replies, surface)
            conversation = self.conversation = Conversation(
                store=self.store,
                settling=settling,
                models=self.models,
                agent=agent,
                registry=self.registry,
                replies=replies,
                notices=notices,
                clock=clock,
                options=TurnOptions.of(core, secrets),
                surface=surface,
                budgets=self.budgets,
                once=once,
                summaries=self.summaries,
                briefings=briefings,
                earlier=earlier,
                book=book,
                offers=Offers(self.registry, rights, chooser, briefings, self.models, search_first=core.pre_search),
                metrics=self.metrics,
            )
            self.reminders = Reminders(
                store=self.store,
                settling=settling,
                replies=replies,
                clock=clock,
                surface=surface,
                zone=core.time_zone,
                unknown_links=core.unknown_links,
            )
            answers = CommandAnswers(
                store=self.store,
                access=self.access,
                models=self.models,
                registry=self.registry,
                budgets=self.budgets,
                briefings=briefings,
                book=book,
                rights=rights,
                surface=surface,
                redact=redact,
                thoughts=core.show_reasoning != "off",
            )
            queue = TurnQueue()
            actions = CommandActions(
                store=self.store,
                access=self.access,
                once=once,
                queue=queue,
                answers=answers,
                conversation=conversation,
                notices=notices,
                summaries=self.summaries,
                earlier=earlier,
                surface=surface,
            )
            admission = Admission(
                store=self.store,
                access=self.access,
                budgets=self.budgets,
                queue=queue,
                clock=clock,
                limits=AdmissionLimits(
                    message_chars=core.max_message_chars,
                    waiting=core.messages_waiting,
                    turns=core.turns_per_person,
                ),
            )
            self.dispatcher = Dispatcher(
                store=self.store,
                settling=settling,
                access=self.access,
                once=once,
                queue=queue,
                admission=admission,
                actions=actions,
                notices=notices,
                reminders=self.reminders,
                clock=clock,
                signs=WaitingSigns(self.pacer, clock, surface),
                redact=redact,
            )
            add_gauges(self.metrics, self.dispatcher.queue, self.pacer, self.store, self.platforms, self.watch)
            if core.http_port is not None:
                from bot.operations import HttpServer

                self.http = await stack.enter_async_context(
                    HttpServer(core.http_host, core.http_port, self.state, self.metrics, self._outlet)
                )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def _paid(self, model: Chain) -> Model:
        """The same model, on the budgets of who asks."""
        from bot.policy import metered

        return metered(model, self.budgets, self.models.estimator)

    async def state(self) -> Mapping[str, Json]:
        """How the program is, for `/ready` and `/state`."""
        from bot.operations import writes

        states = dict(self.platforms.state)
        stores = await writes(self.store)
        return {
            "ready": stores and bool(states) and all(state == "listening" for state in states.values()),
            "platforms": dict(states),
            "conflicts": dict(self.platforms.conflicts),
            "store": "writes" if stores else "cannot be written to",
            "model": self.models.name,
            "busy": self.dispatcher.queue.busy,
            "waiting": self.dispatcher.queue.length,
            "resting": dict(self.dispatcher.resting),
            "replies": self.pacer.live,
            "settling": self.settling.waiting,
            "tasks": len(asyncio.all_tasks()),
            "longest_block": round(self.watch.longest, 3),
            "longest_computing": round(self.watch.longest_computing, 3),
            "computed_by": self.watch.where,
        }

    async def _try_tools(self) -> None:
        """Try the tools of which only a trial tells whether they work, and name those that settings call wrongly."""
        from bot.policy import SERVERS_SECONDS, misnamed

        await self.registry.prove()
        for sentence in await misnamed(self.registry, self.rights.named, SERVERS_SECONDS):
            log.warning("%s", sentence)
        if self.describer is not None:
            await self.describer.run()

    async def serve(self, stop: asyncio.Event) -> None:
        """Take messages in and answer them until `stop` is set.

        Raises:
            SettingsError: not one platform can be used as configured.
        """
        from bot.operations import end_in_order, prune_hourly
        from bot.store import Keep

        code = await self.access.pairing_code()
        if code is not None:
            how = (
                "Write /pair %s to your bot (in Slack: pair %s) to make yourself its owner (it works once, 15 minutes)"
            )
            log.warning(how, code, code)
        log.info("starting with %s for %s", self.models.name, ", ".join(self._adapters))
        for line in self.rights.lines:
            log.info("%s", line)
        leave = asyncio.Event()
        dispatcher = self.dispatcher
        await dispatcher.name_resting(lambda platform: platform not in self._adapters)
        running = asyncio.create_task(
            self.platforms.run(dispatcher.deliver, dispatcher.resume, leave, dispatcher.rest), name="platforms"
        )
        stopping = asyncio.create_task(stop.wait(), name="stop")
        reminding = asyncio.create_task(
            self.reminders.watch(self.dispatcher.deliver, tuple(self._adapters)), name="reminders"
        )
        core = self._configuration.core
        keep = Keep.days(core.keep_days, core.keep_files_days)
        pruning = asyncio.create_task(prune_hourly(self.store, self._clock, keep), name="upkeep")
        trying = asyncio.create_task(self._try_tools(), name="tool trials")
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stopping, reminding, pruning, trying):
                task.cancel()
            await end_in_order(
                turns=dispatcher.close,
                quiet=self.platforms.quiet,
                tools=self.registry.close,
                leave=leave,
                platforms=running,
            )
            await asyncio.wait((stopping, reminding, pruning, trying), timeout=1.0)
        if not running.done():
            return
        try:
            await running
        except* SettingsError as group:
            raise group.exceptions[0] from None
