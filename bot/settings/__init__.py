"""What an operator sets: the groups of settings, where they are read from, and the file of channels."""

from __future__ import annotations

from bot.settings.channels import EVERYBODY, ChannelsFile, read_channels
from bot.settings.configuration import Configuration, configure, model_options, open_adapters, settings_classes
from bot.settings.environment import ENCODING, env_file, names_in, texts
from bot.settings.groups import (
    AnswerSettings,
    CoreSettings,
    PublicAddress,
    QuotaSettings,
    Settings,
    ToolRuleSettings,
    TurnSettings,
    Untrusted,
    mirrors,
    read,
    refuse_account,
    secrets_of,
    variables,
)
