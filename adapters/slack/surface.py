"""Show a reply in Slack: messages edited in place, or the five uses of a command's `response_url`."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Callable
from typing import Any, Final

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.counted import Looks
from adapters.slack.drawing import DrawnMrkdwn, attachments_of, blocks_of, drawn_of
from adapters.slack.errors import NOT_INSIDE, error_code, field, file_refused, refused, translate
from adapters.slack.limits import (
    CHANNEL_RATE,
    LIMITS,
    POST_WINDOW,
    PRIVATE_WINDOW,
    RESPONSE_USES,
    SESSION_WINDOW,
    SIGN_WINDOW,
    STATUS_WINDOW,
    UNSIGN_WINDOW,
    UPDATE_WINDOW,
)
from adapters.slack.sessions import Sessions
from adapters.slack.streams import Growing, Streams
from bot.contract import (
    GROWS,
    PRESSED,
    CallCost,
    Clock,
    DeliveryError,
    Drawn,
    File,
    MessageGone,
    MessageRef,
    Page,
    RateBudget,
    Refused,
    ReplyTarget,
    SurfaceLimits,
    TooLong,
    Unclear,
    Unreachable,
    Unrenderable,
)

log = logging.getLogger(__name__)

_NO_STATUS: Final = dataclasses.replace(LIMITS, typing_seconds=0.0, typing_stays=False)
"""Outside a thread there is no status."""

RECEIPT: Final = "eyes"
"""The reaction on a message that waits."""

RESPONSE: Final = "response"
"""The form of a message behind a `response_url`; its id is the number of uses when it was shown."""
PRIVATE: Final = "private"
"""The form of a message that one person sees, and that cannot be changed."""
HELD: Final = "held"
"""The form of a page that waits for its end, because a `response_url` has too few uses to show it grow."""
FILE: Final = "file"

_HISTORY: Final = frozenset({"channels:history", "groups:history", "mpim:history"})
_LOOK_AGAIN: Final = (0.5, 1.0, 2.0)


class SlackSurface:
    """One thread, direct message or channel."""

    def __init__(
        self,
        web: AsyncWebClient,
        http: aiohttp.ClientSession,
        target: ReplyTarget,
        clock: Clock,
        joined: Callable[[str], None] = lambda channel: None,
        scopes: frozenset[str] | None = None,
        looks: Looks | None = None,
        streams: Streams | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        """
        Args:
            looks, streams, sessions: shared by all surfaces of the workspace, like Slack's limits.
            scopes: the token's scopes; None: unknown.
            joined: called with a channel's id when a post there proved that the bot is inside.
        """
        self._web = web
        self._http = http
        self._clock = clock
        self._joined = joined
        self._looks = looks or Looks(web, clock)
        self._sessions = sessions or Sessions(web, clock, ())
        data = target.data
        self._channel = str(data.get("channel") or "")
        self._thread = str(data.get("thread") or "")
        self._asked = str(data.get("asked") or "")
        self._title = str(data.get("title") or "")
        self._reader = str(data.get("user") or "") if target.private else ""
        """The only reader of the reply; empty: everybody."""
        # The address of a press is for replies that only the presser sees.
        self._pressed = bool(data.get("pressed"))
        self._address = str(data.get("response_url") or "") if target.private or not self._pressed else ""
        self._press_address = str(data.get("response_url") or "") if self._pressed and data.get("ephemeral") else ""
        """Reaches the pressed message, which only one person sees."""
        self._until = float(data.get("until") or 0.0)
        self._responding = False
        """The bot is not a member here, so everything goes to the `response_url`."""
        self._uses = 0
        # A status ends with the next message in the thread, but not with a private one.
        self._shows_status = bool(self._thread) and not self._reader
        self._answered = ""
        """The text behind the `response_url`: a reply cannot know it, as pages are held back there."""
        team = self._team = str(data.get("team") or "")
        self._post_scope = f"slack:{team}/channel/{self._channel}/post"
        self._update_scope = f"slack:{team}/chat.update"
        post = RateBudget(self._post_scope, rate=CHANNEL_RATE, burst=1)
        posts = RateBudget(f"slack:{team}/chat.postMessage", windows=(POST_WINDOW,), shared=True)
        update = RateBudget(self._update_scope, windows=(UPDATE_WINDOW,), shared=True)
        status = RateBudget(f"slack:{team}/assistant.threads.setStatus", windows=(STATUS_WINDOW,), shared=True)
        # An id does not tell a public channel from a private one, nor from a direct message of several people.
        self._scopes = scopes
        adding = RateBudget(f"slack:{team}/reactions.add", windows=(SIGN_WINDOW,), shared=True)
        removing = RateBudget(f"slack:{team}/reactions.remove", windows=(UNSIGN_WINDOW,), shared=True)
        self._sign_cost, self._unsign_cost = CallCost((adding,)), CallCost((removing,))
        needed = {"im:history"} if self._channel.startswith("D") else _HISTORY
        finds = scopes is not None and needed <= scopes
        self._post_cost = CallCost((post, posts), repeats_safely=False, found_again=finds)
        # A message that is never edited is complete at once, so it must be found again if its post is unclear.
        limits = LIMITS if self._shows_status else _NO_STATUS
        everybody = not self._reader and not self._address
        self._limits = dataclasses.replace(limits, pieces=finds and everybody, unread=everybody)
        self._growing_limits = dataclasses.replace(self._limits, grows=self._limits.pieces)
        self._growing = Growing(
            streams or Streams(web, clock, bot=""),
            team=team,
            channel=self._channel,
            thread=self._thread,
            reader=str(data.get("user") or ""),
        )
        private = RateBudget(f"slack:{team}/chat.postEphemeral", windows=(PRIVATE_WINDOW,), shared=True)
        self._private_cost = CallCost(() if self._address else (private,), repeats_safely=False)
        self._update_cost = CallCost((update,))
        session = RateBudget(f"slack:{team}/agents.sessions.setStatus", windows=(SESSION_WINDOW,), shared=True)
        self._status_cost, self._session_cost = CallCost((status,)), CallCost((session,))

    @property
    def limits(self) -> SurfaceLimits:
        return self._growing_limits if self._growing.possible else self._limits

    def draw(self, page: Page) -> DrawnMrkdwn:
        drawn = drawn_of(page, whole=page.final or not (self._reader or self._address))
        return drawn if self._growing.shows_cards or not drawn.cards else dataclasses.replace(drawn, cards=())

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        if drawn is None:
            return self._session_cost if self._sessions.possible else self._status_cost
        if at is not None and at.form == PRESSED and self._press_address:
            return CallCost()
        if self._reader:
            assert isinstance(drawn, DrawnMrkdwn)
            return self._private_cost if drawn.whole and (at is None or at.form == HELD) else CallCost()
        if self._responding or (at is not None and at.form in (RESPONSE, HELD)):
            return CallCost(repeats_safely=at is not None and at.form == RESPONSE)
        if at is None:
            return self._post_cost
        return self._growing.cost if self._growing.knows(at.id) else self._update_cost

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        assert isinstance(drawn, DrawnMrkdwn)
        if at is not None and at.form == PRESSED and self._press_address:
            body = {"text": drawn.text, "parse": "none", "link_names": False, "replace_original": True}
            await self._use({**body, "attachments": attachments_of(drawn.buttons)}, self._press_address)
            return at
        if self._reader:
            return await self._show_privately(drawn, at)
        if self._responding if at is None else at.form in (RESPONSE, HELD):
            return await self._respond(drawn, at)
        if at is None:
            return await self._begin(drawn, nonce) if drawn.grows else await self._post(drawn, nonce)
        if self._growing.knows(at.id):
            last, blocks = not drawn.grows, blocks_of(drawn.buttons)
            marks = _metadata(nonce)
            await self._growing.add(at.id, drawn.text, last=last, metadata=marks, blocks=blocks, cards=drawn.cards)
            return MessageRef(at.id) if last else at
        if at.form != GROWS:
            return await self._update(drawn, at)
        await self._growing.end(at.id)
        return await self._update(drawn, MessageRef(at.id), nonce)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        if len(file.content) > LIMITS.attachment_bytes:
            raise TooLong(f"{file.name!r} is too large", by=len(file.content) - LIMITS.attachment_bytes)
        if self._responding or (after is not None and after.form in (RESPONSE, HELD)):
            raise Unrenderable("a command's answer carries no files where the bot is no member")
        try:
            sent = await self._web.files_upload_v2(
                channel=self._channel,
                thread_ts=self._thread or None,
                content=file.content,
                filename=file.name,
                title=file.name,
            )
            files = sent.get("files") or [{}]
            return MessageRef(str(files[0].get("id", "")), FILE)
        except Exception as error:
            raise file_refused(error) from error

    async def remove(self, at: MessageRef) -> None:
        try:
            match at.form:
                case "held" | "private":
                    return
                case "response":
                    await self._use({"delete_original": True})
                case _:
                    if at.form == GROWS:
                        await self._growing.end(at.id)
                    await self._web.chat_delete(channel=self._channel, ts=at.id)
        except Exception as error:
            if not isinstance(problem := translate(error), MessageGone):
                raise problem from error

    async def typing(self, words: str) -> None:
        """The thread shows the bot's name and `words` until the first message; elsewhere there is no sign.

        A status that arrives after that message stays, so each is removed at the end. For an agent, its session says so
        instead, with Slack's own Stop button, until the sign is removed.
        """
        if not self._shows_status:
            return
        if self._sessions.possible:
            if words:
                self._sessions.work(self._channel, self._thread, self._title)
            else:
                self._sessions.rest(self._channel, self._thread)
            return
        try:
            await self._web.assistant_threads_setStatus(channel_id=self._channel, thread_ts=self._thread, status=words)
        except Exception as error:  # noqa: BLE001 - it is only a sign
            self._shows_status = False
            log.debug("slack: no status was shown (%s)", error_code(error) or type(error).__name__)

    def receipt_cost(self, waits: bool) -> CallCost | None:
        if self._scopes is not None and "reactions:write" not in self._scopes:
            return None
        return self._sign_cost if waits else self._unsign_cost

    async def receipt(self, message_id: str, waits: bool) -> None:
        call = self._web.reactions_add if waits else self._web.reactions_remove
        try:
            await call(channel=self._channel, timestamp=message_id, name=RECEIPT)
        except Exception as error:
            if error_code(error) not in ("already_reacted", "no_reaction"):
                raise translate(error) from error

    async def find(self, nonce: str) -> MessageRef | None:
        """Look for our own message by its metadata: needs `im:history`, in channels `channels:history`.

        Raises:
            DeliveryError: Slack did not answer, or allows no more lookups now.
        """
        pauses = iter(_LOOK_AGAIN)
        while True:
            try:
                return await self._look_up(nonce)
            except DeliveryError:
                raise
            except Exception as error:
                code = error_code(error)
                if code and code != "internal_error":
                    log.info("slack: a post of unknown outcome cannot be looked up (%s)", code)
                    return None
                if (pause := next(pauses, None)) is None:
                    raise translate(error) from error
            await self._clock.sleep(pause)

    async def _look_up(self, nonce: str) -> MessageRef | None:
        cursor, nameless = "", None
        while True:
            wanted: dict[str, Any] = {"channel": self._channel, "include_all_metadata": True, "limit": 100}
            if self._asked:
                wanted["oldest"] = self._asked
            if cursor:
                wanted["cursor"] = cursor
            if self._thread:
                answer = await self._looks.replies(ts=self._thread, **wanted)
            else:
                answer = await self._looks.history(**wanted)
            for message in answer.get("messages") or ():
                metadata = message.get("metadata") or {}
                if (metadata.get("event_payload") or {}).get("nonce") == nonce:
                    return MessageRef(str(message["ts"]))
                if self._growing.left_by_another(message):
                    # One reply at a time is written in a thread, and metadata comes with the stop of a stream.
                    nameless = MessageRef(str(message["ts"]), GROWS)
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return nameless

    async def _begin(self, drawn: DrawnMrkdwn, nonce: str) -> MessageRef:
        """Start a stream; if Slack accepts none, post."""
        if self.limits.grows and (ts := await self._growing.start(drawn.text, drawn.cards)):
            self._joined(self._channel)
            return MessageRef(ts, GROWS)
        ref = await self._post(drawn, nonce)
        self._growing.posted()
        return ref

    async def _post(self, drawn: DrawnMrkdwn, nonce: str) -> MessageRef:
        try:
            sent = await self._web.chat_postMessage(
                channel=self._channel,
                text=drawn.text,
                thread_ts=self._thread or None,
                # `parse="none"` keeps mrkdwn, and leaves bare addresses and @names alone.
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
                attachments=attachments_of(drawn.buttons) or None,
                metadata=_metadata(nonce),
            )
            ref = MessageRef(field(sent, "ts"))
        except Exception as error:
            if error_code(error) in NOT_INSIDE and self._address:
                self._responding = True
                return await self._respond(drawn, None)
            raise translate(error, self._post_scope) from error
        self._joined(self._channel)
        return ref

    async def _show_privately(self, drawn: DrawnMrkdwn, at: MessageRef | None) -> MessageRef:
        """Post a page that only one person sees, once and complete: it can be neither edited nor found again."""
        if at is not None and at.form == PRIVATE:
            return at
        if not drawn.whole:
            return at or MessageRef("", HELD)
        if self._address:
            body: dict[str, Any] = {"text": drawn.text, "response_type": "ephemeral", "parse": "none"}
            body |= {"link_names": False, "attachments": attachments_of(drawn.buttons)}
            if self._pressed:
                body |= {"replace_original": False, "thread_ts": self._thread}
            await self._use({name: value for name, value in body.items() if value not in ("", [])})
            return MessageRef("", PRIVATE)
        # In a thread without any answer, Slack accepts it and shows it to nobody.
        thread = self._thread if self._thread != self._asked else ""
        try:
            sent = await self._web.chat_postEphemeral(
                channel=self._channel,
                user=self._reader,
                text=drawn.text,
                thread_ts=thread or None,
                parse="none",
                link_names=False,
                attachments=attachments_of(drawn.buttons) or None,
            )
        except Exception as error:
            raise translate(error, f"slack:{self._team}/chat.postEphemeral") from error
        return MessageRef(str(sent.get("message_ts") or ""), PRIVATE)

    async def _update(self, drawn: DrawnMrkdwn, at: MessageRef, nonce: str = "") -> MessageRef:
        try:
            # There are no flags against previews here: the post's flags stay. So would unnamed attachments.
            await self._web.chat_update(
                channel=self._channel,
                ts=at.id,
                text=drawn.text,
                parse="none",
                link_names=False,
                attachments=attachments_of(drawn.buttons),
                metadata=_metadata(nonce),
            )
        except Exception as error:
            raise translate(error, self._update_scope) from error
        return at

    async def _respond(self, drawn: DrawnMrkdwn, at: MessageRef | None) -> MessageRef:
        """Show a page through the `response_url`: the first page early and then complete, later ones only complete."""
        if at is not None:
            self._uses = max(self._uses, int(at.id))
        if not drawn.whole and (at is not None or self._uses):
            return at if at is not None else MessageRef(str(self._uses), HELD)
        replaces = at is not None and at.form == RESPONSE
        if at is not None and replaces and self._answered == drawn.text:
            return at
        body: dict[str, Any] = {"text": drawn.text, "response_type": "in_channel", "parse": "none", "link_names": False}
        body |= {"unfurl_links": False, "unfurl_media": False, "replace_original": replaces}
        self._answered = ""
        await self._use(body)
        self._answered = drawn.text
        return MessageRef(str(self._uses), RESPONSE)

    async def _use(self, body: dict[str, Any], address: str = "") -> None:
        """Use the `response_url` once."""
        address = address or self._address
        if not address or self._clock.wall() > self._until:
            raise Unreachable("the answer slot of the command has closed")
        if self._uses >= RESPONSE_USES:
            raise Unreachable("the answer slot of the command is used up")
        try:
            async with self._http.post(address, json=body, allow_redirects=False) as response:
                status, answer = response.status, await response.text()
                retry_after = response.headers.get("Retry-After", "")
        except Exception as error:
            problem = translate(error)
            if isinstance(problem, Unclear):
                self._uses += 1
            raise problem from error
        if status == 200:
            self._uses += 1
            return
        found = re.search(r'"error"\s*:\s*"(\w+)"', answer)
        code = found[1] if found else answer.strip()[:40]
        raise _final(refused(status, code, retry_after), status)


def _metadata(nonce: str) -> dict[str, Any] | None:
    """Return the metadata by which a message is found again."""
    return {"event_type": "parley_reply", "event_payload": {"nonce": nonce}} if nonce else None


def _final(problem: DeliveryError, status: int) -> DeliveryError:
    """Make a refusal that means a closed `response_url` final."""
    if isinstance(problem, Refused) and status in (403, 404, 410):
        return Unreachable("the answer slot of the command has closed")
    return problem
