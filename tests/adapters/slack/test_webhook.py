"""Events, commands and presses that Slack posts, through the real public address and the emulated service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import pytest

from adapters.slack import webhook
from adapters.slack.adapter import SlackAdapter, check, open_adapter
from bot.contract import Incoming, MessageSent, StoreError
from playground.slack import SlackServer
from playground.slack.posts import SignedPosts
from tests.adapters.slack.conftest import settings_of
from tests.conftest import FakeClock, RawJson
from tests.patience import PATIENCE
from tests.web import HOSTILE, Web, serving

ANOTHER = "0" * 32
JSON = ("Content-Type", b"application/json")
FORM = ("Content-Type", b"application/x-www-form-urlencoded; charset=utf-8")


class Inbox:
    """Where deliveries arrive; refuses as often as it is told."""

    def __init__(self, refusals: int = 0) -> None:
        self.said: list[Incoming] = []
        self.tries = 0
        self.refusals = refusals

    async def __call__(self, said: Incoming) -> None:
        self.tries += 1
        if self.tries <= self.refusals:
            raise StoreError("the disk is full")
        self.said.append(said)

    @property
    def texts(self) -> list[str]:
        return [said.text for said in self.said if isinstance(said, MessageSent)]


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as web:
        yield web


@pytest.fixture
async def adapter(slack: SlackServer, web: Web, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    settings = settings_of(slack, slack_app_token="", slack_signing_secret=slack.signing_secret)
    async with open_adapter(settings, clock) as adapter:
        web.entrance = lambda platform: adapter.entrance if platform == "slack" else None
        yield adapter


@pytest.fixture
def posts(slack: SlackServer, web: Web, adapter: SlackAdapter) -> SignedPosts:
    made: RawJson = slack.deliver_to(f"{web.address}/slack")
    assert isinstance(made, SignedPosts)
    return made


@asynccontextmanager
async def listening(adapter: SlackAdapter, inbox: Inbox) -> AsyncIterator[None]:
    task = asyncio.create_task(adapter.listen(inbox))
    async with asyncio.timeout(PATIENCE):
        while not adapter.listening:
            await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not adapter.listening and adapter.entrance is None


def signed(posts: SignedPosts, body: str, kind: tuple[str, bytes] = JSON) -> tuple[list[tuple[str, bytes]], bytes]:
    """A request as the service makes it."""
    return [kind, *((name, value.encode()) for name, value in posts.sign(body).items())], body.encode()


async def test_the_address_proves_itself_when_it_is_entered(adapter: SlackAdapter, posts: SignedPosts) -> None:
    async with listening(adapter, inbox := Inbox()):
        assert await posts.challenge()

    assert inbox.tries == 0


async def test_mentions_and_commands_are_stored_and_then_confirmed(
    slack: SlackServer, adapter: SlackAdapter, posts: SignedPosts
) -> None:
    async with listening(adapter, inbox := Inbox()):
        slack.say("C1", f"<@{slack.bot_user_id}> what is tea?", person="U1")
        slack.command("/parley", "what is coffee?", "C1", person="U2")
        await slack.until_delivery(lambda all: len(all) >= 2 and all[1].acked.is_set() and all[0].acked.is_set())

    assert set(inbox.texts) == {"what is coffee?", "what is tea?"}
    assert "apps.connections.open" not in [call.method for call in slack.calls]


async def test_what_cannot_be_stored_is_posted_again(
    slack: SlackServer, adapter: SlackAdapter, posts: SignedPosts, clock: FakeClock
) -> None:
    async with listening(adapter, inbox := Inbox(refusals=1)):
        slack.say(slack.direct("U1"), "what is tea?", person="U1")
        async with asyncio.timeout(PATIENCE):
            while not slack.deliveries[0].acked.is_set():
                await clock.advance(1)
                await asyncio.sleep(0.001)

    assert (inbox.texts, inbox.tries) == (["what is tea?"], 2)


async def test_what_was_signed_long_ago_or_with_another_secret_is_refused_and_not_parsed(
    slack: SlackServer, web: Web, adapter: SlackAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "_read", lambda *given: pytest.fail("it was parsed"))
    forgeries: list[RawJson] = [
        slack.deliver_to(f"{web.address}/slack", secret=ANOTHER),
        slack.deliver_to(f"{web.address}/slack", age=301),
        slack.deliver_to(f"{web.address}/slack", age=-301),
    ]
    async with listening(adapter, inbox := Inbox()):
        for forged in forgeries:
            assert await web.post("slack", *signed(forged, json.dumps({"type": "event_callback"}))) == 401

    assert inbox.tries == 0


async def test_a_body_is_refused_under_the_signature_of_another(
    slack: SlackServer, web: Web, adapter: SlackAdapter, posts: SignedPosts
) -> None:
    async with listening(adapter, Inbox()):
        headers, body = signed(posts, json.dumps({"type": "event_callback"}))
        assert await web.post("slack", headers, body) == 200
        assert await web.post("slack", headers, body + b" ") == 401
        assert await web.post("slack", headers, b"\xff\xfe") == 401
        assert await web.post("slack", headers[:2], body) == 401


@pytest.mark.parametrize("name", ["X-Slack-Request-Timestamp", "X-Slack-Signature"])
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: f"{len(value)} bytes {value[:9]!r}")
async def test_hostile_headers_prove_nothing(
    slack: SlackServer, web: Web, adapter: SlackAdapter, posts: SignedPosts, name: str, value: bytes
) -> None:
    async with listening(adapter, inbox := Inbox()):
        headers, body = signed(posts, "{}")
        changed = [(header, value if header == name else old) for header, old in headers]
        assert await web.post("slack", changed, body) in (400, 401)

    assert inbox.tries == 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", JSON),
        ("[]", JSON),
        ("{", JSON),
        ("[" * 100_000, JSON),
        ("payload=%7B", FORM),
        ("payload=3", FORM),
        ("&".join(f"a{number}=1" for number in range(101)), FORM),
    ],
    ids=lambda value: str(value)[:12],
)
async def test_what_cannot_be_read_is_left_out_alone_and_does_not_come_again(
    slack: SlackServer,
    web: Web,
    adapter: SlackAdapter,
    posts: SignedPosts,
    body: str,
    kind: tuple[str, bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with listening(adapter, inbox := Inbox()):
        assert await web.post("slack", *signed(posts, body, kind)) == 200
        slack.say("C1", f"<@{slack.bot_user_id}> hello", person="U1")
        await slack.until_delivery(lambda all: all and all[0].acked.is_set())

    assert set(inbox.texts) == {"hello"}
    assert "left out" in caplog.text


async def test_what_says_nothing_to_us_is_confirmed(web: Web, adapter: SlackAdapter, posts: SignedPosts) -> None:
    async with listening(adapter, inbox := Inbox()):
        assert await web.post("slack", *signed(posts, urlencode({"ssl_check": "1", "token": "t"}), FORM)) == 200

    assert inbox.tries == 0


async def test_the_check_says_what_to_enter_and_asks_for_no_socket(slack: SlackServer) -> None:
    found = await check(settings_of(slack, slack_app_token="", slack_signing_secret=slack.signing_secret))

    assert found[-1].verdict == "not asked" and "Request URL" in found[-1].text
    assert "apps.connections.open" not in [call.method for call in slack.calls]
