"""Who may ask, how much, and which tools."""

from __future__ import annotations

import importlib
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.agent import CallPolicy, Condenser
from bot.app.ground import Ground, Process
from bot.intake import Roles
from bot.model import Chain, Model
from bot.policy import Access, Once, Prices, Quotas, ToolRights, check_tools, meter, read_prices
from bot.safety import Redact, Redactor, wrapper_length
from tools.calling.registry import ToolRegistry


@dataclass(eq=False, repr=False)
class Rules:
    """Who may ask, how much, and which tools; and the secrets that neither people nor models see."""

    access: Access
    quotas: Quotas
    once: Once
    registry: ToolRegistry
    roles: Roles
    rights: ToolRights
    calls: CallPolicy
    writer: Model | None
    """Writes summaries; None: the model of the chat."""
    chooser: Model | None
    """Chooses among all tools; None: no model does."""
    secrets: tuple[str, ...]
    redact: Redact

    @property
    def named(self) -> list[tuple[str, str]]:
        """Tools that settings name, each with the setting."""
        return [*self.rights.named, *self.calls.named]


async def open_rules(process: Process, ground: Ground, stack: AsyncExitStack) -> Rules:
    """Open the tools, if this process runs any, and build what limits people and them; the outlet learns secrets."""
    core, limits, models = process.core, process.limits, ground.models
    access = Access(
        roles=ground.store.access,
        clock=process.clock,
        allow_all=core.allow_all,
        users=(*core.allowed_users, *process.people),
        chats=core.allowed_chats,
        admins=core.admins,
        groups=(*core.allowed_workspaces, *core.allowed_roles),
        channels=ground.channels,
        people_in_groups=core.people_in_groups,
    )
    quotas = Quotas(
        spending=ground.store.spending,
        clock=process.clock,
        settings=core,
        limits=limits,
        prices=Prices(read_prices(core.prices)),
        admin=access.is_admin_id,
        metrics=ground.metrics,
    )
    stack.push_async_callback(quotas.close)

    def paid(model: Chain) -> Model:
        return meter(model, quotas, models.estimator)

    writer = paid(models.only(core.summary_model, "SUMMARY_MODEL")) if core.summary_model else None
    chooser = paid(models.only(core.tool_choice_model, "TOOL_CHOICE_MODEL")) if core.tool_choice_model else None
    roles = Roles(process.clock, process.members, lambda: (spec.name for spec in registry.specs()))
    side, room = writer or paid(models.choose("")), limits.result_chars - wrapper_length("x" * 40)
    open_tools = process.open_tools or importlib.import_module("tools").open_registry
    registry: ToolRegistry = open_tools(
        process.configuration.tools,
        plugins=process.configuration.plugins,
        runs=roles.role.answers,
        timeout=limits.tool_seconds,
        result_chars=room,
        off=core.tools_off,
        condense=Condenser(side, process.clock, result_chars=room) if core.condense_results else None,
    )
    stack.push_async_callback(registry.close)
    secrets = (*process.configuration.secrets, *registry.secrets)
    process.outlet.mask(secrets)
    rights = ToolRights(registry, access.is_admin, off=core.tools_off, limits=core.tools_for, channels=ground.channels)
    once, calls = Once(ground.store.access.claim, process.clock), CallPolicy(core, core.instructions)
    rules = Rules(
        access, quotas, once, registry, roles, rights, calls, writer, chooser, secrets, Redactor(secrets).redact
    )
    await check_tools(registry, rules.named)
    return rules
