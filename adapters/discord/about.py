"""Asking about a message: its entry in the menu of every message, and the form for the question.

https://docs.discord.com/developers/interactions/application-commands#message-commands
https://docs.discord.com/developers/components/reference#text-input
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import discord

from adapters.discord import compat
from adapters.discord.events import asked, read_as_quoted
from bot.contract import LONGEST_TEXT, MessageSent, Quoted, origin_of
from bot.sentences import say
from tools.contract.newest import Newest

log = logging.getLogger(__name__)

_FORM: Final = "about:"
"""Prefix of a form's custom id; the message's id follows."""
_FORM_SECONDS: Final = 900.0
_MOST_OPEN: Final = 500
"""Forms whose message is kept in memory; the message of an older one is fetched, if the bot may read it."""
_MOST_CHARS: Final = 4_000
"""Characters of the form's text field."""


def is_about(interaction: discord.Interaction[Any]) -> bool:
    """Return True if somebody chose our entry in a message's menu."""
    data = cast(Mapping[str, Any], interaction.data or {})
    menu = discord.AppCommandType.message.value
    return interaction.type is discord.InteractionType.application_command and data.get("type") == menu


class About:
    """The open forms, and the messages that they ask about."""

    def __init__(self) -> None:
        self._messages: Newest[str, Quoted] = Newest(_MOST_OPEN)

    async def open(self, interaction: discord.Interaction[Any], bot: int) -> None:
        """Show the form; Discord waits three seconds for it. If that fails, Discord tells the person.

        Args:
            bot: the bot's own id.
        """
        data = cast(Mapping[str, Any], interaction.data or {})
        id = str(data.get("target_id"))
        try:
            told = compat.message_in(interaction, data["resolved"]["messages"][id])
            self._messages.put(id, read_as_quoted(told, bot))
            await interaction.response.send_modal(_form(id, interaction.locale.value))
        except Exception as error:  # noqa: BLE001 - nothing was asked yet
            log.warning("discord: the form for a question could not be shown: %s", origin_of(error))

    def question(self, interaction: discord.Interaction[Any]) -> MessageSent | None:
        """Read a submitted form; return None for any other interaction."""
        data = cast(Mapping[str, Any], interaction.data or {})
        form, _, id = str(data.get("custom_id")).partition(":")
        if interaction.type is not discord.InteractionType.modal_submit or f"{form}:" != _FORM:
            return None
        text = "\n".join(_values(data.get("components") or ()))[:LONGEST_TEXT].strip()
        # Without its text the core fetches a message by its id.
        about = self._messages.get(id) or Quoted(text="", message_id=id)
        return asked(interaction, text or say("about_default", interaction.locale.value), quoted=about)


def _form(id: str, language: str) -> discord.ui.Modal:
    form = discord.ui.Modal(title=say("about_menu", language), custom_id=f"{_FORM}{id}", timeout=_FORM_SECONDS)
    answer: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
        custom_id="question",
        style=discord.TextStyle.paragraph,
        placeholder=say("about_default", language),
        required=False,
        max_length=_MOST_CHARS,
    )
    form.add_item(discord.ui.Label(text=say("about_question", language), component=answer))
    return form


def _values(components: Any) -> Iterator[str]:
    """Return the values of a form's fields, in any layout."""
    for one in components:
        if "value" in one:
            yield str(one["value"])
        yield from _values(one.get("components") or ([one["component"]] if "component" in one else ()))
