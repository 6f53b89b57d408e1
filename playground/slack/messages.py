"""chat.*: posting, editing and deleting messages."""

from __future__ import annotations

from playground.slack.arguments import Arguments
from playground.slack.blocks import check_attachments, check_blocks, parse_list
from playground.slack.errors import Json, Refused
from playground.slack.workspace import Message, Workspace


class ChatMethods:
    """The message methods a bot calls."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def post(self, sent: Arguments) -> Json:
        """chat.postMessage."""
        channel = self._workspace.channel(sent.text("channel"), inside=True)
        message = compose(self._workspace, sent, channel.id, sent.text("thread_ts"))
        self._workspace.post(message)
        body = self._workspace.travel(message, metadata=True)
        return {"channel": channel.id, "ts": message.ts, "message": body}

    def post_ephemeral(self, sent: Arguments) -> Json:
        """chat.postEphemeral: seen by one person, never edited; in a thread only if somebody has answered there."""
        channel = self._workspace.channel(sent.text("channel"), inside=True)
        user = sent.required("user")
        if user not in channel.people:
            raise Refused("user_not_in_channel")
        message = compose(self._workspace, sent, channel.id, sent.text("thread_ts"))
        message.only_for = user
        if not message.thread_ts or len(self._workspace.thread(channel.id, message.thread_ts)) > 1:
            self._workspace.post(message)
        return {"message_ts": message.ts}

    def update(self, sent: Arguments) -> Json:
        """chat.update: `text` without `blocks` takes existing blocks away; the flags of the post stay."""
        channel = self._workspace.channel(sent.text("channel"))
        message = self._workspace.message(channel.id, sent.required("ts"))
        if message.author != self._workspace.bot_user_id:
            raise Refused("cant_update_message")
        if message.stream and not message.stream.over:
            raise Refused("streaming_state_conflict")
        fresh = compose(self._workspace, sent, channel.id, "", update=True)
        before = self._workspace.travel(message)
        message.text, message.markdown = fresh.text, fresh.markdown
        if sent.has(("text", "markdown_text", "blocks")):
            message.blocks = fresh.blocks
        if sent.has(("attachments",)):
            message.attachments = fresh.attachments
        if sent.has(("metadata",)):
            message.metadata = fresh.metadata
        # A finished stream becomes an ordinary message: its tasks and plan are replaced as well.
        message.stream = None
        message.autolink, message.link_names = fresh.autolink, fresh.link_names
        if not fresh.blocks:
            message.edited = {"user": message.author, "ts": self._workspace.ts()}
        # Whether addresses are fetched is decided when a message is posted: an edit that brings one makes no preview,
        # whatever flags it carries. https://github.com/NousResearch/hermes-agent/pull/97957
        self._workspace.change(message, before, fetch=False)
        body = self._workspace.travel(message, metadata=True)
        return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": body}

    def delete(self, sent: Arguments) -> Json:
        """chat.delete."""
        channel = self._workspace.channel(sent.text("channel"))
        message = self._workspace.message(channel.id, sent.required("ts"))
        if message.author != self._workspace.bot_user_id:
            raise Refused("cant_delete_message")
        if message.stream and not message.stream.over:
            raise Refused("cant_delete_message")
        self._workspace.delete(message)
        return {"channel": channel.id, "ts": message.ts}


def compose(workspace: Workspace, sent: Arguments, channel: str, thread_ts: str, *, update: bool = False) -> Message:
    """A message of the bot's from the arguments of a call, checked as the service checks it.

    Raises:
        Refused: no_text, msg_too_long, markdown_text_conflict, invalid_blocks and its siblings, thread_not_found.
    """
    limits = workspace.limits
    blocks = parse_list(sent.values.get("blocks"), "invalid_blocks_format")
    attachments = parse_list(sent.values.get("attachments"), "invalid_attachments")
    text, markdown = sent.text("text"), sent.text("markdown_text")
    if markdown and (text or blocks):
        raise Refused("markdown_text_conflict")
    if not (text or markdown or blocks or attachments):
        raise Refused("no_text")
    if len(markdown) > limits.markdown_text or (update and len(text) > limits.update_text):
        raise Refused("msg_too_long")
    check_blocks(blocks, limits)
    check_attachments(attachments, limits)
    metadata = sent.object("metadata", "invalid_metadata_format")
    if metadata and not (
        isinstance(metadata.get("event_type"), str) and isinstance(metadata.get("event_payload"), dict)
    ):
        raise Refused("invalid_metadata_schema")
    if thread_ts:
        thread_ts = root_of(workspace, channel, thread_ts)
    full = sent.text("parse") == "full"
    return Message(
        channel=channel,
        ts="" if update else workspace.ts(),
        author=workspace.bot_user_id,
        bot_id=workspace.bot_id,
        text=markdown or text[: limits.post_text],
        markdown=bool(markdown),
        blocks=blocks,
        attachments=attachments,
        thread_ts=thread_ts,
        metadata=metadata,
        unfurl_links=sent.flag("unfurl_links", True),
        unfurl_media=sent.flag("unfurl_media", True),
        autolink=sent.text("parse") != "none",
        link_names=full or sent.flag("link_names", False),
    )


def root_of(workspace: Workspace, channel: str, ts: str) -> str:
    """The thread a reply to `ts` lands in; a reply to a reply lands in its thread. Raises `thread_not_found`."""
    message = workspace.messages.get((channel, ts))
    replied = any(m.thread_ts == ts for m in workspace.lasting(channel)) if message and message.deleted else True
    if message is None or message.only_for or not replied:
        raise Refused("thread_not_found")
    return message.thread_ts or message.ts
