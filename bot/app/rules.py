"""Who may ask, how much, and which tools."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.agent import CallPolicy, Condenser
from bot.app.ground import Ground, Process
from bot.intake import Roles
from bot.model import Chain, Model, Models
from bot.policy import Access, Once, Prices, Quotas, ToolRights, check_tools, meter, read_prices
from bot.safety import Redact, Redactor, wrapper_length
from tools.calling.registry import ToolRegistry


@dataclass(eq=False, repr=False)
class Policy:
    """Who may ask and how much, and what is said once."""

    access: Access
    quotas: Quotas
    once: Once
    models: Models

    def side_model(self, name: str, setting: str) -> Model | None:
        """Return the model that `setting` names for side tasks; None if it names none."""
        return self.paid(self.models.only(name, setting)) if name else None

    def paid(self, model: Chain) -> Model:
        """Return the same model, paid from the asker's quotas."""
        return meter(model, self.quotas, self.models.estimator)


def build_policy(process: Process, ground: Ground, stack: AsyncExitStack) -> Policy:
    """Build who may ask, how much, and what is said once."""
    core = process.core
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
        limits=process.limits,
        prices=Prices(read_prices(core.prices)),
        admin=access.is_admin_id,
        metrics=ground.metrics,
    )
    stack.push_async_callback(quotas.close)
    once = Once(ground.store.access.claim, process.clock)
    return Policy(access, quotas, once, ground.models)


@dataclass(eq=False, repr=False)
class Toolbox:
    """The tools, who may use which, and the secrets that neither people nor models see."""

    registry: ToolRegistry
    roles: Roles
    rights: ToolRights
    calls: CallPolicy
    writer: Model | None
    """Writes summaries; None: the model of the chat."""
    secrets: tuple[str, ...]
    redact: Redact

    @property
    def named(self) -> list[tuple[str, str]]:
        """Tools that settings name, each with the setting."""
        return [*self.rights.named, *self.calls.named]


async def open_tools(process: Process, ground: Ground, policy: Policy, stack: AsyncExitStack) -> Toolbox:
    """Open the tools, if this process runs any; the operator's output learns their secrets."""
    core, limits = process.core, process.limits

    def list_tools() -> Iterable[str]:
        return (spec.name for spec in registry.specs())

    roles = Roles(process.clock, process.members, list_tools)
    writer = policy.side_model(core.summary_model, "SUMMARY_MODEL")
    side = writer or policy.paid(ground.models.choose(""))
    room = limits.result_chars - wrapper_length("x" * 40)
    registry: ToolRegistry = importlib.import_module("tools").open_registry(
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
    rights = ToolRights(
        registry, policy.access.is_admin, off=core.tools_off, limits=core.tools_for, channels=ground.channels
    )
    toolbox = Toolbox(
        registry, roles, rights, CallPolicy(core, core.instructions), writer, secrets, Redactor(secrets).redact
    )
    await check_tools(registry, toolbox.named)
    return toolbox
