"""chat.startStream, appendStream, stopStream: a message that grows while people watch."""

from __future__ import annotations

from playground.slack.agents import AGENT, WORKING
from playground.slack.arguments import Arguments
from playground.slack.blocks import check_blocks, parse_list
from playground.slack.errors import Json, Refused, missing
from playground.slack.messages import root_of
from playground.slack.workspace import Message, Stream, Workspace

STATES = frozenset({"pending", "in_progress", "complete", "error"})


class StreamMethods:
    """The streaming methods, and the clock that closes streams."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._open: list[Message] = []

    def start(self, sent: Arguments) -> Json:
        """chat.startStream; outside a direct message the reader must be named."""
        workspace = self._workspace
        channel = workspace.channel(sent.text("channel"), inside=True)
        if not sent.text("thread_ts"):
            raise missing("thread_ts")
        if not channel.direct and not sent.text("recipient_team_id"):
            raise Refused("missing_recipient_team_id")
        if not channel.direct and not sent.text("recipient_user_id"):
            raise Refused("missing_recipient_user_id")
        if sent.text("recipient_team_id", workspace.team_id) != workspace.team_id:
            raise Refused("team_not_found")
        if sent.text("recipient_user_id"):
            workspace.person(sent.text("recipient_user_id"))
        thread = root_of(workspace, channel.id, sent.text("thread_ts"))
        message = Message(
            channel=channel.id,
            ts=workspace.ts(),
            author=workspace.bot_user_id,
            bot_id=workspace.bot_id,
            markdown=True,
            thread_ts=thread,
            stream=Stream(workspace.now(), workspace.now()),
        )
        self._grow(message, sent)
        workspace.post(message)
        self._open.append(message)
        if AGENT in workspace.scopes:
            workspace.sessions[channel.id, thread] = WORKING
        return {"channel": channel.id, "ts": message.ts}

    def append(self, sent: Arguments) -> Json:
        """chat.appendStream."""
        message = self._streaming(sent)
        if not sent.text("markdown_text") and not sent.has(("chunks",)):
            raise Refused("no_text")
        self._grow(message, sent)
        self._workspace.change(message, {}, tell=False)
        return {"channel": message.channel, "ts": message.ts}

    def stop(self, sent: Arguments) -> Json:
        """chat.stopStream; `blocks` stand below the text from now on."""
        message = self._streaming(sent)
        blocks = parse_list(sent.values.get("blocks"), "invalid_blocks_format")
        check_blocks(blocks, self._workspace.limits)
        metadata = sent.object("metadata", "invalid_metadata_format")
        before = self._workspace.travel(message)
        self._grow(message, sent)
        message.blocks += blocks
        message.metadata = metadata
        self._close(message, "message_not_in_streaming_state", before)
        if AGENT in self._workspace.scopes:
            self._workspace.sessions[message.channel, message.thread_ts] = sent.text("session_status", "active")
        body = self._workspace.travel(message, metadata=True)
        return {"channel": message.channel, "ts": message.ts, "message": body}

    def tick(self) -> None:
        """Close the streams whose time is up."""
        limits, now = self._workspace.limits, self._workspace.now()
        for message in list(self._open):
            stream = message.stream
            if stream is None or stream.over or message.deleted:
                self._open.remove(message)
            elif now - stream.started >= limits.stream_lifetime or now - stream.touched >= limits.stream_idle:
                self._close(message, "message_not_in_streaming_state", self._workspace.travel(message))

    def stop_by_person(self, channel: str, thread_ts: str) -> list[str]:
        """Somebody pressed the session's Stop button: its open streams take no more. Their timestamps."""
        self.tick()
        stopped = [m for m in self._open if m.channel == channel and m.thread_ts == thread_ts]
        for message in stopped:
            self._close(message, "stopped_by_user", self._workspace.travel(message))
        return [message.ts for message in stopped]

    def _streaming(self, sent: Arguments) -> Message:
        self.tick()
        channel = self._workspace.channel(sent.text("channel"))
        message = self._workspace.message(channel.id, sent.required("ts"))
        if message.author != self._workspace.bot_user_id:
            raise Refused("message_not_owned_by_app")
        if message.stream is None:
            raise Refused("message_not_in_streaming_state")
        if message.stream.over:
            raise Refused(message.stream.over)
        return message

    def _close(self, message: Message, error: str, before: Json) -> None:
        assert message.stream is not None
        message.stream.over = error
        if message in self._open:
            self._open.remove(message)
        self._workspace.change(message, before)

    def _grow(self, message: Message, sent: Arguments) -> None:
        """Take text and chunks into the stream, all or nothing."""
        stream, limits = message.stream, self._workspace.limits
        assert stream is not None
        text = sent.text("markdown_text")
        mode = "markdown_text" if text else "chunks" if sent.has(("chunks",)) else ""
        if text and sent.has(("chunks",)):
            raise Refused("cannot_provide_both_markdown_text_and_chunks")
        if mode and stream.mode not in ("", mode):
            raise Refused("streaming_mode_mismatch")
        if len(text) > limits.markdown_text:
            raise Refused("msg_too_long")
        size, plan = len(text.encode()), stream.plan
        tasks, blocks = dict(stream.tasks), []
        for chunk in parse_list(sent.values.get("chunks"), "invalid_chunks"):
            match chunk:
                case {"type": "markdown_text", "text": str(more)}:
                    text += more
                    size += len(more.encode())
                case {"type": "task_update", "id": str(id), "title": str(title), "status": str(status)}:
                    if status not in STATES:
                        raise Refused("invalid_chunks")
                    tasks[id] = _timed(tasks.get(id, {}) | chunk, self._workspace.now())
                    # The service counts details and output twice.
                    size += len(title.encode()) + 2 * sum(len(str(chunk.get(k) or "").encode()) for k in _LONG)
                case {"type": "plan_update", "title": str(title)}:
                    plan, size = title, size + len(title.encode())
                case {"type": "blocks", "blocks": list(more_blocks)}:
                    blocks += more_blocks
                case _:
                    raise Refused("invalid_chunks")
        if stream.bytes + size > limits.stream_bytes or len(text) > limits.markdown_text:
            raise Refused("msg_too_long")
        check_blocks(blocks, limits)
        message.text += text
        message.blocks += blocks
        stream.bytes += size
        stream.mode = stream.mode or mode
        stream.tasks, stream.plan, stream.touched = tasks, plan, self._workspace.now()


def _timed(task: Json, now: float) -> Json:
    """A task with when it began, and once it has ended how long it took."""
    timed = {"began": now} | task
    return {"seconds": now - timed["began"]} | timed if task["status"] in ("complete", "error") else timed


_LONG = ("details", "output")
