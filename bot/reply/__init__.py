"""The reply while it is written. Every one is opened by `opening`; read `stream` next."""

from __future__ import annotations

from bot.reply.approvalcard import FILE, approval_buttons, card_in, outcome_of, write_card
from bot.reply.filtering import FilterChain
from bot.reply.notices import Notices
from bot.reply.opening import Replies
from bot.reply.pages import ShownBefore
from bot.reply.preamble import on_one_line
from bot.reply.record import files_before
from bot.reply.settling import Settling
from bot.reply.stream import ReplyStream
from bot.reply.voiceposts import VoicePosts
