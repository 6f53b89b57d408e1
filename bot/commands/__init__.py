"""The commands: their answers and actions."""

from __future__ import annotations

from bot.commands.actions import CommandActions, Said
from bot.commands.answers import CommandAnswers
from bot.commands.chatfile import ChatWriter, Form
from bot.commands.exports import Exports
from bot.commands.presses import Presses
from bot.commands.reminders import ReminderList
