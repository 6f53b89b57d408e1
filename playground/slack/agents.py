"""assistant.threads.* and agents.sessions.*: the status line, title, prompts and session of a thread."""

from __future__ import annotations

from collections.abc import Collection

from playground.slack.arguments import Arguments
from playground.slack.blocks import parse_list
from playground.slack.errors import Json, Refused, missing
from playground.slack.workspace import Workspace

WORKING, STOPPED = "processing", "agent_session_stopped"
"""The status with a Stop button, and the event of its press."""
AGENT = "assistant:write"
"""The scope of an app that is declared an agent; no other has sessions."""
SESSION_STATES = frozenset({WORKING, "active", "suspended", "closed"})
PROMPTS, LOADING_MESSAGES, TITLE = 4, 10, 200


class AgentMethods:
    """What an assistant shows beside its messages."""

    def __init__(self, workspace: Workspace, subscriptions: Collection[str]) -> None:
        self._workspace, self._subscriptions = workspace, subscriptions

    def set_status(self, sent: Arguments) -> Json:
        """assistant.threads.setStatus: until the bot's next message in the thread, two minutes at most."""
        channel, thread = self._thread(sent)
        if not sent.has(("status",)):
            raise missing("status")
        messages = sent.values.get("loading_messages") or []
        if isinstance(messages, list) and len(messages) > LOADING_MESSAGES:
            raise Refused("invalid_arguments")
        status = sent.text("status")
        if not status:
            self._workspace.clear_status(channel, thread)
            return {}
        self._workspace.statuses[channel, thread] = (
            status,
            self._workspace.now() + self._workspace.limits.status_lifetime,
        )
        self._workspace.screen.notice(channel, f"status:{status}")
        return {}

    def set_prompts(self, sent: Arguments) -> Json:
        """assistant.threads.setSuggestedPrompts: up to four, the thread is optional."""
        channel, thread = self._thread(sent, optional=True)
        prompts = parse_list(sent.values.get("prompts"), "invalid_arguments")
        good = all(isinstance(p.get("title"), str) and isinstance(p.get("message"), str) for p in prompts)
        if not good or not 1 <= len(prompts) <= PROMPTS:
            raise Refused("invalid_arguments")
        self._workspace.prompts[channel, thread] = prompts
        self._workspace.screen.notice(channel, "prompts:" + " | ".join(p["title"] for p in prompts))
        return {}

    def set_session(self, sent: Arguments) -> Json:
        """agents.sessions.setStatus: `processing` shows a Stop button to apps that hear of its press.

        https://docs.slack.dev/reference/methods/agents.sessions.setStatus
        """
        if AGENT not in self._workspace.scopes:
            raise Refused("not_authorized")
        channel, thread = self._thread(sent, optional=True)
        status = sent.required("status")
        if status not in SESSION_STATES or len(sent.text("title")) > TITLE:
            raise Refused("invalid_arguments")
        if sent.text("title") and (channel, thread) not in self._workspace.sessions:
            self._workspace.titles[channel, thread] = sent.text("title")
        self._workspace.sessions[channel, thread] = status
        self._workspace.screen.notice(channel, f"session:{status}")
        if STOPPED not in self._subscriptions:
            return {"warning": "missing_agent_session_stopped_event_subscription"}
        return {}

    def tick(self) -> None:
        """Take away the statuses whose time is up."""
        now = self._workspace.now()
        for (channel, thread), (_, until) in list(self._workspace.statuses.items()):
            if until <= now:
                self._workspace.clear_status(channel, thread)

    def _thread(self, sent: Arguments, *, optional: bool = False) -> tuple[str, str]:
        channel = self._workspace.channel(sent.text("channel_id"))
        thread = sent.text("thread_ts")
        if not thread and not optional:
            raise missing("thread_ts")
        if thread and (channel.id, thread) not in self._workspace.messages:
            raise Refused("invalid_thread_ts")
        if not channel.member:
            raise Refused("not_in_channel")
        return channel.id, thread
