"""Complete the arguments of slash commands while a person types them: models and tools by name.

https://docs.discord.com/developers/interactions/application-commands#autocomplete
"""

from __future__ import annotations

import logging
from typing import Any, Final

import discord
from discord.app_commands import Choice

from bot.contract import MessageSent, Suggest, origin_of

log = logging.getLogger(__name__)

_MOST: Final = 25
_MOST_CHARS: Final = 100
"""Characters of one suggestion. See the choices of
https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-autocomplete"""


async def offer(interaction: discord.Interaction[Any], typed: MessageSent, suggest: Suggest | None) -> None:
    """Show suggestions for the text typed so far.

    If that fails, the person reads that nothing could be loaded, and can continue: every text is accepted.
    """
    try:
        found = await suggest(typed) if suggest is not None else ()
        choices = [Choice(name=one, value=one) for one in found if len(one) <= _MOST_CHARS]
        await interaction.response.autocomplete(choices[:_MOST])
    except Exception as error:  # noqa: BLE001 - the next letter asks again
        log.info("discord: nothing could be suggested: %s", origin_of(error))
