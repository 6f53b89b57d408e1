"""What commands do and say, called as the dispatcher calls them."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.commands import CommandActions, Said
from bot.context import Admitted
from playground.faults import Fault
from tests.bot.conftest import OpenRig, Rig

BOB = "telegram:8"


def actions_of(it: Rig) -> CommandActions:
    return it.bot.dispatcher.actions


async def test_what_shows_a_persons_own_data_is_for_them_alone_and_help_is_not(rig: OpenRig) -> None:
    async with rig() as it:
        whoami = await actions_of(it).run_at_once(Admitted(it.message("/whoami"), "en"))
        tools = await actions_of(it).run_at_once(Admitted(it.message("/tools"), "en"))

        assert whoami.private and "telegram:7" in whoami.text
        assert tools.text


async def test_a_refusal_is_private_and_told_once_an_hour_in_each_chat(rig: OpenRig) -> None:
    async with rig() as it:
        refused = Said("Only an admin of this bot may do that here.", private=True)
        silent = Said("", private=True)

        async def forbidden(**more: Any) -> Said:
            return await actions_of(it).run_at_once(
                Admitted(it.message("/model a:b", person=BOB, group=True, **more), "en")
            )

        assert [await forbidden(), await forbidden()] == [refused, silent]
        assert await forbidden(chat="9") == refused
        assert await forbidden(awaited=True) == refused


async def test_stop_ends_ones_own_answer_and_says_what_came_of_it(rig: OpenRig) -> None:
    async with rig() as it:
        actions, stop = actions_of(it), it.message("/stop", group=True)
        assert await actions.stop(stop) == "stopped_nothing"

        held = it.model.faults.add("*", Fault(hold=asyncio.Event()))
        await it.deliver(it.message("What is tea?", group=True))
        await held.reached.wait()
        assert await actions.stop(it.message("/stop", person=BOB, group=True)) == "not_yours"
        assert await actions.run_at_once(Admitted(stop, "en")) == Said("", private=False), "the reply itself says so"
        await it.idle()

        assert await actions.stop(stop) == "stopped_nothing"
